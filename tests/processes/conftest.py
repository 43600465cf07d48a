"""Real processes on one store, by its URL, on the machine's own clock."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import taskyard
from taskyard.yard import Yard
from tests.processes.crew import Crew
from tests.storage import asked_for_by_url, url_of


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """On a disk: what a process that is killed has acknowledged must be on one."""
    with TemporaryDirectory(prefix="taskyard-") as name:
        yield Path(name)


@pytest.fixture(params=asked_for_by_url())
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, tmp_path)


@pytest.fixture
async def crew() -> AsyncIterator[Crew]:
    crew = Crew()
    yield crew
    await crew.end()


@pytest.fixture
async def yard(url: str, crew: Crew) -> AsyncIterator[Yard]:
    """The test's own view of the yard that its children share. When they are gone, its history must hold together."""
    async with taskyard.connect(url, sweeps=False) as yard:
        yield yard
        await crew.end()
        verified = await yard.verify()
        assert verified.ok, str(verified)
