"""Lines that go silent without being closed: every call ends in its time, and the yard is back when a line is."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

import taskyard
from taskyard import Agent, Context
from taskyard.client.host import RemoteHost
from taskyard.core.errors import StoreUnavailable
from taskyard.server.server import served
from taskyard.stores.shared import timeouts
from taskyard.worker.process.membership import when_reached
from taskyard.worker.process.runner import Worker
from taskyard.yard import Yard
from tests.client.proxies import Silencing, silencing
from tests.servers import free_port
from tests.storage import asked_for, url_of

DOORS = [name for name in asked_for() if name in ("postgres", "redis", "http")]
BOUND = 1.0  # seconds; what is asserted leaves a loaded machine room, and is far below what there was before
GENEROUS = 20.0
DIRECTIONS = {"both ways": {}, "the way there": {"answered": False}, "the way back": {"asked": False}}


class Line(NamedTuple):
    yard: Yard  # through the proxy
    direct: Yard  # the same, without it
    proxy: Silencing
    way: str  # its URL


@pytest.fixture(params=DOORS)
async def line(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Line]:
    async with AsyncExitStack() as stack:
        name = request.param
        url = f"sqlite:///{tmp_path / 'yard.db'}" if name == "http" else url_of(name, tmp_path)
        direct = await stack.enter_async_context(taskyard.connect(url, sweeps=False))
        await direct.agents.register("worker", max_concurrent_tasks=100)
        if name == "http":
            server = await stack.enter_async_context(served(direct, port=0))
            url = f"http://127.0.0.1:{server.port}"
        proxy = await stack.enter_async_context(silencing(behind(url)))
        way = through(url, proxy.port)
        yard = await stack.enter_async_context(taskyard.connect(way, sweeps=False, call_timeout_sec=BOUND))
        await yard.enqueue("code")
        yield Line(yard, direct, proxy, way)
        proxy.speak()


def behind(url: str) -> int | Path:
    """Where the server of this URL is."""
    parts = urlsplit(url)
    if parts.scheme == "postgresql":
        return Path(parse_qs(parts.query)["host"][0]) / ".s.PGSQL.5432"
    return parts.port or 0


def through(url: str, port: int) -> str:
    """The URL of the same yard, by way of a proxy."""
    parts = urlsplit(url)
    if parts.scheme == "postgresql":
        schema = parse_qs(parts.query)["schema"][0]
        return f"postgresql://postgres@127.0.0.1:{port}{parts.path}?schema={schema}"
    return parts._replace(netloc=f"127.0.0.1:{port}").geturl()


async def ended(call: Awaitable[object]) -> float:
    """How long the call took, whatever it answered."""
    began = monotonic()
    with suppress(StoreUnavailable):
        await asyncio.wait_for(call, GENEROUS)
    return monotonic() - began


CALLS: dict[str, Callable[[Yard], Awaitable[object]]] = {
    "enqueue": lambda yard: yard.enqueue("code"),
    "stats": lambda yard: yard.tasks.stats(),
    "claim": lambda yard: yard.claim("worker"),
    "heartbeat": lambda yard: yard.heartbeat("task_none", "lease_none.1"),
    "find": lambda yard: yard.find(),
}


@pytest.mark.parametrize("direction", DIRECTIONS)
async def test_every_call_ends_while_the_line_is_silent_and_goes_on_over_a_new_one(line: Line, direction: str):
    await asyncio.gather(*(call(line.yard) for call in CALLS.values()))
    line.proxy.hush(**DIRECTIONS[direction])

    took = await asyncio.gather(*(ended(call(line.yard)) for call in CALLS.values()))

    assert max(took) < GENEROUS
    await asyncio.wait_for(line.yard.enqueue("code"), GENEROUS)
    assert await line.yard.claim("worker")


async def test_after_one_call_has_met_the_silence_the_next_goes_over_a_new_line(line: Line):
    """The other lines are as silent, and no call need find that out for each of them."""
    await asyncio.gather(*(call(line.yard) for call in CALLS.values() for _ in range(2)))
    line.proxy.hush()

    await ended(line.yard.find())

    await asyncio.wait_for(line.yard.enqueue("code"), GENEROUS)


async def test_a_server_that_is_silent_for_everybody_is_reported_in_time_and_met_again(line: Line):
    line.proxy.hush(new_too=True)

    for call in CALLS.values():
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(call(line.yard), GENEROUS)

    line.proxy.speak()
    await asyncio.wait_for(line.yard.enqueue("code"), GENEROUS)


async def test_a_yard_is_refused_in_time_where_the_server_is_silent_from_the_beginning(line: Line):
    line.proxy.hush(new_too=True)

    async def open_and_look() -> None:
        async with taskyard.connect(line.way, sweeps=False, call_timeout_sec=BOUND) as yard:
            await yard.tasks.stats()

    with pytest.raises(StoreUnavailable):
        await asyncio.wait_for(open_and_look(), GENEROUS)


@pytest.mark.parametrize("scheme", [{"postgres": "postgresql"}.get(name, name) for name in DOORS])
async def test_a_machine_that_takes_no_connection_is_reported_in_time(scheme: str):
    async def open_and_look(port: int) -> None:
        url = f"{scheme}://127.0.0.1:{port}"
        async with taskyard.connect(url, sweeps=False, call_timeout_sec=BOUND) as yard:
            await yard.tasks.stats()

    with deaf() as port, pytest.raises(StoreUnavailable):
        await asyncio.wait_for(open_and_look(port), GENEROUS)


@contextmanager
def deaf() -> Generator[int]:
    """A port at which nobody answers, as on a machine that is gone: as many wait there as the system lets wait."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening, ExitStack() as stack:
        port = listening.getsockname()[1]
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        yield port


async def test_the_system_looks_whether_the_other_end_of_each_connection_is_there(line: Line):
    await asyncio.gather(*(call(line.yard) for call in CALLS.values()))

    kept = keepalives(line.proxy.port)

    assert kept
    assert set(kept) == {(1, timeouts.IDLE, timeouts.BETWEEN, timeouts.PROBES)}


def keepalives(port: int) -> list[tuple[int, int, int, int]]:
    """What is asked of the system for each connection of this process to that port."""
    asked = (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT),
    )
    found: list[tuple[int, int, int, int]] = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError), socket.socket(fileno=os.dup(int(descriptor.name))) as each:
            if each.family == socket.AF_INET and each.getpeername()[1] == port:
                on, idle, between, probes = (each.getsockopt(*option) for option in asked)
                found.append((on, idle, between, probes))
    return found


async def test_who_waits_for_work_over_a_line_that_goes_silent_gets_it_all_the_same(line: Line):
    await line.yard.claim("worker")
    mark = await line.yard.mark()
    line.proxy.asked.clear()
    waiting = asyncio.create_task(line.yard.changed(mark, 60))
    # A store listens from the beginning, and asks nothing more.
    await (line.proxy.asked.wait() if isinstance(line.yard.host, RemoteHost) else asyncio.sleep(0))
    line.proxy.hush()

    await line.direct.enqueue("code")

    with suppress(StoreUnavailable):  # to be told is as good: who waits looks again
        await asyncio.wait_for(waiting, 3 * GENEROUS)
    await asyncio.gather(*(ended(call(line.yard)) for call in (CALLS["claim"], CALLS["stats"])))
    await line.direct.enqueue("code")
    assert await line.yard.claim("worker")


@pytest.mark.parametrize("line", [name for name in DOORS if name != "http"], indirect=True)
async def test_who_begins_to_wait_while_new_lines_are_silent_is_woken_over_a_later_one(line: Line):
    """The first line that is opened for listening never answers."""
    mark = await line.yard.mark()
    line.proxy.hush(new_too=True)
    line.proxy.met.clear()
    waiting = asyncio.create_task(line.yard.changed(mark, 600))
    async with asyncio.timeout(GENEROUS):
        await line.proxy.met.wait()
    line.proxy.speak()

    async with asyncio.timeout(3 * GENEROUS):
        with suppress(StoreUnavailable):  # to be told is as good: who waits looks again
            while not waiting.done():
                await line.direct.enqueue("code")
                await asyncio.wait([waiting], timeout=0.2)
            await waiting


async def test_a_yard_closes_in_time_over_a_line_that_is_silent(line: Line):
    line.proxy.hush(new_too=True)
    lost = asyncio.create_task(ended(line.yard.enqueue("code")))
    await asyncio.sleep(0)

    await asyncio.wait_for(line.yard.close(), 2 * GENEROUS)

    assert await lost < GENEROUS


@pytest.mark.parametrize("wrong", ["0", "-1", "soon", "1000"])
def test_a_limit_of_time_that_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch, wrong: str):
    monkeypatch.setenv("TASKYARD_CALL_TIMEOUT_SEC", wrong)

    with pytest.raises(taskyard.TaskyardError, match="call_timeout_sec"):
        taskyard.connect("memory://")


async def test_a_handler_is_stopped_when_its_lease_has_run_out_while_the_line_is_silent(line: Line):
    agent, begun, stopped = Agent("worker", id="busy"), asyncio.Event(), asyncio.Event()

    @agent.handles("long")
    async def long(task: Context) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    await line.direct.enqueue("long", timeouts={"lease_sec": 3, "heartbeat_sec": 1})
    worker = Worker(line.yard, agent, grace_sec=0)
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(20):
        await begun.wait()
    line.proxy.hush(new_too=True)
    silent_since = monotonic()
    async with asyncio.timeout(20):
        await stopped.wait()

    assert monotonic() - silent_since < 3 + GENEROUS / 2
    worker.stop()
    line.proxy.speak()
    await running


@pytest.mark.parametrize("name", DOORS)
async def test_a_worker_that_starts_while_the_yard_is_away_says_so_and_begins_when_it_is_back(
    name: str, tmp_path: Path
):
    url = f"sqlite:///{tmp_path / 'yard.db'}" if name == "http" else url_of(name, tmp_path)
    async with AsyncExitStack() as stack:
        direct = await stack.enter_async_context(taskyard.connect(url, sweeps=False))
        if name == "http":
            server = await stack.enter_async_context(served(direct, port=0))
            url = f"http://127.0.0.1:{server.port}"
        port = free_port()
        away = through(url, port)
        opening = asyncio.create_task(
            when_reached(lambda: taskyard.connect(away, sweeps=False, call_timeout_sec=BOUND).open())
        )
        async with asyncio.timeout(30):
            await heard_of_waiting(stack)
        await stack.enter_async_context(silencing(behind(url), port))
        async with asyncio.timeout(30):
            yard = await opening
        await yard.tasks.stats()
        await yard.close()


async def heard_of_waiting(stack: AsyncExitStack) -> None:
    """Wait until the worker says that it waits."""
    heard = asyncio.Event()

    def note(record: logging.LogRecord) -> bool:
        if "waits for the yard" in record.getMessage():
            heard.set()
        return True

    worker = logging.getLogger("taskyard.worker")
    worker.addFilter(note)
    stack.callback(worker.removeFilter, note)
    await heard.wait()
