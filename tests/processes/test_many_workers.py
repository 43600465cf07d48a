"""Eight processes share the work, some die and some are late, and every task is completed exactly once.

TASKYARD_KILLED_TASKS   how many there are; the promise was shown with 50,000
"""

import json
import logging
import os
from collections import Counter

import pytest

from taskyard.core.task import TaskId
from taskyard.yard import Yard
from tests.graphs import diamond, every_event, given_a_graph
from tests.processes.crew import Crew
from tests.yards import states_of

logger = logging.getLogger(__name__)
TASKS = int(os.environ.get("TASKYARD_KILLED_TASKS", "200"))
BULK = 1_000
GRAPH = 50  # tasks of one graph, all but two of them between its first and its last
STEADY = 5
MORTAL = 2
ROUNDS = 2  # in each of them all that are mortal die
RISKY = 80  # tasks a round that only those take who die or are late, so that each of them has something in hand

# Leases as short as they may be, so that what a killed process held comes back soon.
FIELDS = {"timeouts": {"heartbeat_sec": 1, "lease_sec": 2}, "retry": {"strategy": "immediate"}, "max_attempts": 100}


async def given_work(yard: Yard) -> None:
    """A quarter of it in graphs."""
    graphs = TASKS // 4 // GRAPH
    for _ in range(graphs):
        await given_a_graph(yard, *(row | FIELDS for row in diamond(GRAPH - 2)))
    for start in range(graphs * GRAPH, TASKS, BULK):
        bulk = range(start, min(start + BULK, TASKS))
        await yard.enqueue_many([{"type": "code", "payload": {"number": n}, **FIELDS} for n in bulk])
    # A process that dies with fifty tasks in hand is fifty failures in a row; the breaker is not what is tried here.
    await yard.breakers.set_policy(failure_threshold=TASKS)


@pytest.mark.timeout(300)
async def test_every_task_is_completed_once_although_workers_are_killed_and_late(yard: Yard, url: str, crew: Crew):
    await given_work(yard)
    steady_ones = [f"steady-{number}" for number in range(STEADY)]
    for agent in steady_ones:
        await yard.agents.register(agent, types=["code"], max_concurrent_tasks=1000)
    # Those that fail are one agent: a task that fails under two would be taken for a poison pill.
    await yard.agents.register("unreliable", max_concurrent_tasks=1000)
    lasting = [await crew.start("latecomer", url, "unreliable")]
    lasting += [await crew.start("worker", url, agent) for agent in steady_ones]

    held = 0
    for _ in range(ROUNDS):
        await yard.enqueue_many([{"type": "risky", **FIELDS}] * RISKY)
        mortal = await crew.start_many(MORTAL, "mortal", url, "unreliable")
        for each in mortal:
            held += (await each.hear())["holds"]
            await each.kill()
    lasting.append(await crew.start("worker", url, "unreliable"))

    completed: set[TaskId | None] = set()
    async for stored in yard.tail():
        if stored.event.event == "task.completed":
            completed.add(stored.event.task_id)
        if len(completed) == TASKS + ROUNDS * RISKY:
            break
    refused = sum([(await each.dismiss())["refused"] for each in lasting])

    assert await states_of(yard) == {"completed": {"code": TASKS, "risky": ROUNDS * RISKY}}
    history = await every_event(yard)
    assert Counter(event.task_id for event in history if event.event == "task.completed") == dict.fromkeys(completed, 1)
    assert await yard.store.checks() == []
    # The run counts only if the faults bit: work in hand was lost, and results that came too late were refused.
    lost = Counter(json.loads(event.data or "{}")["reason"] for event in history if event.event == "task.retrying")
    logger.info("held by the killed: %s, attempts lost: %s, late results refused: %s", held, dict(lost), refused)
    assert set(lost) == {"heartbeat_timeout"}
    assert lost.total() >= held + refused
    assert held >= ROUNDS * MORTAL
    assert refused > 0
