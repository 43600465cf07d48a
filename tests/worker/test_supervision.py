"""What goes on beside the handlers' loop: cancellations, the clock of the leases, and what handlers cannot hold up."""

import asyncio
import logging
import re
import threading
import time
from typing import Any, NoReturn, cast

import pytest

from taskyard import Agent, Fail
from taskyard.app import Yard
from taskyard.client.attempts import RemoteClaims
from taskyard.core.errors import StoreUnavailable
from taskyard.core.task import Status
from taskyard.features.attempts.claims import Claims
from taskyard.features.attempts.views import Receipt
from taskyard.features.retention.views import Swept
from taskyard.host import Host
from taskyard.sweeper import Sweeper
from taskyard.worker.context import Context
from taskyard.worker.process import heartbeats, runner, supervisor
from taskyard.worker.process.heartbeats import HeartbeatSender
from taskyard.worker.process.supervisor import Supervisor
from tests.worker.conftest import until, working

SOON = 60.0  # seconds: far above what is promised, and below the heartbeats that would bring the word otherwise
SELDOM = {"heartbeat_sec": 300, "lease_sec": 900}


class Long:
    """A handler that waits until it is cancelled."""

    def __init__(self) -> None:
        self.agent = Agent("worker", max_concurrent_tasks=3)
        self.stopped = asyncio.Event()
        self.seen: list[str | None] = []
        self.agent.handles("long")(self._wait)

    async def _wait(self, task: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.seen.append(task.stopped)
            self.stopped.set()


async def test_a_cancelled_task_stops_its_handler_long_before_the_next_heartbeat(yard: Yard) -> None:
    long = Long()
    task, other = await yard.enqueue_many([{"type": "long", "timeouts": SELDOM}] * 2)
    async with working(yard, long.agent, grace_sec=0.1):
        await until(yard, task.id, Status.RUNNING)
        await until(yard, other.id, Status.RUNNING)
        began = time.monotonic()
        await yard.cancel(task.id, "changed my mind")
        async with asyncio.timeout(SOON):
            await long.stopped.wait()

    assert time.monotonic() - began < SOON
    assert long.seen == ["cancelled", "stopping"]
    assert (await yard.get(other.id)).status is Status.READY


async def test_each_later_cancellation_is_heard_of_as_soon_as_the_first(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than the test waits: without a wake-up, nobody looks at the leases.
    monkeypatch.setattr(heartbeats, "QUIET", SELDOM["heartbeat_sec"])
    long = Long()
    tasks = await yard.enqueue_many([{"type": "long", "timeouts": SELDOM}] * 2)
    async with working(yard, long.agent, grace_sec=0.1):
        for task in tasks:
            await until(yard, task.id, Status.RUNNING)
        for task in tasks:  # the second after the leases were looked at: only a wake-up makes the worker look again
            await yard.cancel(task.id)
            async with asyncio.timeout(SOON):
                await long.stopped.wait()
            long.stopped.clear()

    assert long.seen == ["cancelled", "cancelled"]


async def test_a_second_connection_that_cannot_be_opened_is_tried_again(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Cancellations are heard over it; a store that has none hears of them in the handlers' loop."""
    long, twin_of, asked = Long(), yard.host.twin, list[str]()

    async def away() -> NoReturn:
        raise StoreUnavailable("it is away")

    def failing_at_first() -> Host | None:
        twin = twin_of()
        if twin is not None and not asked:
            monkeypatch.setattr(twin, "open", away)
        asked.append("twin")
        return twin

    monkeypatch.setattr(yard.host, "twin", failing_at_first)
    task = await yard.enqueue("long", timeouts=SELDOM)
    async with working(yard, long.agent, grace_sec=0.1):
        await until(yard, task.id, Status.RUNNING)
        await yard.cancel(task.id)
        async with asyncio.timeout(SOON):
            await long.stopped.wait()

    assert long.seen == ["cancelled"]
    assert len(asked) == 1 + caplog.text.count("leases cannot be kept yet")


async def test_a_handler_is_stopped_when_its_lease_has_run_out_though_no_call_is_answered(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> NoReturn:
        await asyncio.Event().wait()
        raise AssertionError

    long = Long()
    for name in ("heartbeat_many", "check_leases"):
        monkeypatch.setattr(yard.attempts, name, never)
        for second_connection in (Claims, RemoteClaims):
            monkeypatch.setattr(second_connection, name, never)
    task = await yard.enqueue("long", timeouts={"lease_sec": 2, "heartbeat_sec": 1}, max_attempts=1)
    async with working(yard, long.agent):
        await until(yard, task.id, Status.RUNNING)
        async with asyncio.timeout(2 + SOON):
            await long.stopped.wait()
        await until(yard, task.id, Status.DEAD_LETTERED)

    assert long.seen == ["lease_lost"]


async def test_an_attempt_that_ends_while_its_lease_is_looked_at_ends_as_it_would(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    agent, complete, heard = Agent("worker"), yard.complete, asyncio.Event()

    @agent.handles("work")
    async def work(task: Context) -> str:
        return "done"

    async def answered_late(*given: Any, **named: Any) -> Receipt:
        receipt = await complete(*given, **named)
        await heard.wait()
        return receipt

    told = runner.Worker._heed  # pyright: ignore[reportPrivateUsage]

    def noted(worker: runner.Worker, lease: str, word: str) -> None:
        told(worker, lease, word)
        heard.set()

    completions = yard.host.verbs.completions
    hand_over, answering = completions.hand_over, set[asyncio.Task[None]]()

    def hand_over_late(*given: Any) -> None:
        *output, callback = given

        async def answer_late(answer: Any) -> None:
            await heard.wait()
            callback(answer)

        def answered(answer: Any) -> None:
            answering.add(asyncio.create_task(answer_late(answer)))

        cast(Any, hand_over)(*output, answered)

    monkeypatch.setattr(yard, "complete", answered_late)
    monkeypatch.setattr(completions, "hand_over", None if hand_over is None else hand_over_late)
    monkeypatch.setattr(runner.Worker, "_heed", noted)
    task = await yard.enqueue("work")
    with caplog.at_level(logging.INFO, "taskyard.worker"):
        async with working(yard, agent), asyncio.timeout(20):
            await heard.wait()
            await until(yard, task.id, Status.COMPLETED)

    assert (await yard.get(task.id)).result == "done"
    assert "lost" not in caplog.text
    assert "stopped" not in caplog.text


async def test_the_task_of_a_handler_that_swallows_its_cancellation_is_given_back(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, go_on = Agent("worker"), asyncio.Event()

    @agent.handles("long")
    async def long(task: Context) -> str:
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    monkeypatch.setattr(runner, "ENDING", 0.1)
    task, heart = await yard.enqueue("long"), HeartbeatSender()
    async with working(yard, agent, grace_sec=0.1, heartbeats=heart) as worker:
        await until(yard, task.id, Status.RUNNING)

    details, held = await yard.get(task.id), heart.held()
    go_on.set()
    assert (details.status, details.failures, worker.abandoned) == (Status.READY, 0, 1)
    assert held == []  # no heartbeat would be answered any more


async def test_what_blocks_the_loop_is_named_with_its_stack(yard: Yard, caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent("worker")

    @agent.handles("block")
    async def blocks_the_loop(task: Context) -> None:
        end = time.monotonic() + 20
        while "blocked" not in caplog.text and time.monotonic() < end:
            time.sleep(0.01)  # the point of the test  # noqa: ASYNC251

    task = await yard.enqueue("block")
    async with working(yard, agent):
        await until(yard, task.id, Status.COMPLETED)

    assert f"blocked by block {task.id}" in caplog.text
    assert "in blocks_the_loop" in caplog.text


async def test_a_loop_that_goes_on_is_named_too_and_so_is_each_later_block(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    agent, said = Agent("worker"), list[tuple[int, int]]()

    def counted() -> tuple[int, int]:
        return caplog.text.count("the event loop is blocked by"), caplog.text.count("the event loop goes on, after")

    @agent.handles("block")
    async def blocks_twice(task: Context) -> None:
        end = time.monotonic() + 20
        for times in (1, 2):
            while counted()[0] < times and time.monotonic() < end:
                time.sleep(0.01)  # the point of the test  # noqa: ASYNC251
            while counted()[1] < times and time.monotonic() < end:  # noqa: ASYNC110 - another thread says so
                await asyncio.sleep(0.01)
            said.append(counted())

    task = await yard.enqueue("block")
    async with working(yard, agent):
        await until(yard, task.id, Status.COMPLETED)

    assert said == [(1, 1), (2, 2)]


async def test_while_its_loop_goes_on_a_worker_leaves_the_sweeps_to_it(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, sweep, looks = Long(), Sweeper.sweep, asyncio.Event()
    swept, looked = list[str](), list[bool]()
    loop = asyncio.get_running_loop()

    async def noted(sweeper: Sweeper) -> Swept:
        swept.append(threading.current_thread().name)
        return await sweep(sweeper)

    def not_blocked(_: Supervisor) -> bool:
        looked.append(False)
        if len(looked) > 5:
            loop.call_soon_threadsafe(looks.set)
        return False

    monkeypatch.setattr(supervisor, "SWEEP_EVERY", 0.01)
    monkeypatch.setattr(Sweeper, "sweep", noted)
    monkeypatch.setattr(Supervisor, "_is_blocked", property(not_blocked))
    task = await yard.enqueue("long")
    async with working(yard, long.agent, grace_sec=0.1):
        await until(yard, task.id, Status.RUNNING)
        async with asyncio.timeout(20):
            await looks.wait()

    assert "taskyard supervisor" not in swept


async def test_a_worker_says_what_it_does_in_one_line_each(yard: Yard, caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent("worker", id="w", max_concurrent_tasks=1)

    @agent.handles("good")
    async def good(task: Context) -> str:
        await task.spend("0.03")
        return "done"

    @agent.handles("bad")
    async def bad(task: Context) -> None:
        raise Fail("agent_error", "no\x1b[2J luck")

    @agent.handles("waits")
    async def waits(task: Context) -> None:
        await task.wait_for("approve")

    @agent.handles("spawns")
    async def spawns(task: Context) -> None:
        await task.spawn_all([{"type": "other"}] * task.payload, wait=True)

    title = "\x1b]52;c;aGk=\x07 [bold]"
    tasks = [{"type": "good", "title": title}, {"type": "bad", "max_attempts": 1}, {"type": "waits"}]
    tasks += [{"type": "spawns", "payload": number} for number in (1, 2)]
    ids = [task.id for task in await yard.enqueue_many(tasks)]
    with caplog.at_level(logging.INFO, "taskyard.worker"):
        async with working(yard, agent):
            await until(yard, ids[0], Status.COMPLETED)
            await until(yard, ids[1], Status.DEAD_LETTERED)
            for task_id in ids[2:]:
                await until(yard, task_id, Status.PENDING)

    said = caplog.text
    assert f'claimed {ids[0]} (good) "\\u001b]52;c;aGk=\\u0007 [bold]", attempt 1' in said
    assert re.search(rf"completed {ids[0]} \(good\) in [0-9.]+ s, \$0.03", said)
    assert f"failed {ids[1]} (bad) after" in said
    assert "s: agent_error: no\\u001b[2J luck; dead-lettered, for a person to decide" in said
    assert f"suspended {ids[2]} (waits): waits for the signal approve" in said
    assert f"suspended {ids[3]} (spawns): waits for 1 task that it spawned\n" in said
    assert f"suspended {ids[4]} (spawns): waits for 2 tasks that it spawned\n" in said
    assert "\x1b" not in said
