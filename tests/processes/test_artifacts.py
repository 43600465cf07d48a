"""A process that is killed leaves no file behind that anybody sees, and none that stays."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import taskyard
from taskyard.core.units import SECOND, Micros
from taskyard.ledger.clock import SystemClock
from taskyard.yard import Yard
from tests.files import objects_in
from tests.processes.crew import Crew


class Ahead(SystemClock):
    """Two minutes from now, when whoever last cleared away has had their time."""

    def now(self) -> Micros:
        return Micros(super().now() + 120 * SECOND)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "objects"


@pytest.fixture
async def yard(url: str, crew: Crew, folder: Path) -> AsyncIterator[Yard]:
    async with taskyard.connect(url, sweeps=False, artifacts=folder.as_uri()) as yard:
        yield yard
        await crew.end()
        verified = await yard.verify()
        assert verified.ok, str(verified)


async def test_a_process_killed_after_it_stored_a_file_leaves_it_to_be_cleared_away(
    yard: Yard, url: str, crew: Crew, folder: Path
):
    await yard.agents.register("filer")
    timeouts = {"heartbeat_sec": 1, "lease_sec": 2}
    task = await yard.enqueue("code", timeouts=timeouts, retry={"strategy": "immediate"})

    first = await crew.start("filer", url, folder.as_uri())
    lost = (await first.hear())["stored"]
    await first.kill()
    second = await crew.start("filer", url, folder.as_uri())
    kept = (await second.hear())["stored"]
    second.tell(go=True)
    assert await second.hear() == {"completed": task.id}
    await crew.end()
    assert objects_in(folder) == sorted([lost, kept])
    async with taskyard.connect(url, sweeps=False, artifacts=folder.as_uri(), clock=Ahead()) as later:
        await later.host.run_outbox()

    assert [each.id for each in await yard.artifacts.list()] == [kept]
    assert objects_in(folder) == [kept]
