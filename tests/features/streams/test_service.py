"""Streams: what may be appended and by whom, how they are read, and when they go."""

import asyncio
import json
import re
from collections.abc import Sequence

import pytest

from taskyard.core.attempt_stream import MOST_BYTES, StreamAppend, StreamAppended
from taskyard.core.errors import InvalidInput, LeaseLost, NotFound
from taskyard.core.task import Hot, TaskId
from taskyard.features.streams import rules, service
from taskyard.features.streams.rules import MOST_CHUNK_BYTES, NewChunk
from taskyard.features.streams.service import CHUNKS_AT_ONCE
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.ledger import Ledger
from taskyard.stores import turns
from taskyard.stores.turns import TURN, ShortCalls, giving_way
from taskyard.yard import Yard
from tests.yards import claim_that, data_of, elapse, given_a_running_task

EVERY_KIND: list[NewChunk] = [
    {"text": "one"},
    {"kind": "stdout", "text": "printed\n"},
    {"kind": "stderr", "text": "complained\n"},
    {"kind": "json", "data": {"tool": "search"}},
    {"kind": "message", "data": {"kind": "text", "text": "hello"}},
]


async def texts(yard: Yard, task_id: str, after: str | None = None) -> list[str]:
    return [chunk.text for chunk in (await yard.streams.page(task_id, after=after)).chunks]


async def test_every_kind_is_read_as_it_was_appended(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.streams.append(held.id, held.lease, EVERY_KIND)

    page = await yard.streams.page(held.id)

    assert [(each.kind, each.text, each.data) for each in page.chunks] == [
        ("text", "one", None),
        ("stdout", "printed\n", None),
        ("stderr", "complained\n", None),
        ("json", "", {"tool": "search"}),
        ("message", "", {"kind": "text", "text": "hello"}),
    ]
    assert [(each.place, each.attempt, each.index) for each in page.chunks[:2]] == [("1-0", 1, 0), ("1-1", 1, 1)]
    assert (page.after, page.is_over, page.status) == ("1-4", False, "running")
    assert await texts(yard, held.id, "1-3") == [""]


async def test_messages_and_progress_are_chunks_and_events_in_the_order_in_which_they_came(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.streams.append(held.id, held.lease, [{"text": "I look. "}, {"kind": "message", "data": "found it"}])
    await yard.attempts.message(held.id, held.lease, {"kind": "tool", "text": "grep"})
    await yard.progress(held.id, held.lease, {"fraction": 0.5})
    await yard.streams.append(held.id, held.lease, [{"text": "done"}])

    page = await yard.streams.page(held.id)
    assert [(each.kind, each.text or each.data) for each in page.chunks] == [
        ("text", "I look. "),
        ("message", {"text": "found it"}),
        ("message", {"kind": "tool", "text": "grep"}),
        ("progress", {"progress": {"fraction": 0.5}}),
        ("text", "done"),
    ]
    events = [stored.event for stored in await yard.events(task_id=held.id)][-3:]
    assert [(each.event, json.loads(each.data or "")) for each in events] == [
        ("task.message", {"text": "found it"}),
        ("task.message", {"kind": "tool", "text": "grep"}),
        ("task.progress", {"progress": {"fraction": 0.5}}),
    ]


async def test_a_message_or_progress_whose_request_is_repeated_is_announced_once(yard: Yard):
    held = await given_a_running_task(yard)
    for request in ("one", "one", "two"):
        await yard.attempts.message(held.id, held.lease, "hello", request_id=request)
        await yard.progress(held.id, held.lease, {"fraction": 0.5}, request_id=f"progress {request}")

    assert [each.kind for each in (await yard.streams.page(held.id)).chunks] == ["message", "progress"] * 2
    assert await data_of(yard, "task.message") == [{"text": "hello"}] * 2
    assert await data_of(yard, "task.progress") == [{"progress": {"fraction": 0.5}}] * 2


async def test_a_stale_agent_says_nothing_more(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.release(held.id, held.lease)
    with pytest.raises(LeaseLost):
        await yard.attempts.message(held.id, held.lease, "late")
    assert (await yard.progress(held.id, held.lease, 1)).must_stop
    assert (await yard.streams.page(held.id)).chunks == ()


@pytest.mark.parametrize(
    ("chunks", "field"),
    [
        ([], "chunks"),
        ([{"text": "x"}] * 1001, "chunks"),
        ([{"kind": "progress", "data": 1}], "chunks[0].kind"),
        ([{"text": "x"}, {"kind": "cut", "text": "x"}], "chunks[1].kind"),
        ([{"kind": "text", "data": "x"}], "chunks[0].text"),
        ([{"kind": "json", "text": "x"}], "chunks[0].text"),
        ([{"text": "x" * (MOST_CHUNK_BYTES + 1)}], "chunks[0].text"),
        ([{"kind": "json", "data": "x" * MOST_CHUNK_BYTES}], "chunks[0].data"),
    ],
)
async def test_what_is_no_chunk_is_refused_and_nothing_is_stored(yard: Yard, chunks: list[NewChunk], field: str):
    held = await given_a_running_task(yard)
    with pytest.raises(InvalidInput, match=re.escape(field)):
        await yard.streams.append(held.id, held.lease, chunks)
    assert await texts(yard, held.id) == []


async def test_what_no_store_can_hold_is_mended(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.streams.append(held.id, held.lease, [{"kind": "stdout", "text": "a\0b\ud800c"}])
    assert await texts(yard, held.id) == ["a\N{REPLACEMENT CHARACTER}b?c"]


async def test_a_stale_holder_cannot_append(yard: Yard, clock: ManualClock):
    stale = await given_a_running_task(yard, timeouts={"lease_sec": 60})
    await yard.streams.append(stale.id, stale.lease, [{"text": "first"}])
    await elapse(yard, clock, 200)
    again = await claim_that(yard, stale.id, start=True)
    with pytest.raises(LeaseLost):
        await yard.streams.append(stale.id, stale.lease, [{"text": "late"}])
    await yard.streams.append(again.id, again.lease, [{"text": "second"}])
    assert await texts(yard, stale.id) == ["first", "second"]


async def test_a_new_attempt_begins_a_new_stream_and_readers_see_it(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.streams.append(held.id, held.lease, [{"text": "one"}, {"text": "two"}])
    await yard.release(held.id, held.lease)
    again = await claim_that(yard, held.id, start=True)
    await yard.streams.append(again.id, again.lease, [{"text": "one"}, {"text": "more"}])
    await yard.complete(again.id, again.lease)

    chunks = [chunk async for chunk in yard.streams.follow(held.id)]

    assert [(each.attempt, each.index, each.restarted) for each in chunks] == [
        *((1, 0, False), (1, 1, False)),
        *((2, 0, True), (2, 1, False)),
    ]


async def test_a_follower_gets_what_comes_and_ends_with_the_task(yard: Yard):
    held = await given_a_running_task(yard)
    heard: list[str] = []

    async def follow() -> None:
        async for chunk in yard.streams.follow(held.id):
            heard.append(chunk.text)  # noqa: PERF401 - it is looked at meanwhile

    following = asyncio.create_task(follow())
    for number in range(3):
        await yard.streams.append(held.id, held.lease, [{"text": str(number)}])
        async with asyncio.timeout(5):
            while len(heard) <= number:  # the reader is woken, and then reads  # noqa: ASYNC110
                await asyncio.sleep(0)
    await yard.complete(held.id, held.lease)
    async with asyncio.timeout(5):
        await following
    assert heard == ["0", "1", "2"]


async def test_a_stream_that_is_full_says_so_once_and_the_attempt_goes_on(yard: Yard):
    held = await given_a_running_task(yard)
    for _ in range(MOST_BYTES // MOST_CHUNK_BYTES):
        receipt = await yard.streams.append(held.id, held.lease, [{"text": "x" * MOST_CHUNK_BYTES}])
        assert not receipt.is_full
    for _ in range(2):
        assert (await yard.streams.append(held.id, held.lease, [{"text": "y"}])).is_full
    last = (await yard.streams.page(held.id)).chunks[-1]
    assert (last.kind, last.text) == ("cut", "What this attempt said after its first 8 MiB is not kept.")
    await yard.complete(held.id, held.lease)


async def test_streams_are_kept_for_an_hour_after_the_end(yard: Yard, clock: ManualClock):
    ended, goes_on = await given_a_running_task(yard), await given_a_running_task(yard, timeouts={"lease_sec": 86_400})
    for held in (ended, goes_on):
        await yard.streams.append(held.id, held.lease, [{"text": "said"}])
    await yard.complete(ended.id, ended.lease)
    await elapse(yard, clock, 3500)
    assert await texts(yard, ended.id) == ["said"]
    await elapse(yard, clock, 200)
    assert await texts(yard, ended.id) == []
    assert await texts(yard, goes_on.id) == ["said"]


async def test_a_task_of_another_workspace_has_no_stream_here(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.streams.append(held.id, held.lease, [{"text": "said"}])
    other = yard.beside("elsewhere")
    with pytest.raises(NotFound):
        await other.streams.page(held.id)
    with pytest.raises(LeaseLost):
        await other.streams.append(held.id, held.lease, [{"text": "said"}])


@pytest.mark.parametrize("after", ["x", "1", "1-", "1-x", "1-1-1", "٣-1", "9999999999-1", "-1-2"])
def test_a_place_is_the_number_of_an_attempt_and_of_a_chunk(after: str):
    with pytest.raises(InvalidInput, match="ATTEMPT-INDEX"):
        rules.place_of(after)


async def test_pages_go_on_behind_reports_that_have_no_room(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    whole: list[NewChunk] = [{"text": "x" * MOST_CHUNK_BYTES}] * (MOST_BYTES // MOST_CHUNK_BYTES)
    await yard.streams.append(held.id, held.lease, [*whole, {"text": "y"}])
    for number in range(2 * CHUNKS_AT_ONCE):
        await yard.progress(held.id, held.lease, {"fraction": number / 1000})
    receipt = await yard.fail(held.id, held.lease, "crash")
    await elapse(yard, clock, ((receipt.wake_at or 0) - yard.now()) / 1_000_000 + 1)
    again = await claim_that(yard, held.id, start=True)
    await yard.streams.append(again.id, again.lease, [{"text": "second"}])

    first = await yard.streams.page(held.id)
    assert first.chunks[-1].kind == "cut"
    page = await yard.streams.page(held.id, after=first.after)
    assert [(each.text, each.restarted) for each in page.chunks] == [("second", True)]


async def test_readers_get_one_chunk_about_the_cut(yard: Yard):
    held = await given_a_running_task(yard)
    whole: list[NewChunk] = [{"text": "x" * MOST_CHUNK_BYTES}] * (MOST_BYTES // MOST_CHUNK_BYTES)
    await yard.streams.append(held.id, held.lease, [*whole, {"text": "more"}])
    for number in range(3):
        await yard.attempts.message(held.id, held.lease, {"number": number})

    page = await yard.streams.page(held.id)
    after = await yard.streams.page(held.id, after=page.chunks[-1].place)

    assert [each.kind for each in page.chunks[-2:]] == ["text", "cut"]
    assert (after.chunks, after.after) == ((), page.after)
    await yard.complete(held.id, held.lease)
    assert [each.kind async for each in yard.streams.follow(held.id, after=page.chunks[-2].place)] == ["cut"]


async def test_chunks_that_come_between_the_last_read_and_the_end_are_read(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    held = await given_a_running_task(yard)
    load, looks = Ledger.load, list[str]()

    async def ends_meanwhile(ledger: Ledger, task_id: TaskId) -> Hot:
        looks.append(task_id)
        if len(looks) == 2:  # the reader has found nothing, and looks how the task stands
            await yard.streams.append(held.id, held.lease, [{"text": "last words"}])
            await yard.complete(held.id, held.lease)
        return await load(ledger, task_id)

    monkeypatch.setattr(service, "LOOK_AGAIN", 0.0)
    monkeypatch.setattr(Ledger, "load", ends_meanwhile)

    assert [chunk.text async for chunk in yard.streams.follow(held.id)] == ["last words"]


async def test_the_appends_of_one_call_are_one_write_and_a_bad_one_is_refused_alone(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
):
    held = await given_a_running_task(yard)
    written: list[int] = []
    append_streams = yard.store.append_streams

    async def noted(appends: Sequence[StreamAppend]) -> Sequence[StreamAppended]:
        written.append(len(appends))
        return await append_streams(appends)

    monkeypatch.setattr(yard.store, "append_streams", noted)
    good = {"task_id": held.id, "lease": held.lease}
    appends = [good | {"chunks": [{"text": f"{place} "}]} for place in range(3 * TURN)]
    appends.insert(2, good | {"chunks": [{"kind": "unknown", "text": "x"}]})
    answers = await yard.streams.append_many(appends)

    assert written == [3 * TURN]
    assert [place for place, answer in enumerate(answers) if isinstance(answer, InvalidInput)] == [2]
    assert await texts(yard, held.id) == [f"{place} " for place in range(3 * TURN)]


async def test_the_appends_of_a_call_that_gives_way_are_written_when_no_short_call_is_under_way(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(turns, "PATIENCE", 1_000_000)
    held, calls = await given_a_running_task(yard), ShortCalls(clock=lambda: 0.0)
    append = {"task_id": held.id, "lease": held.lease, "chunks": [{"text": "a"}]}
    with calls.call(), giving_way(calls):
        appending = asyncio.create_task(yard.streams.append_many([append]))
        for _ in range(10):
            assert await texts(yard, held.id) == []
    await appending
    assert await texts(yard, held.id) == ["a"]
