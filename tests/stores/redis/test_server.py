"""Which servers a yard can be kept on, what they promise, and what happens when one is hurt."""

import asyncio

import pytest

from taskyard.core.changes import Blocker, Committed, Lift, Signal, expected
from taskyard.core.errors import SchemaTooNew, StoreFull, StoreReadOnly, StoreUnavailable
from taskyard.core.task import LaneId
from taskyard.core.units import SECOND
from taskyard.ledger.clock import ManualClock
from taskyard.stores.redis import RedisStore
from taskyard.stores.shared.identity import yard_identity
from tests.redis_servers import RedisServer, wait_for
from tests.stores.given import (
    HERE,
    a_beat,
    a_new_task,
    a_set,
    commit,
    committed,
    every_event,
    given_a_completed_task,
    given_a_pending_task,
    given_a_running_task,
    given_a_task,
    given_tasks,
    row_of,
)
from tests.stores.plans import a_plan, take
from tests.stores.redis.conftest import Connect
from tests.stores.redis.relay import Relay


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-lru", "allkeys-random"])
async def test_a_server_that_may_throw_tasks_away_is_refused_with_the_command_that_helps(
    server: RedisServer, clock: ManualClock, policy: str
):
    server.client().config_set("maxmemory-policy", policy)

    with pytest.raises(StoreUnavailable) as told:
        await RedisStore(server.url, clock=clock).open()

    assert policy in str(told.value)
    assert "CONFIG SET maxmemory-policy noeviction" in str(told.value)
    assert server.client().keys() == []


async def test_a_server_that_is_too_old_is_refused(relay: Relay, clock: ManualClock):
    relay.swap = (b"redis_version:6.2.", b"redis_version:6.0.")

    with pytest.raises(StoreUnavailable, match=r"Redis 6\.2 or newer is needed, and this is 6\.0"):
        await RedisStore(relay.url, clock=clock).open()


@pytest.mark.parametrize(
    ("appendonly", "appendfsync", "meaning"),
    [
        ("yes", "always", "what was acknowledged survives a crash"),
        ("yes", "everysec", "a crash costs up to 2 seconds"),
        ("yes", "no", "half a minute"),
        ("no", "always", "everything since the last snapshot"),
    ],
)
async def test_it_says_what_a_crash_of_the_server_may_cost(
    server: RedisServer, connect: Connect, appendonly: str, appendfsync: str, meaning: str
):
    server.client().config_set("appendonly", appendonly)
    server.client().config_set("appendfsync", appendfsync)

    store = await connect()

    assert meaning in store.durability.durability
    assert (await store.health())["durability"] == store.durability.durability


async def test_a_newer_format_is_refused(server: RedisServer, store: RedisStore, clock: ManualClock):
    server.client().hset("{taskyard}:state", mapping={"version": 9, "min_reader": 9, "min_writer": 9})

    with pytest.raises(SchemaTooNew):
        await RedisStore(server.url, clock=clock).open()


async def test_scripts_that_were_flushed_are_sent_again(server: RedisServer, store: RedisStore):
    await given_a_task(store)

    server.client().script_flush()

    assert len((await take(store, await a_plan(store))).tasks) == 1
    server.client().script_flush()
    running = await given_a_running_task(store)
    server.client().script_flush()
    assert [extended.accepted for extended in await store.extend([a_beat(running)])] == [True]


async def test_what_was_acknowledged_is_there_after_the_server_was_killed(server: RedisServer, store: RedisStore):
    tasks = await given_tasks(store, 20)
    events = await every_event(store)

    server.kill()
    server.start()

    assert list((await store.load([task.id for task in tasks])).values()) == tasks
    assert await every_event(store) == events
    assert len((await take(store, await a_plan(store, tasks=20))).tasks) == 20


async def test_what_a_crash_tore_off_does_not_come_back_later(server: RedisServer, store: RedisStore):
    """A server that was killed while it wrote a set to its file keeps the beginning of it, and would do that later."""
    kept = await given_a_task(store)
    unlucky = await a_new_task(store)
    await committed(store, tasks=(unlucky,))
    server.kill()
    file = server.folder / "appendonly.aof"
    file.write_bytes(file.read_bytes()[:-100])
    server.start()

    assert list(await store.load([kept.id, unlucky.hot.id])) == [kept.id]
    wait_for(server.has_rewritten_its_file, "the file is not written anew")
    later = await given_a_task(store)
    server.kill()
    server.start()

    assert list(await store.load([kept.id, unlucky.hot.id, later.id])) == [kept.id, later.id]
    assert [stored.event.task_id for stored in await every_event(store)] == [kept.id, later.id]


async def test_a_read_waits_for_a_server_that_is_coming_back(server: RedisServer, store: RedisStore):
    task = await given_a_task(store)
    server.kill()
    reading = asyncio.create_task(store.load([task.id]))
    await asyncio.sleep(0)

    server.start()

    assert await reading == {task.id: task}


async def test_a_server_without_memory_refuses_work_and_loses_nothing(server: RedisServer, store: RedisStore):
    running = await given_a_running_task(store)
    fresh = [await a_new_task(store, idempotency_key=f"key {number}") for number in range(3)]
    before = (await store.load([running.id]), await every_event(store), await store.tally(HERE))
    server.client().config_set("maxmemory", 1)

    with pytest.raises(StoreFull) as told:
        await store.commit([a_set(store, tasks=(task,)) for task in fresh])

    assert "CONFIG SET maxmemory" in str(told.value)
    assert (await store.load([running.id]), await every_event(store), await store.tally(HERE)) == before
    assert await store.by_key(HERE, ["key 0", "key 1", "key 2"]) == {}
    server.client().config_set("maxmemory", 0)
    assert isinstance(await commit(store, tasks=tuple(fresh)), Committed)


async def test_a_server_without_memory_refuses_also_what_begins_by_making_room(server: RedisServer, store: RedisStore):
    waiting = await given_a_pending_task(store, "signal:go")
    server.client().config_set("maxmemory", 1)

    sent = Signal(waiting.id, "go", "null", "human:local", store.now())
    with pytest.raises(StoreFull):
        await commit(store, signals=(sent,), lifts=(Lift("signal:go"),))

    assert await row_of(store, waiting.id) == waiting
    assert await store.signals(waiting.id) == []
    assert await store.blockers([waiting.id]) == [Blocker(waiting.id, 0, "signal:go")]


async def test_a_server_without_memory_costs_no_agent_its_lease(
    server: RedisServer, store: RedisStore, clock: ManualClock
):
    running = await given_a_running_task(store)
    server.client().config_set("maxmemory", 1)
    clock.advance(seconds=60)

    [extended] = await store.extend([a_beat(running)])

    assert extended.accepted
    assert (await row_of(store, running.id)).lease_expires_at == store.now() + 90 * SECOND


async def test_a_server_without_memory_can_still_be_pruned(server: RedisServer, store: RedisStore):
    done = await given_a_completed_task(store)
    server.client().config_set("maxmemory", 1)

    await committed(store, expects=(expected(done),), removals=(done.id,))

    assert await store.load([done.id]) == {}


async def test_a_replica_takes_no_writes(server: RedisServer, store: RedisStore):
    fresh = await a_new_task(store)
    server.client().replicaof("127.0.0.1", 1)

    with pytest.raises(StoreReadOnly):
        await commit(store, tasks=(fresh,))

    server.client().replicaof("NO", "ONE")
    await committed(store, tasks=(fresh,))


async def test_without_a_clock_the_time_is_the_servers(server: RedisServer):
    own = RedisStore(server.url)
    await own.open()
    seconds, _ = server.client().time()

    assert abs(own.now() // SECOND - seconds) <= 1
    await own.close()


async def test_processes_agree_on_the_secret_of_a_yard_that_was_emptied(
    server: RedisServer, store: RedisStore, other: RedisStore
):
    before = store.secret
    server.client().flushall()

    yards = [(await each.config(HERE, LaneId(0))).yard for each in (store, other)]

    assert store.secret == other.secret != before
    assert yards == [yard_identity(store.secret)] * 2
    assert (await store.schema()).outstanding() == []
