"""Following events: any number of followers cost the store what one of them does, and none misses an event."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Any

import pytest

from taskyard.core.changes import StoredEvent
from taskyard.core.errors import StoreUnavailable
from taskyard.features.events import shared_reader as following
from taskyard.features.events.shared_reader import EventFeed
from taskyard.yard import Yard

ROUNDS = 5
Page = Sequence[asyncio.Future[StoredEvent]]


class Reads:
    """How often the store is read for events."""

    def __init__(self, yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        self._events = yard.store.events
        monkeypatch.setattr(yard.store, "events", self._counted)

    async def _counted(self, **which: Any) -> Sequence[StoredEvent]:
        self.number += 1
        return await self._events(**which)


async def followed(yard: Yard, listeners: int) -> list[list[str | None]]:
    """What each of so many listeners saw of tasks that came in one after the other."""
    last = (await yard.events())[-1].seq
    async with AsyncExitStack() as stack:
        tails = [await stack.enter_async_context(aclosing(yard.tail(after=last))) for _ in range(listeners)]
        seen: list[list[str | None]] = [[] for _ in tails]
        for _ in range(ROUNDS):
            coming = [asyncio.ensure_future(anext(tail)) for tail in tails]
            await asyncio.sleep(0)
            await yard.enqueue("code")
            for mine, stored in zip(seen, await asyncio.gather(*coming), strict=True):
                mine.append(stored.event.task_id)
    return seen


async def test_the_store_is_read_as_often_for_fifty_listeners_as_for_one(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    await yard.enqueue("code")
    reads = Reads(yard, monkeypatch)
    await followed(yard, 1)
    alone, reads.number = reads.number, 0

    seen = await followed(yard, 50)

    created = [each.event.task_id for each in (await yard.events())[-ROUNDS:]]
    assert seen == [created] * 50
    # A commit may wake the reader before its events can be read, so a round may take one read more than another.
    assert alone > 0
    assert reads.number <= 2 * alone + 2


async def test_a_listener_that_falls_behind_reads_on_by_itself_and_misses_nothing(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(following, "PAGE", 2)
    monkeypatch.setattr(following, "KEPT", 3)
    await yard.enqueue("code")
    slow, fast = yard.tail(), yard.tail()
    async with aclosing(slow), aclosing(fast):
        first = [await anext(slow), await anext(fast)]
        for _ in range(9):
            await yard.enqueue("code")
        seen_by_fast = [first[1], *[await anext(fast) for _ in range(9)]]
        seen_by_slow = [first[0], *[await anext(slow) for _ in range(9)]]

        assert seen_by_fast == seen_by_slow == await yard.events()


async def test_one_listener_that_leaves_takes_nothing_from_the_others(yard: Yard):
    await yard.enqueue("code")
    last = (await yard.events())[-1].seq
    leaving, staying = (asyncio.ensure_future(anext(yard.tail(after=last))) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving

    task = await yard.enqueue("code")

    async with asyncio.timeout(30):
        assert (await staying).event.task_id == task.id


class Silent:
    """A log in which nothing happens, until it is away."""

    def __init__(self) -> None:
        self.away = asyncio.Event()
        self.reads = 0

    async def events(self, *, after: int, limit: int) -> Sequence[StoredEvent]:  # noqa: ARG002 - there are none
        self.reads += 1
        return ()

    async def mark(self) -> str:
        return ""

    async def changed(self, mark: str, timeout_sec: float) -> str:  # noqa: ARG002 - it never does
        await self.away.wait()
        raise StoreUnavailable("it is away")


async def waiting(number: int, next_: Callable[[int], Coroutine[None, None, Page]]) -> list[asyncio.Task[Page]]:
    futures = [asyncio.create_task(next_(0)) for _ in range(number)]
    for _ in range(5):
        await asyncio.sleep(0)
    return futures


async def test_all_who_wait_are_reported_when_the_log_is_away_and_who_comes_next_reads_again():
    log = Silent()
    feed = EventFeed(log)
    those = await waiting(3, feed.next)
    assert log.reads == 1

    log.away.set()
    told = await asyncio.gather(*those, return_exceptions=True)

    assert [type(each) for each in told] == [StoreUnavailable] * 3
    with pytest.raises(StoreUnavailable):
        await feed.next(0)
    assert log.reads == 2


async def test_nothing_is_left_under_way_when_the_last_has_gone():
    feed = EventFeed(Silent())
    before = asyncio.all_tasks()
    for each in await waiting(2, feed.next):
        each.cancel()
        await asyncio.wait([each])
    await asyncio.sleep(0)

    assert asyncio.all_tasks() == before
    again = await waiting(1, feed.next)
    await feed.close()
    assert isinstance((await asyncio.gather(*again, return_exceptions=True))[0], asyncio.CancelledError)
