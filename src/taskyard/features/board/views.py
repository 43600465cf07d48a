"""What is answered about the board."""

from __future__ import annotations

from typing import Annotated

from taskyard.definition.view import About, Time, view
from taskyard.features.tasks.task_rows import TaskRow


@view
class BoardCard:
    """A task on the board."""

    lane: str | None
    standing: Annotated[
        float, About("Priority with what age, deadline and dependents add to it: the lowest is claimed first.")
    ]
    task: TaskRow


@view
class BoardColumn:
    """The tasks in some states: how many there are, and the cards that are shown of them."""

    name: Annotated[str, About("waiting, ready, running, validating, done or dead.")]
    statuses: tuple[str, ...]
    count: int
    more: Annotated[bool, About("There are more than `count`: no more were counted.")]
    cards: Annotated[tuple[BoardCard, ...], About("In order; `limit` at most, or so many of each lane.")]


@view
class BoardLane:
    name: Annotated[str | None, About("`null`: tasks of no agent, or about no subject.")]
    counts: Annotated[dict[str, int], About("Tasks that were read, by column.")]


@view
class Board:
    """Tasks as cards: columns by state, and lanes where they were asked for."""

    at: Time
    lanes_by: str | None
    columns: tuple[BoardColumn, ...]
    lanes: tuple[BoardLane, ...]
    lanes_left_out: int
