"""Those who wait for a write in one process: by topics, from a mark on, and without keeping every topic for ever."""

from __future__ import annotations

import asyncio

import pytest

from taskyard.stores.shared import waiters
from taskyard.stores.shared.waiters import Waiters

HERE = frozenset({"here"})


def test_a_topic_has_changed_since_marks_before_its_write_only():
    writes = Waiters()
    before = writes.mark
    writes.wake(HERE)
    after = writes.mark

    assert writes.has_changed(before, HERE)
    assert not writes.has_changed(after, HERE)
    assert not writes.has_changed(before, {"there"})
    writes.wake()  # of what, nobody knows
    assert writes.has_changed(after, HERE)


def test_topics_are_forgotten_and_then_every_topic_may_have_changed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(waiters, "_MOST_TOPICS", 10)
    writes, begun = Waiters(), Waiters().mark
    for number in range(100):
        writes.wake({str(number)})
        assert len(writes._marks) <= 11  # pyright: ignore[reportPrivateUsage]
        assert writes.has_changed(writes.mark - 1, {str(number)})

    assert writes.has_changed(begun, HERE)
    assert not writes.has_changed(writes.mark, HERE)


async def test_who_waits_is_woken_by_the_topics_that_are_wanted():
    writes = Waiters()
    waiting = asyncio.create_task(writes.wait(writes.mark, 60, HERE))
    await asyncio.sleep(0)
    writes.wake({"there"})
    await asyncio.sleep(0)
    assert writes.is_awaited
    writes.wake(HERE)

    await asyncio.wait_for(waiting, 30)
