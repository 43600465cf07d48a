"""Tools for dead letters: tasks that are out of attempts and wait for a person."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from taskyard.api import calls, openapi
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.definition.view import Time, view
from taskyard.features.attempts.views import Receipt
from taskyard.features.dead_letters.views import DeadLetter
from taskyard.mcp.desk import Desk
from taskyard.mcp.short_answers import LONGEST_ERROR
from taskyard.mcp.toolbox import OPERATOR, REMOVES, Answer, Toolbox
from taskyard.mcp.tools.tasks import MOST_ROWS, TaskId

box = Toolbox()


@view
class ShortDeadLetter:
    task_id: str
    type: str
    title: str
    reason: str
    error: str | None
    attempts: int
    poison_pill: bool
    reviewed: bool
    at: Time


LISTED = openapi.answer("ShortDeadLetters", dead_letters=list[ShortDeadLetter], cursor=int | None)


@box.add(calls.DEAD_LETTERS, LISTED, OPERATOR)
async def list_dead_letters(
    desk: Desk,
    *,
    reviewed: Annotated[bool | None, Field(description="Only those that a person has decided on, or has not.")] = None,
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 20,
    cursor: Annotated[int, Field(ge=0)] = 0,
) -> Answer:
    """List tasks that are out of attempts, newest first, with how each ended."""
    found = await desk.yard.dead_letters.list(reviewed=reviewed, limit=limit, cursor=cursor)
    return {
        "dead_letters": write([_short(each) for each in found]),
        "cursor": found[-1].task.seq if len(found) == limit else None,
    }


def _question(given: dict[str, Any]) -> str:
    return f"Decide the dead letter {given.get('task_id')}: {given.get('resolution')}?"


@box.add(calls.RESOLVE, model(Receipt), OPERATOR, hints=REMOVES, confirmation=_question)
async def resolve_dead_letter(
    desk: Desk,
    *,
    task_id: TaskId,
    resolution: Literal["retry", "modify_and_retry", "cancel", "escalate"],
    note: Annotated[str, Field(description="Why, for those who look later.", max_length=10_000)] = "",
    spec: Annotated[
        dict[str, Any] | None, Field(description="With modify_and_retry: what changes, such as a prompt.")
    ] = None,
    confirmed: Annotated[  # noqa: ARG001 - it is looked at before the tool is run
        bool, Field(description="The user has agreed. For clients that cannot ask the user by themselves.")
    ] = False,
) -> Answer:
    """Decide a dead letter: try it again, try it changed, cancel it, or put it before another. The user is asked."""
    return write(await desk.yard.dead_letters.resolve(task_id, resolution, by=desk.by, note=note, spec=spec))


def _short(letter: DeadLetter) -> ShortDeadLetter:
    task, dead, failure = letter.task, letter.dead, letter.task.failure
    return ShortDeadLetter(
        task_id=task.id,
        type=task.type,
        title=task.title,
        reason=dead.reason,
        error=None if failure is None or failure.error is None else failure.error[:LONGEST_ERROR],
        attempts=task.attempt,
        poison_pill=dead.poison_pill,
        reviewed=dead.reviewed,
        at=dead.at,
    )
