"""One thread writes, others read, and the event loop waits for neither."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from taskyard.core import errors
from taskyard.core.attempt_stream import BEGINNING, ChunkKind, StreamAppend, StreamEnd, StreamEntry
from taskyard.core.changes import Committed
from taskyard.core.task import Hot, Status, TaskId
from taskyard.core.units import MicroUsd
from taskyard.ledger.clock import ManualClock
from taskyard.stores.sqlite import SqliteStore, claims
from taskyard.stores.sqlite.commits import commit_sets
from taskyard.stores.sqlite.log import streams
from taskyard.stores.sqlite.threads.writer import Writer
from taskyard.stores.sqlite.transaction import SqliteTransaction
from tests.stores.given import (
    HERE,
    a_beat,
    a_lane,
    a_new_task,
    a_set,
    cancelling,
    commit,
    given_a_running_task,
    given_tasks,
    lane_of,
)
from tests.stores.plans import a_plan
from tests.stores.sqlite.inside import (
    columns_read,
    commits_of,
    held_back,
    one_new,
    opened,
    tasks_of,
    tasks_read,
)


async def test_writes_that_wait_together_share_one_transaction(writer: Writer, path: Path, clock: ManualClock):
    commits = await commits_of(writer)
    go_on = await held_back(writer)
    sets = [one_new(clock) for _ in range(50)]
    calls = [asyncio.ensure_future(writer.commit([each])) for each in sets]
    await asyncio.sleep(0)
    go_on.set()

    results = await asyncio.gather(*calls)

    assert all(isinstance(each, Committed) for [each] in results)
    assert len(commits) == 1
    with opened(path) as connection:
        assert tasks_of(connection) == {each.tasks[0].hot.id for each in sets}


async def test_nobody_is_answered_before_the_commit(writer: Writer, path: Path, clock: ManualClock):
    change_set = one_new(clock)
    call = asyncio.ensure_future(writer.commit([change_set]))
    with opened(path) as connection:
        seen = call.get_loop().create_future()
        call.add_done_callback(lambda _: seen.set_result(tasks_of(connection)))
        await call

        assert await seen == {change_set.tasks[0].hot.id}


async def test_heartbeats_go_before_everything_that_waits(store: SqliteStore, writer: Writer):
    running = [await given_a_running_task(store) for _ in range(5)]
    go_on = await held_back(writer)
    sets = [a_set(store, changes=(cancelling(store, task),)) for task in running]
    beats = [a_beat(task) for task in running]

    calls = [asyncio.ensure_future(writer.commit([each])) for each in sets]
    beaten = asyncio.ensure_future(writer.do(partial(claims.extend, beats=beats), urgent=True))
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(*calls)

    assert [each.accepted for each in await beaten] == [True] * 5


async def test_patient_jobs_wait_for_a_moment_without_others_and_are_run_one_by_one(
    writer: Writer, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("taskyard.stores.sqlite.threads.writer._PATIENCE", 1_000.0)
    done: list[str] = []
    commits = await commits_of(writer)
    go_on = await held_back(writer)
    patient = [asyncio.ensure_future(writer.do(noting(done, "patient", clock), patient=True)) for _ in range(2)]
    others = [asyncio.ensure_future(writer.do(noting(done, "task", clock))) for _ in range(3)]
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(*patient, *others)

    assert done == ["task"] * 3 + ["patient"] * 2
    assert len(commits) == 3


async def test_a_patient_job_does_not_wait_for_ever(
    writer: Writer, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("taskyard.stores.sqlite.threads.writer._PATIENCE", -1.0)
    done: list[str] = []
    commits = await commits_of(writer)
    go_on = await held_back(writer)
    patient = asyncio.ensure_future(writer.do(noting(done, "patient", clock), patient=True))
    other = asyncio.ensure_future(writer.do(noting(done, "task", clock)))
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(patient, other)

    assert done == ["task", "patient"]
    assert len(commits) == 1


async def test_closing_does_the_patient_jobs_that_wait(path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("taskyard.stores.sqlite.threads.writer._PATIENCE", 1_000.0)
    store = SqliteStore(path, clock=clock)
    await store.open()
    running = await given_a_running_task(store)
    entries = (StreamEntry(ChunkKind.TEXT, "the last words"),)
    appends = [
        [StreamAppend(running.id, HERE, running.lease or "", f"request {number}", entries)] for number in range(20)
    ]
    calls = [asyncio.ensure_future(store.append_streams(each)) for each in appends]
    await asyncio.sleep(0)
    await store.close()

    async with asyncio.timeout(20):
        answers = await asyncio.gather(*calls)
    assert [answer.accepted for (answer,) in answers] == [True] * 20


def noting(done: list[str], name: str, clock: ManualClock) -> Callable[[SqliteTransaction], None]:
    """Work that writes a task, and notes its name in the order in which the thread does it."""

    def work(transaction: SqliteTransaction) -> None:
        done.append(name)
        commit_sets(transaction, [one_new(clock)])

    return work


async def test_streams_are_appended_patiently(store: SqliteStore, monkeypatch: pytest.MonkeyPatch):
    asked: list[bool] = []
    do = Writer.do

    async def noted(writer: Writer, work: Any, *, patient: bool = False, **more: Any) -> Any:
        asked.append(patient)
        return await do(writer, work, patient=patient, **more)

    monkeypatch.setattr(Writer, "do", noted)
    await store.append_streams([])
    await store.touch([])
    assert asked == [True, False]


def text_of(running: Hot, request: str, kind: ChunkKind = ChunkKind.TEXT) -> StreamAppend:
    return StreamAppend(running.id, HERE, running.lease or "", request, (StreamEntry(kind, '"words"'),))


async def test_text_for_streams_takes_no_transaction_of_several_statements(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
):
    begun: list[SqliteTransaction] = []

    def noted(*given: Any) -> SqliteTransaction:
        begun.append(SqliteTransaction(*given))
        return begun[-1]

    running = [await given_a_running_task(store) for _ in range(3)]
    monkeypatch.setattr("taskyard.stores.sqlite.threads.writer.SqliteTransaction", noted)
    for number in range(3):
        await store.append_streams([text_of(each, f"request {number}") for each in running])
    assert not begun
    await store.append_streams([text_of(running[0], "a message", ChunkKind.MESSAGE)])
    assert len(begun) == 1
    await store.append_streams([text_of(running[0], "request 3")])
    assert len(begun) == 1
    assert [len(await store.stream(each.id, BEGINNING, 10)) for each in running] == [5, 3, 3]


async def test_what_was_decided_before_an_attempt_ended_is_decided_again_in_a_transaction(
    store: SqliteStore, writer: Writer
):
    ended, going_on = await given_a_running_task(store), await given_a_running_task(store)
    await store.append_streams([text_of(each, "first") for each in (ended, going_on)])
    go_on = await held_back(writer)
    ending = asyncio.ensure_future(commit(store, changes=(cancelling(store, ended),)))
    late = asyncio.ensure_future(store.append_streams([text_of(each, "second") for each in (ended, going_on)]))
    await asyncio.sleep(0)
    go_on.set()
    await ending

    assert [each.accepted for each in await late] == [False, True]
    assert [len(await store.stream(each.id, BEGINNING, 10)) for each in (ended, going_on)] == [1, 2]


@pytest.mark.parametrize("change", ["lease = 'of another'", "attempt = 7", "status = 'validating'"])
async def test_text_goes_to_the_attempt_that_it_was_decided_for_or_nowhere(store: SqliteStore, path: Path, change: str):
    running = await given_a_running_task(store)
    await store.append_streams([text_of(running, "first")])
    with opened(path) as connection:
        connection.execute(f"update held set {change}")
    await store.append_streams([text_of(running, "second")])
    found = await store.stream(running.id, BEGINNING, 10)
    assert [each.request for each in found if each.attempt == running.attempt] == ["first"]


async def test_appends_that_have_waited_for_too_long_are_all_answered(
    store: SqliteStore, writer: Writer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("taskyard.stores.sqlite.threads.writer._PATIENCE", -1.0)
    running = [await given_a_running_task(store) for _ in range(5)]
    await store.append_streams([text_of(each, "first") for each in running])
    go_on = await held_back(writer)
    late = [asyncio.ensure_future(store.append_streams([text_of(each, "second")])) for each in running]
    await asyncio.sleep(0)
    go_on.set()
    async with asyncio.timeout(20):
        answers = await asyncio.gather(*late)
    assert [answer.accepted for (answer,) in answers] == [True] * 5
    assert [len(await store.stream(each.id, BEGINNING, 10)) for each in running] == [2] * 5


async def test_the_end_of_a_stream_is_read_once(store: SqliteStore, monkeypatch: pytest.MonkeyPatch):
    read: list[set[TaskId]] = []
    read_ends = streams.read_ends

    def noted(connection: apsw.Connection, task_ids: Iterable[TaskId]) -> streams.Ends:
        read.append({*task_ids})
        return read_ends(connection, task_ids)

    monkeypatch.setattr(streams, "read_ends", noted)
    one, other = await given_a_running_task(store), await given_a_running_task(store)
    await store.append_streams([text_of(one, "first")])
    await store.append_streams([text_of(one, "second"), text_of(other, "first")])
    await store.append_streams([text_of(one, "third"), text_of(other, "second")])
    assert read == [{one.id}, {other.id}]


async def test_appending_in_a_transaction_reads_no_body(store: SqliteStore, writer: Writer):
    running = await given_a_running_task(store)
    read = await columns_read(writer)
    for request in ("a", "b", "a"):
        await writer.do(partial(streams.append, appends=[text_of(running, request)]))
    assert ("stream", "request") in read
    assert ("stream", "body") not in read
    assert len(await store.stream(running.id, BEGINNING, 100)) == 2


def test_the_ends_of_few_streams_are_known_those_that_were_appended_to_last(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(streams, "MOST_KNOWN", 2)
    names = [TaskId(f"task_{number}") for number in range(3)]
    known = streams.KnownEnds()
    for name in names:
        holder = streams.Holder(name, 1, HERE, None, Status.RUNNING, 1, "a lease")
        known.keep({name: streams.HeldStream(holder, StreamEnd())})
    assert known.take(names).keys() == set(names[1:])
    assert not known.take(names)


async def test_a_claim_reads_no_more_rows_than_it_takes_and_there_are_lanes(store: SqliteStore, writer: Writer):
    lanes = [await lane_of(store, a_lane(type=f"t{number}")) for number in range(7)]
    for lane in lanes:
        await given_tasks(store, 40, lane=lane)
    plan = await a_plan(store, *lanes, tasks=25)
    read = await tasks_read(writer)
    claimed = await writer.do(lambda transaction: claims.claim(transaction, plan))

    assert len(claimed.tasks) == 25
    assert len(read) <= 7 + 25


async def test_what_is_dearer_than_the_agent_can_pay_is_not_read(store: SqliteStore, writer: Writer):
    lane = await lane_of(store)
    await given_tasks(store, 50, lane=lane, reserve=MicroUsd(100))
    [cheap] = await given_tasks(store, 1, lane=lane, reserve=MicroUsd(5), rank=2**40)
    plan = await a_plan(store, lane, tasks=10, agent_money=50)
    read = await tasks_read(writer)
    claimed = await writer.do(lambda transaction: claims.claim(transaction, plan))

    assert [task.id for task in claimed.tasks] == read == [cheap.id]


def left_behind() -> list[str]:
    """The threads of stores. Those that write artifacts are kept for the next one, whatever test needed them."""
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if "taskyard" in name and not name.startswith("taskyard objects")]


async def test_closing_waits_for_the_writes_under_way_and_leaves_no_thread(path: Path, clock: ManualClock):
    store = SqliteStore(path, clock=clock)
    await store.open()
    tasks = [await a_new_task(store) for _ in range(100)]
    calls = [asyncio.ensure_future(commit(store, tasks=(task,))) for task in tasks]
    await asyncio.sleep(0)

    await store.close()

    assert all(isinstance(each, Committed) for each in await asyncio.gather(*calls))
    assert left_behind() == []
    with pytest.raises(errors.YardClosed):
        await store.load([tasks[0].hot.id])
    with pytest.raises(errors.YardClosed):
        await store.commit([a_set(store)])


async def test_a_yard_that_could_not_be_opened_leaves_no_thread(tmp_path: Path, clock: ManualClock):
    store = SqliteStore(tmp_path, clock=clock)  # a folder

    with pytest.raises(errors.StoreUnavailable):
        await store.open()

    assert left_behind() == []
    with pytest.raises(errors.YardClosed):
        await store.load([])


async def test_what_a_caller_gave_up_before_its_turn_is_not_done(writer: Writer, path: Path, clock: ManualClock):
    go_on = await held_back(writer)
    call = asyncio.ensure_future(writer.commit([one_new(clock)]))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.sleep(0)
    go_on.set()
    await writer.do(lambda _: None)

    with opened(path) as connection:
        assert tasks_of(connection) == set()
