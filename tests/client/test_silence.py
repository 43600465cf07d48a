"""Lines that go silent without being closed: every call ends in its time, and the yard is back when a line is."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

import taskyard
from taskyard.core.errors import StoreUnavailable
from taskyard.server.serving import served
from taskyard.service.yard import Yard
from tests.client.proxies import Silencing, silencing
from tests.storage import asked_for, url_of

DOORS = [name for name in asked_for() if name in ("postgres", "redis", "http")]
BOUND = 1.0  # seconds; what is asserted leaves a loaded machine room, and is far below what there was before
GENEROUS = 8.0
DIRECTIONS = {"both ways": {}, "the way there": {"answered": False}, "the way back": {"asked": False}}


class Line(NamedTuple):
    yard: Yard  # through the proxy
    direct: Yard  # the same, without it
    proxy: Silencing


@pytest.fixture(params=DOORS)
async def line(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Line]:
    async with AsyncExitStack() as stack:
        name = request.param
        url = f"sqlite:///{tmp_path / 'yard.db'}" if name == "http" else url_of(name, tmp_path)
        direct = await stack.enter_async_context(taskyard.connect(url, sweeps=False))
        await direct.register("worker", max_concurrent_tasks=100)
        if name == "http":
            server = await stack.enter_async_context(served(direct, port=0))
            proxy = await stack.enter_async_context(silencing(server.port))
            way = f"http://127.0.0.1:{proxy.port}"
        elif name == "postgres":
            parts = urlsplit(url)
            query = parse_qs(parts.query)
            proxy = await stack.enter_async_context(silencing(Path(query["host"][0]) / ".s.PGSQL.5432"))
            way = f"postgresql://postgres@127.0.0.1:{proxy.port}{parts.path}?schema={query['schema'][0]}"
        else:
            parts = urlsplit(url)
            proxy = await stack.enter_async_context(silencing(parts.port or 0))
            way = parts._replace(netloc=f"127.0.0.1:{proxy.port}").geturl()
        yard = await stack.enter_async_context(taskyard.connect(way, sweeps=False, call_timeout_sec=BOUND))
        await yard.enqueue("code")
        yield Line(yard, direct, proxy)
        proxy.speak()


async def ended(call: Awaitable[object]) -> float:
    """How long the call took, whatever it answered."""
    began = monotonic()
    with suppress(StoreUnavailable):
        await asyncio.wait_for(call, GENEROUS)
    return monotonic() - began


CALLS: dict[str, Callable[[Yard], Awaitable[object]]] = {
    "enqueue": lambda yard: yard.enqueue("code"),
    "stats": lambda yard: yard.stats(),
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


async def test_a_server_that_is_silent_for_everybody_is_told_in_time_and_met_again(line: Line):
    line.proxy.hush(new_too=True)

    for call in CALLS.values():
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(call(line.yard), GENEROUS)

    line.proxy.speak()
    await asyncio.wait_for(line.yard.enqueue("code"), GENEROUS)


async def test_who_waits_for_work_over_a_line_that_goes_silent_gets_it_all_the_same(line: Line):
    await line.yard.claim("worker")
    waiting = asyncio.create_task(line.yard.changed(await line.yard.mark(), 60))
    await asyncio.sleep(0.2)  # until it stands at the other end: nobody tells when
    line.proxy.hush()

    await line.direct.enqueue("code")

    with suppress(StoreUnavailable):  # to be told is as good: who waits looks again
        await asyncio.wait_for(waiting, 3 * GENEROUS)
    await asyncio.gather(*(ended(call(line.yard)) for call in (CALLS["claim"], CALLS["stats"])))
    await line.direct.enqueue("code")
    assert await line.yard.claim("worker")


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
