"""How a report is made of attempts, or of the stored figures of days. Pure.

A percentile of attempts is a value that was measured; that of stored days is as near as the bounds of their buckets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from math import ceil
from typing import Any, NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.task import Attempt, Definition, Hot, Outcome
from taskyard.core.units import SECOND, Micros, utc_date
from taskyard.features.metrics.rules import Histogram, MetricTotals

USD = 1_000_000  # micro-dollars
MOST_TASKS = 5_000  # that a report of attempts reads
MOST_ROWS = 500
MOST_GROUPINGS = 3
ATTEMPTS, DAYS = "attempts", "days"
SOURCES = (ATTEMPTS, DAYS)
GROUPINGS = ("day", "type", "agent", "model", "tag", "queue", "variant", "subject", "reason")
COUNTS = ("tasks", "attempts", "completed", "failed")
SUMS = ("cost", "duration", "wait")
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
PERCENTILES = tuple(f"{name}_{share}" for name in SUMS for share in SHARES)
MEASURES = (*COUNTS, *SUMS, *PERCENTILES)
USUAL_MEASURES = ("attempts", "completed", "failed", "cost", "duration_p50", "duration_p95")
# What the figures of a day tell apart, by measure. Nothing else of it is stored.
OF_DAYS: Mapping[str, frozenset[str]] = {
    "completed": frozenset({"day", "type"}),
    "failed": frozenset({"day", "agent", "reason"}),
    "cost": frozenset({"day", "type", "agent", "model"}),
    **{
        measure: frozenset({"day"})
        for name in ("duration", "wait")
        for measure in (name, *(f"{name}_{share}" for share in SHARES))
    },
}
_NOT_OF_DAYS = "the figures of days do not have it; ask for source attempts"
Group = tuple[str | None, ...]
Value = float | None


class ReportRequest(NamedTuple):
    """The groupings of the rows of a report, and the measures of each row."""

    by: tuple[str, ...]
    measures: tuple[str, ...]


class Row(NamedTuple):
    group: Group
    values: tuple[Value, ...]


class AttemptFacts(NamedTuple):
    """What a report counts of an attempt."""

    task: str
    labels: Mapping[str, tuple[str | None, ...]]  # by grouping; several where a task has several tags
    outcome: Outcome
    cost: float  # dollars
    duration: float  # seconds from its start to its end
    wait: float  # seconds until it was claimed: since the task was put in, or since the attempt before it ended


def asked(by: Sequence[str], measures: Sequence[str], source: str, narrowed: Iterable[str] = ()) -> ReportRequest:
    """A checked request; InvalidInput names a grouping or measure that is unknown, or that stored days do not have.

    `narrowed` has the conditions of the report, by the name of what they are about.
    """
    if source not in SOURCES:
        raise InvalidInput("source", f"must be one of {', '.join(SOURCES)}")
    wanted = ReportRequest(_chosen("by", by, GROUPINGS), _chosen("measures", measures, MEASURES))
    if len(wanted.by) > MOST_GROUPINGS:
        raise InvalidInput("by", f"must be at most {MOST_GROUPINGS}")
    if not wanted.measures:
        raise InvalidInput("measures", "must be at least one")
    if source == DAYS:
        _check_stored(wanted, tuple(narrowed))
    return wanted


def _chosen(field: str, given: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    if strange := [each for each in given if each not in known]:
        raise InvalidInput(field, f"must be among {', '.join(known)}, not {strange[0]}")
    return tuple(dict.fromkeys(given))


def _check_stored(wanted: ReportRequest, narrowed: Sequence[str]) -> None:
    for measure in wanted.measures:
        stored = OF_DAYS.get(measure)
        if stored is None:
            raise InvalidInput("measures", f"must not have {measure}: {_NOT_OF_DAYS}")
        if other := [each for each in (*wanted.by, *narrowed) if each not in stored]:
            raise InvalidInput("by" if other[0] in wanted.by else other[0], f"{measure} by {other[0]}: {_NOT_OF_DAYS}")
    if "failed" in wanted.measures and {"agent", "reason"} <= {*wanted.by, *narrowed}:
        raise InvalidInput("by", f"failed by agent and reason together: {_NOT_OF_DAYS}")


# Of attempts


def facts_of(hot: Hot, definition: Definition, attempts: Sequence[Attempt]) -> list[AttemptFacts]:
    found: list[AttemptFacts] = []
    since = hot.created_at
    for each in attempts:
        labels: dict[str, tuple[str | None, ...]] = {
            "day": (utc_date(each.ended_at),),
            "type": (definition.type,),
            "agent": (each.agent_type or each.agent,),
            "model": (each.model,),
            "tag": definition.tags or (None,),
            "queue": (definition.queue,),
            "variant": (definition.variant,),
            "subject": (definition.subject,),
            "reason": (each.reason,),
        }
        began = each.started_at or each.claimed_at
        found.append(
            AttemptFacts(
                hot.id,
                labels,
                each.outcome,
                each.cost / USD,
                (each.ended_at - began) / SECOND,
                max(each.claimed_at - since, 0) / SECOND,
            )
        )
        since = each.ended_at
    return found


def tabulate(wanted: ReportRequest, facts: Sequence[AttemptFacts]) -> tuple[list[Row], Row]:
    """The rows, and one of everything: an attempt of a task with two tags is in two rows, and once in that."""
    groups: dict[Group, list[AttemptFacts]] = {}
    for each in facts:
        for group in _groups(wanted.by, each.labels):
            groups.setdefault(group, []).append(each)
    rows = [Row(group, _measured(wanted.measures, own)) for group, own in groups.items()]
    return in_order(wanted, rows), Row((), _measured(wanted.measures, facts))


def _groups(by: Sequence[str], labels: Mapping[str, tuple[str | None, ...]]) -> list[Group]:
    found: list[Group] = [()]
    for name in by:
        found = [(*group, label) for group in found for label in labels[name]]
    return found


def _measured(measures: Sequence[str], facts: Sequence[AttemptFacts]) -> tuple[Value, ...]:
    return tuple(_measure(measure, facts) for measure in measures)


def _measure(measure: str, facts: Sequence[AttemptFacts]) -> Value:
    counts: dict[str, Callable[[], int]] = {
        "tasks": lambda: len({each.task for each in facts}),
        "attempts": lambda: len(facts),
        "completed": lambda: sum(each.outcome is Outcome.COMPLETED for each in facts),
        "failed": lambda: sum(each.outcome is Outcome.FAILED for each in facts),
    }
    if measure in counts:
        return counts[measure]()
    name, _, share = measure.partition("_")
    values = [getattr(each, name) for each in facts]
    return percentile(values, SHARES[share]) if share else round(sum(values), 6)


def percentile(values: Iterable[float], share: float) -> float | None:
    """The smallest value that this share of all are at most (nearest rank)."""
    ordered = sorted(values)
    return round(ordered[max(ceil(share * len(ordered)), 1) - 1], 6) if ordered else None


def in_order(wanted: ReportRequest, rows: Iterable[Row]) -> list[Row]:
    """Days in their order; else the most of the first measure first."""
    if "day" in wanted.by:
        place = wanted.by.index("day")
        return sorted(rows, key=lambda row: (row.group[place] or "", [each or "" for each in row.group]))
    return sorted(rows, key=lambda row: (-(row.values[0] or 0), [each or "" for each in row.group]))


# Of the stored figures of days


def tabulate_days(
    wanted: ReportRequest, days: Sequence[tuple[str, MetricTotals]], only: Mapping[str, frozenset[str]]
) -> tuple[list[Row], Row]:
    """The same of stored figures. `only` keeps labels: type, agent or model."""
    groups: dict[Group, dict[str, Any]] = {}
    for measure in wanted.measures:
        for date, totals in days:
            for group, amount in _stored(measure, wanted.by, date, totals, only):
                known = groups.setdefault(group, {})
                known[measure] = amount if measure not in known else _added(known[measure], amount)
    whole: dict[str, Any] = {}
    for own in groups.values():
        for measure, amount in own.items():
            whole[measure] = amount if measure not in whole else _added(whole[measure], amount)
    rows = [Row(group, _shown(wanted.measures, own)) for group, own in groups.items()]
    return in_order(wanted, rows), Row((), _shown(wanted.measures, whole))


def _stored(
    measure: str, by: Sequence[str], date: str, totals: MetricTotals, only: Mapping[str, frozenset[str]]
) -> Iterable[tuple[Group, Any]]:
    """What a day adds to which groups: a number, or a histogram."""
    name = measure.partition("_")[0]
    if name in ("duration", "wait"):
        histogram = totals.durations if name == "duration" else totals.waits
        return [(tuple(date for _ in by), histogram)] if any(histogram.counts) else []
    cells = [
        ({**labels, "day": date}, number)
        for labels, number in _cells(name, {*by, *only}, totals)
        if all(labels.get(field) in kept for field, kept in only.items())
    ]
    found = Counter[Group]()
    for labels, number in cells:
        found[tuple(labels.get(each) for each in by)] += number
    return found.items()


def _cells(name: str, asked_of: Set[str], totals: MetricTotals) -> Iterable[tuple[dict[str, str], int]]:
    if name == "cost":
        return [(labels._asdict(), cost) for labels, cost in totals.costs.items()]
    if name == "completed":
        return [({"type": type_}, number) for type_, number in totals.completed.items()]
    if "reason" in asked_of:
        return [({"reason": reason}, number) for reason, number in totals.failed.items()]
    return [({"agent": agent}, number) for agent, number in totals.errors.items()]


def _added(one: Any, other: Any) -> Any:
    if not isinstance(one, Histogram):
        return one + other
    both = Histogram(one.bounds, one.unit, list(one.counts), one.sum)
    both.add(other)
    return both


def _shown(measures: Sequence[str], own: Mapping[str, Any]) -> tuple[Value, ...]:
    return tuple(_value(measure, own[measure]) if measure in own else None for measure in measures)


def _value(measure: str, amount: Any) -> Value:
    if isinstance(amount, Histogram):
        share = measure.partition("_")[2]
        return amount.quantile(SHARES[share]) if share else round(amount.sum / amount.unit, 6)
    return amount / USD if measure == "cost" else amount


def dates_between(since: Micros, until: Micros) -> tuple[str, str]:
    """The first and the last day that a time touches."""
    return utc_date(since), utc_date(Micros(max(until - 1, since)))
