"""Tables that say the same thing twice are compared: each way in which they may disagree is found."""

from pathlib import Path

import pytest

from taskyard.core.changes import Event
from taskyard.core.task import DagId
from taskyard.stores.sqlite import SqliteStore
from tests.stores.given import (
    HERE,
    an_attempt,
    committed,
    completing,
    given_a_running_task,
    given_a_task,
    signalling,
    step,
)
from tests.stores.sqlite.inside import opened

DAMAGE = {
    "delete from definition where seq = 1": "has no definition",
    "delete from task where seq = 1": "definition 1 has no task",
    "delete from task where seq = 2": "attempt 1 of task 2 has no task",
    "delete from ready": "is ready, and cannot be claimed",
    "update ready set rank = rank + 1": "ready row of task 1 is not where the task is",
    "insert into ready values (1, 0, 0, 0, 2)": "ready row of task 2 is not where the task is",
    "update held set version = 0": "held row 3 is not that of its task",
    "delete from name": "does not have its idempotency key",
    "update name set task_seq = 2": "the key k is kept for a task that does not have it",
    "update meta set number = 0; delete from log": "the numbers of tasks or of the log are behind what is stored",
    "update log set owners = owners + 1": "counts [2, 0, 0], and has [1, 0, 0]",
    "update log set ends = 0": "counts [1, 0, 0], and has [1, 1, 0]",
    "update task set log = '' where seq = 1": "has events in log row 1024, and does not look there",
    "update held set log = ''": "and does not look there",
    "update task set log = log || ',99' where seq = 2": "looks for events in [99] of the log, and there are none",
    "delete from task_event": "and does not look there",
    "insert into task_event values (1, 99)": "task 1 looks for events in 99 of the log, and there are none",
    "insert into log_live values (99, 1)": "the owners of log row 99 are counted, and there is no such row",
    "insert into log_live values (1024, 0)": "log row 1024 has another number of owners left than 0",
    "update dag_event set number = 99": "dag_d looks for events in 99 of the log, and there are none",
}


@pytest.fixture
async def damaged(store: SqliteStore, path: Path) -> SqliteStore:
    """A ready task, a completed one and one that is held, with a message; and an event of a DAG."""
    await given_a_task(store, idempotency_key="k")
    running = await given_a_running_task(store)
    await committed(store, changes=(completing(store, running),), attempts=(an_attempt(running, store.now()),))
    held = await step(store, signalling(store, await given_a_running_task(store)))
    at = store.now()
    message = Event("task.message", HERE, held.id, None, at, None, None, 1, None)
    created = Event("dag.created", HERE, None, DagId("dag_d"), at, None, None, None, None)
    await committed(store, events=(message, created))
    assert await store.checks() == []
    return store


@pytest.mark.parametrize("damage", DAMAGE)
async def test_damage_is_found(damaged: SqliteStore, path: Path, damage: str):
    with opened(path) as connection:
        connection.execute(damage)

    problems = await damaged.checks()

    assert [problem for problem in problems if DAMAGE[damage] in problem], problems
