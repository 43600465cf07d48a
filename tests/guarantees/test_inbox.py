"""Inboxes: what is put in comes out in batches, in order, once it is consumed never again, and limited."""

import asyncio
from typing import Any

import pytest

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.features.inbox import rules as inbox_rules
from taskyard.features.inbox.rules import MOST_BYTES
from taskyard.features.inbox.views import Dequeued, ItemBatch
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, data_of

MINE = ("planner", "c1")


async def put(yard: Yard, *contents: Any, **facts: Any) -> None:
    for content in contents:
        await yard.inbox.put(*MINE, content, **facts)


async def take(yard: Yard, **how: Any) -> ItemBatch:
    batch = (await yard.inbox.take(*MINE, **how)).batch
    assert batch is not None, "there was nothing to take"
    return batch


async def take_all(yard: Yard) -> list[list[Any]]:
    taken: list[list[Any]] = []
    while (batch := (await yard.inbox.take(*MINE, hold_sec=0)).batch) is not None:
        taken.append([item.content for item in batch.items])
    return taken


async def events_of(yard: Yard, word: str) -> list[dict[str, Any]]:
    return [{**each, "agent": None, "conversation": None} for each in await data_of(yard, f"inbox.{word}")]


async def test_scopes_a_b_a_give_three_batches_and_a_barrier_goes_alone(yard: Yard):
    await put(yard, "a1", "a2")
    await put(yard, "b1", scope_conversation="another")
    await put(yard, "a3")
    await put(yard, "yes", kind="approval_result")
    await put(yard, "a4")
    await put(yard, {"task": 1}, kind="task_notification")

    assert await take_all(yard) == [["a1", "a2"], ["b1"], ["a3"], ["yes"], ["a4", {"task": 1}]]


async def test_a_batch_says_what_it_is_and_what_is_left(yard: Yard):
    await put(yard, "one", [{"type": "text", "text": "two"}])
    await put(yard, "no", kind="approval_result", source="hook", client_message_id="m7")

    batch, alone = await take(yard), await take(yard)

    assert (batch.merged_count, batch.queue_len_after) == (2, 1)
    assert batch.turn == [{"type": "text", "text": word} for word in ("one", "\n", "two")]
    (item,) = alone.items
    assert (item.kind, item.content, item.source, item.client_message_id) == ("approval_result", "no", "hook", "m7")
    assert alone.batch_id != batch.batch_id


async def test_a_batch_that_is_not_consumed_comes_back_and_one_that_is_does_not(yard: Yard, clock: ManualClock):
    await put(yard, "first")
    lost = await take(yard, hold_sec=60)
    await put(yard, "second")
    assert [item.content for item in (await yard.inbox.peek(*MINE)).items] == ["second"]

    clock.advance(seconds=61)
    again = await take(yard, hold_sec=60)
    await yard.inbox.consume(*MINE, again.batch_id)
    clock.advance(seconds=61)

    assert [item.content for item in again.items] == ["first", "second"]
    assert await take_all(yard) == []
    with pytest.raises(NotFound):
        await yard.inbox.consume(*MINE, lost.batch_id)


async def test_the_same_call_again_does_no_more(yard: Yard):
    for _ in range(2):
        await yard.inbox.put(*MINE, "once", item_id="item_1")
    taken = [await take(yard, batch_id="batch_1") for _ in range(2)]
    for _ in range(2):
        await yard.inbox.consume(*MINE, "batch_1")
    late = await yard.inbox.put(*MINE, "once", item_id="item_1")
    await put(yard, "next")

    assert (await yard.inbox.take(*MINE, batch_id="batch_1")).batch is None
    assert taken[0] == taken[1]
    assert taken[0].merged_count == 1
    assert late.item is not None
    assert await take_all(yard) == [["next"]]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that are soon reached; the real ones are held to in tests/core."""
    monkeypatch.setattr(inbox_rules, "SOFT_LIMIT", 5)
    monkeypatch.setattr(inbox_rules, "HARD_LIMIT", 9)


@pytest.mark.usefixtures("small")
async def test_at_the_soft_limit_the_oldest_that_coalesces_makes_room_wherever_it_stands(yard: Yard):
    await put(yard, "barrier", kind="overlay_action")
    await put(yard, 1, 2, 3, 4)

    made_room = await yard.inbox.put(*MINE, "new")

    peeked = await yard.inbox.peek(*MINE)
    assert [item.content for item in peeked.items] == ["barrier", 2, 3, 4, "new"]
    assert made_room.queue_len == 5
    (drop,) = await events_of(yard, "dropped")
    assert (drop["item"], drop["reason"]) == (made_room.dropped, "soft_limit")


@pytest.mark.usefixtures("small")
async def test_a_barrier_that_meets_a_full_inbox_drops_no_message(yard: Yard):
    await put(yard, 1, 2, 3, 4, 5)

    entered = await yard.inbox.put(*MINE, "approved", kind="approval_result")

    assert (entered.dropped, entered.queue_len) == (None, 6)
    assert await take_all(yard) == [[1, 2, 3, 4, 5], ["approved"]]


async def test_a_message_that_says_nothing_is_refused(yard: Yard):
    with pytest.raises(InvalidInput, match="content"):
        await yard.inbox.put(*MINE, None)
    assert await take_all(yard) == []


@pytest.mark.usefixtures("small")
async def test_at_the_hard_limit_nothing_is_taken_in_and_that_is_stated(yard: Yard):
    await asyncio.gather(*(put(yard, number, kind="approval_result") for number in range(9)))

    refused = await yard.inbox.put(*MINE, "one too many", kind="approval_result")

    assert (refused.item, refused.queue_len) == (None, 9)
    assert (await yard.inbox.peek(*MINE)).inbox.queue_len == 9
    assert [drop["reason"] for drop in await events_of(yard, "dropped")] == ["hard_limit"]


async def test_who_is_blocked_gets_nothing_and_each_change_of_the_reason_is_reported_once(yard: Yard):
    await yard.inbox.take(*MINE, "streaming")
    await put(yard, "hello")
    reasons = ["streaming", "streaming", "overlay_open", "streaming", None, None, "streaming"]

    answers: list[Dequeued] = []
    for reason in reasons:
        await put(yard, "more")
        answers.append(await yard.inbox.take(*MINE, reason))

    assert [answer.batch is not None for answer in answers] == [reason is None for reason in reasons]
    assert [answer.blocked for answer in answers] == [
        "streaming",
        None,
        "overlay_open",
        "streaming",
        None,
        None,
        "streaming",
    ]
    assert [each["reason"] for each in await events_of(yard, "blocked")] == [
        *("streaming", "overlay_open", "streaming", "streaming"),
    ]


async def test_a_cleared_inbox_is_empty_for_everybody(yard: Yard, clock: ManualClock):
    await put(yard, "held")
    held = await take(yard, hold_sec=60)
    await put(yard, "one", "two")

    assert await yard.inbox.clear(*MINE, "stale_generation") == 3

    await yard.inbox.consume(*MINE, held.batch_id)
    clock.advance(seconds=61)
    assert await take_all(yard) == []
    assert await yard.inbox.clear(*MINE) == 0
    assert [(each["reason"], each["count"]) for each in await events_of(yard, "cleared")] == [("stale_generation", 3)]


async def test_every_step_is_an_event(yard: Yard):
    await put(yard, "one", "two")
    batch = await take(yard)
    await yard.inbox.consume(*MINE, batch.batch_id)

    assert [each["queue_len"] for each in await events_of(yard, "enqueued")] == [1, 2]
    assert [(each["merged_count"], each["queue_len_after"]) for each in await events_of(yard, "dequeued")] == [(2, 0)]
    assert [each["batch"] for each in await events_of(yard, "consumed")] == [batch.batch_id]


async def test_inboxes_are_apart_and_are_listed(yard: Yard, open_yard: OpenYard):
    elsewhere = await open_yard(workspace="elsewhere")
    await put(yard, "mine")
    await yard.inbox.put("planner", 'c1"/ü', "another conversation")
    await yard.inbox.put("plan", "nerc1", "another agent")
    await elsewhere.inbox.put(*MINE, "another workspace")

    assert [(view.agent, view.conversation, view.queue_len) for view in await yard.inbox.list()] == [
        ("plan", "nerc1", 1),
        ("planner", "c1", 1),
        ("planner", 'c1"/ü', 1),
    ]
    assert await take_all(yard) == [["mine"]]
    assert (await elsewhere.inbox.peek(*MINE)).inbox.queue_len == 1


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("content", {"content": "x" * MOST_BYTES}),
        ("content", {"content": "\0"}),
        ("kind", {"content": "x", "kind": "shout"}),
        ("source", {"content": "x", "source": "nobody"}),
        ("agent", {"content": "x", "agent": " "}),
        ("item_id", {"content": "x", "item_id": ""}),
    ],
)
async def test_what_makes_no_sense_is_refused_and_not_stored(yard: Yard, field: str, call: dict[str, Any]):
    given = {"agent": "planner", "conversation": "c1", **call}

    with pytest.raises(InvalidInput) as refused:
        await yard.inbox.put(**given)

    assert str(refused.value.facts["field"]).endswith(field)
    assert await yard.inbox.list() == []


async def test_an_inbox_that_nobody_has_used_for_long_is_forgotten_when_it_is_empty(yard: Yard, clock: ManualClock):
    await put(yard, "read")
    await take_all(yard)
    await yard.inbox.put("planner", "unread", "hello")
    clock.advance(seconds=8 * 86_400)

    await yard.sweep()

    assert [view.conversation for view in await yard.inbox.list()] == ["unread"]


async def test_many_who_write_and_read_at_once_lose_and_double_nothing(yard: Yard, open_yard: OpenYard):
    yards = [yard, await open_yard(), await open_yard()]
    wanted = {f"{producer}.{number}" for producer in range(3) for number in range(25)}
    seen: list[str] = []

    async def produce(name: int) -> None:
        for number in range(25):
            await put(yards[name], f"{name}.{number}", kind="approval_result" if number % 5 == 0 else "message")

    async def read(own: Yard) -> None:
        while len(seen) < len(wanted):
            mark = await own.mark()
            batch = (await own.inbox.take(*MINE)).batch
            if batch is None:
                await own.changed(mark, 1)
                continue
            await own.inbox.consume(*MINE, batch.batch_id)
            seen.extend(str(item.content) for item in batch.items)

    async with asyncio.timeout(60):
        await asyncio.gather(*(produce(name) for name in range(3)), *(read(own) for own in yards[:2]))

    assert sorted(seen) == sorted(wanted)


async def test_an_inbox_that_does_not_hold_together_is_found_out(yard: Yard):
    await put(yard, "kept", "lost")
    lost = (await yard.store.page("inbox_item", yard.workspace, limit=1))[0]
    stray = lost._replace(id=f"stray{lost.id}", version=0)

    for change in (RecordChange(*lost[:4], None), RecordChange(*stray)):
        await yard.store.commit([ChangeSet(records=(change,), at=yard.now())])

    assert (await yard.verify()).problems == (
        f"an inbox lists {lost.id}, which is not there",
        f"{stray.id} is kept, and no inbox lists it",
    )
    for change in (RecordChange(*stray._replace(version=1)[:4], None), RecordChange(*lost._replace(version=0))):
        await yard.store.commit([ChangeSet(records=(change,), at=yard.now())])
