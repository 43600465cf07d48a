"""A claim and another write that were decided on the same row: in either order, apart and in one transaction."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import pytest

from taskyard.core import transitions
from taskyard.core.changes import Beat, ChangeSet, Committed, Conflict, RecordChange, Rescore, Taken
from taskyard.core.claiming import ClaimPlan
from taskyard.core.task import Hot, Status
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Claimed, Stale
from taskyard.stores.sqlite import SqliteStore, claims
from taskyard.stores.sqlite.threads.writer import Writer
from taskyard.stores.sqlite.transaction import SqliteTransaction
from tests.stores.given import HERE, a_set, given_a_task, history, row_of
from tests.stores.plans import a_plan
from tests.stores.sqlite.inside import held_back

Act = Callable[[SqliteStore, Hot], ChangeSet]
Claim = Claimed | Stale
Answer = Committed | Conflict | Taken
One = TypeVar("One")
Two = TypeVar("Two")


def cancel(store: SqliteStore, hot: Hot) -> ChangeSet:
    return a_set(store, changes=(transitions.cancel(hot, reason="not wanted", now=store.now()),))


def edit(store: SqliteStore, hot: Hot) -> ChangeSet:
    """A person changes what it may cost: its lane is another one."""
    return a_set(store, changes=(transitions.relane(hot, lane=hot.lane, now=store.now()),))


def prioritise(store: SqliteStore, hot: Hot) -> ChangeSet:
    change = transitions.reprioritise(hot, priority=1, rank=hot.rank - 1000, by="ada", now=store.now())
    return a_set(store, changes=(change,))


def rescore(store: SqliteStore, hot: Hot) -> ChangeSet:
    return a_set(store, rescores=(Rescore(hot.id, hot.rank - 1000, hot.height, None),))


def pause(store: SqliteStore, hot: Hot) -> ChangeSet:
    return a_set(store, records=(RecordChange("queue", HERE, "default", 0, {"paused": True}),))


def expire(store: SqliteStore, hot: Hot) -> ChangeSet:
    """The sweep takes out what nobody began in time."""
    return a_set(store, changes=(transitions.cancel(hot, reason="expired", now=store.now()),))


class Apart:
    """Two processes, one after the other."""

    def __init__(self, store: SqliteStore, other: SqliteStore, _: Writer) -> None:
        self._store, self._other = store, other

    async def claim(self, plan: ClaimPlan) -> Claim:
        return await self._store.claim(plan)

    async def commit(self, change_set: ChangeSet) -> Answer:
        return (await self._other.commit([change_set]))[0]

    async def both(self, first: Awaitable[One], second: Awaitable[Two]) -> tuple[One, Two]:
        return await first, await second


class Together:
    """One process, in one transaction: the writer's thread is kept busy until both wait for it."""

    def __init__(self, _: SqliteStore, __: SqliteStore, writer: Writer) -> None:
        self._writer = writer

    async def claim(self, plan: ClaimPlan) -> Claim:
        taken = await self._writer.do(partial(claims.claim, plan=plan))
        return taken if isinstance(taken, Stale) else claims.to_claimed(taken)

    async def commit(self, change_set: ChangeSet) -> Answer:
        return (await self._writer.commit([change_set]))[0]

    async def both(self, first: Awaitable[One], second: Awaitable[Two]) -> tuple[One, Two]:
        go_on = await held_back(self._writer)
        waiting = asyncio.ensure_future(first), asyncio.ensure_future(second)
        await asyncio.sleep(0)
        go_on.set()
        return await waiting[0], await waiting[1]


ACTS: list[Act] = [cancel, edit, prioritise, rescore, pause, expire]
TAKE_IT_OUT: Sequence[Act] = (cancel, expire)
UNVERSIONED: Sequence[Act] = (rescore, pause)


async def sound_history(store: SqliteStore, hot: Hot) -> list[str]:
    """What happened to the task; each version came once."""
    events = [stored.event for stored in await store.events(after=0, limit=10, task_id=hot.id)]
    assert [event.version for event in events] == list(range(1, (await row_of(store, hot.id)).version + 1))
    assert await store.checks() == []
    return await history(store, hot.id)


@pytest.fixture(params=[Apart, Together])
def sides(request: pytest.FixtureRequest, store: SqliteStore, other: SqliteStore, writer: Writer) -> Apart | Together:
    return request.param(store, other, writer)


@pytest.mark.parametrize("act", ACTS)
async def test_a_claim_that_comes_first_is_what_the_other_meets(store: SqliteStore, sides: Apart | Together, act: Act):
    hot = await given_a_task(store)
    plan, change_set = await a_plan(store), act(store, hot)

    claimed, answer = await sides.both(sides.claim(plan), sides.commit(change_set))

    assert isinstance(claimed, Claimed)
    assert [task.id for task in claimed.tasks] == [hot.id]
    assert isinstance(answer, Committed if act in UNVERSIONED else Conflict)
    after = await row_of(store, hot.id)
    assert (after.status, after.version, after.rank) == (Status.RUNNING, 2, hot.rank)
    assert await sound_history(store, hot) == ["task.created", "task.running"]


@pytest.mark.parametrize("act", ACTS)
async def test_a_claim_that_comes_second_takes_the_task_as_it_is_or_not_at_all(
    store: SqliteStore, sides: Apart | Together, act: Act
):
    hot = await given_a_task(store)
    plan, change_set = await a_plan(store), act(store, hot)

    answer, claimed = await sides.both(sides.commit(change_set), sides.claim(plan))

    assert isinstance(answer, Committed)
    taken = [] if isinstance(claimed, Stale) else [task.id for task in claimed.tasks]
    assert isinstance(claimed, Stale) == (act is pause)
    assert taken == ([] if act in (*TAKE_IT_OUT, pause) else [hot.id])
    steps = await sound_history(store, hot)
    assert len(steps) == 1 + (act not in UNVERSIONED) + len(taken)
    if taken:
        assert (await row_of(store, hot.id)).rank == (hot.rank - 1000 if act in (prioritise, rescore) else hot.rank)


async def test_of_two_claims_in_one_transaction_the_second_takes_what_is_left(
    store: SqliteStore, other: SqliteStore, writer: Writer
):
    hots = [await given_a_task(store) for _ in range(3)]
    plans = [await a_plan(store, tasks=2) for _ in range(2)]
    sides = Together(store, other, writer)

    found = await sides.both(*(sides.claim(plan) for plan in plans))

    assert all(isinstance(each, Claimed) for each in found)
    taken = [[task.id for task in each.tasks] for each in found if isinstance(each, Claimed)]
    assert taken == [[hots[0].id, hots[1].id], [hots[2].id]]


async def test_claims_and_heartbeats_write_nothing_but_what_moves(
    store: SqliteStore, writer: Writer, clock: ManualClock
):
    """SQLite reports each table of which a row is written, except tables without a rowid."""
    hot = await given_a_task(store)
    written: list[str] = []

    def watch(transaction: SqliteTransaction) -> None:
        transaction.connection.set_update_hook(lambda _, __, table, ___: written.append(table))

    await writer.do(watch)
    (task,) = (await writer.do(partial(claims.claim, plan=await a_plan(store)))).tasks
    of_claim, written[:] = set(written), []
    clock.advance(seconds=1)
    await writer.do(partial(claims.extend, beats=[Beat(task.id, task.lease, '"half"')]))
    of_heartbeat = set(written)

    assert of_claim == {"held", "log"}
    assert of_heartbeat == {"held", "meta"}
    assert (await row_of(store, hot.id)).progress == '"half"'
