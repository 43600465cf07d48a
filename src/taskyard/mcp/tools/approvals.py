"""Tools for what people decide: asking them, listing what waits for them, answering."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from taskyard.api import calls, openapi
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.core.errors import Forbidden
from taskyard.core.json_value import Json
from taskyard.definition.view import Time, view
from taskyard.features.attempts.views import Receipt
from taskyard.mcp.desk import Desk
from taskyard.mcp.elicitation import form_of
from taskyard.mcp.toolbox import ADDS, OPERATOR, PRODUCER, WORKER, Answer, Toolbox
from taskyard.mcp.tools.attempts import Lease
from taskyard.mcp.tools.tasks import MOST_ROWS, TaskId

box = Toolbox()
ASKED = openapi.answer("AskedHuman", suspended=bool, signal=str, answer=Any, timed_out=bool)


@view
class ShortApproval:
    """A task that waits for somebody's word."""

    task_id: str
    type: str
    title: str
    signal: str
    question: str
    answer_schema: Json
    who: tuple[str, ...]
    since: Time
    until: Time | None


APPROVALS = openapi.answer("ShortApprovals", approvals=list[ShortApproval])


@box.add(calls.SUSPEND, ASKED, WORKER, hints=ADDS)
async def ask_human(
    desk: Desk,
    *,
    task_id: TaskId,
    lease: Lease,
    question: Annotated[str, Field(description="What a person is to decide.", max_length=4_000)],
    answer_schema: Annotated[
        dict[str, Any] | None,
        Field(description="JSON Schema of the answer. Default: an object with approved and comment."),
    ] = None,
    choices: Annotated[
        list[str] | None, Field(description="In place of a schema: the answer is one of these.", max_length=100)
    ] = None,
    who: Annotated[
        list[str] | None, Field(description="Names, groups and roles that may answer. Default: any.", max_length=50)
    ] = None,
    context: Annotated[Any, Field(description="What the person is to see beside the question.")] = None,
    signal: Annotated[
        str, Field(description="The name of the answer, one for each question.", max_length=200)
    ] = "answer",
    timeout_sec: Annotated[float | None, Field(gt=0, description="None: as long as it takes.")] = None,
) -> Answer:
    """Ask a person, and suspend the task until somebody has answered. `suspended`: the lease is gone, claim other work;
    whoever claims this task again calls ask_human in the same way and gets the answer."""
    desk.leases.called(lease)
    waited = await desk.yard.attempts.ask(
        task_id,
        lease,
        signal,
        question,
        answer_schema=answer_schema,
        choices=choices,
        who=who or (),
        context=context,
        timeout_sec=timeout_sec,
    )
    if not waited.over:
        desk.leases.let_go(lease)
    return {
        "suspended": not waited.over,
        "signal": signal,
        "answer": waited.data,
        "timed_out": waited.timed_out,
    }


@box.add(calls.APPROVALS, APPROVALS, PRODUCER, OPERATOR)
async def list_approvals(
    desk: Desk,
    *,
    task_id: Annotated[str | None, Field(description="Only those of this task.")] = None,
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 20,
) -> Answer:
    """List tasks that wait for a person's word, longest first, with what each asks."""
    found = await desk.yard.approvals.list(limit=limit, task_id=task_id)
    rows = [
        ShortApproval(
            task_id=each.task.id,
            type=each.task.type,
            title=each.task.title,
            signal=each.signal,
            question=form_of(each).message if each.question is None else each.question.text,
            answer_schema=None if each.question is None else each.question.answer_schema,
            who=() if each.question is None else each.question.who,
            since=each.since,
            until=each.until,
        )
        for each in found
    ]
    return {"approvals": write(rows)}


@box.add(calls.SIGNAL, model(Receipt), PRODUCER, OPERATOR, hints=ADDS)
async def answer_approval(
    desk: Desk,
    *,
    task_id: TaskId,
    signal: Annotated[str, Field(description="What the task waits for, as list_approvals says.", max_length=255)],
    data: Annotated[Any, Field(description='The answer, such as {"approved": true, "comment": "…"}.')] = None,
) -> Answer:
    """Answer a task that waits. Ask the user first: the decision is theirs."""
    for wait in await desk.yard.approvals.list(task_id=task_id):
        # One session may work as an agent and have the tools of an operator too.
        if wait.question is not None and desk.seat.is_taken_by(wait.question.asked_by):
            raise Forbidden("an agent does not answer its own question")
    return write(await desk.yard.signal(task_id, signal, data, sent_by=desk.by))
