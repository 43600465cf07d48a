"""Processes that were started with different flags follow the preset that is stored."""

import asyncio

import pytest

import taskyard
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Status
from taskyard.yard import Yard
from tests.processes.crew import Crew


async def test_a_process_without_the_flag_hands_out_and_takes_back_by_the_stored_preset(
    yard: Yard, url: str, crew: Crew
):
    producer = await crew.start("puppet", url, "loki")
    put = {"type": "eng-backend", "payload": {"n": 1}, "timeouts": {"lease_sec": 2}}
    task = await producer.ask("enqueue", **put)
    worker = await crew.start("puppet", url, "sweeps")
    await yard.agents.register("marketing", capabilities=["biz-marketing"])
    await yard.agents.register("backend", capabilities=["eng-backend"])

    assert (await worker.ask("enqueue", **put))["id"] == task["id"]
    assert await worker.ask("claim", agent_id="marketing") == []
    (held,) = await worker.ask("claim", agent_id="backend")
    assert held["id"] == task["id"]
    async with asyncio.timeout(30):  # the worker's sweep takes it back
        while (lost := await yard.get(task["id"])).status is not Status.READY:
            await yard.changed(await yard.mark(), 0.2)
    assert [attempt.counted for attempt in lost.attempts] == [False]
    with pytest.raises(InvalidInput, match="must be loki"):
        async with taskyard.connect(url, preset="standard", sweeps=False):
            pass
