"""Events are written once for each commit and workspace, and every task knows where its own are."""

from pathlib import Path

import pytest

from taskyard.core.changes import Event, expected
from taskyard.core.task import DagId, Hot
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import FROM_THE_OLDEST
from taskyard.stores.shared import log_rows as log_rows_of_all_stores
from taskyard.stores.sqlite import SqliteStore, queries
from taskyard.stores.sqlite.writes.moves import MOST_STEPS
from tests.stores.given import (
    ELSEWHERE,
    HERE,
    a_new_task,
    a_set,
    committed,
    completing,
    every_event,
    given_a_completed_task,
    given_a_running_task,
    given_a_task,
    given_tasks,
    history,
    signalling,
    step,
)
from tests.stores.sqlite.inside import opened


def log_rows(path: Path) -> list[tuple[str, int]]:
    """The workspace of each row, and how many owners its events have."""
    with opened(path) as connection:
        return [(str(row[0]), int(str(row[1]))) for row in connection.execute("select workspace, owners from log")]


async def remove(store: SqliteStore, *hots: Hot) -> None:
    await committed(store, expects=tuple(map(expected, hots)), removals=tuple(hot.id for hot in hots))


def a_message(store: SqliteStore, hot: Hot, text: str = "") -> Event:
    """Something that its agent said: an event that moves nothing."""
    return Event("task.message", hot.workspace, hot.id, None, store.now(), None, None, 1, f'{{"text":"{text}"}}')


async def test_a_commit_is_one_row_whatever_it_does(store: SqliteStore, path: Path):
    tasks = [await a_new_task(store) for _ in range(3)]
    await store.commit([a_set(store, tasks=(task,)) for task in tasks])

    assert log_rows(path) == [(HERE, 3)]
    assert [each.event for each in await every_event(store)] == [task.event for task in tasks]


async def test_workspaces_have_rows_of_their_own_and_take_turns(store: SqliteStore, path: Path):
    tasks = [await a_new_task(store, workspace=where) for where in (ELSEWHERE, HERE, ELSEWHERE, HERE)]
    await committed(store, tasks=tuple(tasks))
    numbers = [each.seq for each in await every_event(store)]

    assert sorted(log_rows(path)) == [(ELSEWHERE, 2), (HERE, 2)]
    assert [each.event for each in await every_event(store)] == [task.event for task in tasks]
    assert await store.events(after=numbers[0], limit=2) == (await every_event(store))[1:3]
    of_here = await store.newest_events(limit=9, workspace=HERE)
    assert [each.event for each in of_here] == [tasks[3].event, tasks[1].event]
    assert [each.seq for each in await store.newest_events(limit=2, below=numbers[3])] == [numbers[2], numbers[1]]


async def test_many_events_of_a_commit_are_several_rows_and_each_task_knows_its_own(store: SqliteStore, path: Path):
    hots = await given_tasks(store, 1100)

    assert [owners for _, owners in log_rows(path)] == [512, 512, 76]
    assert [each.event.task_id for each in await every_event(store)] == [hot.id for hot in hots]
    for hot in (hots[0], hots[511], hots[512], hots[-1]):
        assert await history(store, hot.id) == ["task.created"]
    assert await store.checks() == []


async def test_long_texts_are_several_rows(store: SqliteStore, path: Path):
    hot = await given_a_running_task(store)
    messages = tuple(a_message(store, hot, "x" * 30_000) for _ in range(5))
    before = len(log_rows(path))

    await committed(store, events=messages)

    assert len(log_rows(path)) == before + 3
    assert [each.event for each in await store.events(after=0, limit=9, task_id=hot.id)][2:] == [*messages]


async def test_a_task_of_many_steps_and_messages_keeps_a_narrow_row(store: SqliteStore, path: Path):
    hot = await given_a_running_task(store)
    for _ in range(MOST_STEPS + 10):
        hot = await step(store, signalling(store, hot))
        await committed(store, events=(a_message(store, hot),))
    hot = await step(store, completing(store, hot))

    with opened(path) as connection:
        numbers = str(connection.execute("select log from task").get)
    names = await history(store, hot.id)
    assert len(numbers.strip(",").split(",")) == MOST_STEPS
    assert (names.count("task.signalled"), names.count("task.message")) == (MOST_STEPS + 10, MOST_STEPS + 10)
    assert names[0 :: len(names) - 1] == ["task.created", "task.completed"]
    newest = await store.newest_events(limit=20, task_id=hot.id)
    assert [each.event.event for each in newest] == names[::-1][:20]
    assert await store.checks() == []

    await remove(store, hot)

    assert log_rows(path) == []
    assert await every_event(store) == []
    assert await store.checks() == []


async def shown(store: SqliteStore) -> list[tuple[int, str | None]]:
    return [(each.seq, each.event.task_id) for each in await every_event(store)]


async def test_events_of_who_is_gone_are_not_shown_and_go_with_three_quarters_of_the_owners(
    store: SqliteStore, path: Path
):
    hots = await given_tasks(store, 5)
    everything = await shown(store)

    await remove(store, hots[1])
    assert await shown(store) == [everything[0], *everything[2:]]
    assert [each.seq for each in await store.newest_events(limit=2)] == [everything[4][0], everything[3][0]]
    assert log_rows(path) == [(HERE, 5)]
    assert await store.checks() == []

    await remove(store, hots[4], hots[0])
    assert await shown(store) == everything[2:4]
    assert (log_rows(path), await store.pruned()) == ([(HERE, 5)], everything[4][0])
    assert await store.checks() == []

    await remove(store, hots[2])
    assert await shown(store) == everything[3:4]
    assert (log_rows(path), await store.pruned()) == ([(HERE, 1)], everything[4][0])
    assert await store.checks() == []

    await remove(store, hots[3])
    assert log_rows(path) == []
    again = await given_tasks(store, 1)
    assert again[0].seq > hots[-1].seq
    assert (await every_event(store))[0].seq > everything[-1][0]


async def test_a_task_that_has_the_id_of_one_that_is_gone_does_not_have_its_events(store: SqliteStore):
    hots = await given_tasks(store, 5)
    await remove(store, hots[1])

    again = await given_a_task(store, id=hots[1].id)

    assert [task_id for _, task_id in await shown(store)] == [hots[0].id, *(hot.id for hot in hots[2:]), again.id]
    assert await history(store, again.id) == ["task.created"]
    assert await store.checks() == []


async def test_a_row_of_which_all_owners_are_gone_keeps_what_belongs_to_nobody(store: SqliteStore, clock: ManualClock):
    tasks = [await a_new_task(store, dag_id=DagId("dag_d")) for _ in range(2)]
    of_dag = Event("dag.created", HERE, None, DagId("dag_d"), store.now(), None, None, None, None)
    of_nobody = of_dag._replace(event="agent.drained", dag_id=None)
    await committed(store, tasks=tuple(tasks), events=(of_dag, of_nobody))
    rows = await store.load([task.hot.id for task in tasks])

    await remove(store, *rows.values())

    assert [each.event for each in await every_event(store)] == [of_nobody]
    assert await store.checks() == []
    clock.advance(seconds=1)
    assert await store.prune_events(store.now(), 0, 10) is None
    assert await every_event(store) == []


async def test_what_is_removed_takes_no_event_of_another_set_along(store: SqliteStore):
    gone, kept = await given_tasks(store, 2)
    removal = a_set(store, expects=(expected(gone),), removals=(gone.id,))

    await store.commit(
        [a_set(store, events=(a_message(store, kept),)), removal, a_set(store, events=(_drained(store),))]
    )

    assert [each.event.event for each in await every_event(store)] == ["task.created", "task.message", "agent.drained"]
    assert await store.checks() == []


def _drained(store: SqliteStore) -> Event:
    return Event("agent.drained", HERE, None, None, store.now(), None, None, None, None)


async def test_a_commit_without_events_leaves_its_time_to_the_others(
    store: SqliteStore, other: SqliteStore, clock: ManualClock
):
    hot = await given_a_running_task(store)
    clock.advance(seconds=1)
    await store.pulse(["agent:ada"])
    clock.advance(seconds=-0.5)
    await other.pulse(["agent:bob"])

    pulses = await store.pulses("agent:")
    assert pulses["agent:bob"] == pulses["agent:ada"] > hot.updated_at


async def test_what_this_process_wrote_is_not_parsed_for_those_who_read_it(
    store: SqliteStore, other: SqliteStore, monkeypatch: pytest.MonkeyPatch
):
    running = [await given_a_running_task(store) for _ in range(3)]
    await store.commit([a_set(store, changes=(completing(store, hot),)) for hot in running])
    monkeypatch.setattr(log_rows_of_all_stores, "_EVENT", None)  # every event that is parsed is made by it

    assert len(await every_event(other)) > 6


async def test_what_may_be_removed_is_read_once(store: SqliteStore, path: Path, clock: ManualClock):
    done = [await given_a_completed_task(store) for _ in range(3)]
    clock.advance(seconds=1)
    asked: list[str] = []
    with opened(path) as connection:
        connection.exec_trace = lambda _cursor, sql, _values: asked.append(sql) or True
        piece = queries.prunable(connection, clock.now(), 9, dead_too=False, after=FROM_THE_OLDEST)

    assert {hot.id: hot for hot in piece.tasks} == await store.load([hot.id for hot in done])
    # A snapshot begins, the ends in the log, the tasks that they name, the DAGs of these, the snapshot ends.
    assert len(asked) == 5
