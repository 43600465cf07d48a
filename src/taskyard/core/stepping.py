"""The rows after the two steps that nearly all steps are: a claim, and the end of an attempt that is the task's end.

They are made by place. To name what each of them changes would take as long as all the rest of a step.
"""

from __future__ import annotations

from typing import Any

from taskyard.core.task import AgentId, Hot, Reason, RuntimeId, Status, Trait, chooser
from taskyard.core.units import SECOND, Micros, MicroUsd

# What an attempt says of itself on its way, of which the next one has said nothing yet. A heartbeat may have written it
# after the last attempt's end was decided.
_SAID: dict[str, Any] = {"spent": MicroUsd(0), "tokens_in": 0, "tokens_out": 0, "progress": None}

# What an attempt leaves behind when it ends.
LET_GO: dict[str, Any] = {
    "lease": None,
    "lease_expires_at": None,
    "limit_at": None,
    "reserved": MicroUsd(0),
    "circuit": 0,
    **_SAID,
}

_NOTHING_SAID, _GONE = tuple(_SAID.values()), tuple(LET_GO.values())
_claimed = chooser(
    (
        *(*_SAID, "status", "version", "updated_at", "attempt", "agent", "runtime", "lease", "claimed_at"),
        *("started_at", "heartbeat_at", "lease_expires_at", "limit_at", "due_at", "circuit", "reserved"),
        *("idempotency_key", "agent_type", "type_slot"),
    )
)
_ended = chooser((*LET_GO, "status", "version", "updated_at", "due_at"))


def claimed(  # noqa: PLR0917 - naming them takes longer than making the row
    hot: Hot,
    status: Status,
    agent: AgentId,
    agent_type: str | None,
    type_slot: int,
    runtime: RuntimeId | None,
    lease: str,
    now: Micros,
    started_at: Micros | None,
    expires: Micros,
    limit: Micros | None,
    due_at: Micros | None,
    circuit: int,
    reserved: MicroUsd,
    idempotency_key: str | None,
) -> Hot:
    told = (status, hot.version + 1, now, hot.attempt + 1, agent, runtime, lease, now)
    kept = (started_at, now, expires, limit, due_at, circuit, reserved, idempotency_key, agent_type, type_slot)
    return Hot._make(_claimed((*hot, *_NOTHING_SAID, *told, *kept)))


def ended(hot: Hot, status: Status, now: Micros) -> Hot:
    return Hot._make(_ended((*hot, *_GONE, status, hot.version + 1, now, None)))


def time_limit(hot: Hot, now: Micros) -> Micros | None:
    """When the time of an attempt that starts now is over."""
    return None if hot.run_sec is None else Micros(now + hot.run_sec * SECOND - hot.ran)


def key_once_started(hot: Hot) -> str | None:
    return None if hot.traits and hot.traits & Trait.KEY_WHILE_WAITING else hot.idempotency_key


def session_after(hot: Hot, reason: str) -> str | None:
    return None if reason == Reason.POISONED_SESSION else hot.session
