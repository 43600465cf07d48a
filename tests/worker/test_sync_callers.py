"""The same calls without await."""

import asyncio
import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import taskyard
from taskyard import portal as portals
from taskyard.features.artifacts import content
from tests.local_only import NEED_THE_STORE


def test_a_plain_program_puts_work_in_and_looks_at_it(tmp_path: Path) -> None:
    with taskyard.connect_sync(f"sqlite:///{tmp_path / 'yard.db'}") as yard:
        task = yard.enqueue("code", prompt="do it")
        yard.agents.register("me")
        (held,) = yard.claim("me", start=True)
        yard.complete(held.id, held.lease, {"ok": True})

        assert yard.get(task.id).result == {"ok": True}
        assert next(iter(yard.tail())).event.event == "task.created"
        assert yard.verify().ok


def test_errors_reach_the_caller_as_they_are(tmp_path: Path) -> None:
    with taskyard.connect_sync(f"sqlite:///{tmp_path / 'yard.db'}") as yard, pytest.raises(taskyard.NotFound):
        yard.get("task_01J00000000000000000000000")


def verbs(yard: object, *, of: str = "") -> dict[str, Callable[..., Any]]:
    """Whatever can be called on a yard and on its nouns, by name."""
    found: dict[str, Callable[..., Any]] = {}
    for name, part in inspect.getmembers(yard):
        if name.startswith("_") or name in NOT_VERBS:
            continue
        if inspect.isroutine(part):
            found[of + name] = part
        elif not of and type(part).__module__.startswith("taskyard."):
            found |= verbs(part, of=f"{name}.")
    return found


async def test_every_verb_of_a_yard_is_there_without_await() -> None:
    async with taskyard.connect("memory://", sweeps=False) as yard:
        awaited = verbs(yard)
    with taskyard.connect_sync("memory://", sweeps=False) as waiting:
        waited = verbs(waiting)

    assert awaited.keys() - waited.keys() == NOT_WITHOUT_AWAIT
    assert waited.keys() - awaited.keys() == set()
    for name, call in waited.items():
        assert inspect.signature(call) == inspect.signature(awaited[name]), name
        assert not inspect.iscoroutinefunction(call), name
        assert not inspect.isasyncgenfunction(call), name


# What a yard is made of and where it is connected to, and what its maker alone does with it.
NOT_VERBS = {"host", "local", "on_store", "store", "options", "open", "close", "twin", "beside", "manual_clock", "pace"}
# Verbs that need the store itself, and that plain programs have all the same.
WAIT_TOO = {"health", "memory.catch_up"}
# `work` goes on until the process is asked to stop.
NOT_WITHOUT_AWAIT = (NEED_THE_STORE - WAIT_TOO) | {"work"}

UPLOAD = """
import os, sys, threading
import taskyard

folder = sys.argv[1]
yard = taskyard.connect_sync(f"sqlite:///{folder}/yard.db", artifacts=f"file://{folder}/files")
with yard:
    reading, writing = os.pipe()  # nobody ever writes to it

    def upload():
        try:
            yard.artifacts.put("endless", os.fdopen(reading, "rb"))
        except BaseException as error:
            print(type(error).__name__, flush=True)

    uploading = threading.Thread(target=upload)
    uploading.start()
    while not any(thread.name == "taskyard reads a pipe" for thread in threading.enumerate()):
        pass
uploading.join()
print("closed", flush=True)
"""


def test_closing_ends_an_upload_of_another_thread_and_the_process_ends(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UPLOAD, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout.split()) == (0, ["CancelledError", "closed"]), done.stderr
    assert [each for each in (tmp_path / "files").rglob("*") if each.is_file()] == []


def test_a_pipe_by_its_name_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with (
        taskyard.connect_sync(f"sqlite:///{tmp_path / 'yard.db'}", artifacts=f"file://{tmp_path}/files") as yard,
        pytest.raises(taskyard.InvalidInput, match="not a pipe or a device"),
    ):
        yard.artifacts.put("x", pipe)


def test_closing_does_not_wait_for_ever_for_what_swallows_its_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portals, "PATIENCE", 0.1)
    portal, go_on = portals.Portal(), threading.Event()

    async def stubborn() -> None:
        while not go_on.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    async def begin() -> asyncio.Task[None]:
        return asyncio.create_task(stubborn())

    begun = portal.call(begin())
    closing = threading.Thread(target=portal.close, daemon=True)
    closing.start()
    closing.join(20)

    assert not closing.is_alive()
    assert not begun.done()
    go_on.set()


def test_a_file_is_read_without_a_thread_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def apart(*_: object) -> bytes:
        raise AssertionError("a thread was made")

    monkeypatch.setattr(content, "_apart", apart)
    file = tmp_path / "file"
    file.write_bytes(b"content")

    with taskyard.connect_sync("memory://") as yard:
        assert yard.artifacts.put("x", file).size == 7
