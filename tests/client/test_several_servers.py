"""Servers of one yard behind a load balancer, which sends each call to the next: who waits is woken, and only then."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path

import pytest

import taskyard
from taskyard.client.transport.http_client import HttpAnswer, HttpClient, HttpRequest, http_server
from taskyard.client.transport.long_polling import MOST_SERVERS, ServerMarks
from taskyard.server.server import served
from taskyard.yard import Yard
from tests import remote, storage

STORES = [name for name in storage.asked_for() if name in ("sqlite", "postgres", "redis")]
TRIES = 5  # who waits at a server for the first time is woken once more, to look
Wait = Callable[[], Awaitable[object]]


@pytest.fixture(params=STORES)
async def yard(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Yard]:
    """A client whose calls go to two servers in turns."""
    url, ask = storage.url_of(request.param, tmp_path), HttpClient.ask
    async with AsyncExitStack() as stack:
        yards = [await stack.enter_async_context(taskyard.connect(url, sweeps=False)) for _ in range(2)]
        urls = [remote.url_of(await stack.enter_async_context(served(each))) for each in yards]
        turns = cycle(map(http_server, urls))

        async def ask_the_next(self: HttpClient, request: HttpRequest) -> HttpAnswer:
            return await ask(self, request._replace(server=next(turns)))

        monkeypatch.setattr(HttpClient, "ask", ask_the_next)
        yard = await stack.enter_async_context(taskyard.connect(urls[0]))
        await yard.agents.register("ada", max_concurrent_tasks=10)
        await yard.enqueue("code")  # so that the type is known
        await yard.claim("ada")
        yield yard


async def after_a_look(yard: Yard) -> Wait:
    mark = await yard.mark()
    return lambda: yard.changed(mark, 600)


async def after_a_claim(yard: Yard) -> Wait:
    claimed = await yard.attempts.claim_marked("ada")
    return lambda: yard.attempts.wait_for_work("ada", claimed.mark, 600, took_all=claimed.took_all)


@pytest.mark.parametrize("look", [after_a_look, after_a_claim])
async def test_who_looked_at_one_server_waits_at_any(yard: Yard, look: Callable[[Yard], Awaitable[Wait]]):
    for _ in range(TRIES):
        wait = await look(yard)
        waiting = [asyncio.ensure_future(wait()) for _ in range(2)]  # one at each server
        for _ in range(10):
            await yard.mark()
        if not any(each.done() for each in waiting):
            break
        for each in waiting:
            each.cancel()
        await asyncio.wait(waiting)
    else:
        pytest.fail("every wait ended at once")

    await yard.enqueue_many([{"type": "code"}] * 2)  # one for each: on Redis no more are woken than there are tasks

    await asyncio.wait_for(asyncio.gather(*waiting), 30)


@pytest.mark.parametrize("look", [after_a_look, after_a_claim])
async def test_what_was_written_since_is_not_missed_at_any(yard: Yard, look: Callable[[Yard], Awaitable[Wait]]):
    for _ in range(2):
        await look(yard)  # so that each server has answered
    wait = await look(yard)
    await yard.enqueue_many([{"type": "code"}] * 2)
    for _ in range(2):
        await yard.mark()  # others hear of it

    await asyncio.wait_for(asyncio.gather(wait(), wait()), 30)


def test_a_mark_has_nothing_that_was_heard_while_its_call_was_made():
    marks = ServerMarks()
    marks.hear("one-1", {})
    known = marks.known()
    marks.hear("two-5", {})
    marks.hear("one-3", {})

    assert marks.hear("three-2", known) == "one-1,three-2"
    assert marks.hear("one-4", marks.known()) == "two-5,one-4,three-2"


def test_servers_that_answered_long_ago_are_forgotten():
    marks = ServerMarks()
    for number in range(3 * MOST_SERVERS):
        marks.hear("here-1", {})
        marks.hear(f"{number}-1", {})

    assert len(marks.known()) == MOST_SERVERS
    assert "here" in marks.known()
