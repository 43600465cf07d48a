"""The yard in a process of its own: `python -m tests.stores.sqlite.another_process VERB PATH NAME`."""

import asyncio
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from taskyard.core.task import TaskId
from taskyard.ledger.clock import SystemClock
from taskyard.stores.contract import Store
from taskyard.stores.sqlite import SqliteStore
from tests.stores.given import a_new_task, committed
from tests.stores.plans import a_plan, take


def say(task_id: TaskId) -> None:
    sys.stdout.write(f"{task_id}\n")
    sys.stdout.flush()


def own_ids(name: str) -> Iterator[TaskId]:
    return (TaskId(f"task_{name}_{number:05}") for number in count())


async def share(store: Store, ids: Iterator[TaskId]) -> None:
    """Put in fifty tasks, then take what there is, whoever put it in; say what was taken."""
    for _ in range(50):
        await committed(store, tasks=(await a_new_task(store, id=next(ids)),))
    while taken := (await take(store, await a_plan(store, tasks=7))).tasks:
        for task in taken:
            say(task.id)


async def write(store: Store, ids: Iterator[TaskId]) -> None:
    """Put in one task after the other until killed; say each once it is stored."""
    for task_id in ids:
        await committed(store, tasks=(await a_new_task(store, id=task_id),))
        say(task_id)


async def main(verb: str, path: str, name: str) -> None:
    store = SqliteStore(Path(path), clock=SystemClock())
    await store.open()
    await {"share": share, "write": write}[verb](store, own_ids(name))
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
