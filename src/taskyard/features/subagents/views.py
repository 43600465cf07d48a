"""What is said of background subagents, and what is answered about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, TypedDict

from taskyard.core.changes import Record
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import SUBAGENT
from taskyard.core.task import FINAL, HELD, Attempt, Hot, Status
from taskyard.core.units import SECOND, Micros, MicroUsd
from taskyard.definition.view import About, Money, Time

State = Literal["queued", "running", "completed", "failed", "cancelled"]
_STATES: dict[Status, State] = {
    Status.COMPLETED: "completed",
    Status.DEAD_LETTERED: "failed",
    Status.CANCELLED: "cancelled",
}


class SubagentFields(TypedDict, total=False):
    """What a caller may say of a subagent, besides its type and its prompt."""

    description: str
    model: str | None
    max_turns: int | None
    silent: bool
    agent_id: str | None
    conversation_id: str | None
    tool_call_id: str | None
    fields: Annotated[Mapping[str, object] | None, About("Further fields of its task.")]


class StartedSubagent(NamedTuple):
    """What a caller gets at once, while the subagent works in the background."""

    task_id: str
    output_file: Annotated[str, About("The transcript, which grows while the subagent works.")]
    subagent_id: str


class Subagent(NamedTuple):
    """A background subagent as it stands."""

    task_id: str
    subagent_id: str
    type: str
    description: str
    status: State
    parent: str
    conversation: str
    tool_call_id: str | None
    model: str | None
    max_turns: int | None
    silent: bool
    attempts: int
    cost: Money
    total_tokens: int
    progress: Json
    error: str | None
    created_at: Time
    ended_at: Time | None
    elapsed_sec: float
    output_file: str


def started(record: Record) -> StartedSubagent:
    body = SUBAGENT.of(record)
    return StartedSubagent(record.id, body["output_file"], body["subagent_id"])


def seen(record: Record, hot: Hot, attempts: list[Attempt], progress: Json, now: Micros) -> Subagent:
    """A subagent, from what is stored of it and of its task."""
    body = SUBAGENT.of(record)
    ended_at = hot.updated_at if hot.status in FINAL else None
    failed = [attempt for attempt in attempts if attempt.reason]
    spent = hot.spent if hot.status in HELD else 0
    under_way = hot.tokens_in + hot.tokens_out if hot.status in HELD else 0
    return Subagent(
        task_id=record.id,
        subagent_id=body["subagent_id"],
        type=body["type"],
        description=body["description"],
        parent=body["parent"],
        conversation=body["conversation"],
        tool_call_id=body["tool_call_id"],
        model=body["model"],
        max_turns=body["max_turns"],
        silent=body["silent"],
        output_file=body["output_file"],
        status=_STATES.get(hot.status) or ("running" if hot.attempt and hot.status in _AT_WORK else "queued"),
        attempts=hot.attempt,
        cost=MicroUsd(spent + sum(attempt.cost for attempt in attempts)),
        total_tokens=under_way + sum(attempt.tokens_in + attempt.tokens_out for attempt in attempts),
        progress=progress,
        error=f"{failed[-1].reason}: {failed[-1].error}" if failed and hot.status is not Status.COMPLETED else None,
        created_at=hot.created_at,
        ended_at=ended_at,
        elapsed_sec=((ended_at or now) - hot.created_at) / SECOND,
    )


_AT_WORK = HELD | {Status.VALIDATING}
