"""What is answered about tasks, beside the task itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from taskyard.core.json_value import Json
from taskyard.core.task import Status, TaskId
from taskyard.definition import document
from taskyard.definition.error_view import Refused
from taskyard.definition.view import REST, About, shown, view
from taskyard.features.tasks.task_rows import TaskRow


class Cancelled(NamedTuple):
    task_ids: tuple[TaskId, ...]  # the task itself first; empty where it was cancelled already


@view
class CauseView:
    """One thing that keeps the task from running."""

    kind: str
    words: str
    facts: Annotated[dict[str, Json], REST]


@view
class Why:
    task_id: TaskId
    status: Status
    causes: tuple[CauseView, ...]

    @shown
    def words(self) -> str:
        return "; ".join(cause.words for cause in self.causes)

    def to_dict(self) -> dict[str, Json]:
        return document.write(self)


class Counted(NamedTuple):
    """Tasks that match, by status."""

    counts: Annotated[dict[str, int], About("By status.")]
    more: Annotated[bool, About("There may be others: only so many of the newest were counted.")]


class Relations(NamedTuple):
    """What a task hangs together with."""

    dependencies: list[TaskRow]
    dependents: list[TaskRow]
    children: list[TaskRow]
    parent: TaskRow | None
    rerun_of: TaskRow | None
    reruns: Annotated[list[TaskRow], About("Newest first.")]


class Acted(NamedTuple):
    """What became of everything that matched."""

    task_ids: tuple[TaskId, ...]
    refused: Mapping[TaskId, Refused]
    more: bool  # there may be others that match: call again


class Total(NamedTuple):
    """How long a list is."""

    number: int
    more: bool  # there are more than that
