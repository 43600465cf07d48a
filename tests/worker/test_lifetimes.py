"""Leases and stops: what a worker keeps, what it loses, and how it goes."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from taskyard import Agent
from taskyard.app import Yard, connect
from taskyard.core.agent import AgentStatus
from taskyard.core.task import Status
from taskyard.features.tasks.views import MarkedClaim
from taskyard.worker.context import Context
from taskyard.worker.process import heartbeats
from taskyard.worker.process.runner import FEW, Worker
from tests.worker.conftest import until, working

SHORT = {"lease_sec": 2, "heartbeat_sec": 1}


async def test_a_handler_that_blocks_the_loop_for_three_lease_times_keeps_its_lease(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("block")
    async def block(task: Context) -> str:
        time.sleep(6)  # the point of the test: nothing in this loop can run meanwhile  # noqa: ASYNC251
        return "still mine"

    task = await yard.enqueue("block", timeouts=SHORT)
    async with working(yard, agent):
        await until(yard, task.id, Status.COMPLETED)

    details = await yard.get(task.id)
    assert (details.result, len(details.attempts)) == ("still mine", 1)


async def test_what_is_drained_keeps_its_lease_and_is_heard_of_no_longer_than_it_runs(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("long")
    async def long(task: Context) -> str:
        await asyncio.sleep(5)  # more than two lease times
        return "still mine"

    task = await yard.enqueue("long", timeouts=SHORT)
    assert await yard.drain(agent) == 1

    details = await yard.get(task.id)
    assert (details.result, len(details.attempts)) == ("still mine", 1)
    assert [each.id for each in await yard.runtimes.list()] == []


async def test_what_is_drained_is_cancelled_where_it_waits(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("long")
    async def long(task: Context) -> None:
        await asyncio.Event().wait()

    task = await yard.enqueue("long")
    draining = asyncio.create_task(yard.drain(agent))
    await until(yard, task.id, Status.RUNNING)
    await yard.cancel(task.id, "changed my mind")

    async with asyncio.timeout(30):
        assert await draining == 1
    assert (await yard.get(task.id)).status is Status.CANCELLED


async def test_a_cancelled_task_stops_its_handler_where_it_waits(yard: Yard) -> None:
    agent = Agent("worker")
    stopped = asyncio.Event()

    @agent.handles("long")
    async def long(task: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    task = await yard.enqueue("long", timeouts=SHORT)
    async with working(yard, agent):
        await until(yard, task.id, Status.RUNNING)
        await yard.cancel(task.id, "changed my mind")
        async with asyncio.timeout(30):
            await stopped.wait()

    assert (await yard.get(task.id)).status is Status.CANCELLED


async def test_a_worker_that_stops_lets_its_handlers_finish(yard: Yard) -> None:
    agent = Agent("worker", id="w")
    go_on = asyncio.Event()

    @agent.handles("work")
    async def work(task: Context) -> str:
        await go_on.wait()
        return "finished"

    task = await yard.enqueue("work")
    async with working(yard, agent) as worker:
        await until(yard, task.id, Status.RUNNING)
        worker.stop()
        go_on.set()

    assert (await yard.get(task.id)).result == "finished"
    (view,) = await yard.agents.list()
    assert view.status is AgentStatus.OFFLINE


async def test_what_is_not_finished_within_the_grace_period_is_given_back_uncounted(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("long")
    async def long(task: Context) -> None:
        await asyncio.Event().wait()

    task = await yard.enqueue("long")
    async with working(yard, agent, grace_sec=0.05):
        await until(yard, task.id, Status.RUNNING)

    details = await yard.get(task.id)
    assert (details.status, details.failures) == (Status.READY, 0)
    assert details.attempts[0].outcome == "released"


async def test_a_worker_takes_no_more_than_it_may_at_a_time(yard: Yard) -> None:
    agent = Agent("worker", max_concurrent_tasks=3)
    at_once: list[int] = []
    running = 0

    @agent.handles("work")
    async def work(task: Context) -> None:
        nonlocal running
        running += 1
        at_once.append(running)
        await asyncio.sleep(0)
        running -= 1

    tasks = await yard.enqueue_many([{"type": "work"}] * 20)
    async with working(yard, agent):
        for task in tasks:
            await until(yard, task.id, Status.COMPLETED)

    assert max(at_once) <= 3


async def test_a_worker_claims_a_part_of_its_slots_at_a_time_and_fills_them_all(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots = 210
    agent = Agent("worker", max_concurrent_tasks=slots)
    asked: list[int] = []
    full, claim = asyncio.Event(), yard.attempts.claim_marked
    running = 0

    async def counted(agent_id: str, *, count: int, **options: Any) -> MarkedClaim:
        asked.append(count)
        return await claim(agent_id, count=count, **options)

    @agent.handles("long")
    async def long(task: Context) -> None:
        nonlocal running
        running += 1
        if running == slots:
            full.set()
        await full.wait()

    monkeypatch.setattr(yard.attempts, "claim_marked", counted)
    await yard.enqueue_many([{"type": "long"}] * slots)
    async with working(yard, agent), asyncio.timeout(20):
        await full.wait()

    part = yard.pace.part_of(slots)
    assert part < slots
    assert max(asked) == asked[0] == part


async def test_where_little_comes_in_little_is_asked_for_and_its_handler_comes_before_the_next_look(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent("worker", max_concurrent_tasks=200)
    told: list[int | str] = []
    waits, claim = asyncio.Event(), yard.attempts.claim_marked

    async def counted(agent_id: str, *, count: int, **options: Any) -> MarkedClaim:
        told.append(count)
        held = await claim(agent_id, count=count, **options)
        told.append("got")
        if not held.tasks:
            waits.set()
        return held

    @agent.handles("work")
    async def work(task: Context) -> None:
        told.append("begun")

    monkeypatch.setattr(yard.attempts, "claim_marked", counted)
    async with working(yard, agent), asyncio.timeout(20):
        await waits.wait()
        await until(yard, (await yard.enqueue("work")).id, Status.COMPLETED)
        told.append("end")

    assert told[0] == yard.pace.part_of(200)
    assert set(told[1:]) == {"got", "begun", "end", FEW}
    assert told[told.index("begun") - 1] == "got"


async def test_a_slot_that_comes_free_is_filled_though_the_others_stay_taken(yard: Yard) -> None:
    agent = Agent("worker", max_concurrent_tasks=4)
    go_on = asyncio.Event()

    @agent.handles("long")
    async def long(task: Context) -> None:
        await go_on.wait()

    @agent.handles("short")
    async def short(task: Context) -> None:
        """Done at once."""

    await yard.enqueue_many([{"type": "long", "priority": 1}] * 3)
    tasks = await yard.enqueue_many([{"type": "short"}] * 10)
    async with working(yard, agent):
        for task in tasks:
            await until(yard, task.id, Status.COMPLETED)
        assert (await yard.tasks.stats())["running"] == {"long": 3}
        go_on.set()


async def test_what_is_cancelled_before_it_has_begun_never_begins(yard: Yard) -> None:
    agent = Agent("worker", id="w", max_concurrent_tasks=2)
    begun: list[str] = []

    @agent.handles("work")
    async def work(task: Context) -> None:
        begun.append(task.id)

    first, second = await yard.enqueue_many([{"type": "work"}] * 2)
    worker = Worker(yard, agent)
    await worker.register()
    claimed = await worker._claim(2)  # pyright: ignore[reportPrivateUsage]
    assert claimed is not None
    assert len(claimed.tasks) == 2
    contexts = worker._contexts  # pyright: ignore[reportPrivateUsage]
    (lease,) = [lease for lease, context in contexts.items() if context.id == first.id]
    worker._heed(lease, "cancelled")  # pyright: ignore[reportPrivateUsage]
    await yard.cancel(first.id, "changed my mind")
    await worker.work_once()

    assert begun == [second.id]


async def test_a_worker_that_cannot_reach_the_yard_gives_its_lease_up_by_its_own_clock(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    heart = heartbeats.HeartbeatSender()
    words: list[str] = []
    await yard.agents.register("w")
    await yard.enqueue("work", timeouts=SHORT)
    (held,) = await yard.claim("w", start=True)
    asked_for_it = time.monotonic() - 10

    heart.add([held], asked_for_it, lambda _, word: words.append(word))
    heart.give_up()

    assert words == [heartbeats.RUN_OUT]
    await yard.release(held.id, held.lease)


PROGRAM = """
import asyncio, sys
import taskyard
agent = taskyard.Agent("worker")

@agent.handles("long")
async def long(task):
    print("begun", flush=True)
    await asyncio.sleep(float(sys.argv[2]))
    return "late"

async def main():
    async with taskyard.connect(sys.argv[1], sweeps=False) as yard:
        await yard.work(agent, grace_sec=0.2)

asyncio.run(main())
"""


async def start_worker(url: str, seconds: float, program: str = PROGRAM) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, url, str(seconds), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


async def begun(process: asyncio.subprocess.Process) -> None:
    """Wait until the handler runs."""
    assert process.stdout is not None
    async with asyncio.timeout(20):
        assert await process.stdout.readline() == b"begun\n"


async def stop_between_writes(process: asyncio.subprocess.Process, database: Path) -> None:
    """Stop the process while it holds no lock of the database: one stopped in the middle of a write blocks everyone."""
    while True:
        os.kill(process.pid, signal.SIGSTOP)
        # The call before returns while the process still runs, for less than a moment.
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)  # noqa: ASYNC222
        try:
            with contextlib.closing(apsw.Connection(str(database))) as connection:
                connection.execute("BEGIN IMMEDIATE; ROLLBACK")
        except apsw.BusyError:
            os.kill(process.pid, signal.SIGCONT)
            await asyncio.sleep(0)
        else:
            return


async def test_a_terminated_process_gives_back_what_it_held_and_goes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'yard.db'}"
    async with connect(url) as yard:
        task = await yard.enqueue("long")
        process = await start_worker(url, 60)
        await begun(process)

        process.terminate()
        async with asyncio.timeout(30):
            await process.communicate()

        details = await yard.get(task.id)
        assert process.returncode == 0
        assert (details.status, details.failures) == (Status.READY, 0)


async def test_a_process_that_is_asked_twice_ends_though_nothing_can_be_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its handler blocks the loop, and another process the database: calls may wait ten minutes for that lock."""
    monkeypatch.setenv("TASKYARD_CALL_TIMEOUT_SEC", "600")
    url = f"sqlite:///{tmp_path / 'yard.db'}"
    async with connect(url) as yard:
        await yard.enqueue("long")
    process = await start_worker(url, 600, PROGRAM.replace("await asyncio.sleep", "__import__('time').sleep"))
    await begun(process)

    with contextlib.closing(apsw.Connection(str(tmp_path / "yard.db"))) as connection:
        connection.set_busy_timeout(10_000)
        connection.execute("BEGIN IMMEDIATE")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            await process.communicate()

    assert process.returncode is not None
    assert process.returncode > 128


async def test_a_process_that_was_stopped_for_two_lease_times_has_its_late_completion_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'yard.db'}"
    async with connect(url) as yard:
        task = await yard.enqueue("long", timeouts=SHORT, max_attempts=1)
        process = await start_worker(url, 3)
        await begun(process)

        await stop_between_writes(process, tmp_path / "yard.db")
        await until(yard, task.id, Status.DEAD_LETTERED)
        os.kill(process.pid, signal.SIGCONT)
        assert process.stderr is not None
        async with asyncio.timeout(20):
            while b"lease" not in (line := await process.stderr.readline()):
                assert line, "the worker said nothing of its lost lease"
        process.terminate()
        await process.communicate()

        details = await yard.get(task.id)
        assert (details.status, details.result) == (Status.DEAD_LETTERED, None)
        assert [attempt.reason for attempt in details.attempts] == ["heartbeat_timeout"]


async def test_what_was_claimed_begins_before_more_is_asked_for(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent("worker", max_concurrent_tasks=2)
    told: list[str] = []
    claim = yard.attempts.claim_marked

    async def noted(*given: Any, **named: Any) -> MarkedClaim:
        told.append("asked")
        return await claim(*given, **named)

    monkeypatch.setattr(yard.attempts, "claim_marked", noted)

    @agent.handles("work")
    async def work(task: Context) -> None:
        told.append("begun")

    task = await yard.enqueue("work")
    async with working(yard, agent):
        await until(yard, task.id, Status.COMPLETED)

    assert told[:2] == ["asked", "begun"]
