"""Files that change fire the triggers that wait for them, once, and only where a process was told to watch."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import taskyard
import taskyard.app
from taskyard.core.errors import InvalidInput
from taskyard.service.yard import Yard
from taskyard.sources.watching import watch

READ = {"type": "read", "prompt": "{{ file.relative }} {{ file.change }}", "payload": {"size": "{{ file.size }}"}}


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncGenerator[Yard]:
    async with taskyard.connect("memory://") as yard:
        yield yard


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@asynccontextmanager
async def watched(yard: Yard, *folders: Path, times: int = 1) -> AsyncGenerator[None]:
    """So many processes that watch, once they do."""
    stop = asyncio.Event()
    watchers = [asyncio.create_task(watch(yard, folders, stop, debounce_ms=50)) for _ in range(times)]
    try:
        await begun(yard, folders[0])
        yield
    finally:
        stop.set()
        await asyncio.gather(*watchers)


async def begun(yard: Yard, folder: Path) -> None:
    """Wait until a change is seen: what happened before the watch began is not."""
    await yard.add_trigger(
        "begun", "files", settings={"path": str(folder), "patterns": ["*.begun"]}, task={"type": "x"}
    )
    number = 0
    while not await yard.trigger_fires("begun"):
        mark = await yard.mark()
        (folder / f"{number}.begun").touch()
        number += 1
        await yard.changed(mark, 0.1)
    await yard.remove_trigger("begun")


async def fired(yard: Yard, number: int) -> list[str]:
    """What was made, once there is so much of it."""
    mark = await yard.mark()
    while len(made := await yard.find(type="read")) < number:
        mark = await yard.changed(mark, 5)
    return sorted(task.prompt for task in made)


async def given_a_trigger(yard: Yard, folder: Path, **settings: Any) -> None:
    await yard.add_trigger("files", "files", settings={"path": str(folder), **settings}, task=READ)


async def test_a_file_that_comes_makes_a_task_however_many_watch(yard: Yard, inbox: Path):
    await given_a_trigger(yard, inbox, patterns=["*.csv"])
    async with watched(yard, inbox, times=2):
        (inbox / "notes.txt").write_text("none of its business")
        (inbox / "rows.csv").write_text("a,b")
        assert await fired(yard, 1) == ["rows.csv added"]
        (inbox / "rows.csv").write_text("a,b,c,d")
        await fired(yard, 2)

    payloads = [json.loads((await yard.get(task.id)).definition.payload) for task in await yard.find(type="read")]
    assert sorted(payload["size"] for payload in payloads) == [3, 7]


async def test_a_file_that_goes_is_told_of_to_who_asks_for_that(yard: Yard, inbox: Path):
    (inbox / "rows.csv").write_text("a")
    await given_a_trigger(yard, inbox, changes=["deleted"])
    async with watched(yard, inbox):
        (inbox / "rows.csv").unlink()
        assert await fired(yard, 1) == ["rows.csv deleted"]


async def test_who_adds_a_trigger_does_not_decide_what_is_watched(yard: Yard, inbox: Path):
    await given_a_trigger(yard, inbox.parent)
    async with watched(yard, inbox):
        (inbox / "a.csv").write_text("a")
        await begun(yard, inbox)

    assert await yard.find(type="read") == []


async def test_what_is_no_folder_cannot_be_watched(yard: Yard, inbox: Path):
    with pytest.raises(InvalidInput, match="must be a directory"):
        await watch(yard, [inbox / "missing"], asyncio.Event())


@pytest.mark.parametrize("words", [("triggers", "watch", "inbox"), ("serve", "--port", "0", "--watch", "inbox")])
async def test_a_program_watches_until_it_is_told_to_stop(tmp_path: Path, inbox: Path, words: tuple[str, ...]):
    url = f"sqlite:///{tmp_path / 'yard.db'}"
    async with taskyard.connect(url, sweeps=False) as yard:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "taskyard", *words),
            env=os.environ | {"TASKYARD_URL": url},
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
        )
        await begun(yard, inbox)
        process.send_signal(signal.SIGTERM)
        said, _ = await process.communicate()

    assert (process.returncode, b"inbox" in said or b"serves" in said) == (0, True)


async def test_a_folder_that_is_missing_ends_a_server_with_a_word(tmp_path: Path):
    async with taskyard.connect("memory://") as yard:
        with pytest.raises(InvalidInput, match="must be a directory"):
            await taskyard.app.serve(yard, port=0, watch=[tmp_path / "missing"])
