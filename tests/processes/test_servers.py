"""Clients beyond HTTP go on when a server or a worker is killed, and nothing is lost or done twice."""

import asyncio
import logging
from pathlib import Path
from time import monotonic

import pytest

from taskyard.yard import Yard
from tests.graphs import happened
from tests.processes.crew import Crew, Member
from tests.processes.ledger import all_listen, given_workers
from tests.storage import asked_for_by_url, url_of

logger = logging.getLogger(__name__)
ENOUGH = 30  # tasks that each has completed when the server is killed
SOON = 60.0  # seconds from the kill until everybody works again; 2 on a machine that does nothing else
TASKS = 200

# Leases as short as they may be, so that what a killed process held comes back soon.
FIELDS = {"timeouts": {"heartbeat_sec": 1, "lease_sec": 2}, "retry": {"strategy": "immediate"}, "max_attempts": 100}


@pytest.fixture(params=[name for name in asked_for_by_url() if name == "postgres"] or asked_for_by_url())
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What is tried here is in front of the store, so one of them will do."""
    return url_of(request.param, tmp_path)


async def given_a_server(crew: Crew, url: str) -> tuple[Member, str]:
    server = await crew.start("server", url)
    return server, f"http://127.0.0.1:{(await server.hear())['port']}"


@pytest.mark.timeout(180)
async def test_when_one_of_two_servers_is_killed_its_clients_go_on_with_the_other(yard: Yard, url: str, crew: Crew):
    (first, first_url), (_, second_url) = await given_a_server(crew, url), await given_a_server(crew, url)
    workers = await given_workers(yard, crew, f"{first_url},{second_url}")
    ledgers = list(workers.values())
    await all_listen(ledgers, lambda ledger: len(ledger.completed) >= ENOUGH)

    await first.kill()
    killed = monotonic()
    # Each has one that only it may do, and that was not there before.
    own = [(await yard.enqueue("code", agent=agent)).id for agent in workers]
    await all_listen(ledgers, lambda ledger: not set(own).isdisjoint(ledger.completed))
    took = monotonic() - killed
    await asyncio.gather(*(ledger.listen_to_the_end() for ledger in ledgers))

    stored = [*own, *(task_id for ledger in ledgers for task_id in ledger.stored)]
    completed = [task_id for ledger in ledgers for task_id in ledger.completed]
    logger.info("%s tasks, all at work %.1f s after the kill", len(stored), took)
    assert took < SOON
    assert sorted(completed) == sorted(stored)
    assert await happened(yard, "task.created") == dict.fromkeys(stored, 1)
    assert await happened(yard, "task.completed") == dict.fromkeys(stored, 1)


@pytest.mark.timeout(120)
async def test_what_a_killed_worker_had_in_hand_is_done_by_another(yard: Yard, url: str, crew: Crew):
    _, server_url = await given_a_server(crew, url)
    # A process that dies with many tasks in hand is as many failures in a row; the breaker is not what is tried here.
    await yard.breakers.set_policy(failure_threshold=TASKS)
    for agent in ("mortal", "steady"):
        await yard.agents.register(agent, max_concurrent_tasks=TASKS)
    tasks = [task.id for task in await yard.enqueue_many([{"type": "code", **FIELDS}] * TASKS)]
    mortal = await crew.start("puppet", server_url)
    in_hand = await mortal.ask("claim", agent_id="mortal", count=TASKS // 2, start=True)

    await mortal.kill()
    steady = await crew.start("worker", server_url, "steady")
    completed: set[str | None] = set()
    async for stored in yard.tail():
        if stored.event.event == "task.completed":
            completed.add(stored.event.task_id)
        if len(completed) == TASKS:
            break
    await steady.dismiss()

    assert len(in_hand) == TASKS // 2
    assert await happened(yard, "task.completed") == dict.fromkeys(tasks, 1)
    assert await happened(yard, "task.retrying") == dict.fromkeys((each["id"] for each in in_hand), 1)
