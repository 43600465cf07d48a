"""A half-open breaker lets one probe through, whichever of several processes is the quickest."""

import asyncio
from typing import Any

from taskyard.yard import Yard
from tests.processes.crew import Crew, Member

PROCESSES = 4
ROUNDS = 3


async def claim_all_at_once(puppets: list[Member], wait_sec: float = 0) -> list[tuple[Member, dict[str, Any]]]:
    """Everybody tries at the same moment. Who got what."""
    answers = await asyncio.gather(
        *(puppet.ask("claim", agent_id="worker", count=10, start=True, wait_sec=wait_sec) for puppet in puppets)
    )
    return [(puppet, held) for puppet, answer in zip(puppets, answers, strict=True) for held in answer]


async def race_for_the_probe(puppets: list[Member]) -> list[tuple[Member, dict[str, Any]]]:
    """Try again and again, until the breaker half-opens."""
    async with asyncio.timeout(30):
        while not (got := await claim_all_at_once(puppets, wait_sec=0.5)):
            pass
    return got


async def test_one_probe_is_let_through_across_processes(yard: Yard, url: str, crew: Crew):
    await yard.breakers.set_policy(failure_threshold=1, half_open_after_sec=1)
    await yard.agents.register("worker", max_concurrent_tasks=1000)
    await yard.enqueue_many([{"type": "code", "retry": {"strategy": "immediate"}} for _ in range(100)])
    puppets = await crew.start_many(PROCESSES, "puppet", url)
    (held,) = await yard.claim("worker", start=True)
    await yard.fail(held.id, held.lease, "crash")

    for _ in range(ROUNDS):
        ((puppet, probe),) = await race_for_the_probe(puppets)
        assert await claim_all_at_once(puppets) == [], "a second probe was let through beside the first"
        await puppet.ask("fail", task_id=probe["id"], lease=probe["lease"], reason="crash")
    ((puppet, probe),) = await race_for_the_probe(puppets)
    await puppet.ask("complete", task_id=probe["id"], lease=probe["lease"])

    assert len(await claim_all_at_once(puppets)) > PROCESSES


async def test_the_probe_of_a_killed_process_is_followed_by_another(yard: Yard, url: str, crew: Crew):
    await yard.breakers.set_policy(failure_threshold=1, half_open_after_sec=1)
    await yard.agents.register("worker", max_concurrent_tasks=1000)
    timeouts = {"heartbeat_sec": 1, "lease_sec": 2}
    await yard.enqueue_many([{"type": "code", "timeouts": timeouts} for _ in range(100)])
    puppets = await crew.start_many(PROCESSES, "puppet", url, "sweeps")
    (held,) = await yard.claim("worker", start=True)
    await yard.fail(held.id, held.lease, "crash")

    ((puppet, lost),) = await race_for_the_probe(puppets)
    await puppet.kill()
    puppets.remove(puppet)
    ((_, probe),) = await race_for_the_probe(puppets)

    assert probe["id"] != lost["id"]
    assert [attempt.reason for attempt in (await yard.get(lost["id"])).attempts] == ["heartbeat_timeout"]


async def test_one_worker_that_is_killed_with_five_tasks_does_not_close_their_type(yard: Yard, url: str, crew: Crew):
    await yard.agents.register("doomed", max_concurrent_tasks=5)
    timeouts = {"heartbeat_sec": 1, "lease_sec": 2}
    tasks = await yard.enqueue_many([{"type": "code", "timeouts": timeouts} for _ in range(5)])
    doomed = await crew.start("puppet", url)
    assert len(await doomed.ask("claim", agent_id="doomed", count=5, start=True)) == 5

    await doomed.kill()
    await crew.start("puppet", url, "sweeps")
    left = {task.id for task in tasks}
    async with asyncio.timeout(30):
        async for stored in yard.tail():
            if stored.event.event == "task.retrying":
                left.discard(stored.event.task_id or "")
            if not left:
                break

    await yard.agents.register("successor")
    await yard.enqueue("code")
    assert len(await yard.claim("successor")) == 1
