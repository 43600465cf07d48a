"""Opening, closing, and what stays."""

import asyncio

import pytest

from taskyard.core.errors import YardClosed
from taskyard.stores.contract import Extended, Store
from tests.stores.given import (
    HERE,
    Connect,
    a_beat,
    a_lane,
    a_new_task,
    at_once,
    committed,
    every_event,
    given_a_record,
    given_a_running_task,
    given_a_task,
    given_tasks,
    lane_of,
    picture,
    row_of,
)


async def test_what_was_written_is_there_when_the_yard_is_opened_again(connect: Connect):
    first = await connect()
    tasks = [await given_a_task(first, idempotency_key="k"), await given_a_running_task(first)]
    await given_a_record(first, "note", "n", {"text": "kept"})
    task_ids = [task.id for task in tasks]
    before = await picture(first, task_ids)
    await first.close()

    again = await connect()

    assert await picture(again, task_ids) == before
    assert await lane_of(again) == tasks[0].lane
    later = await given_a_task(again)
    assert later.seq > tasks[1].seq
    assert (await every_event(again))[-1].event.task_id == later.id


async def test_every_process_of_a_yard_has_the_same_secret(store: Store, other: Store):
    assert store.secret == other.secret
    assert len(store.secret) >= 32


async def test_a_closed_yard_says_so(connect: Connect):
    store = await connect()
    task = await given_a_task(store)
    fresh = await a_new_task(store)
    await store.close()

    with pytest.raises(YardClosed):
        await store.load([task.id])
    with pytest.raises(YardClosed):
        await committed(store, tasks=(fresh,))
    with pytest.raises(YardClosed):
        await store.changed(0, 1)


async def test_a_yard_may_be_closed_twice(connect: Connect):
    store = await connect()

    await store.close()
    await store.close()


async def test_who_waits_for_a_change_does_not_outlive_the_yard(connect: Connect):
    store = await connect()
    waiting = asyncio.create_task(store.changed(await store.changed(0, 0), 60))
    await asyncio.sleep(0)

    await store.close()

    with pytest.raises(YardClosed):
        await asyncio.wait_for(waiting, 30)


async def test_one_process_sees_what_another_has_just_written(store: Store, other: Store):
    for number in range(20):
        writer, reader = (store, other) if number % 2 else (other, store)
        task = await given_a_task(writer)
        assert await reader.load([task.id]) == {task.id: task}


async def test_many_processes_may_open_a_new_yard_at_once(connect: Connect):
    stores = await at_once(*(connect() for _ in range(4)))

    assert len({store.secret for store in stores}) == 1
    tasks = [task for store in stores for task in await given_tasks(store, 2)]
    assert len({task.seq for task in tasks}) == 8
    assert await stores[0].lanes([a_lane()]) == [tasks[0].lane]
    assert len(await stores[-1].load([task.id for task in tasks])) == 8


async def test_nobody_learns_that_a_write_is_committed_before_it_can_be_read(store: Store, other: Store):
    fresh = [await a_new_task(store) for _ in range(10)]

    async def put_in_and_read(number: int) -> bool:
        await committed((store, other)[number % 2], tasks=(fresh[number],))
        return bool(await (other, store)[number % 2].load([fresh[number].hot.id]))

    assert await at_once(*(put_in_and_read(number) for number in range(10))) == [True] * 10
    assert (await store.tally(HERE)) == (await other.tally(HERE))


async def test_a_twin_serves_another_thread(store: Store):
    running = await given_a_running_task(store)
    twin = store.twin()
    if twin is None:  # nothing to share: the yard ends with its process
        return

    async def beat() -> list[Extended]:
        await twin.open()
        extended = await twin.extend([a_beat(running, '"from another thread"')])
        await twin.close()
        return extended

    [extended] = await asyncio.to_thread(lambda: asyncio.run(beat()))

    assert extended == Extended(await row_of(store, running.id), accepted=True)
