"""A worker that was stopped for longer than its lease, and goes on as if nothing had happened, is refused."""

import signal

import pytest

from taskyard.core.task import Status
from taskyard.features.tasks.views import Held
from taskyard.yard import Yard
from tests.processes.crew import Crew


async def taken_back(yard: Yard, task_id: str) -> None:
    async for stored in yard.tail():
        if stored.event.task_id == task_id and stored.event.event == "task.retrying":
            return


async def successor(yard: Yard) -> Held:
    (held,) = await yard.claim("successor", start=True)
    return held


@pytest.mark.parametrize("by_then", [Status.READY, Status.RUNNING, Status.COMPLETED])
async def test_a_stopped_worker_that_goes_on_after_its_lease_is_refused(
    yard: Yard, url: str, crew: Crew, by_then: Status
):
    for agent in ("zombie", "successor"):
        await yard.agents.register(agent)
    timeouts = {"heartbeat_sec": 1, "lease_sec": 2}
    task = await yard.enqueue("code", timeouts=timeouts, retry={"strategy": "immediate"})
    zombie = await crew.start("puppet", url)
    sweeper = await crew.start("puppet", url, "sweeps")
    (held,) = await zombie.ask("claim", agent_id="zombie", start=True)

    zombie.signal(signal.SIGSTOP)
    await taken_back(yard, task.id)
    await sweeper.kill()  # so that the successor may take its time
    if by_then is not Status.READY:
        taken = await successor(yard)
        if by_then is Status.COMPLETED:
            await yard.complete(taken.id, taken.lease, "in time")
    before = (await yard.get(task.id)).to_dict()
    zombie.signal(signal.SIGCONT)

    mine = {"task_id": held["id"], "lease": held["lease"]}
    assert await zombie.refusal("complete", **mine, output="late") == "lease_lost"
    assert await zombie.refusal("fail", **mine, reason="crash") == "lease_lost"
    assert await zombie.refusal("release", **mine) == "lease_lost"
    assert await zombie.refusal("attempts.checkpoint", **mine, name="step", data=1) == "lease_lost"
    assert (await zombie.ask("heartbeat", **mine))["words"] == ["lease_lost"]
    assert (await yard.get(task.id)).to_dict() == before
    assert before["status"] == by_then.value
