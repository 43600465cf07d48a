"""Scores: who found the result of a task how good. Pure.

A score is a number under a name. Who gives a score twice replaces it. Totals by type, variant and name outlast the
tasks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypedDict

from taskyard.core.agent import RegisteredAgent
from taskyard.core.json_value import Json, compact
from taskyard.core.record_kinds import RecordKind
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.definition import fields

KIND = "score"
TOTALS = "score_totals"
MOST_SCORES = 100  # of one task
LONGEST_NAME = 100
LONGEST_NOTE = 2000
GREATEST = 1e12  # a score, with either sign


class ScoreBody(TypedDict):
    workspace: str
    task_id: str
    name: str
    value: float
    by: str
    note: str
    at: Micros


class TotalsBody(TypedDict):
    type: str
    variant: str | None
    name: str
    count: int
    sum: float


SCORE = RecordKind(KIND, ScoreBody)
SCORE_TOTALS = RecordKind(TOTALS, TotalsBody)


class Maker(NamedTuple):
    """An agent that worked on a task."""

    id: str
    type: str | None
    token: str | None


def value_of(given: object) -> float:
    """The number that is stored; true is 1 and false is 0."""
    if isinstance(given, bool):
        return float(given)
    return fields.number(given, "value", least=-GREATEST, most=GREATEST)


def prefix(workspace: str, task_id: TaskId) -> str:
    """What the ids of all scores of a task begin with."""
    return f"{workspace}/{task_id}/"


def record_id(workspace: str, task_id: TaskId, name: str, by: str) -> str:
    return prefix(workspace, task_id) + compact([name, by])


def totals_id(type_: str, variant: str | None, name: str) -> str:
    return compact([type_, variant, name])


def totals_prefix(type_: str) -> str:
    return compact([type_])[:-1] + ","


def counted(totals: TotalsBody, value: float, before: float | None) -> dict[str, Json]:
    """The totals with one score more, or with the new value of one that is replaced."""
    changed: dict[str, Json] = {"type": totals["type"], "variant": totals["variant"], "name": totals["name"]}
    count, total = totals["count"] + (before is None), totals["sum"] + value - (before or 0.0)
    return {**changed, "count": count, "sum": total}


def is_maker(name: str, scorer: RegisteredAgent | None, makers: Iterable[Maker]) -> bool:
    """Whether an agent worked on the task: itself, its type, or its token. Nobody judges its own output."""
    own = {name} if scorer is None else {name, scorer.type}
    token = None if scorer is None else scorer.token
    return any(each.id in own or each.type in own or (token is not None and each.token == token) for each in makers)
