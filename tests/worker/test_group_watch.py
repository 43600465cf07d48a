"""The watchdog over the programs of this process: when it begins, when it ends, and what may happen to it."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import taskyard
from taskyard.worker.command import Command, command_agent
from taskyard.worker.isolation import group_watch, watchdog
from taskyard.worker.isolation.programs import end, started, watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
FOREVER = ("sleep", "600")
GONE = 2**22 - 1  # no process has this number
FOR_THE_WORKER = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


others = set[int]()  # children of the process that runs the tests: servers that all tests share, and the like


@pytest.fixture(autouse=True)
async def parted() -> AsyncIterator[None]:
    await watch.part()
    others.clear()
    others.update(watchdogs())
    yield
    await watch.part()
    assert watchdogs() == []


def ignores(process: int, number: int) -> bool:
    (line,) = (each for each in Path(f"/proc/{process}/status").read_text().splitlines() if each.startswith("SigIgn:"))
    return bool(int(line.split()[1], 16) >> (number - 1) & 1)


def watchdogs() -> list[int]:
    """The watchdogs of this process, also as zombies."""
    found: list[int] = []
    for thread in Path("/proc/self/task").iterdir():
        for child in (thread / "children").read_text().split():
            stat = Path(f"/proc/{child}/stat").read_text()
            is_python = "python" in stat or "watchdog.py" in Path(f"/proc/{child}/cmdline").read_text()
            if is_python and int(child) not in others:
                found.append(int(child))
    return found


async def test_many_programs_at_once_have_one_watchdog():
    programs = await asyncio.gather(*(started(*FOREVER) for _ in range(20)))

    assert len(watchdogs()) == 1
    await asyncio.gather(*(end(each) for each in programs))


async def test_a_start_that_is_cancelled_leaves_nothing_of_the_program():
    reading, writing = os.pipe()
    for turns in range(4):
        starting = asyncio.create_task(started("sh", "-c", "sleep 600 & sleep 600", stdout=writing))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(starting, 30)
    os.close(writing)

    assert await asyncio.to_thread(os.read, reading, 1) == b""
    os.close(reading)


async def test_a_drain_leaves_no_watchdog_behind():
    async with taskyard.connect("memory://") as yard:
        task = await yard.enqueue("code")
        await yard.drain(command_agent(taskyard.Agent("program"), Command(words=["echo", "done"])))

        assert (await yard.get(task.id)).result == "done"
        assert watchdogs() == []


async def test_a_watchdog_that_was_killed_is_missed_and_another_one_knows_all_programs(
    caplog: pytest.LogCaptureFixture,
):
    first = await started(*FOREVER)
    (killed,) = watchdogs()
    os.kill(killed, signal.SIGKILL)
    await asyncio.to_thread(os.waitid, os.P_PID, killed, os.WEXITED | os.WNOWAIT)

    with caplog.at_level(logging.WARNING, "taskyard.worker"):
        second = await started(*FOREVER)

    assert f"the watchdog {killed} has ended" in caplog.text
    (another,) = watchdogs()
    assert another != killed
    watch.leave()  # as at the end of this process
    assert await asyncio.gather(first.wait(), second.wait()) == [-signal.SIGTERM] * 2
    await asyncio.to_thread(os.waitpid, another, 0)


async def test_a_watchdog_that_cannot_be_started_is_named_and_the_program_works(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(group_watch.sys, "executable", "/nowhere")

    program = await started("true")

    assert await program.wait() == 0
    await end(program)
    assert "no watchdog can be started" in caplog.text


async def test_a_watchdog_that_does_not_read_holds_nothing_up(caplog: pytest.LogCaptureFixture):
    program = await started(*FOREVER)
    (stopped,) = watchdogs()
    os.kill(stopped, signal.SIGSTOP)

    for _ in range(10_000):
        watch.begin(program.pid, None)

    assert f"the watchdog {stopped} does not read" in caplog.text
    await end(program)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
async def test_a_process_that_this_one_forks_does_not_hide_its_end():
    program = await started(*FOREVER)
    (own,) = watchdogs()
    forked = subprocess.Popen(FOREVER, preexec_fn=os.getpid)  # noqa: ASYNC220, PLW1509 - forks, as multiprocessing does
    try:
        watch.leave()
        assert await program.wait() == -signal.SIGTERM
    finally:
        forked.kill()
        forked.wait()
    await asyncio.to_thread(os.waitpid, own, 0)


async def test_a_signal_for_the_worker_does_not_end_the_watchdog():
    program = await started(*FOREVER)
    (own,) = watchdogs()
    assert os.getsid(own) == own
    async with asyncio.timeout(60):
        while not all(ignores(own, number) for number in FOR_THE_WORKER):
            await asyncio.to_thread(os.sched_yield)
    for number in FOR_THE_WORKER:
        os.kill(own, number)

    watch.leave()
    assert await program.wait() == -signal.SIGTERM
    await asyncio.to_thread(os.waitpid, own, 0)


def began_later(_: int) -> str:
    return "later"


def test_a_number_that_is_another_process_s_by_now_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    with subprocess.Popen(FOREVER, start_new_session=True) as another:
        watched = watchdog.WatchedGroup(another.pid, "")
        assert watched.is_left()
        monkeypatch.setattr(watchdog, "began", began_later)

        watched.end()

        assert not watched.is_left()
        assert another.poll() is None
        another.kill()


def test_a_control_group_is_ended_as_a_whole(tmp_path: Path):
    """What left its session has another process group, and the same control group."""
    group = tmp_path / "group"
    group.mkdir()
    worker, pipe = [sys.executable, "-I", "-S", watchdog.__file__, "0"], f"begun {GONE} {group}\n"

    subprocess.run(worker, input=pipe, text=True, check=False, timeout=60)

    assert (group / "cgroup.kill").read_text() == "1"


def test_what_ended_with_its_worker_at_work_is_no_concern(tmp_path: Path):
    with subprocess.Popen(FOREVER, start_new_session=True) as left:
        lines = f"begun {left.pid}\nended {left.pid}\n"
        subprocess.run([sys.executable, "-I", "-S", watchdog.__file__, "0"], input=lines, text=True, check=True)

        assert left.poll() is None
        left.kill()
