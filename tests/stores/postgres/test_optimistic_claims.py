"""A plain claim is looked at first and taken by one statement; what moves in between is never taken."""

from typing import Any

import pytest

from taskyard.core.changes import RecordChange
from taskyard.core.task import AgentId, Status
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Claimed, Stale
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.connection import session
from taskyard.stores.postgres.fast import optimistic_claim
from taskyard.stores.postgres.transaction_runner import TransactionRunner
from tests.stores.given import (
    BOB,
    HERE,
    a_dag_id,
    a_lane,
    cancelling,
    committed,
    given_a_task,
    given_tasks,
    history,
    ids,
    lane_of,
    row_of,
    step,
)
from tests.stores.plans import a_plan, take
from tests.stores.postgres.conftest import Gate, Meanwhile


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The transactions that were begun."""
    begun: list[str] = []
    write = TransactionRunner.write

    async def counted(self: TransactionRunner, work: Any, *, begin: str = "", rows: int = 0) -> Any:
        begun.append(begin)
        return await write(self, work, begin=begin, rows=rows)

    monkeypatch.setattr(TransactionRunner, "write", counted)
    return begun


async def held(store: PostgresStore, agent: str = "ada") -> int:
    limits = await store.limits(HERE, [f"slots:{agent}"])
    return limits[f"slots:{agent}"].held if limits else 0


async def test_a_plain_claim_begins_no_transaction(store: PostgresStore, begun: list[str]):
    tasks = await given_tasks(store, 3)
    plan = await a_plan(store, tasks=5)
    begun.clear()

    claimed = await take(store, plan)

    assert ids(claimed.tasks) == ids(tasks)
    assert list((await store.load(ids(tasks))).values()) == list(claimed.tasks)
    assert await history(store, tasks[0].id) == ["task.created", "task.running"]
    assert await held(store) == 3
    assert (await take(store, plan)).tasks == ()
    assert not begun


async def test_what_is_only_looked_at_is_not_locked(store: PostgresStore, gate: Gate, meanwhile: Meanwhile):
    task = await given_a_task(store)
    locked_by: list[str] = []

    async def look() -> None:
        locked_by.append(await gate.ask("select xmax::text from yard.ready where seq = $1", task.seq))

    meanwhile(look)
    await take(store, await a_plan(store))

    assert locked_by == ["0"]


async def test_what_another_has_taken_meanwhile_is_not_taken_again(
    store: PostgresStore, other: PostgresStore, meanwhile: Meanwhile
):
    first, second, third = await given_tasks(store, 3)
    plan, theirs = await a_plan(store, tasks=2), await a_plan(other, agent=BOB)
    meanwhile(lambda: other.claim(theirs))

    claimed = await take(store, plan)

    assert ids(claimed.tasks) == [second.id, third.id]
    assert (await row_of(store, first.id)).agent == BOB
    assert [(await history(store, each.id)).count("task.running") for each in (first, second, third)] == [1, 1, 1]
    assert (await held(store), await held(store, BOB)) == (2, 1)


async def test_what_was_cancelled_meanwhile_stays_so(store: PostgresStore, other: PostgresStore, meanwhile: Meanwhile):
    task = await given_a_task(store)
    plan = await a_plan(store)
    meanwhile(lambda: step(other, cancelling(other, task)))

    assert (await take(store, plan)).tasks == ()
    assert (await row_of(store, task.id)).status is Status.CANCELLED
    assert await held(store) == 0


async def test_what_another_has_locked_is_not_waited_for(store: PostgresStore, meanwhile: Meanwhile, gate: Gate):
    first, second = await given_tasks(store, 2)
    plan = await a_plan(store)
    meanwhile(lambda: gate.shut_task(first))

    claimed = await take(store, plan)

    await gate.open()
    assert ids(claimed.tasks) == [second.id]


async def test_a_plan_that_has_become_void_meanwhile_takes_nothing(
    store: PostgresStore, other: PostgresStore, meanwhile: Meanwhile
):
    task = await given_a_task(store)
    plan = await a_plan(store)
    pause = RecordChange("queue", HERE, "default", 0, {"paused": True})
    meanwhile(lambda: committed(other, records=(pause,)))

    assert isinstance(await store.claim(plan), Stale)
    assert (await row_of(store, task.id)).status is Status.READY


async def test_slots_that_were_filled_meanwhile_are_not_filled_twice(
    store: PostgresStore, other: PostgresStore, meanwhile: Meanwhile
):
    seen, elsewhere = await given_a_task(store), await lane_of(store, a_lane(type="else"))
    await given_a_task(store, lane=elsewhere)
    plan, theirs = await a_plan(store, slots=1), await a_plan(other, elsewhere, slots=1)
    meanwhile(lambda: other.claim(theirs))  # the same agent, in another process

    assert (await take(store, plan)).tasks == ()
    assert await held(store) == 1
    assert (await row_of(store, seen.id)).status is Status.READY


@pytest.mark.parametrize("how", ["key", "graph", "money"])
async def test_what_may_stand_under_other_ceilings_is_locked_first(store: PostgresStore, begun: list[str], how: str):
    fields: dict[str, Any] = {"key": {"key": "k"}, "graph": {"dag_id": a_dag_id()}, "money": {}}[how]
    task = await given_a_task(store, **fields)
    plan = await a_plan(store, agent_money=100 if how == "money" else None)
    begun.clear()

    assert ids((await take(store, plan)).tasks) == [task.id]
    assert len(begun) == 1


async def test_after_one_that_was_in_vain_claims_are_careful_for_a_while(
    store: PostgresStore,
    other: PostgresStore,
    begun: list[str],
    meanwhile: Meanwhile,
    monkeypatch: pytest.MonkeyPatch,
):
    now = 1000.0
    monkeypatch.setattr(optimistic_claim, "monotonic", lambda: now)
    await given_tasks(store, 4)
    theirs = await a_plan(other, agent=BOB)
    plans = [await a_plan(store) for _ in range(3)]
    meanwhile(lambda: other.claim(theirs))
    begun.clear()

    await take(store, plans[0])
    await take(store, plans[1])
    assert len(begun) == 2

    now += 2
    assert len((await take(store, plans[2])).tasks) == 1
    assert len(begun) == 2


async def test_names_are_nothing_but_text(store: PostgresStore):
    name = AgentId("o'neill\\'; -- $1 \\ €")
    task = await given_a_task(store)

    claimed = await take(store, await a_plan(store, agent=name))

    assert claimed.tasks[0].agent == name
    assert (await row_of(store, task.id)).agent == name


async def test_statements_that_are_known_by_name_are_not_kept_for_ever(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(session, "_MOST_KEPT", 1)
    for start in (True, False, True, False):
        task = await given_a_task(store)
        claimed = await store.claim(await a_plan(store, start=start))
        assert isinstance(claimed, Claimed)
        assert ids(claimed.tasks) == [task.id]


async def test_a_pool_of_one_connection_spares_none(url: str, store: PostgresStore, clock: ManualClock, gate: Gate):
    task = await given_a_task(store)
    alone = PostgresStore(f"{url}&pool_size=1&application_name=alone", clock=clock)
    await alone.open()
    try:
        claimed = await take(alone, await a_plan(alone))
        others = await gate.ask("select count(*) from pg_stat_activity where application_name = 'alone'")
    finally:
        await alone.close()

    assert ids(claimed.tasks) == [task.id]
    assert others == 1
