"""What the yard counts of itself, by day and for ever.

Figures only grow, and adding two of them is the same in any order: so a day can be folded page by page. Labels that
others choose (types, reasons, agents, models) are bounded: from `MOST_LABELS` on, new ones are counted as "other".
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, cast

from taskyard.core.json_value import Json
from taskyard.core.units import DAY, HOUR, MINUTE, SECOND, Micros, MicroUsd, to_iso, to_usd

MOST_LABELS = 200
MOST_DEAREST = 50  # tasks whose costs are kept apart
OTHER = "other"
SECONDS = (0.01, 0.05, 0.25, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400)  # buckets of waits and durations, up to
ATTEMPTS = (1, 2, 3, 5, 10)


class Resolution(NamedTuple):
    """Figures of short times: of what length, and for how long they are kept."""

    name: str
    length: Micros
    kept: Micros

    def slot(self, at: Micros) -> Micros:
        """When the time that this moment belongs to began."""
        return Micros(at - at % self.length)

    def first_kept(self, now: Micros) -> Micros:
        return self.slot(Micros(now - self.kept))

    def key(self, slot: Micros) -> str:
        """In the order of time, among those of the same length."""
        return f"{self.name}:{to_iso(slot)[:16]}"


TIME_RESOLUTIONS = {
    pace.name: pace
    for pace in (
        Resolution("minute", MINUTE, Micros(2 * HOUR)),
        Resolution("ten-minutes", Micros(10 * MINUTE), Micros(26 * HOUR)),
        Resolution("hour", HOUR, Micros(8 * DAY)),
    )
}


class CostLabels(NamedTuple):
    type: str
    agent: str  # its type
    model: str


@dataclass(slots=True)
class Histogram:
    """How many were at most each bound, the last beyond all of them; and their sum.

    Kept in whole numbers, which add up to the same in any order, so many of them to the unit that the bounds are in.
    """

    bounds: Sequence[float]
    unit: int
    counts: list[int] = field(default_factory=list[int])
    sum: int = 0
    _limits: list[int] = field(init=False, repr=False, compare=False)  # the bounds as what is observed is counted

    def __post_init__(self) -> None:
        self.counts = self.counts or [0] * (len(self.bounds) + 1)
        self._limits = [round(bound * self.unit) for bound in self.bounds]

    @property
    def mean(self) -> float | None:
        number = sum(self.counts)
        return round(self.sum / number / self.unit, 6) if number else None

    def quantile(self, share: float) -> float | None:
        """What this share of all were at most, as near as the bounds tell: even between two of them."""
        wanted, low = share * sum(self.counts), 0.0
        for bound, number in zip((*self.bounds, None), self.counts, strict=True):
            if number and wanted <= number:
                return round(low if bound is None else low + (bound - low) * wanted / number, 6)
            wanted -= number
            low = low if bound is None else bound
        return None

    def observe(self, values: Sequence[int]) -> None:
        # A heartbeat may be noted by a clock that is a little ahead.
        ordered = sorted(values if min(values, default=0) >= 0 else [max(value, 0) for value in values])
        reached = [bisect_right(ordered, limit) for limit in self._limits]
        for place, (below, up_to) in enumerate(pairwise((0, *reached, len(ordered)))):
            self.counts[place] += up_to - below
        self.sum += sum(ordered)

    def add(self, other: Histogram) -> None:
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.sum += other.sum

    def to_dict(self) -> dict[str, Json]:
        return {"bounds": list[Json](self.bounds), "counts": list[Json](self.counts), "sum": self.sum / self.unit}

    def body(self) -> dict[str, Json]:
        return {**self.to_dict(), "sum": self.sum}


def _times() -> Histogram:
    return Histogram(SECONDS, SECOND)


def _tries() -> Histogram:
    return Histogram(ATTEMPTS, 1)


# The figures of `MetricTotals` that are counted by a label, and those that are histograms.
LABELLED = ("completed", "failed", "ended", "errors", "heartbeat_misses", "queue_completed", "queue_failed")
HISTOGRAMS = ("waits", "durations", "attempts", "silences")


@dataclass(slots=True)
class MetricTotals:
    """What was counted, in a day or in all."""

    created: int = 0
    completed: Counter[str] = field(default_factory=Counter[str])  # by type
    failed: Counter[str] = field(default_factory=Counter[str])  # attempts, by reason
    dead_lettered: int = 0
    latency: int = 0  # of the completed, from their creation on, in microseconds
    ended: Counter[str] = field(default_factory=Counter[str])  # attempts that completed or failed, by type of agent
    errors: Counter[str] = field(default_factory=Counter[str])  # those of them that failed
    heartbeat_misses: Counter[str] = field(default_factory=Counter[str])  # by type of agent
    queue_completed: Counter[str] = field(default_factory=Counter[str])  # by queue
    queue_failed: Counter[str] = field(default_factory=Counter[str])  # attempts that failed, by queue
    costs: Counter[CostLabels] = field(default_factory=Counter[CostLabels])  # in micro-dollars
    dearest: Counter[str] = field(default_factory=Counter[str])  # those tasks that cost most, in micro-dollars
    waits: Histogram = field(default_factory=_times)  # from ready to claimed
    durations: Histogram = field(default_factory=_times)  # from started to ended
    attempts: Histogram = field(default_factory=_tries)  # of a task, when it is over
    silences: Histogram = field(default_factory=_times)  # since its heartbeat, when one ended

    @property
    def tasks_completed(self) -> int:
        return self.completed.total()

    @property
    def tasks_failed(self) -> int:
        """Attempts that failed, whether or not another follows."""
        return self.failed.total()

    @property
    def spent(self) -> MicroUsd:
        return MicroUsd(self.costs.total())

    @property
    def average_latency(self) -> float | None:
        """Seconds from creation to completion."""
        return round(self.latency / self.tasks_completed / SECOND, 6) if self.tasks_completed else None

    @property
    def worker_heartbeat_delay(self) -> float | None:
        """Seconds since its worker was last heard of when an attempt ended, on average."""
        return self.silences.mean

    @property
    def error_rates_per_agent(self) -> dict[str, float]:
        """By type of agent: the share of its attempts that failed."""
        return {agent: round(self.errors[agent] / number, 4) for agent, number in sorted(self.ended.items())}

    def add(self, other: MetricTotals) -> None:
        self.created += other.created
        self.dead_lettered += other.dead_lettered
        self.latency += other.latency
        for name in LABELLED:
            for label, number in getattr(other, name).items():
                add_label(getattr(self, name), label, number)
        for label, cost in other.costs.items():
            add_label(self.costs, label, cost)
        keep_dearest(self.dearest, other.dearest)
        for name in HISTOGRAMS:
            getattr(self, name).add(getattr(other, name))

    def summary(self) -> dict[str, Json]:
        """In the words of a daily table."""
        return {
            "tasks_created": self.created,
            "tasks_completed": self.tasks_completed,
            "tasks_failed": self.tasks_failed,
            "tasks_dead_lettered": self.dead_lettered,
            "average_latency": self.average_latency,
            "worker_heartbeat_delay": self.worker_heartbeat_delay,
            "error_rates_per_agent": dict[str, Json](self.error_rates_per_agent),
        }

    def to_dict(self) -> dict[str, Json]:
        """The summary, and what it is made of."""
        return {
            **self.summary(),
            "completed_by_type": _sorted(self.completed),
            "failed_by_reason": _sorted(self.failed),
            "heartbeat_misses_by_agent": _sorted(self.heartbeat_misses),
            "costs": [
                {**labels._asdict(), "cost_usd": to_usd(MicroUsd(cost))} for labels, cost in sorted(self.costs.items())
            ],
            "wait_seconds": self.waits.to_dict(),
            "duration_seconds": self.durations.to_dict(),
            "attempts": self.attempts.to_dict(),
        }


class MeteredDay(NamedTuple):
    date: str  # in UTC
    totals: MetricTotals

    def to_dict(self) -> dict[str, Json]:
        return {"day": self.date, **self.totals.summary()}


class Metrics(NamedTuple):
    """A workspace's figures, as of the last sweep that counted."""

    days: tuple[MeteredDay, ...]  # oldest first; one on which nothing happened is left out
    total: MetricTotals  # since counting began
    counted_through: int  # sequence number of the last event that was counted

    def to_dict(self) -> dict[str, Json]:
        return {
            "days": [day.to_dict() for day in self.days],
            "total": self.total.to_dict(),
            "counted_through": self.counted_through,
        }


# Bounds


def add_label(counts: Counter[Any], label: str | CostLabels, number: int) -> None:
    if label not in counts and len(counts) >= MOST_LABELS:
        label = OTHER if isinstance(label, str) else CostLabels(OTHER, OTHER, OTHER)
    counts[label] += number


def keep_dearest(dearest: Counter[str], more: Mapping[str, int]) -> None:
    """Bounded: a task that costs a little again and again may be left out."""
    dearest.update(more)
    if len(dearest) > 2 * MOST_DEAREST:
        kept = dearest.most_common(MOST_DEAREST)
        dearest.clear()
        dearest.update(dict(kept))


def _sorted(counts: Counter[str]) -> dict[str, Json]:
    return dict(sorted(counts.items()))


# As stored. What the SQL view of the stores reads stands at the top, under the names it has there.


def body_of(totals: MetricTotals) -> dict[str, Json]:
    return {
        **totals.summary(),
        "latency": totals.latency,
        "completed": _sorted(totals.completed),
        "failed": _sorted(totals.failed),
        "ended": _sorted(totals.ended),
        "errors": _sorted(totals.errors),
        "heartbeat_misses": _sorted(totals.heartbeat_misses),
        "queue_completed": _sorted(totals.queue_completed),
        "queue_failed": _sorted(totals.queue_failed),
        "costs": [[*labels, cost] for labels, cost in sorted(totals.costs.items())],
        "dearest": dict(totals.dearest.most_common(MOST_DEAREST)),
        "waits": totals.waits.body(),
        "durations": totals.durations.body(),
        "attempts": totals.attempts.body(),
        "silences": totals.silences.body(),
    }


def totals_of(body: Mapping[str, Any]) -> MetricTotals:
    return MetricTotals(
        created=body["tasks_created"],
        dead_lettered=body["tasks_dead_lettered"],
        latency=body["latency"],
        completed=Counter(body["completed"]),
        failed=Counter(body["failed"]),
        ended=Counter(body["ended"]),
        errors=Counter(body["errors"]),
        heartbeat_misses=Counter(body["heartbeat_misses"]),
        costs=Counter({CostLabels(*labels): cost for *labels, cost in cast(list[list[Any]], body["costs"])}),
        # An older release did not keep these.
        dearest=Counter(body.get("dearest", {})),
        queue_completed=Counter(body.get("queue_completed", {})),
        queue_failed=Counter(body.get("queue_failed", {})),
        waits=_read(_times(), body["waits"]),
        durations=_read(_times(), body["durations"]),
        attempts=_read(_tries(), body["attempts"]),
        silences=_read(_times(), body["silences"]),
    )


def _read(empty: Histogram, body: Mapping[str, Any]) -> Histogram:
    """Begun again where an older release had other bounds: then what it counted cannot be separated any more."""
    if body["bounds"] != list(empty.bounds):
        return empty
    return Histogram(empty.bounds, empty.unit, list(body["counts"]), body["sum"])
