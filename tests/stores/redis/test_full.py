"""A Redis at its maxmemory: leases are kept, attempts end, and what is old is pruned; only new work waits."""

import asyncio

import pytest

from taskyard.core.errors import StoreFull
from taskyard.core.task import Status
from taskyard.core.units import DAY, SECOND
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.redis import RedisStore
from taskyard.yard import Yard
from tests.redis_servers import RedisServer
from tests.yards import given_a_running_task


@pytest.fixture
async def yard(store: RedisStore) -> Yard:
    yard = Yard(store, Options(sweeps=False))
    await yard.features.presets.agree()
    return yard


async def test_a_heartbeat_keeps_its_lease_and_says_so(yard: Yard, server: RedisServer, clock: ManualClock):
    held = await given_a_running_task(yard)
    server.client().config_set("maxmemory", 1)
    clock.advance(seconds=20)

    told = await yard.heartbeat(held.id, held.lease)

    assert told.lease_expires_at == clock.now() + 90 * SECOND
    assert not told.must_stop


async def test_attempts_end_while_new_work_is_refused_also_in_one_batch(yard: Yard, server: RedisServer):
    held = [await given_a_running_task(yard, max_attempts=1) for _ in range(3)]
    server.client().config_set("maxmemory", 1)

    done, failed, cancelled, *refused = await asyncio.gather(
        yard.complete(held[0].id, held[0].lease, {"ok": True}),
        yard.fail(held[1].id, held[1].lease, "crash"),
        yard.cancel(held[2].id, "no room"),
        yard.enqueue("code"),
        yard.claim("worker"),
        return_exceptions=True,
    )

    assert not isinstance(done, BaseException)
    assert not isinstance(failed, BaseException)
    assert not isinstance(cancelled, BaseException)
    assert isinstance(refused[0], StoreFull)
    statuses = [(await yard.get(each.id)).status for each in held]
    assert statuses == [Status.COMPLETED, Status.DEAD_LETTERED, Status.CANCELLED]


async def test_the_sweep_takes_back_what_expired_and_prunes_what_is_old(
    yard: Yard, server: RedisServer, clock: ManualClock
):
    old = [await given_a_running_task(yard) for _ in range(5)]
    for each in old:
        await yard.complete(each.id, each.lease, {"ok": True})
    await yard.sweep()
    clock.advance(seconds=8 * DAY / SECOND)
    await yard.sweep()
    silent = await given_a_running_task(yard)
    server.client().config_set("maxmemory", 1)
    for _ in range(10):
        clock.advance(seconds=20)
        await yard.sweep()

    assert (await yard.get(silent.id)).status is not Status.RUNNING
    assert await yard.store.load([each.id for each in old]) == {}
