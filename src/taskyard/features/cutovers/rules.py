"""Cutovers: how one queue takes the place of another in phases, and what stands in the way of the next phase. Pure.

Programs write to both queues in every phase but the last; the phase says which one answers, and what is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple, TypedDict

from taskyard.core.changes import Record
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import DAY, Micros

KIND = "cutover"  # of records
DAYS = 7.0  # in each phase
LEAST = 100  # calls of each phase
MOST_KEPT = 20  # differences, the latest
LONGEST = 500  # characters that are kept of what one side answered


class Phase(StrEnum):
    DUAL_WRITE = "dual_write"  # the old queue answers; the new one is only written, and kept in step
    SHADOW = "shadow"  # the old queue answers; what the new one would have answered is compared
    CUTOVER = "cutover"  # the new queue answers; the old one is kept in step as a fallback, and compared
    FINISHED = "finished"  # the new queue is alone


_ORDER = list(Phase)


class CallCounts(NamedTuple):
    """What programs have counted in one phase."""

    calls: int = 0
    compared: int = 0
    differences: int = 0

    def plus(self, other: CallCounts) -> CallCounts:
        return CallCounts(*(one + more for one, more in zip(self, other, strict=True)))


class Discrepancy(NamedTuple):
    """A call that the two queues did not agree on."""

    call: str
    old: str
    new: str


class StoredDiscrepancy(NamedTuple):
    at: Micros
    phase: Phase
    what: Discrepancy


class CutoverBody(TypedDict):
    phase: str
    since: Micros
    started_at: Micros
    started_by: str
    days: float
    least: int
    figures: dict[str, list[int]]
    latest: list[list[Json]]


CUTOVER = RecordKind(KIND, CutoverBody)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutover:
    name: str
    phase: Phase
    since: Micros  # when the phase began
    started_at: Micros
    started_by: str
    days: float = DAYS
    least: int = LEAST
    figures: Mapping[Phase, CallCounts] = field(default_factory=dict[Phase, CallCounts])
    latest: tuple[StoredDiscrepancy, ...] = ()

    @property
    def next(self) -> Phase | None:
        place = _ORDER.index(self.phase) + 1
        return _ORDER[place] if place < len(_ORDER) else None

    def body(self) -> dict[str, Json]:
        return {
            "phase": self.phase.value,
            "since": self.since,
            "started_at": self.started_at,
            "started_by": self.started_by,
            "days": self.days,
            "least": self.least,
            "figures": {phase.value: list[Json](figures) for phase, figures in self.figures.items()},
            "latest": [[each.at, each.phase.value, *each.what] for each in self.latest],
        }


def cutover_of(record: Record) -> Cutover:
    body = CUTOVER.of(record)
    return Cutover(
        name=record.id,
        phase=Phase(body["phase"]),
        since=body["since"],
        started_at=body["started_at"],
        started_by=body["started_by"],
        days=body["days"],
        least=body["least"],
        figures={Phase(phase): CallCounts(*figures) for phase, figures in body["figures"].items()},
        latest=tuple(_stored(each) for each in body["latest"]),
    )


def _stored(kept: list[Json]) -> StoredDiscrepancy:
    at, phase, *what = kept
    assert isinstance(at, int)
    return StoredDiscrepancy(Micros(at), Phase(str(phase)), Discrepancy(*map(str, what)))


def obstacles(cutover: Cutover, to: Phase, now: Micros) -> tuple[str, ...]:
    """Why the phase should not be left for that one yet. Nothing stands in the way of going back."""
    steps = _ORDER.index(to) - _ORDER.index(cutover.phase)
    if cutover.phase is Phase.FINISHED and to is not Phase.FINISHED:
        return ("it is finished: the old queue has missed what came since",)
    if steps <= 0:
        return ()
    figures, found = cutover.figures.get(cutover.phase, CallCounts()), list[str]()
    if steps > 1:
        found.append(f"{_ORDER[_ORDER.index(cutover.phase) + 1].value} comes first")
    if figures.calls < cutover.least:
        found.append(f"{figures.calls} calls were made in {cutover.phase.value}, and {cutover.least} are asked for")
    if figures.differences:
        found.append(f"the queues disagreed {figures.differences} times in {cutover.phase.value}")
    if (days := (now - cutover.since) / DAY) < cutover.days:
        found.append(f"{cutover.phase.value} has lasted {days:.1f} days, and {cutover.days:g} are asked for")
    return tuple(found)


def moved(cutover: Cutover, to: Phase, now: Micros) -> Cutover:
    """The cutover in that phase, which begins now: its figures begin anew, those of other phases stay."""
    figures = {phase: each for phase, each in cutover.figures.items() if phase is not to}
    return replace(cutover, phase=to, since=now, figures=figures)


def counted(
    cutover: Cutover, phase: Phase, figures: CallCounts, latest: tuple[Discrepancy, ...], now: Micros
) -> Cutover:
    """The cutover with the figures of a program added to the phase that they were counted in."""
    kept = [StoredDiscrepancy(now, phase, Discrepancy(*(text[:LONGEST] for text in each))) for each in latest]
    return replace(
        cutover,
        figures={**cutover.figures, phase: cutover.figures.get(phase, CallCounts()).plus(figures)},
        latest=(*cutover.latest, *kept)[-MOST_KEPT:],
    )
