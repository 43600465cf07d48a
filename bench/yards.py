"""Yards to measure on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from random import Random

import taskyard
from taskyard.core.changes import ChangeSet, Committed, NewTask
from taskyard.core.priority import RANK_UNIT
from taskyard.core.task import TaskId
from taskyard.core.transitions import created_event
from taskyard.features.tasks.views import Task, stored_task
from taskyard.yard import Yard

PAYLOAD = {"text": "x" * 180}  # about 200 bytes as JSON
AT_ONCE = 2_000  # tasks of one set


Urls = Callable[[str], str]  # of yards of one store, by a name


def in_files(folder: Path) -> Urls:
    return lambda name: f"sqlite:///{folder / name}.db"


def in_schemas(server: str) -> Urls:
    return lambda name: f"{server}&schema={name}"


def under_prefixes(server: str) -> Urls:
    return lambda name: f"{server}?yard={name}"


@asynccontextmanager
async def a_yard(url: str) -> AsyncGenerator[Yard]:
    async with taskyard.connect(url, sweeps=False) as yard:
        yield yard


async def fill(yard: Yard, number: int, *, lanes: int) -> None:
    """Put in this many tasks, spread over so many lanes.

    One of each lane goes in as users do it, and the others are copies that go straight to the store.
    """
    types = [f"type-{lane}" for lane in range(min(lanes, number))]
    patterns = await yard.enqueue_many([{"type": type_, "payload": PAYLOAD} for type_ in types])
    copies = _copies(patterns, number - len(patterns))
    while tasks := tuple(islice(copies, AT_ONCE)):
        (landed,) = await yard.store.commit([ChangeSet(tasks=tasks, at=yard.now())])
        assert isinstance(landed, Committed)


def _copies(patterns: Sequence[Task], number: int) -> Iterator[NewTask]:
    dice = Random(1)
    for serial in range(number):
        row, asked = stored_task(patterns[serial % len(patterns)])
        task_id = TaskId(f"task_{serial:026}")
        rank = row.rank + dice.randrange(100 * RANK_UNIT)
        hot = row._replace(id=task_id, seq=0, rank=rank)
        definition = asked._replace(id=task_id)
        yield NewTask(hot, definition, created_event(hot, definition.created_by, definition.type))
