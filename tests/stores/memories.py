"""Ends of tasks that people look up in the store itself: remembered, left out, refused, and not looked at yet."""

import asyncio
from typing import Any

from taskyard.core.changes import ChangeSet, Committed, RecordChange
from taskyard.core.json_value import Json
from taskyard.core.task import Status
from taskyard.features.memory.rules import CURSOR
from taskyard.ledger.options import Options
from taskyard.stores.contract import Store
from taskyard.yard import Yard, local_yard

Rows = list[tuple[Any, ...]]


async def given_memories(store: Store) -> tuple[Rows, Rows]:
    """What the calls answer, oldest first: agent events, and embedding jobs."""
    yard = local_yard(store, Options(sweeps=False, dice=lambda: 0.5, embedder="hash:"))
    await yard.agents.register("worker", keep=True, max_concurrent_tasks=20)
    await yard.memory.set_policy(remember=True, types={"chat": False})
    await _given_ends(yard, "research", 3)
    await _given_ends(yard, "chat", 1)
    await yard.memory.catch_up()
    refused = await _given_ends(yard, "chat", 1)
    await yard.memory.catch_up()
    await _refuse(store, refused[0])
    await _given_a_death(yard)
    dag = await yard.submit({"title": "a graph", "tasks": [{"name": "a", "type": "research"}]})
    await _complete_all(yard)
    events, jobs = await yard.memory.agent_events(), await yard.memory.embedding_jobs()
    found = [job.status.value for job in reversed(jobs)]
    assert found == [*["completed"] * 3, "failed", *["pending"] * 2], found
    homes = {task.id: dag.id for task in dag.tasks.values()}
    home_of = {each.task_id: homes.get(each.task_id, each.task_id.replace("task_", "dag_")) for each in events}
    return (
        [
            (each.id, "default", home_of[each.task_id], each.task_id, each.event, each.agent_name, each.attempt)
            for each in reversed(events)
        ],
        [(each.id, "default", each.task_id, each.embedder, each.status.value, each.error) for each in reversed(jobs)],
    )


async def _given_ends(yard: Yard, type_: str, number: int) -> list[str]:
    made = await yard.enqueue_many([{"type": type_, "title": f"{type_} {each}"} for each in range(number)])
    await _complete_all(yard)
    return [task.id for task in made]


async def _complete_all(yard: Yard) -> None:
    held = await yard.claim("worker", count=10, start=True)
    await asyncio.gather(*(yard.complete(task.id, task.lease) for task in held))  # in one row of the log


async def _given_a_death(yard: Yard) -> None:
    await yard.enqueue("research", max_attempts=1)
    (held,) = await yard.claim("worker", start=True)
    failed = await yard.fail(held.id, held.lease, "auth_failure", "the key was refused")
    assert failed.status is Status.DEAD_LETTERED


async def _refuse(store: Store, task_id: str) -> None:
    """As where an embedder never takes the text of a task."""
    (cursor,) = await store.records(CURSOR)
    refused: list[Json] = [{"workspace": "default", "task_id": task_id, "problem": "it is too long"}]
    change = RecordChange(*cursor[:4], {**cursor.body, "refused": refused})
    (done,) = await store.commit([ChangeSet(records=(change,), at=store.now())])
    assert isinstance(done, Committed)
