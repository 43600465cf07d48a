"""The events of a commit are one entry of a stream, which outlives some of its tasks and goes with the last."""

import json
from typing import Any

import pytest

from taskyard.core.changes import Event
from taskyard.core.task import TaskId
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
    before = client.xlen(f"{YARD}log:{HERE}"), client.xlen(f"{YARD}log:{ELSEWHERE}")
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
    assert (client.xlen(f"{YARD}log:{HERE}"), client.xlen(f"{YARD}log:{ELSEWHERE}")) == (before[0] + 4, before[1] + 1)


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
