"""The report by variant, made of what is known of each task. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from taskyard.core.task import Attempt, Definition, Hot, Outcome, Status, TaskId
from taskyard.features.scores import intervals
from taskyard.features.scores.rules import ScoreBody, TotalsBody
from taskyard.features.scores.views import Figure, ScoreFigure, VariantDifference, VariantFigures

_UNIT = 1_000_000  # micro-dollars and microseconds


@dataclass(slots=True, kw_only=True)
class TaskFacts:
    """What a report needs of one task."""

    id: TaskId
    variant: str | None
    has_ended: bool
    is_completed: bool
    cost: float  # dollars
    seconds: float  # that its attempts worked
    reasons: list[str]  # of the attempts that failed
    scores: dict[str, list[float]] = field(default_factory=dict[str, list[float]])


def facts_of(hot: Hot, definition: Definition, attempts: Sequence[Attempt]) -> TaskFacts:
    worked = sum(each.ended_at - (each.started_at or each.claimed_at) for each in attempts)
    return TaskFacts(
        id=hot.id,
        variant=definition.variant,
        has_ended=hot.status.is_final,
        is_completed=hot.status is Status.COMPLETED,
        cost=sum(each.cost for each in attempts) / _UNIT,
        seconds=worked / _UNIT,
        reasons=[each.reason or "unknown" for each in attempts if each.outcome is Outcome.FAILED],
    )


def with_scores(tasks: Mapping[TaskId, TaskFacts], scores: Iterable[ScoreBody]) -> None:
    """Put scores to their tasks; those of other tasks are left out."""
    for each in scores:
        task = tasks.get(TaskId(each["task_id"]))
        if task is not None:
            task.scores.setdefault(each["name"], []).append(each["value"])


def in_order(tasks: Iterable[TaskFacts], totals: Iterable[TotalsBody], known: Sequence[str]) -> list[str | None]:
    """The variants of a report: as they were set, then those that are no more, then the tasks that have none."""
    found = {each.variant for each in tasks} | {each["variant"] for each in totals}
    others = sorted(each for each in found if each is not None and each not in known)
    return [*known, *others, *([None] if None in found else [])]


def figures(variant: str | None, tasks: Sequence[TaskFacts], totals: Sequence[TotalsBody]) -> VariantFigures:
    ended = [each for each in tasks if each.has_ended]
    ever = {each["name"]: each for each in totals if each["count"]}
    names = sorted({name for each in tasks for name in each.scores} | ever.keys())
    seconds = _seconds(ended)
    return VariantFigures(
        name=variant,
        tasks=len(tasks),
        ended=len(ended),
        completed=sum(each.is_completed for each in ended),
        rate=Figure(*intervals.estimate(_completions(ended))),
        failures=dict(sorted(Counter(reason for each in tasks for reason in each.reasons).items())),
        total_cost=sum(each.cost for each in tasks),
        cost=Figure(*intervals.estimate(_costs(ended), is_amount=True)),
        p50_sec=intervals.percentile(seconds, 0.5),
        p95_sec=intervals.percentile(seconds, 0.95),
        scores=tuple(_score(name, _values(tasks, name), ever.get(name)) for name in names),
    )


def differences(
    base: str | None, before: Sequence[TaskFacts], variant: str | None, tasks: Sequence[TaskFacts]
) -> tuple[VariantDifference, ...]:
    """How a variant differs from the first one, in each measure that both have."""
    one, two = _ended(before), _ended(tasks)
    names = {name for task in before for name in task.scores} & {name for task in tasks for name in task.scores}
    found = (
        _difference(base, variant, "completed", _completions(one), _completions(two)),
        _difference(base, variant, "cost", _costs(one), _costs(two), is_amount=True),
        _difference(base, variant, "seconds", _seconds(one), _seconds(two), is_amount=True),
    )
    scored = [_difference(base, variant, name, _values(before, name), _values(tasks, name)) for name in sorted(names)]
    return (*found, *scored)


def _difference(
    base: str | None,
    variant: str | None,
    measure: str,
    before: Sequence[float],
    after: Sequence[float],
    *,
    is_amount: bool = False,
) -> VariantDifference:
    found = intervals.contrast(before, after, is_amount=is_amount)
    return VariantDifference(
        measure=measure,
        variant=variant,
        base=base,
        difference=found.difference,
        low=found.low,
        high=found.high,
        is_more_than_chance=found.is_more_than_chance,
        words=_words(found, len(before), len(after)),
    )


def _words(found: intervals.Contrast, before: int, after: int) -> str:
    if found.difference is None or found.low is None or found.high is None:
        return f"too few to say: {before} and {after} values, and each side needs {intervals.LEAST}"
    if found.is_more_than_chance:
        return "more than chance: " + ("higher" if found.difference > 0 else "lower")
    return "no difference" if found.low == found.high else "may be chance"


def _ended(tasks: Sequence[TaskFacts]) -> list[TaskFacts]:
    return [each for each in tasks if each.has_ended]


def _completions(ended: Sequence[TaskFacts]) -> list[float]:
    return [float(each.is_completed) for each in ended]


def _costs(ended: Sequence[TaskFacts]) -> list[float]:
    return [each.cost for each in ended]


def _seconds(ended: Sequence[TaskFacts]) -> list[float]:
    return [each.seconds for each in ended]


def _values(tasks: Sequence[TaskFacts], name: str) -> list[float]:
    """One value for each task: several people's scores of one result are no independent results."""
    return [sum(task.scores[name]) / len(task.scores[name]) for task in tasks if name in task.scores]


def _score(name: str, values: Sequence[float], ever: TotalsBody | None) -> ScoreFigure:
    mean, low, high = intervals.estimate(values)
    return ScoreFigure(
        name=name,
        count=len(values),
        mean=mean,
        low=low,
        high=high,
        ever=0 if ever is None else ever["count"],
        ever_mean=None if ever is None else ever["sum"] / ever["count"],
    )
