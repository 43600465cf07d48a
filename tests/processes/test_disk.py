"""A disk that takes no more is told, and loses nothing that was acknowledged."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import taskyard
from tests.processes.crew import Crew
from tests.storage import asked_for_in_a_file, url_of

ROOM = 1_000_000  # bytes


@pytest.fixture(params=asked_for_in_a_file())
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, tmp_path)


@pytest.fixture
def file(url: str) -> Path:
    return Path(unquote(urlsplit(url).path.removeprefix("/")))


@contextmanager
def only_to_be_read(file: Path) -> Generator[None]:
    mode = file.stat().st_mode
    file.chmod(0o444)
    yield
    file.chmod(mode)


async def test_a_file_that_may_not_grow_is_reported_and_everything_acknowledged_is_there(url: str, crew: Crew):
    cramped = await crew.start("cramped", url, ROOM)
    stored: list[str] = []
    while "stored" in (heard := await cramped.hear()):
        stored.append(heard["stored"])
    assert len(stored) > 10
    assert heard["refused"] in ("store_unavailable", "store_full")
    assert url.rpartition("/")[2] in heard["words"], "the refusal does not say which file it is about"

    # Without a restart, once there is room again.
    cramped.tell(go=True)
    stored.append((await cramped.hear())["stored"])
    await cramped.kill()

    async with taskyard.connect(url, sweeps=False) as yard:
        verified = await yard.verify()
        assert verified.ok, str(verified)
        assert verified.tasks == len(stored)
        for task_id in stored:
            assert (await yard.get(task_id)).status is taskyard.Status.READY


async def test_a_file_that_may_only_be_read_is_reported_and_keeps_what_it_has(url: str, file: Path, crew: Crew):
    async with taskyard.connect(url, sweeps=False) as yard:
        await yard.agents.register("worker")
        task = await yard.enqueue("code")

    with only_to_be_read(file):
        reader = await crew.start("puppet", url, "unprivileged")
        assert await reader.refusal("enqueue", type="code") == "store_read_only"
        assert await reader.refusal("claim", agent_id="worker") == "store_read_only"
        assert await reader.refusal("cancel", task_id=task.id) == "store_read_only"
        assert [found["id"] for found in await reader.ask("find")] == [task.id]
        await reader.kill()

    async with taskyard.connect(url, sweeps=False) as yard:
        assert (await yard.get(task.id)).status is taskyard.Status.READY
        assert (await yard.verify()).ok
