"""Pruning goes on until nothing is left that is old enough, and does not wait among the commits of others."""

import pytest

from taskyard.features.retention import pruning
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import work_off
from tests.yards import given_an_agent

OLD = 7 * 24 * 3600.0 + 61
TASKS = 10


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "PIECE", 3)
    monkeypatch.setattr(pruning, "MOST_PIECES", 1)
    monkeypatch.setattr(pruning, "EVENTS_PIECE", 3)


async def given_old_tasks(yard: Yard, clock: ManualClock) -> None:
    await given_an_agent(yard)
    await yard.enqueue_many([{"type": "code"}] * TASKS)
    await work_off(yard)
    await yard.sweeper.follow()  # what is not counted yet is kept
    clock.advance(seconds=OLD)


async def test_at_length_step_follows_step_until_nothing_old_is_left(yard: Yard, clock: ManualClock):
    await given_old_tasks(yard, clock)

    assert await yard.sweeper.make_room(at_length=True) == TASKS
    assert await yard.find() == []


async def test_at_length_events_of_no_task_go_too(yard: Yard, clock: ManualClock):
    for _ in range(TASKS):
        await yard.pause_queue("slow")
        await yard.resume_queue("slow")
    await yard.sweeper.follow()
    clock.advance(seconds=OLD)

    await yard.sweeper.make_room(at_length=True)

    assert await yard.store.events(after=await yard.store.pruned(), limit=1) == []


async def test_removals_do_not_wait_among_the_commits_of_others(yard: Yard, clock: ManualClock):
    await given_old_tasks(yard, clock)
    queue = yard.features.ledger.queue
    before = queue.flushes

    assert await yard.sweeper.make_room(at_length=True) == TASKS

    assert queue.flushes == before
