"""What is answered about scores."""

from __future__ import annotations

from typing import Annotated

from taskyard.core.changes import Record
from taskyard.core.task import TaskId
from taskyard.definition.view import About, Time, view
from taskyard.features.scores.rules import SCORE


@view
class ScoreView:
    """How good somebody found the result of a task."""

    task_id: TaskId
    name: str
    value: float
    by: Annotated[str, About("Who gave the score.")]
    note: str
    at: Time


def score_view(record: Record) -> ScoreView:
    body = SCORE.of(record)
    return ScoreView(
        task_id=TaskId(body["task_id"]),
        name=body["name"],
        value=body["value"],
        by=body["by"],
        note=body["note"],
        at=body["at"],
    )


@view
class Figure:
    """A mean or a rate with its 95 % interval: Student's t for means, Wilson's for rates."""

    mean: float | None
    low: float | None
    high: float | None


@view
class ScoreFigure:
    """A score of a variant: the mean of its tasks' values, with its 95 % interval."""

    name: str
    count: Annotated[int, About("Tasks that have the score. Several scores of one task count as their mean.")]
    mean: float | None
    low: float | None
    high: float | None
    ever: Annotated[int, About("Scores that were ever given, also to tasks that are pruned.")]
    ever_mean: float | None


@view
class VariantFigures:
    """What is known of the tasks of a variant."""

    name: Annotated[str | None, About("`null`: tasks without a variant.")]
    tasks: int
    ended: int
    completed: int
    rate: Annotated[Figure, About("Of the tasks that ended: how many were completed.")]
    failures: Annotated[dict[str, int], About("Failed attempts, by reason.")]
    total_cost: Annotated[float, About("Dollars.")]
    cost: Annotated[Figure, About("Dollars for each task that ended.")]
    p50_sec: Annotated[float | None, About("How long the attempts of a task that ended worked.")]
    p95_sec: float | None
    scores: tuple[ScoreFigure, ...]


@view
class VariantDifference:
    """How much a variant is above the first one in one measure."""

    measure: Annotated[str, About("completed, cost, seconds, or the name of a score.")]
    variant: str | None
    base: str | None
    difference: float | None
    low: float | None
    high: float | None
    is_more_than_chance: Annotated[bool, About("The 95 % interval of the difference leaves 0 out.")]
    words: str


@view
class VariantReport:
    """The variants of a type beside each other."""

    type: str
    since: Annotated[Time, About("Tasks that were put in after this time are counted.")]
    tasks: Annotated[int, About("Tasks that were read.")]
    is_cut: Annotated[bool, About("There are more tasks or scores than were read: the newest are counted.")]
    variants: tuple[VariantFigures, ...]
    differences: tuple[VariantDifference, ...]
