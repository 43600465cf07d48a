"""Streams: appended under the lease, in order, each chunk once; read from any place; pruned after the end."""

import asyncio
from collections.abc import Sequence

import pytest

from taskyard.core.attempt_stream import (
    BEGINNING,
    KEPT_AFTER_END,
    MOST_BYTES,
    REFUSED,
    ChunkKind,
    StreamAppend,
    StreamAppended,
    StreamEntry,
    StreamPlace,
)
from taskyard.core.changes import Beat, expected
from taskyard.core.task import Hot
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from tests.stores.given import (
    ELSEWHERE,
    Connect,
    burying,
    claiming,
    committed,
    completing,
    given_a_running_task,
    given_a_task,
    reviving,
    step,
)

STORED, FULL = StreamAppended(accepted=True), StreamAppended(accepted=True, is_full=True)
TEXT, MESSAGE, CUT = ChunkKind.TEXT, ChunkKind.MESSAGE, ChunkKind.CUT


def append(held: Hot, request: str, *entries: tuple[ChunkKind, str]) -> StreamAppend:
    made = tuple(StreamEntry(*entry) for entry in entries)
    return StreamAppend(held.id, held.workspace, held.lease or "", request, made)


async def bodies(store: Store, held: Hot, after: StreamPlace = BEGINNING, limit: int = 100) -> list[str]:
    return [chunk.body for chunk in await store.stream(held.id, after, limit)]


async def prune(store: Store, clock: ManualClock, limit: int = 10) -> None:
    after: str | None = ""
    while after is not None:
        after = await store.prune_streams(clock.now(), after, limit)


async def test_chunks_are_read_in_order_from_any_place(store: Store):
    held = await given_a_running_task(store)
    first = append(held, "a", (TEXT, "one "), (MESSAGE, '{"text":"hello"}'))
    assert await store.append_streams([first, append(held, "b", (TEXT, "two"))]) == [STORED, STORED]
    assert await store.append_streams([append(held, "c", (TEXT, "größer 3"))]) == [STORED]

    found = await store.stream(held.id, BEGINNING, 100)
    assert [(each.attempt, each.number, each.kind, each.body) for each in found] == [
        (held.attempt, 0, TEXT, "one "),
        (held.attempt, 1, MESSAGE, '{"text":"hello"}'),
        (held.attempt, 2, TEXT, "two"),
        (held.attempt, 3, TEXT, "größer 3"),
    ]
    assert {each.task_id for each in found} == {held.id}
    assert [each.total for each in found] == [4, 20, 23, 33]
    assert await bodies(store, held, found[1].place) == ["two", "größer 3"]
    assert await bodies(store, held, found[0].place, limit=2) == ['{"text":"hello"}', "two"]
    assert await bodies(store, held, found[3].place) == []


async def heard(store: Store, after: int) -> list[tuple[str, str | None, int | None, str | None]]:
    found = await store.events(after=after, limit=100)
    return [(each.event.event, each.event.task_id, each.event.attempt, each.event.data) for each in found]


async def test_appending_text_writes_no_event_and_no_version(store: Store):
    held = await given_a_running_task(store)
    events = await store.events(after=0, limit=100)
    await store.append_streams([append(held, "a", (TEXT, "one"), (ChunkKind.JSON, "{}"))])
    assert await store.events(after=0, limit=100) == events
    assert await store.load([held.id]) == {held.id: held}


async def test_messages_and_progress_are_events_too_each_once_and_without_a_version(store: Store):
    held, other = await given_a_running_task(store), await given_a_running_task(store)
    last = (await store.newest_events(limit=1))[0].seq
    said = append(held, "a", (TEXT, "one"), (MESSAGE, '{"text":"größer"}'), (ChunkKind.PROGRESS, '{"progress":1}'))
    assert await store.append_streams([said, append(other, "b", (MESSAGE, "{}")), said]) == [STORED] * 3
    stale = append(held._replace(lease="lease of another"), "c", (MESSAGE, '{"text":"late"}'))
    assert await store.append_streams([said, stale]) == [STORED, REFUSED]

    assert await heard(store, last) == [
        ("task.message", held.id, held.attempt, '{"text":"größer"}'),
        ("task.progress", held.id, held.attempt, '{"progress":1}'),
        ("task.message", other.id, other.attempt, "{}"),
    ]
    of_task = await store.events(after=last, limit=100, task_id=held.id)
    assert [each.event.event for each in of_task] == ["task.message", "task.progress"]
    assert await bodies(store, held) == ["one", '{"text":"größer"}', '{"progress":1}']
    assert await store.load([held.id]) == {held.id: held}


async def test_messages_are_heard_also_when_the_stream_takes_no_more(store: Store):
    held = await given_a_running_task(store)
    last = (await store.newest_events(limit=1))[0].seq
    await store.append_streams([append(held, "a", (TEXT, "x" * MOST_BYTES), (TEXT, "y"))])
    assert await store.append_streams([append(held, "b", (MESSAGE, "{}"))]) == [FULL]
    assert await heard(store, last) == [("task.message", held.id, held.attempt, "{}")]
    found = await store.stream(held.id, BEGINNING, 10)
    assert [(each.kind, each.is_shown) for each in found] == [(TEXT, True), (CUT, True), (CUT, False)]


async def test_a_message_behind_the_cut_is_heard_once_however_often_its_request_is_repeated(store: Store):
    held = await given_a_running_task(store)
    first = append(held, "a", (TEXT, "x" * MOST_BYTES), (MESSAGE, '{"number":1}'))
    last = (await store.newest_events(limit=1))[0].seq
    assert await store.append_streams([first]) == [FULL]
    said = [append(held, name, (MESSAGE, f'{{"number":{number}}}')) for number, name in enumerate("bcd", 2)]
    text = append(held, "e", (TEXT, "y"))

    assert await store.append_streams([first, said[0], said[0], text]) == [FULL] * 4
    assert await store.append_streams([*said, text, *said, first]) == [FULL] * 8

    assert [data for *_, data in await heard(store, last)] == [f'{{"number":{number}}}' for number in (1, 2, 3, 4)]
    found = await store.stream(held.id, BEGINNING, 10)
    assert [(each.kind, each.number, each.request) for each in found if not each.is_shown] == [
        (CUT, 2, "b"),
        (CUT, 3, "c"),
        (CUT, 4, "d"),
    ]  # and text behind the cut leaves nothing


async def test_the_events_of_messages_outlive_the_stream(store: Store, clock: ManualClock):
    held = await given_a_running_task(store)
    last = (await store.newest_events(limit=1))[0].seq
    await store.append_streams([append(held, "a", (MESSAGE, "{}"))])
    await step(store, completing(store, held))
    clock.advance(seconds=KEPT_AFTER_END / 1_000_000 + 1)
    await prune(store, clock)
    assert await bodies(store, held) == []
    assert [name for name, *_ in await heard(store, last)] == ["task.message", "task.completed"]


async def test_a_repeated_request_is_stored_once(store: Store):
    held = await given_a_running_task(store)
    once = append(held, "a", (TEXT, "one"), (TEXT, "two"))
    await store.append_streams([once])
    assert await store.append_streams([once, append(held, "b", (TEXT, "three")), once]) == [STORED] * 3
    assert await bodies(store, held) == ["one", "two", "three"]


async def test_only_the_lease_of_the_attempt_under_way_may_append(store: Store):
    held = await given_a_running_task(store)
    ready = await given_a_task(store)
    stale = append(held._replace(lease="lease of another"), "a", (TEXT, "x"))
    foreign = append(held._replace(workspace=ELSEWHERE), "b", (TEXT, "x"))
    unheld = append(ready, "c", (TEXT, "x"))
    missing = append(held, "d", (TEXT, "x"))._replace(task_id=ready.id)
    assert await store.append_streams([stale, foreign, unheld, missing]) == [REFUSED] * 4
    assert await store.append_streams([stale, append(held, "e", (TEXT, "mine"))]) == [REFUSED, STORED]
    assert await bodies(store, held) == ["mine"]
    assert await bodies(store, ready) == []


async def test_processes_that_append_in_turn_leave_no_gap_and_know_each_others_requests(store: Store, connect: Connect):
    held, other = await given_a_running_task(store), await connect()
    for number in range(3):
        for each, name in ((store, "mine"), (other, "theirs")):
            assert await each.append_streams([append(held, f"{name} {number}", (TEXT, f"{name} {number}"))]) == [STORED]
    known = [append(held, f"{name} 2", (TEXT, "again")) for name in ("mine", "theirs")]
    assert await store.append_streams(known) == [STORED] * 2
    assert await other.append_streams(known) == [STORED] * 2

    found = await store.stream(held.id, BEGINNING, 10)
    assert [each.number for each in found] == list(range(6))
    assert [each.body for each in found] == [f"{name} {number}" for number in range(3) for name in ("mine", "theirs")]
    assert found[-1].total == sum(len(each.body) for each in found)


@pytest.mark.parametrize("is_elsewhere", [False, True])
async def test_an_attempt_that_spoke_and_ended_speaks_no_more_and_stops_nobody_else(
    store: Store, connect: Connect, is_elsewhere: bool
):
    ended, going_on = await given_a_running_task(store), await given_a_running_task(store)
    first = [append(each, "a", (TEXT, "one"), (TEXT, "two")) for each in (ended, going_on)]
    assert await store.append_streams(first) == [STORED] * 2
    ending = await connect() if is_elsewhere else store
    await step(ending, completing(ending, ended))

    second = [append(each, "b", (TEXT, "three"), (TEXT, "four")) for each in (ended, going_on)]
    assert await store.append_streams(second) == [REFUSED, STORED]
    assert await bodies(store, ended) == ["one", "two"]
    assert await bodies(store, going_on) == ["one", "two", "three", "four"]
    assert await store.append_streams([append(going_on, "b", (TEXT, "three"))]) == [STORED]
    assert len(await bodies(store, going_on)) == 4


async def test_a_request_that_is_repeated_after_the_end_is_refused(store: Store):
    held = await given_a_running_task(store)
    said = append(held, "a", (TEXT, "one"))
    assert await store.append_streams([said]) == [STORED]
    await step(store, completing(store, held))
    assert await store.append_streams([said]) == [REFUSED]


async def test_the_next_attempt_has_a_stream_of_its_own_and_the_one_before_speaks_no_more(store: Store):
    before = await given_a_running_task(store)
    assert await store.append_streams([append(before, "a", (TEXT, "of the first"))]) == [STORED]
    waiting = await step(store, reviving(store, await step(store, burying(store, before))))
    now = await step(store, claiming(waiting, lease="another lease", now=store.now()))
    late, mine = append(before, "b", (TEXT, "late")), append(now, "a", (TEXT, "of the second"))
    assert await store.append_streams([late]) == [REFUSED]
    assert await store.append_streams([mine]) == [STORED]
    assert await store.append_streams([late, append(now, "c", (TEXT, "goes on"))]) == [REFUSED, STORED]
    found = await store.stream(now.id, BEGINNING, 10)
    assert [(each.attempt, each.number, each.body) for each in found] == [
        (before.attempt, 0, "of the first"),
        (now.attempt, 0, "of the second"),
        (now.attempt, 1, "goes on"),
    ]


async def test_the_next_attempt_speaks_at_once_also_beside_others(store: Store):
    before, other = await given_a_running_task(store), await given_a_running_task(store)
    assert await store.append_streams([append(each, "a", (TEXT, "one")) for each in (before, other)]) == [STORED] * 2
    waiting = await step(store, reviving(store, await step(store, burying(store, before))))
    now = await step(store, claiming(waiting, lease="another lease", now=store.now()))
    assert await store.append_streams([append(each, "b", (TEXT, "two")) for each in (now, other)]) == [STORED] * 2
    assert [await bodies(store, each) for each in (now, other)] == [["one", "two"]] * 2


async def test_appends_of_one_moment_to_one_stream_are_all_stored_once(store: Store):
    held = await given_a_running_task(store)
    for turn in ("a", "b"):  # at first nothing is known of the stream
        said = [append(held, f"{turn} {number}", (TEXT, f"{turn} {number}")) for number in range(5)]
        answers = await asyncio.gather(*(store.append_streams([each]) for each in (*said, *said[:3])))
        assert answers == [[STORED]] * 8
    found = await store.stream(held.id, BEGINNING, 100)
    assert [each.number for each in found] == list(range(10))
    assert sorted(each.body for each in found) == sorted(f"{turn} {number}" for turn in "ab" for number in range(5))


async def test_what_exceeds_the_limit_of_an_attempt_is_cut_and_a_chunk_says_so(store: Store):
    held = await given_a_running_task(store)
    most = "x" * (MOST_BYTES // 2)
    assert await store.append_streams([append(held, "a", (TEXT, most))]) == [STORED]
    assert await store.append_streams([append(held, "b", (TEXT, most), (TEXT, "y"), (TEXT, "z"))]) == [FULL]
    assert await store.append_streams([append(held, "c", (TEXT, "z"))]) == [FULL]
    found = await store.stream(held.id, BEGINNING, 10)
    assert [(each.kind, each.total) for each in found] == [
        (TEXT, MOST_BYTES // 2),
        (TEXT, MOST_BYTES),
        (CUT, MOST_BYTES),
    ]


async def test_streams_go_some_time_after_the_end_of_their_task(store: Store, clock: ManualClock):
    goes_on = [await given_a_running_task(store) for _ in range(3)]
    ends = [await given_a_running_task(store) for _ in range(3)]
    gone = await given_a_running_task(store)
    for each in (*goes_on, *ends, gone):
        await store.append_streams([append(each, "a", (TEXT, "kept"), (MESSAGE, "{}"))])
    for each in (*ends, gone):
        await step(store, completing(store, each))
    [removed] = (await store.load([gone.id])).values()
    await committed(store, expects=(expected(removed),), removals=(gone.id,))

    await store.prune_streams(store.now(), "", 100)
    assert [await bodies(store, each) for each in ends] == [["kept", "{}"]] * 3
    clock.advance(seconds=KEPT_AFTER_END / 1_000_000)
    await prune(store, clock, limit=2)
    assert [await bodies(store, each) for each in (*ends, gone)] == [[]] * 4
    assert [await bodies(store, each) for each in goes_on] == [["kept", "{}"]] * 3


async def woken(store: Store, mark: int, held: Hot | None) -> bool:
    return await asyncio.wait_for(store.streamed(mark, 5, held and held.id), 10) != mark


@pytest.mark.parametrize("of_one", [True, False])
async def test_whoever_follows_a_stream_is_woken_also_in_another_process(store: Store, connect: Connect, of_one: bool):
    held = await given_a_running_task(store)
    readers: Sequence[Store] = [store, await connect()]
    marks = [await each.streamed(-1, 0) for each in readers]
    waiting = [
        asyncio.create_task(woken(each, mark, held if of_one else None))
        for each, mark in zip(readers, marks, strict=True)
    ]
    await asyncio.sleep(0)
    await store.append_streams([append(held, "a", (TEXT, "one"))])
    assert await asyncio.gather(*waiting) == [True, True]
    assert await bodies(readers[1], held) == ["one"]


async def test_an_append_wakes_nobody_who_waits_for_other_changes(store: Store):
    held = await given_a_running_task(store)
    mark = -1
    while (now := await store.changed(mark, 0.2)) != mark:  # what is on its way from before
        mark = now
    await store.append_streams([append(held, "a", (TEXT, "one"))])
    assert await store.changed(mark, 0.05) == mark


async def test_a_message_wakes_whoever_waits_for_events_also_in_another_process(store: Store, connect: Connect):
    held = await given_a_running_task(store)
    listeners: Sequence[Store] = [store, await connect()]
    marks = [await each.changed(-1, 0) for each in listeners]
    waiting = [asyncio.create_task(each.changed(mark, 5)) for each, mark in zip(listeners, marks, strict=True)]
    await asyncio.sleep(0)
    await store.append_streams([append(held, "a", (MESSAGE, "{}"))])
    for each, mark in zip(waiting, marks, strict=True):
        assert await asyncio.wait_for(each, 10) != mark


async def test_an_append_waits_for_no_heartbeat_and_hinders_none(store: Store):
    held = await given_a_running_task(store)
    beat = Beat(held.id, held.lease or "")
    both = await asyncio.gather(
        *(store.append_streams([append(held, str(n), (TEXT, str(n)))]) for n in range(5)),
        *(store.extend([beat]) for _ in range(5)),
    )
    assert all(each[0].accepted for each in both)
    assert sorted(await bodies(store, held)) == ["0", "1", "2", "3", "4"]
