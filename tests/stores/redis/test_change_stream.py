"""A task that becomes ready wakes one of those who wait for it, and not all; a dead worker's wake-up is not lost."""

import asyncio
from dataclasses import replace

import pytest

from taskyard.core.claiming import ClaimPlan
from taskyard.stores.redis import RedisStore
from tests.redis_servers import RedisServer
from tests.stores.given import a_lane, given_a_task, given_tasks, lane_of
from tests.stores.plans import a_plan, planned, take
from tests.stores.redis.conftest import Connect

WORKERS = 5
STREAM = "{taskyard}:wake:1"


async def standing(store: RedisStore, plan: ClaimPlan) -> "asyncio.Task[int]":
    """Waits at the plan's lanes, and has found nothing there."""
    await store.changed(await store.changed(0, 0), 0.01, plan)  # the first to wait at a lane looks again at once
    return asyncio.create_task(store.changed(await store.changed(0, 0), 60, plan))


async def blocked(server: RedisServer, number: int) -> None:
    """Until so many connections wait at a lane. A server tells nobody of it."""
    async with asyncio.timeout(30):
        while sum(each["cmd"] == "xreadgroup" for each in server.client().client_list()) < number:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_a_ready_task_wakes_one_of_those_who_wait_for_it(
    server: RedisServer, store: RedisStore, connect: Connect
):
    plan = await a_plan(store)
    workers = [await connect() for _ in range(WORKERS)]
    waiting = [await standing(worker, plan) for worker in workers]
    await blocked(server, WORKERS)

    await given_a_task(store)
    done, still = await asyncio.wait(waiting, timeout=30, return_when=asyncio.FIRST_COMPLETED)
    await blocked(server, WORKERS - 1)

    assert (len(done), len(still)) == (1, WORKERS - 1)
    woken = workers[waiting.index(done.pop())]
    assert len((await take(woken, plan)).tasks) == 1
    assert server.client().xpending(STREAM, "workers")["pending"] == 0
    for each in still:
        each.cancel()


async def test_two_that_become_ready_at_once_wake_two_workers_who_do_not_say_how_many_they_want(
    server: RedisServer, store: RedisStore, connect: Connect
):
    plan = replace(await a_plan(store), leases=())
    waiting = [await standing(await connect(), plan) for _ in range(2)]
    await blocked(server, 2)

    await given_tasks(store, 2)

    await asyncio.wait_for(asyncio.gather(*waiting), 30)


def listening(server: RedisServer) -> int:
    """Connections that stand at the end of the stream of changes."""
    return sum(each["cmd"] == "xread" and "b" in each["flags"] for each in server.client().client_list())


async def test_nobody_listens_while_nobody_waits_and_yet_nothing_is_missed(
    server: RedisServer, store: RedisStore, connect: Connect
):
    waiter = await connect()
    first = asyncio.create_task(waiter.changed(await waiter.changed(0, 0), 60))
    async with asyncio.timeout(30):
        while not listening(server):  # noqa: ASYNC110 - a server tells nobody of it
            await asyncio.sleep(0.005)

    await given_a_task(store)
    mark = await first
    assert listening(server) == 0

    await given_a_task(store)
    assert listening(server) == 0
    assert await asyncio.wait_for(waiter.changed(mark, 60), 30) != mark


async def test_a_task_of_another_lane_wakes_nobody(server: RedisServer, store: RedisStore, connect: Connect):
    other_lane = await lane_of(store, a_lane(type="review"))
    plan = await a_plan(store)
    worker = await connect()
    waiting = await standing(worker, plan)
    await blocked(server, 1)

    await given_a_task(store, lane=other_lane)
    told = await worker.changed(0, 60)

    assert told
    assert not waiting.done()
    waiting.cancel()


async def test_the_wake_up_of_a_worker_that_died_goes_to_another(server: RedisServer, store: RedisStore):
    plan = await a_plan(store)
    await store.changed(await store.changed(0, 0), 0.01, plan)
    await given_a_task(store)
    handed = server.client().xreadgroup("workers", "the dead one", {STREAM: ">"})
    assert len(handed) == 1

    async with asyncio.timeout(20):
        while server.client().xpending(STREAM, "workers")["consumers"][0]["name"] == "the dead one":
            await store.changed(await store.changed(0, 0), 0.5, plan)

    assert len((await take(store, plan)).tasks) == 1
    assert server.client().xpending(STREAM, "workers")["pending"] == 0


async def test_a_hint_that_one_worker_has_no_use_for_is_left_to_another(
    server: RedisServer, store: RedisStore, other: RedisStore
):
    full = await a_plan(store, slots=0)
    waiting = await standing(store, full)
    await blocked(server, 1)
    await given_a_task(other)
    await waiting

    assert (await take(store, full)).tasks == ()
    assert server.client().xpending(STREAM, "workers")["pending"] == 1


async def test_no_hints_are_kept_for_a_lane_that_is_empty(server: RedisServer, store: RedisStore):
    plan = await a_plan(store, tasks=3)
    await store.changed(await store.changed(0, 0), 0.01, plan)
    for _ in range(3):
        await given_a_task(store)
    assert server.client().xlen(STREAM) == 3

    await take(store, plan)

    assert server.client().xlen(STREAM) == 0


async def test_a_stream_of_hints_does_not_grow_without_end(server: RedisServer, store: RedisStore):
    plan = await a_plan(store, planned(await lane_of(store)))
    await store.changed(await store.changed(0, 0), 0.01, plan)

    for _ in range(100):
        await given_a_task(store)

    assert server.client().xlen(STREAM) == 64
    assert server.client().xlen("{taskyard}:changed") == 64


async def test_workers_that_have_not_been_heard_of_for_long_are_forgotten(
    server: RedisServer, store: RedisStore, monkeypatch: pytest.MonkeyPatch
):
    plan = await a_plan(store)
    await store.changed(await store.changed(0, 0), 0.01, plan)
    server.client().xreadgroup("workers", "long gone", {STREAM: ">"})
    monkeypatch.setattr("taskyard.stores.redis.connection.hints._EVERY", 1)
    monkeypatch.setattr("taskyard.stores.redis.connection.hints._FORGOTTEN", -1)

    await store.changed(await store.changed(0, 0), 0.01, plan)

    assert "long gone" not in [each["name"] for each in server.client().xinfo_consumers(STREAM, "workers")]
