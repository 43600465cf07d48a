"""A follower gets every event once, in order, whatever becomes of its steps."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import pytest

from taskyard.core.changes import Event, StoredEvent
from taskyard.core.errors import StoreUnavailable
from taskyard.features.events import shared_reader as following
from taskyard.features.events.rules import EventFilter
from taskyard.features.events.shared_reader import EventFeed
from taskyard.features.events.tail import Tail
from tests.core.defining import NOW

ALL = EventFilter()
TURNS = 100  # of the loop: far more than a step takes


def event(seq: int) -> StoredEvent:
    name = "queue.paused" if seq % 2 else "queue.resumed"
    return StoredEvent(seq, Event(name, "here", None, None, NOW, None, None, None, None))


class Log:
    """A log that can be written to, and be away."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_away = False
        self._written = asyncio.Event()

    def write(self, number: int) -> None:
        self.number = number
        self._written.set()
        self._written = asyncio.Event()

    async def events(self, *, after: int, limit: int) -> Sequence[StoredEvent]:
        if self.is_away:
            raise StoreUnavailable("it is away")
        return [event(seq) for seq in range(after + 1, self.number + 1)][:limit]

    async def mark(self) -> str:
        return str(self.number)

    async def changed(self, mark: str, timeout_sec: float) -> str:  # noqa: ARG002 - a test waits for no time-out
        if mark == await self.mark():
            await self._written.wait()
        return await self.mark()


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PAGE", 3)
    monkeypatch.setattr(following, "KEPT", 6)
    monkeypatch.setattr(following, "GATHER", 0.0)


async def begun(step: asyncio.Future[StoredEvent]) -> asyncio.Future[StoredEvent]:
    """The step, once it has got as far as it gets by itself."""
    for _ in range(TURNS):
        await asyncio.sleep(0)
    return step


async def seqs(tail: Tail, number: int) -> list[int]:
    async with asyncio.timeout(60):
        return [(await anext(tail)).seq for _ in range(number)]


async def test_events_come_in_order_over_the_ends_of_pages_and_are_the_same_objects_for_all():
    feed = EventFeed(Log(7))
    tails = [Tail(feed, 0, ALL) for _ in range(3)]

    seen = [[await anext(tail) for tail in tails] for _ in range(7)]

    assert [[each.seq for each in step] for step in seen] == [[seq] * 3 for seq in range(1, 8)]
    assert all(each is step[0] for step in seen[3:] for each in step)  # the first page may be read by each


async def test_a_filter_takes_its_own_over_pages_that_have_none():
    feed = EventFeed(Log(12))

    tail = Tail(feed, 0, EventFilter(event="queue.resumed"))

    assert await seqs(tail, 6) == [2, 4, 6, 8, 10, 12]


async def test_a_step_that_is_cancelled_loses_nothing():
    log = Log(1)
    tail = Tail(EventFeed(log), 1, ALL)
    waiting = await begun(asyncio.ensure_future(anext(tail)))
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    log.write(3)

    assert await seqs(tail, 2) == [2, 3]


async def test_after_an_error_it_goes_on_where_it_was():
    log = Log(2)
    tail = Tail(EventFeed(log), 0, ALL)
    assert await seqs(tail, 2) == [1, 2]
    log.is_away = True
    with pytest.raises(StoreUnavailable):
        await anext(tail)

    log.is_away = False
    log.write(4)

    assert await seqs(tail, 2) == [3, 4]


async def test_one_that_is_closed_ends():
    tail = Tail(EventFeed(Log(5)), 0, ALL)
    async with aclosing(tail):
        assert await seqs(tail, 2) == [1, 2]

    assert [each.seq async for each in tail] == []


async def test_of_two_steps_at_once_the_second_is_refused():
    log = Log(1)
    tail = Tail(EventFeed(log), 1, ALL)
    first = await begun(asyncio.ensure_future(anext(tail)))
    with pytest.raises(RuntimeError, match="another step"):
        await anext(tail)

    log.write(2)

    assert (await first).seq == 2
