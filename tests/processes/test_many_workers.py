"""Eight processes share the work, some die and some are late, and every task is completed exactly once."""

import json
import logging
import random
from collections import Counter

import pytest

from taskyard.core.changes import Event
from taskyard.core.task import TaskId
from taskyard.service.yard import Yard
from tests.processes.crew import Crew

logger = logging.getLogger(__name__)
TASKS = 20_000
BULK = 2_000
STEADY = 5
KILLS = 20

pytestmark = pytest.mark.xdist_group("processes")


async def given_work(yard: Yard) -> None:
    # Leases as short as they may be, so that what a killed process held comes back soon.
    fields = {"timeouts": {"heartbeat_sec": 1, "lease_sec": 2}, "retry": {"strategy": "immediate"}, "max_attempts": 100}
    for _ in range(TASKS // BULK):
        await yard.enqueue_many([{"type": "code", "payload": {"number": n}, **fields} for n in range(BULK)])
    # A process that dies with fifty tasks in hand is fifty failures in a row; the breaker is not what is tried here.
    await yard.set_breaker_policy(failure_threshold=TASKS)


async def whole_history(yard: Yard) -> list[Event]:
    history: list[Event] = []
    seq = 0
    while page := await yard.events(after=seq):
        history += [stored.event for stored in page]
        seq = page[-1].seq
    return history


@pytest.mark.timeout(300)
async def test_every_task_is_completed_once_although_workers_are_killed_and_late(yard: Yard, url: str, crew: Crew):
    await given_work(yard)
    agents = [f"steady-{number}" for number in range(STEADY)]
    # Those that fail are one agent: a task that fails under two would be taken for a poison pill.
    for agent in (*agents, "unreliable"):
        await yard.register(agent, max_concurrent_tasks=1000)
    steady = [await crew.start("worker", url, agent) for agent in agents]
    mortal = await crew.start_many(2, "worker", url, "unreliable")
    late = await crew.start("latecomer", url, "unreliable")

    deaths = set(random.sample(range(200, TASKS - 1000), KILLS))
    completed: set[TaskId | None] = set()
    async for stored in yard.tail():
        if stored.event.event == "task.completed":
            completed.add(stored.event.task_id)
            if len(completed) in deaths:
                await mortal.pop(0).kill()
                mortal.append(await crew.start("worker", url, "unreliable"))
        if len(completed) == TASKS:
            break
    last_words = [await worker.dismiss() for worker in (late, *steady, *mortal)]

    assert await yard.stats() == {"completed": {"code": TASKS}}
    history = await whole_history(yard)
    assert Counter(event.task_id for event in history if event.event == "task.completed") == dict.fromkeys(completed, 1)
    assert await yard.store.checks() == []
    # The run counts only if the faults bit: work in hand was lost, and results that came too late were refused.
    lost = Counter(json.loads(event.data or "{}")["reason"] for event in history if event.event == "task.retrying")
    refused = sum(word["refused"] for word in last_words)
    logger.info("%s kills, attempts lost: %s, late results refused: %s", KILLS, dict(lost), refused)
    assert set(lost) == {"heartbeat_timeout"}
    assert lost.total() > refused > 0
