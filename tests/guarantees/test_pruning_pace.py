"""Pruning goes on until nothing is left that is old enough, and does not wait among the commits of others."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from taskyard import sweeper
from taskyard.features.retention import pruning, pruning_pace
from taskyard.features.retention import rules as retention
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Cursor, Prunable
from taskyard.yard import Yard, local_yard
from tests.graphs import claim_all, given_a_graph, task, work_off
from tests.interference import while_pruning
from tests.yards import OpenYard, given_an_agent

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
    await yard.on_store.sweeper.follow()  # what is not counted yet is kept
    clock.advance(seconds=OLD)


async def test_at_length_step_follows_step_until_nothing_old_is_left(yard: Yard, clock: ManualClock):
    await given_old_tasks(yard, clock)

    assert await yard.on_store.sweeper.make_room(at_length=True) == TASKS
    assert await yard.find() == []


async def test_at_length_events_of_no_task_go_too(yard: Yard, clock: ManualClock):
    for _ in range(TASKS):
        await yard.queues.pause("slow")
        await yard.queues.resume("slow")
    await yard.on_store.sweeper.follow()
    clock.advance(seconds=OLD)

    await yard.on_store.sweeper.make_room(at_length=True)

    assert await yard.store.events(after=await yard.store.pruned(), limit=1) == []


async def test_removals_do_not_wait_among_the_commits_of_others(yard: Yard, clock: ManualClock):
    await given_old_tasks(yard, clock)
    queue = yard.local.ledger.queue
    before = queue.commits

    assert await yard.on_store.sweeper.make_room(at_length=True) == TASKS

    assert queue.commits == before


class Pieces:
    """What pruning asks the store for, which answers as ever; what happens while each piece is removed, `acts` say."""

    def __init__(self, yard: Yard, monkeypatch: pytest.MonkeyPatch, *acts: Callable[[], Awaitable[object]]) -> None:
        self.sizes: list[int] = []
        self._prunable = yard.store.prunable
        self._acts = list(acts)
        monkeypatch.setattr(yard.store, "prunable", self.prunable)

    async def prunable(self, before: Any, limit: int, *, dead_too: bool, after: Cursor) -> Prunable:
        if self._acts:
            await self._acts.pop(0)()
        self.sizes.append(limit)
        return await self._prunable(before, limit, dead_too=dead_too, after=after)


class Seconds:
    """The clock of pruning, which stands still but for its rests and what a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.rests: list[float] = []
        monkeypatch.setattr(pruning_pace, "monotonic", lambda: self.now)
        monkeypatch.setattr(pruning_pace, "sleep", self.rest)

    async def rest(self, seconds: float) -> None:
        self.rests.append(round(seconds, 6))
        self.now += seconds


async def nothing() -> None:
    return None


async def test_pieces_are_small_while_others_work(yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retention, "SMALL_PIECE", 1)
    await given_old_tasks(yard, clock)
    Seconds(monkeypatch)
    pieces = Pieces(yard, monkeypatch, lambda: yard.enqueue("other"))

    await yard.on_store.sweeper.make_room(at_length=True)

    assert pieces.sizes == [3, 1, 3, 3, 3]


async def test_pruning_rests_after_each_piece_while_others_work_so_that_its_rate_holds(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(retention, "BESIDE_OTHERS", 10.0)
    await given_old_tasks(yard, clock)
    seconds = Seconds(monkeypatch)
    pruner = local_yard(yard.store, yard.local.ledger.options)

    async def work() -> None:
        await pruner.enqueue("other")
        seconds.now += 0.1

    async def work_long() -> None:
        await pruner.enqueue("other")
        seconds.now += 0.4

    Pieces(yard, monkeypatch, work, work_long, work)

    await pruner.on_store.sweeper.make_room(at_length=True)

    # Three a piece at ten a second. The second takes longer than that, so it and the third, which makes up for it, are
    # followed by half of the time that they took.
    assert seconds.rests == [0.2, 0.2, 0.05]


async def test_pruning_rests_while_another_process_works(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(retention, "BESIDE_OTHERS", 10.0)
    await given_old_tasks(yard, clock)
    seconds = Seconds(monkeypatch)
    pruner = local_yard(yard.store, yard.local.ledger.options)
    Pieces(yard, monkeypatch, nothing, lambda: yard.enqueue("other"), nothing)

    await pruner.on_store.sweeper.make_room(at_length=True)

    assert [rest > 0 for rest in seconds.rests] == [False, True, False]


async def test_a_graph_that_grows_while_it_is_removed_is_not_counted(yard: Yard, clock: ManualClock):
    """The lone tasks of the same commit are removed, and counted."""
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"))
    await yard.enqueue("code")
    await work_off(yard)
    await yard.on_store.sweeper.follow()
    clock.advance(seconds=OLD)
    pruner = while_pruning(yard, lambda: yard.dags.add(dag.id, [task("b")]))

    assert await pruner.on_store.sweeper.make_room(at_length=True) == 1


async def test_a_task_that_is_needed_again_stays_and_those_removed_with_it_go(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    first, second = [await yard.enqueue("code") for _ in range(2)]
    await work_off(yard)
    await yard.on_store.sweeper.follow()
    clock.advance(seconds=OLD)
    pruner = while_pruning(yard, lambda: yard.enqueue("code", depends_on=[first.id]))

    assert await pruner.on_store.sweeper.make_room(at_length=True) == 1
    assert list(await yard.store.load([first.id, second.id])) == [first.id]


async def test_what_has_to_be_kept_does_not_hide_what_comes_after_it(yard: Yard, clock: ManualClock):
    """More finished tasks than a piece has are kept for a dead letter, and their events with them."""
    await given_an_agent(yard)
    await given_a_graph(yard, *(task(name, max_attempts=1) for name in "abcde"))
    dead, *done = await claim_all(yard, 5)
    await yard.fail(dead.id, dead.lease, "crash")
    for held in done:
        await yard.complete(held.id, held.lease)
    kept = {each.id for each in await yard.find()}
    await yard.queues.pause("slow")
    await given_old_tasks(yard, clock)

    async with asyncio.timeout(30):
        assert await yard.on_store.sweeper.make_room(at_length=True) == TASKS
    assert {each.id for each in await yard.find()} == kept
    events = await yard.store.events(after=0, limit=1000)
    assert {each.event.task_id for each in events} == {*kept, None}  # None: of the DAG that is kept
    assert "queue.paused" not in {each.event.event for each in events}


async def test_a_duty_that_has_run_out_is_left_to_whoever_takes_it_next(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    await given_old_tasks(yard, clock)

    async def time_passes() -> None:
        clock.advance(seconds=11)

    Pieces(yard, monkeypatch, time_passes)

    assert await yard.on_store.sweeper.make_room(at_length=True) == 3


async def test_an_open_yard_prunes_until_nothing_old_is_left(open_yard: OpenYard, clock: ManualClock):
    """On a clock that stands still each duty is taken once: what one step leaves, no later one would find."""
    yard = await open_yard(sweeps=True)
    await given_old_tasks(yard, clock)

    await until(yard, lambda: nothing_is_left(yard))


async def test_an_open_yard_follows_events_until_all_are_followed(
    open_yard: OpenYard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sweeper, "PAGE", 3)
    monkeypatch.setattr(sweeper, "PAGES_AT_ONCE", 1)
    monkeypatch.setattr(sweeper, "MOST_ROUNDS", 1)
    yard = await open_yard(sweeps=True)
    await yard.enqueue_many([{"type": "code"}] * TASKS)
    clock.advance(seconds=5)  # the duty may have been taken before there was anything to follow

    await until(yard, lambda: all_is_followed(yard))


async def until(yard: Yard, is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await is_so():
            await yard.changed(await yard.mark(), 0.1)


async def nothing_is_left(yard: Yard) -> bool:
    return not await yard.find(limit=1)


async def all_is_followed(yard: Yard) -> bool:
    return await yard.local.metrics.first_uncounted() is None
