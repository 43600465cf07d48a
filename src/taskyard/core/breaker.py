"""The circuit breaker of one task type.

Its whole state is a generation and the time it opened. An even generation is closed; an odd one is open, and from
`half_open_after` on admits one probe at a time, which the claim enforces as a ceiling of one. A half-open state is
never stored, so a probe that dies cannot leave it half-open for ever.

Every attempt remembers the generation it was claimed under: the result of one from before the breaker moved changes
nothing, whenever it comes.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from taskyard.core.changes import Count, Event, Outbox, Record, RecordChange
from taskyard.core.identifiers import breaker_counter
from taskyard.core.json_value import Json, compact
from taskyard.core.notice import Notice, notice_row
from taskyard.core.policy import BreakerPolicy
from taskyard.core.record_kinds import BREAKER
from taskyard.core.units import Micros


class BreakerState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker(NamedTuple):
    workspace: str
    type: str
    generation: int
    opened_at: Micros | None
    version: int  # of its record; 0: never moved

    def state(self, policy: BreakerPolicy, now: Micros) -> BreakerState:
        if self.generation % 2 == 0:
            return BreakerState.CLOSED
        return BreakerState.HALF_OPEN if now >= self.half_open_at(policy) else BreakerState.OPEN

    def half_open_at(self, policy: BreakerPolicy) -> Micros:
        return Micros((self.opened_at or 0) + policy.wait(self.type))


class BreakerChange(NamedTuple):
    """What is stored when a breaker opens or closes."""

    record: RecordChange
    event: Event
    counts: tuple[Count, ...]
    outbox: tuple[Outbox, ...] = ()


def breaker_of(workspace: str, type_: str, record: Record | None) -> Breaker:
    if record is None:
        return Breaker(workspace, type_, 0, None, 0)
    body = BREAKER.of(record)
    return Breaker(workspace, type_, body["generation"], body["opened_at"], record.version)


def awaits(breaker: Breaker, circuit: int) -> bool:
    """Whether an attempt claimed under `circuit` is the probe whose result moves the breaker."""
    return circuit % 2 == 1 and circuit == breaker.generation


def failed(breaker: Breaker, circuit: int) -> Count | None:
    """A counted failure of an attempt claimed under `circuit`; a probe's is a `Move` instead."""
    if circuit % 2 or circuit != breaker.generation:
        return None
    return Count(breaker.workspace, breaker_counter(breaker.type, circuit), 1)


# The same for most completions of a batch.
@lru_cache(maxsize=256)
def succeeded(workspace: str, type_: str, circuit: int) -> Count:
    """Failures are consecutive no longer. Nothing is written where there were none."""
    return Count(workspace, breaker_counter(type_, circuit), 0, clear=True)


def trips(breaker: Breaker, policy: BreakerPolicy, failures: int, circuit: int) -> bool:
    return circuit == breaker.generation and circuit % 2 == 0 and failures >= policy.threshold(breaker.type)


def opened(breaker: Breaker, *, why: str, now: Micros, by: str | None = None) -> BreakerChange:
    """Open, or open again after a probe that failed: either way a new odd generation."""
    generation = breaker.generation + 1 + breaker.generation % 2
    move = _move(breaker, "breaker.opened", {"generation": generation, "opened_at": now, "why": why}, now, by)
    notice = notice_row(Notice.BREAKER_OPEN, breaker.workspace, {"type": breaker.type, "why": why}, at=now)
    return move._replace(outbox=(notice,))


def closed(breaker: Breaker, *, why: str, now: Micros, by: str | None = None) -> BreakerChange:
    """Close: a new even generation, in which nothing has failed yet."""
    generation = breaker.generation + 2 - breaker.generation % 2
    return _move(breaker, "breaker.closed", {"generation": generation, "opened_at": None, "why": why}, now, by)


def _move(breaker: Breaker, event: str, body: dict[str, Json], now: Micros, by: str | None) -> BreakerChange:
    data: dict[str, Json] = {"type": breaker.type, "why": body["why"], "generation": body["generation"]}
    if by is not None:  # nobody, where the failures themselves moved it
        data["by"] = by
    return BreakerChange(
        RecordChange("breaker", breaker.workspace, breaker.type, breaker.version, body),
        Event(event, breaker.workspace, None, None, now, None, None, None, compact(data)),
        (Count(breaker.workspace, breaker_counter(breaker.type, breaker.generation), 0, clear=True),),
    )
