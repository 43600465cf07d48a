"""Two processes of one machine whose clocks disagree by an hour."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import taskyard
from taskyard.core.units import SECOND
from taskyard.yard import Yard
from tests.processes.crew import Crew
from tests.storage import asked_for_in_a_file, url_of


@pytest.fixture(params=asked_for_in_a_file())
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, tmp_path)


@pytest.mark.parametrize("ahead", [3600, -3600])
async def test_work_of_a_process_with_a_wrong_clock_that_died_is_taken_back(
    url: str, yard: Yard, crew: Crew, ahead: int
):
    wrong = await crew.start("puppet", url, f"ahead={ahead}")
    await yard.agents.register("worker")
    timeouts: dict[str, Any] = {"lease_sec": 2, "heartbeat_sec": 1}
    task = await wrong.ask("enqueue", type="code", timeouts=timeouts)
    await wrong.ask("claim", agent_id="worker", start=True)
    await wrong.kill()
    began = yard.now()

    async with asyncio.timeout(30):
        while (await yard.get(task["id"])).status is taskyard.Status.RUNNING:
            await yard.sweep()
            await yard.changed(await yard.mark(), 0.2)

    assert (await yard.get(task["id"])).status is taskyard.Status.RETRYING
    assert yard.now() - began >= (SECOND if ahead > 0 else 0)
