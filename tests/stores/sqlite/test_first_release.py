"""A file of release 0.1.0 is brought over whole: what was stored is read as it was, and work goes on."""

import gzip
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from taskyard.core.changes import Event
from taskyard.core.errors import MigrationNeedsStop
from taskyard.core.task import FINAL, KEY_HELD, LET_GO, Hot, Status, TaskId
from taskyard.core.units import SECOND
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.shared.rows import STATUSES, parse_hot
from taskyard.stores.sqlite import SqliteStore
from taskyard.yard import Yard, local_yard
from tests.stores.given import at_once
from tests.stores.sqlite.inside import opened

DATA = Path(__file__).parents[2] / "data"
SAID: dict[str, Any] = json.loads((DATA / "sqlite-0.1.0.json").read_text())
NAMES: dict[str, TaskId] = SAID["names"]
EVENTS = "select seq, event, workspace, task_id, dag_id, at, version, status, attempt, data from event order by seq"
# Fields that the first release had and this one keeps only while a task is held.
HELD_ONLY = [name for name in LET_GO if name not in ("agent_type", "type_slot")]


@pytest.fixture
def path(path: Path) -> Path:
    path.write_bytes(gzip.decompress((DATA / "sqlite-0.1.0.db.gz").read_bytes()))
    return path


@pytest.fixture
def clock() -> ManualClock:
    clock = ManualClock()
    clock.advance(seconds=(SAID["now"] - clock.now()) / SECOND)
    return clock


@pytest.fixture
def before(path: Path) -> dict[str, list[Any]]:
    """The tables as they were."""
    names = ("task", "attempt", "output", "blocker", "edge", "checkpoint", "signal", "definition", "tag")
    with opened(path) as connection:
        rows = {name: [*connection.execute(f"select * from {name}")] for name in names}
        columns = [row[1] for row in connection.execute("pragma table_info(task)")]
        rows["task"] = [dict(zip(columns, row, strict=True)) for row in rows["task"]]
        return {**rows, "event": [*connection.execute(EVENTS)]}


@pytest.fixture
async def store(before: dict[str, list[Any]], path: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, clock=clock)
    await store.migrate()
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def yard(before: dict[str, list[Any]], path: Path, clock: ManualClock) -> AsyncIterator[Yard]:
    store = SqliteStore(path, clock=clock)
    await store.migrate()
    yard = local_yard(store, Options(sweeps=False))
    await yard.open()
    yield yard
    await yard.close()


def brought_over(row: dict[str, Any]) -> Hot:
    """The row that a task of the first release has now."""
    added = {"agent_type": None, "type_slot": 0, "tokens_cached": None}
    hot = parse_hot([{**row, **added}[name] for name in Hot._fields])
    if hot.status not in KEY_HELD:
        hot = hot._replace(**{name: LET_GO[name] for name in HELD_ONLY})
    return hot._replace(rescore_at=None) if hot.status in FINAL else hot


def test_the_file_has_tasks_in_every_state(before: dict[str, list[Any]]):
    resting = {status.value for status in Status} - {"created", "failed"}

    assert {row["status"] for row in before["task"]} == resting
    assert len(before["event"]) > 1024
    assert len({row[2] for row in before["event"]}) == 2


async def test_every_task_is_as_it_was(store: SqliteStore, before: dict[str, list[Any]]):
    wanted = {row["id"]: brought_over(row) for row in before["task"]}

    assert await store.load(list(wanted)) == wanted
    assert await store.checks() == []


async def test_every_event_has_its_number_and_is_found_by_its_task(store: SqliteStore, before: dict[str, list[Any]]):
    wanted = [(seq, Event._make((*row[:6], STATUSES.get(row[6]), *row[7:]))) for seq, *row in before["event"]]
    of_task: dict[str, list[tuple[int, Event]]] = defaultdict(list)
    for seq, event in wanted:
        of_task[event.task_id or ""].append((seq, event))
    del of_task[""]

    found = await store.events(after=0, limit=10_000)

    assert [each[:2] for each in found] == wanted
    for place in (1, 500, 1023, 1024, len(wanted) - 2):
        after = wanted[place][0]
        assert [each[:2] for each in await store.events(after=after, limit=7)] == wanted[place + 1 : place + 8]
        here = [each for each in wanted if each[0] > after and each[1].workspace == "other"]
        assert [each[:2] for each in await store.events(after=after, limit=9_999, workspace="other")] == here
    for task_id, events in of_task.items():
        assert [each[:2] for each in await store.events(after=0, limit=9_999, task_id=TaskId(task_id))] == events


async def test_attempts_outputs_keys_and_edges_are_there(store: SqliteStore, before: dict[str, list[Any]]):
    ids = [row["id"] for row in before["task"]]
    attempts = await store.histories(ids)
    outputs = await store.outputs(ids)
    live = [
        row
        for row in before["task"]
        if row["workspace"] == "default"
        and row["idempotency_key"]
        and row["status"] not in ("cancelled", "dead_lettered")
    ]

    assert sorted((each.task_id, each.number) for of in attempts.values() for each in of) == sorted(
        (row[0], row[1]) for row in before["attempt"]
    )
    assert {(each.task_id, each.attempt, each.data) for each in outputs.values()} == {
        (row[0], row[1], row[2]) for row in before["output"]
    }
    assert await store.by_key("default", ["done", "ready", "dead", "gone"]) == {
        row["idempotency_key"]: row["id"] for row in live
    }
    assert sorted(await store.blockers(ids)) == sorted(before["blocker"])
    assert sorted(await store.edges(ids)) == sorted(before["edge"])
    assert len(await store.checkpoints(NAMES["talks"])) == 40


async def test_work_goes_on_where_it_was(yard: Yard, before: dict[str, list[Any]]):
    leases = SAID["leases"]
    await yard.complete(NAMES["running"], leases["running"], {"of": "before"})
    await yard.complete(NAMES["holds_key"], leases["holds_key"])
    await yard.start(NAMES["claimed"], leases["claimed"])
    await yard.signal(NAMES["pending_on_signal"], "go", {"yes": True})
    await yard.dead_letters.resolve(NAMES["dead_lettered"], "retry", by="ada")
    (judging,) = await yard.claim("judge", types=["llm-judge"], start=True)
    await yard.complete(judging.id, judging.lease, {"passed": True, "reason": "good"})
    found = {name: (await yard.get(task_id)).status for name, task_id in NAMES.items()}
    fresh = await yard.enqueue("code")
    numbers = [each.seq for each in await yard.events(task_id=fresh.id)]

    assert found["running"] is found["holds_key"] is found["validating"] is Status.COMPLETED
    assert found["claimed"] is Status.RUNNING
    assert found["parked"] is found["pending_on_signal"] is found["dead_lettered"] is Status.READY
    assert (await yard.enqueue("code", idempotency_key="done")).id == NAMES["completed"]
    assert min(numbers) > before["event"][-1][0]
    (stored,) = (await yard.store.load([fresh.id])).values()
    assert stored.seq > max(row["seq"] for row in before["task"])
    verified = await yard.verify()
    assert verified.ok, str(verified)


async def test_what_is_old_enough_goes_and_leaves_no_event(yard: Yard, clock: ManualClock):
    clock.advance(seconds=40 * 86_400)
    for _ in range(3):  # figures are counted before events go
        await yard.sweep()

    assert not await yard.store.load([NAMES["completed"], NAMES["cancelled"]])
    assert await yard.store.events(after=0, limit=10, task_id=NAMES["completed"]) == []
    assert NAMES["completed"] not in {each.event.task_id for each in await yard.store.events(after=0, limit=9_999)}
    assert await yard.store.checks() == []


async def test_a_process_of_the_first_release_that_is_still_connected_fails(path: Path, clock: ManualClock):
    """With the statements that it begins each write, each read of a task and each read of events with."""
    with opened(path) as old:
        for statement in (
            statements := ["select clock, task_seq, event_seq from meta", "select lease from task", EVENTS]
        ):
            old.execute(statement).fetchall()
        await SqliteStore(path, clock=clock).migrate()

        for statement in statements:
            with pytest.raises(apsw.SQLError, match="no such"):
                old.execute(statement).fetchall()


async def test_many_processes_may_start_on_it_at_once(path: Path, clock: ManualClock):
    stores = [SqliteStore(path, clock=clock) for _ in range(4)]
    await at_once(*(store.migrate() for store in stores))
    await at_once(*(store.open() for store in stores))

    for store in stores:
        assert len(await store.load(list(NAMES.values()))) == len(set(NAMES.values()))
        await store.close()


async def test_opening_leaves_it_as_it_is_until_somebody_migrates(path: Path, clock: ManualClock):
    store = SqliteStore(path, clock=clock)
    with pytest.raises(MigrationNeedsStop, match="Stop every process of this yard, back it up"):
        await store.open()
    assert (await store.schema()).stored.version == 2

    await store.migrate()
    await store.open()

    assert (await store.schema()).outstanding() == []
    await store.close()
