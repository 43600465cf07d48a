"""A row of the log of which some owners are gone: what is shown of it, when it is written again, and when it goes."""

import pytest

from taskyard.core.changes import Event, expected
from taskyard.core.task import DagId, Hot
from taskyard.ledger.clock import ManualClock
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.shared import log_rows
from tests.stores.given import HERE, a_new_task, committed, every_event, given_a_task, given_tasks, history
from tests.stores.postgres.conftest import Gate

ROWS = "select string_agg(owners || ' ' || coalesce(live::text, 'all'), ', ' order by number) from yard.log"
SHOWN = "select array_agg(task_id order by seq) from yard.history"


async def remove(store: PostgresStore, *hots: Hot) -> None:
    await committed(store, expects=tuple(map(expected, hots)), removals=tuple(hot.id for hot in hots))


async def shown(store: PostgresStore) -> list[tuple[int, str | None]]:
    return [(each.seq, each.event.task_id) for each in await every_event(store)]


async def test_events_of_who_is_gone_are_not_shown_and_go_with_three_quarters_of_the_owners(
    store: PostgresStore, gate: Gate
):
    hots = await given_tasks(store, 5)
    everything = await shown(store)

    await remove(store, hots[1])
    assert await shown(store) == [everything[0], *everything[2:]]
    assert [each.seq for each in await store.newest_events(limit=2)] == [everything[4][0], everything[3][0]]
    assert await gate.ask(ROWS) == "5 4"
    assert await gate.ask(SHOWN) == [hots[0].id, *(hot.id for hot in hots[2:])]
    assert await store.checks() == []

    await remove(store, hots[4], hots[0])
    assert await shown(store) == everything[2:4]
    assert (await gate.ask(ROWS), await store.pruned()) == ("5 2", everything[4][0])
    assert await store.checks() == []

    await remove(store, hots[2])
    assert await shown(store) == everything[3:4]
    assert (await gate.ask(ROWS), await store.pruned()) == ("1 all", everything[4][0])
    assert await store.checks() == []

    await remove(store, hots[3])
    assert await gate.ask(ROWS) is None
    assert await every_event(store) == []


async def test_a_task_that_has_the_id_of_one_that_is_gone_does_not_have_its_events(store: PostgresStore, gate: Gate):
    hots = await given_tasks(store, 5)
    await remove(store, hots[1])

    again = await given_a_task(store, id=hots[1].id)

    left = [hots[0].id, *(hot.id for hot in hots[2:]), again.id]
    assert [task_id for _, task_id in await shown(store)] == left
    assert await gate.ask(SHOWN) == left
    assert await history(store, again.id) == ["task.created"]


async def test_a_row_of_which_all_owners_are_gone_keeps_what_belongs_to_nobody(
    store: PostgresStore, gate: Gate, clock: ManualClock
):
    tasks = [await a_new_task(store, dag_id=DagId("dag_d")) for _ in range(3)]
    await committed(store, tasks=tuple(tasks), events=(of_dag(store), of_dag(store, dag=None)))
    rows = [*(await store.load([task.hot.id for task in tasks])).values()]
    alone = await a_new_task(store)
    await committed(store, tasks=(alone,), events=(of_dag(store), of_dag(store, dag=None)))
    (row,) = (await store.load([alone.hot.id])).values()

    await remove(store, row)
    assert await gate.ask(SHOWN) == [*(hot.id for hot in rows), None, None, None, None]
    await remove(store, *rows)

    assert [each.event for each in await every_event(store)] == [of_dag(store, dag=None)] * 2
    assert await gate.ask(SHOWN) == [None, None]
    assert await store.checks() == []
    clock.advance(seconds=1)
    assert await store.prune_events(store.now(), 0, 10) is None
    assert await every_event(store) == []


def of_dag(store: PostgresStore, dag: str | None = "dag_d") -> Event:
    dag_id = None if dag is None else DagId(dag)
    return Event("dag.created", HERE, None, dag_id, store.now(), None, None, None, None)


async def test_what_this_process_wrote_is_not_parsed_for_those_who_read_it(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    hots = await given_tasks(store, 5)
    monkeypatch.setattr(log_rows, "_EVENT", None)  # every event that is parsed is made by it

    assert [task_id for _, task_id in await shown(store)] == [hot.id for hot in hots]
