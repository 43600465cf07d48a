"""The events of a commit are one entry of a stream, which outlives some of its tasks and goes with the last."""

import json
from typing import Any

import pytest

from taskyard.core.changes import Event
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.ledger.clock import ManualClock
from taskyard.stores.redis import RedisStore
from taskyard.stores.shared.log_rows import split_number
from tests.redis_servers import RedisServer
from tests.stores.given import ELSEWHERE, HERE, committed, every_event, given_a_task

YARD = "{taskyard}:"


def messages(store: RedisStore, task_id: TaskId | None, texts: list[str], workspace: str = HERE) -> tuple[Event, ...]:
    return tuple(
        Event(
            "task.message",
            workspace,
            task_id,
            None,
            store.now(),
            None,
            None,
            None,
            json.dumps(text, ensure_ascii=False),
        )
        for text in texts
    )


def entries(client: Any, workspace: str) -> int:
    return client.xlen(f"{YARD}log:{workspace}") + client.zcard(f"{YARD}long-log:{workspace}")


TEXTS = {
    "of several bytes, which differ in the last": ["Größe ü", "Größe ö"],
    "of several bytes, which differ in the first": ["ü and the same end", "ö and the same end"],
    "of which one is the beginning of another": ["a long beginning", "a long beginning, and more"],
    "with all that JSON escapes": ['"\\\n\t\x01 one', '"\\\n\t\x01 two'],
    "with nothing in common": ["x", "[]{}"],
}


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS.keys())
async def test_texts_come_back_as_they_went_in(store: RedisStore, texts: list[str]):
    task = await given_a_task(store)

    await committed(store, events=messages(store, task.id, [*texts, texts[0]]))

    read = [stored.event.data for stored in (await every_event(store))[1:]]
    assert [json.loads(data or "") for data in read] == [*texts, texts[0]]


async def test_a_commit_is_one_entry_of_each_workspace_and_long_ones_are_several(
    server: RedisServer, store: RedisStore
):
    here = await given_a_task(store)
    await given_a_task(store, workspace=ELSEWHERE)
    client: Any = server.client()
    before = entries(client, HERE), entries(client, ELSEWHERE)
    mixed = (
        *messages(store, here.id, ["a"]),
        *messages(store, None, ["b"], ELSEWHERE),
        *messages(store, here.id, ["c"]),
    )

    await committed(store, events=mixed)
    await committed(store, events=messages(store, here.id, [str(number) for number in range(1100)]))

    read = (await every_event(store))[2:]
    assert [stored.event.data for stored in read[:3]] == ['"a"', '"b"', '"c"']
    assert len({split_number(stored.seq)[0] for stored in read[:3]}) == 1
    assert [json.loads(stored.event.data or "") for stored in read[3:]] == [str(number) for number in range(1100)]
    assert (entries(client, HERE), entries(client, ELSEWHERE)) == (before[0] + 4, before[1] + 1)


async def test_an_entry_shows_only_the_living_and_goes_with_the_last(server: RedisServer, store: RedisStore):
    one, other = await given_a_task(store), await given_a_task(store)
    shared = (*messages(store, one.id, ["ü one"]), *messages(store, other.id, ["ü other"]))
    await committed(store, events=shared)
    client: Any = server.client()

    await committed(store, removals=(one.id,))
    left = await every_event(store)
    await committed(store, removals=(other.id,))

    assert {stored.event.task_id for stored in left} == {other.id}
    assert left[-1].event == shared[1]
    assert client.xlen(f"{YARD}log:{HERE}") == client.exists(f"{YARD}gone:{HERE}") == 0


async def test_a_task_of_the_same_id_does_not_get_the_events_of_the_one_before(store: RedisStore):
    one, other = await given_a_task(store), await given_a_task(store)
    await committed(store, events=(*messages(store, one.id, ["old"]), *messages(store, other.id, ["kept"])))
    await committed(store, removals=(one.id,))

    await given_a_task(store, id=one.id)

    assert '"old"' not in [stored.event.data for stored in await every_event(store)]


LONG = "long enough that an entry of a few of them is worth to be written again" * 20


async def given_a_shared_entry(store: RedisStore, count: int) -> tuple[list[TaskId], int]:
    """Tasks that have each a message in one entry, and its number."""
    tasks = [(await given_a_task(store)).id for _ in range(count)]
    shared = [event for place, task in enumerate(tasks) for event in messages(store, task, [f"{place} {LONG}"])]
    await committed(store, events=(*shared, *messages(store, None, ["of no task"])))
    return tasks, split_number((await every_event(store))[-1].seq)[0]


def long_entry(client: Any, number: int) -> str:
    (member,) = client.zrangebyscore(f"{YARD}long-log:{HERE}", number, number)
    return member


async def test_an_entry_that_is_half_gone_is_written_again_and_read_as_before(server: RedisServer, store: RedisStore):
    tasks, number = await given_a_shared_entry(store, 8)
    before = [stored for stored in await every_event(store) if split_number(stored.seq)[0] == number]
    client: Any = server.client()
    whole = long_entry(client, number)

    await committed(store, removals=tuple(tasks[:3]))
    assert long_entry(client, number) == whole
    await committed(store, removals=(tasks[4],))

    assert len(long_entry(client, number)) < len(whole) - 3 * len(LONG)
    assert client.hget(f"{YARD}gone:{HERE}", number) is None
    left = [stored for stored in before if stored.event.task_id not in {*tasks[:3], tasks[4]}]
    found = await every_event(store)
    assert [stored for stored in found if split_number(stored.seq)[0] == number] == left
    assert await store.newest_events(limit=4, workspace=HERE) == left[:0:-1]
    assert await store.events(after=left[1].seq, limit=2, workspace=HERE) == left[2:4]
    of_one = await store.events(after=0, limit=9, task_id=tasks[7])
    assert of_one[-1] == left[-2]


async def test_entries_that_were_written_again_keep_their_places_among_others(server: RedisServer, store: RedisStore):
    shared = [await given_a_shared_entry(store, 8) for _ in range(20)]
    whole = await every_event(store)
    gone: set[TaskId | None] = set()

    for tasks, _ in shared[::2]:
        gone |= {*tasks[:5]}
        await committed(store, removals=tuple(tasks[:5]))

    left = [stored for stored in whole if stored.event.task_id not in gone]
    assert server.client().zcard(f"{YARD}long-log:{HERE}") == 20
    assert await store.events(after=0, limit=999) == left
    assert await store.newest_events(limit=999) == left[::-1]
    assert await store.newest_events(limit=30, below=left[50].seq) == left[49:19:-1]


async def test_an_entry_that_was_written_again_is_so_once_more_and_goes_with_the_last(
    server: RedisServer, store: RedisStore, clock: ManualClock
):
    tasks, number = await given_a_shared_entry(store, 16)
    client: Any = server.client()
    lengths: list[int] = []

    for task in tasks:
        await committed(store, removals=(task,))
        lengths.append(len(long_entry(client, number)))
    clock.advance(seconds=1)
    await store.prune_events(before=clock.now(), after=0, limit=9)

    assert [lengths.index(length) + 1 for length in sorted({*lengths}, reverse=True)] == [1, 8, 12, 14, 15, 16]
    assert await every_event(store) == []
    assert client.xlen(f"{YARD}log:{HERE}") == 0
    assert client.exists(*(f"{YARD}{name}:{HERE}" for name in ("long-log", "gone", "loose"))) == 0


async def test_a_time_beyond_what_a_number_of_lua_can_be_is_not_rounded(store: RedisStore):
    tasks = [(await given_a_task(store)).id for _ in range(4)]
    late = Micros(2**53 + 1)
    events = [event._replace(at=late) for task in tasks for event in messages(store, task, [LONG])]
    await committed(store, events=tuple(events))

    for task in tasks[:2]:
        await committed(store, removals=(task,))

    assert [stored.event.at for stored in await every_event(store)][-2:] == [late, late]
