"""Files that change fire the triggers that wait for them, once, and only where a process was told to watch."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import taskyard
import taskyard.app
from taskyard.core.errors import InvalidInput
from taskyard.features.verify.health import findings
from taskyard.worker.triggers import file_watcher
from taskyard.worker.triggers.file_watcher import watch
from taskyard.yard import Yard

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
    await yard.triggers.add(
        "begun", "files", settings={"path": str(folder), "patterns": ["*.begun"]}, task={"type": "x"}
    )
    number = 0
    while not await yard.triggers.fires("begun"):
        mark = await yard.mark()
        (folder / f"{number}.begun").touch()
        number += 1
        await yard.changed(mark, 0.1)
    await yard.triggers.remove("begun")


async def fired(yard: Yard, number: int) -> list[str]:
    """What was made, once there is so much of it."""
    mark = await yard.mark()
    while len(made := await yard.find(type="read")) < number:
        mark = await yard.changed(mark, 5)
    return sorted(task.prompt for task in made)


async def given_a_trigger(yard: Yard, folder: Path, **settings: Any) -> None:
    await yard.triggers.add("files", "files", settings={"path": str(folder), **settings}, task=READ)


async def test_a_file_that_comes_makes_a_task_however_many_watch(yard: Yard, inbox: Path):
    await given_a_trigger(yard, inbox, patterns=["*.csv"])
    async with watched(yard, inbox, times=2):
        (inbox / "notes.txt").write_text("none of its business")
        (inbox / "rows.csv").write_text("a,b")
        assert await fired(yard, 1) == ["rows.csv added"]
        (inbox / "rows.csv").write_text("a,b,c,d")
        await fired(yard, 2)

    payloads = [(await yard.get(task.id)).payload for task in await yard.find(type="read")]
    assert sorted(payload["size"] for payload in payloads) == [3, 7]


async def test_a_file_that_goes_is_reported_to_who_asks_for_that(yard: Yard, inbox: Path):
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
async def test_a_program_watches_until_it_is_asked_to_stop(tmp_path: Path, inbox: Path, words: tuple[str, ...]):
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


# Whatever happens in a watched folder


def given_a_link_to_itself(folder: Path) -> None:
    (folder / "loop").symlink_to(folder / "loop")


def given_a_name_that_is_no_text(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe.csv")).write_text("x")


def given_a_path_over_a_thousand_letters(folder: Path) -> None:
    deep = folder.joinpath(*["d" * 200] * 6)
    deep.mkdir(parents=True)
    (deep / "rows.csv").write_text("x")


def given_a_folder_that_becomes_a_file(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "a.csv").write_text("x")
    (folder / "sub" / "a.csv").unlink()
    (folder / "sub").rmdir()
    (folder / "sub").write_text("x")


def given_a_time_after_the_last_year(folder: Path) -> None:
    (folder / "late.csv").write_text("x")
    os.utime(folder / "late.csv", (4e11, 4e11))  # some file systems keep an earlier one


@pytest.mark.parametrize(
    ("strange", "failures"),
    [
        (given_a_link_to_itself, 0),
        (given_a_name_that_is_no_text, 1),  # which the system's own watcher does not survive
        (given_a_path_over_a_thousand_letters, 0),
        (given_a_folder_that_becomes_a_file, 0),
        (given_a_time_after_the_last_year, 0),
    ],
)
async def test_a_strange_entry_is_skipped_and_the_others_are_seen(
    yard: Yard, inbox: Path, strange: Callable[[Path], None], failures: int, caplog: pytest.LogCaptureFixture
):
    await given_a_trigger(yard, inbox)
    async with watched(yard, inbox):
        strange(inbox)
        (inbox / "good.csv").write_text("a")
        while "good.csv added" not in await fired(yard, 1):
            await yard.changed(await yard.mark(), 0.5)

    assert caplog.text.count("is started again") == failures
    assert strange is not given_a_link_to_itself or "skipped" in caplog.text


async def test_a_watched_folder_that_becomes_a_file_is_an_error_until_it_is_a_folder_again(
    tmp_path: Path, inbox: Path, caplog: pytest.LogCaptureFixture
):
    async with taskyard.connect(f"sqlite:///{tmp_path / 'yard.db'}", sweeps=False) as yard:
        async with watched(yard, inbox):
            replaced_by_a_file(inbox)
            figures = await figures_with_failed_watchers(yard)
            assert [each.name for each in findings(figures) if not each.ok] == ["failed_watchers"]
            assert "no directory any more" in caplog.text
            replaced_by_a_folder(inbox)
            mark = await yard.mark()
            while "failed_watchers" in await yard.health():
                mark = await yard.changed(mark, 0.2)
            await begun(yard, inbox)

        assert "failed_watchers" not in await yard.health()


class FailingUntilMended:
    """The look at a folder, which raises until somebody mends it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._look = file_watcher._identity  # pyright: ignore[reportPrivateUsage]
        self.is_mended = False
        monkeypatch.setattr(file_watcher, "_identity", self.look)

    def look(self, root: Path) -> tuple[int, int] | None:
        if not self.is_mended:
            raise RuntimeError("out of inotify watches")
        return self._look(root)


async def test_a_watcher_that_fails_is_a_finding_of_doctor_until_it_watches_again(
    yard: Yard, inbox: Path, monkeypatch: pytest.MonkeyPatch
):
    failing = FailingUntilMended(monkeypatch)
    stop = asyncio.Event()
    watcher = asyncio.create_task(watch(yard, [inbox], stop, debounce_ms=50))
    figures = await figures_with_failed_watchers(yard)
    (finding,) = [each for each in findings(figures) if not each.ok]
    failing.is_mended = True
    await begun(yard, inbox)

    assert "RuntimeError: out of inotify watches" in finding.words
    assert "failed_watchers" not in await yard.health()
    stop.set()
    await watcher


async def test_a_watcher_that_fails_is_named_by_healthz_until_it_watches_again(
    tmp_path: Path, inbox: Path, monkeypatch: pytest.MonkeyPatch
):
    failing = FailingUntilMended(monkeypatch)
    up = asyncio.get_running_loop().create_future()
    async with taskyard.connect(f"sqlite:///{tmp_path / 'yard.db'}", sweeps=False) as yard, httpx.AsyncClient() as http:
        server = asyncio.create_task(
            taskyard.app.serve(yard, port=0, watch=[inbox], on_up=lambda address, _: up.set_result(address))
        )
        address = await up
        await figures_with_failed_watchers(yard)
        failed = (await http.get(f"{address}/healthz")).json()
        failing.is_mended = True
        await begun(yard, inbox)
        watching = (await http.get(f"{address}/healthz")).json()
        os.kill(os.getpid(), signal.SIGTERM)  # which asks this server to stop
        await server

    assert failed == {"ok": True, "problems": ["files: a folder is not being watched"]}
    assert watching == {"ok": True, "problems": []}


async def figures_with_failed_watchers(yard: Yard) -> Mapping[str, Any]:
    async with asyncio.timeout(30):
        mark = await yard.mark()
        while "failed_watchers" not in (figures := await yard.health()):
            mark = await yard.changed(mark, 0.2)
        return figures


async def test_a_watcher_that_fails_is_started_again(
    yard: Yard, inbox: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    real, failures = file_watcher._identity, ["once"]  # pyright: ignore[reportPrivateUsage]

    def failing(root: Path) -> tuple[int, int] | None:
        if failures:
            raise RuntimeError(failures.pop())
        return real(root)

    monkeypatch.setattr(file_watcher, "_identity", failing)
    await given_a_trigger(yard, inbox)
    async with watched(yard, inbox):
        (inbox / "rows.csv").write_text("a")
        await fired(yard, 1)

    assert "is started again" in caplog.text


def replaced_by_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("a file")


def replaced_by_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()
