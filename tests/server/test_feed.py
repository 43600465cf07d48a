"""The one reader of events in a server: it gathers, and what is written while it reads wakes it."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from taskyard.server.live import feed as live
from taskyard.server.live.event_buffer import Recent
from taskyard.server.live.feed import LiveFeed
from taskyard.yard import Yard
from tests.features.events.test_shared_reader import TURNS, Written, events


async def reading(log: Written) -> tuple[LiveFeed, asyncio.Task[None]]:
    """A feed of this log, once it has got as far as it gets by itself."""
    feed = LiveFeed(cast(Yard, log), Recent(0))
    running = asyncio.create_task(feed.run())
    await turns()
    return feed, running


async def turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


async def test_after_a_page_that_was_not_full_events_gather_before_the_next_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live, "GATHER", 1e6)
    log = Written(events(1))
    feed, running = await reading(log)
    log.stored = events(2)
    log.written.set()
    await turns()

    assert (feed.recent.head, log.reads) == (1, 1)
    running.cancel()


async def test_what_is_written_right_after_a_read_wakes_the_reader(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live, "GATHER", 0.0)

    class WrittenMeanwhile(Written):
        async def events(self, *, after: int, limit: int) -> list[live.StoredEvent]:
            found = await super().events(after=after, limit=limit)
            self.stored = events(1)
            return list(found)

    feed, running = await reading(WrittenMeanwhile())

    assert feed.recent.head == 1
    running.cancel()
