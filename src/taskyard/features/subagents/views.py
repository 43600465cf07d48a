"""Background subagents as their callers see them, as the documents that cross HTTP, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from taskyard.core.changes import Record
from taskyard.core.json_value import Json
from taskyard.core.task import FINAL, HELD, Attempt, Hot, Status
from taskyard.core.units import SECOND, Micros, MicroUsd, from_iso, to_iso, to_usd, usd

Document = dict[str, Json]
Given = Mapping[str, Any]
_STATES = {Status.COMPLETED: "completed", Status.DEAD_LETTERED: "failed", Status.CANCELLED: "cancelled"}


class StartedSubagent(NamedTuple):
    """What a caller gets at once, while the subagent works in the background."""

    task_id: str
    output_file: str
    subagent_id: str


class Subagent(NamedTuple):
    """A background subagent as it stands."""

    task_id: str
    subagent_id: str
    type: str
    description: str
    status: str  # queued, running, completed, failed or cancelled
    parent: str
    conversation: str
    tool_call_id: str | None
    model: str | None
    max_turns: int | None
    silent: bool
    attempts: int
    cost: MicroUsd
    total_tokens: int
    progress: Json
    error: str | None
    created_at: Micros
    ended_at: Micros | None
    elapsed_sec: float
    output_file: str


def started(record: Record) -> StartedSubagent:
    body = cast(Mapping[str, Any], record.body)
    return StartedSubagent(record.id, body["output_file"], body["subagent_id"])


def seen(record: Record, hot: Hot, attempts: list[Attempt], progress: Json, now: Micros) -> Subagent:
    """A subagent, from what is stored of it and of its task."""
    body = cast(Mapping[str, Any], record.body)
    ended_at = hot.updated_at if hot.status in FINAL else None
    failed = [attempt for attempt in attempts if attempt.reason]
    spent = hot.spent if hot.status in HELD else 0
    under_way = hot.tokens_in + hot.tokens_out if hot.status in HELD else 0
    return Subagent(
        task_id=record.id,
        **{name: body[name] for name in _STORED},
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
_STORED = (
    *("subagent_id", "type", "description", "parent", "conversation", "tool_call_id", "model", "max_turns", "silent"),
    "output_file",
)


def started_document(answer: StartedSubagent) -> Document:
    return dict(answer._asdict())


def started_from(document: Given) -> StartedSubagent:
    return StartedSubagent(**document)


def subagent(view: Subagent) -> Document:
    return {
        **{name: value for name, value in view._asdict().items() if name != "cost"},
        "cost_usd": to_usd(view.cost),
        "created_at": to_iso(view.created_at),
        "ended_at": None if view.ended_at is None else to_iso(view.ended_at),
    }


def subagent_from(document: Given) -> Subagent:
    read: dict[str, Any] = {
        **{name: value for name, value in document.items() if name != "cost_usd"},
        "cost": usd(document["cost_usd"]),
        "created_at": from_iso(document["created_at"]),
        "ended_at": None if document["ended_at"] is None else from_iso(document["ended_at"]),
    }
    return Subagent(**read)
