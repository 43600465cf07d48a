"""How the one reader of events reads: it gathers, keeps a little, trusts nothing after an error, and misses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from taskyard.core.changes import Event, StoredEvent
from taskyard.core.errors import StoreUnavailable
from taskyard.features.events import shared_reader as following
from taskyard.features.events.shared_reader import EventFeed
from tests.core.defining import NOW

TURNS = 100  # of the loop: far more than a read takes


def events(number: int, name: str = "queue.paused") -> list[StoredEvent]:
    return [
        StoredEvent(seq, Event(name, "here", None, None, NOW, None, None, None, None)) for seq in range(1, number + 1)
    ]


class Written:
    """A log that counts who reads it."""

    def __init__(self, stored: Sequence[StoredEvent] = ()) -> None:
        self.stored = list(stored)
        self.reads = 0
        self.is_away = False
        self.written = asyncio.Event()

    async def events(self, *, after: int, limit: int) -> Sequence[StoredEvent]:
        self.reads += 1
        if self.is_away:
            raise StoreUnavailable("it is away")
        return [each for each in self.stored if each.seq > after][:limit]

    async def mark(self) -> str:
        return str(len(self.stored))

    async def changed(self, mark: str, timeout_sec: float) -> str:  # noqa: ARG002 - a test waits for no time-out
        if mark == await self.mark():
            await self.written.wait()
        return await self.mark()


Page = list[asyncio.Future[StoredEvent]]


async def begun(call: Coroutine[Any, Any, Page]) -> asyncio.Task[Page]:
    """The call, once it has got as far as it gets by itself."""
    under_way = asyncio.create_task(call)
    for _ in range(TURNS):
        await asyncio.sleep(0)
    return under_way


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PAGE", 2)
    monkeypatch.setattr(following, "KEPT", 3)


async def seqs_from(feed: EventFeed, after: int, number: int) -> list[int]:
    """What a follower who stands there gets, up to so many."""
    seen: list[int] = []
    while len(seen) < number:
        seen += [each.result().seq for each in await feed.next(seen[-1] if seen else after)]
    return seen


async def test_after_a_page_that_was_not_full_events_gather_before_the_next_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(following, "GATHER", 1e6)
    log = Written(events(1))
    feed = EventFeed(log)
    assert await seqs_from(feed, 0, 1) == [1]
    read = log.reads
    log.stored = events(2)

    waiting = await begun(feed.next(1))

    assert (waiting.done(), log.reads) == (False, read)
    waiting.cancel()


async def test_after_a_full_page_the_next_is_read_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(following, "GATHER", 1e6)
    feed = EventFeed(Written(events(4)))

    async with asyncio.timeout(60):
        assert await seqs_from(feed, 0, 2) == [1, 2]
        assert await seqs_from(feed, 2, 2) == [3, 4]


async def test_only_the_newest_are_kept_in_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(following, "GATHER", 0.0)
    log = Written(events(7))
    feed = EventFeed(log)
    await seqs_from(feed, 0, 7)
    read = log.reads

    assert await seqs_from(feed, 4, 2) == [5, 6]
    assert log.reads == read
    assert await seqs_from(feed, 3, 2) == [4, 5]
    assert log.reads == read + 1


async def test_after_an_error_nothing_that_was_read_before_is_passed_on(monkeypatch: pytest.MonkeyPatch):
    """The store may have come back empty."""
    monkeypatch.setattr(following, "GATHER", 0.0)
    log = Written(events(2, "before"))
    feed = EventFeed(log)
    await seqs_from(feed, 0, 2)
    log.is_away = True
    with pytest.raises(StoreUnavailable):
        await feed.next(2)
    log.is_away, log.stored = False, events(2, "after")

    assert [each.result().event.event for each in await feed.next(0)] == ["after", "after"]


async def test_what_is_written_right_after_a_read_that_found_nothing_wakes_the_reader():
    class WrittenMeanwhile(Written):
        async def events(self, *, after: int, limit: int) -> Sequence[StoredEvent]:
            found = await super().events(after=after, limit=limit)
            self.stored = events(1)
            return found

    feed = EventFeed(WrittenMeanwhile())

    async with asyncio.timeout(60):
        assert await seqs_from(feed, 0, 1) == [1]


async def test_who_comes_in_the_moment_that_a_read_ends_waits_for_the_next_one():
    log = Written()
    feed = EventFeed(log)
    first = await begun(feed.next(0))
    log.written.set()  # the read ends in the next turn of the loop, and this follower comes right behind it
    log.stored = events(1)
    second = asyncio.create_task(feed.next(0))

    assert [each.result().seq for each in await second] == [1]
    assert list(await first) == []
    await feed.close()
