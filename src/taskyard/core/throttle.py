"""Throttles: after a provider's rate limit, other claimers leave its scope alone for half of the wait."""

from __future__ import annotations

from taskyard.core.changes import Event, Record, RecordChange
from taskyard.core.json_value import Json, compact
from taskyard.core.record_kinds import THROTTLE
from taskyard.core.units import Micros, to_iso


def scope(type_: str, model: str | None) -> str:
    """What a rate limit holds for: a type, and the model where it is known."""
    return type_ if model is None else f"{type_}|{model}"


def until_of(record: Record) -> Micros:
    return THROTTLE.of(record)["until"]


def throttled(
    workspace: str, scope_id: str, standing: Record | None, *, wait: Micros, now: Micros
) -> tuple[RecordChange, Event] | None:
    """Slow the scope down; nothing where it is slowed down for longer already."""
    until = Micros(now + wait // 2)
    if standing is not None and until_of(standing) >= until:
        return None
    body: dict[str, Json] = {"until": until, "wait": wait}
    data: dict[str, Json] = {"scope": scope_id, "until": to_iso(until), "wait_sec": wait / 1_000_000}
    version = 0 if standing is None else standing.version
    return (
        RecordChange("throttle", workspace, scope_id, version, body),
        Event("signal.slowdown", workspace, None, None, now, None, None, None, compact(data)),
    )
