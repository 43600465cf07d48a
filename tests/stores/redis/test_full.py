"""A Redis at its maxmemory: leases are kept, attempts end, and what is old is pruned; only new work waits."""

import asyncio
from pathlib import Path

import pytest

from taskyard.core.changes import Committed
from taskyard.core.errors import StoreFull
from taskyard.core.notice import TOPIC
from taskyard.core.task import Status
from taskyard.core.units import DAY, SECOND
from taskyard.features.artifacts.rules import LOOSE
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.ledger.queue import CommitQueue
from taskyard.stores.redis import RedisStore
from taskyard.yard import Yard, local_yard
from tests.redis_servers import RedisServer
from tests.stores.given import a_new_task, a_set, cancelling, given_a_completed_task, given_a_task
from tests.yards import elapse, given_a_running_task, given_an_agent


@pytest.fixture
async def yard(store: RedisStore) -> Yard:
    yard = local_yard(store, Options(sweeps=False))
    await yard.local.presets.agree()
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
    waiting = await yard.enqueue("code")
    server.client().config_set("maxmemory", 1)

    done, failed, cancelled, not_begun, *refused = await asyncio.gather(
        yard.complete(held[0].id, held[0].lease, {"ok": True}),
        yard.fail(held[1].id, held[1].lease, "crash"),
        yard.cancel(held[2].id, "no room"),
        yard.cancel(waiting.id, "no room"),
        yard.enqueue("code"),
        yard.claim("worker"),
        return_exceptions=True,
    )

    assert not isinstance(done, BaseException)
    assert not isinstance(failed, BaseException)
    assert not isinstance(cancelled, BaseException)
    assert not isinstance(not_begun, BaseException)
    assert isinstance(refused[0], StoreFull)
    statuses = [(await yard.get(each.id)).status for each in (*held, waiting)]
    assert statuses == [Status.COMPLETED, Status.DEAD_LETTERED, Status.CANCELLED, Status.CANCELLED]


async def test_of_one_batch_what_makes_room_is_taken_and_what_is_new_is_refused(store: RedisStore, server: RedisServer):
    done, fresh, committer = await given_a_completed_task(store), await a_new_task(store), CommitQueue(store)
    server.client().config_set("maxmemory", 1)

    removed, refused = await asyncio.gather(
        committer.commit(a_set(store, removals=(done.id,))),
        committer.commit(a_set(store, tasks=(fresh,))),
        return_exceptions=True,
    )

    assert isinstance(removed, Committed)
    assert isinstance(refused, StoreFull)
    assert await store.load([done.id, fresh.hot.id]) == {}


@pytest.mark.parametrize("beside", ["an end", "a removal"])
async def test_new_work_is_refused_also_where_its_set_ends_something_or_makes_room(
    store: RedisStore, server: RedisServer, beside: str
):
    """As a rerun does, which cancels what waits, or an output that a validator is made for."""
    done, waiting, fresh = await given_a_completed_task(store), await given_a_task(store), await a_new_task(store)
    server.client().config_set("maxmemory", 1)
    ends = a_set(store, tasks=(fresh,), changes=(cancelling(store, waiting),))
    makes_room = a_set(store, tasks=(fresh,), removals=(done.id,))

    with pytest.raises(StoreFull):
        await store.commit([ends if beside == "an end" else makes_room])

    assert await store.load([done.id, waiting.id, fresh.hot.id]) == {done.id: done, waiting.id: waiting}


async def test_the_sweep_takes_back_what_expired(yard: Yard, server: RedisServer, clock: ManualClock):
    silent = await given_a_running_task(yard)
    server.client().config_set("maxmemory", 1)

    await elapse(yard, clock, 200)

    assert (await yard.get(silent.id)).status is not Status.RUNNING


async def test_the_sweep_prunes_what_is_old_while_a_schedule_waits(yard: Yard, server: RedisServer, clock: ManualClock):
    old = [await given_a_running_task(yard) for _ in range(5)]
    for each in old:
        await yard.complete(each.id, each.lease, {"ok": True})
    await yard.schedules.add("hourly", "0 * * * *", task={"type": "code"})
    server.client().config_set("maxmemory", 1)
    clock.advance(seconds=8 * DAY / SECOND)

    await elapse(yard, clock, 60)

    assert await yard.store.load([each.id for each in old]) == {}
    server.client().config_set("maxmemory", 0)
    clock.advance(seconds=2)
    assert (await yard.sweep()).fired == 1


async def test_tasks_are_pruned_whose_removal_leaves_a_record_of_their_artifacts(
    store: RedisStore, server: RedisServer, clock: ManualClock, tmp_path: Path
):
    yard = local_yard(store, Options(sweeps=False, artifacts=(tmp_path / "objects").as_uri()))
    await yard.local.presets.agree()
    filed, asked = await given_a_running_task(yard), await given_a_running_task(yard)
    await yard.artifacts.put("report.txt", b"done", task_id=filed.id, lease=filed.lease)
    await yard.complete(filed.id, filed.lease, {"ok": True})
    await yard.attempts.ask(asked.id, asked.lease, "deploy", "Deploy?")
    await yard.cancel(asked.id)
    server.client().config_set("maxmemory", 1)
    clock.advance(seconds=8 * DAY / SECOND)

    await elapse(yard, clock, 60)

    assert await yard.store.load([filed.id, asked.id]) == {}
    assert [each.body["over"] for each in await yard.store.records(LOOSE)] == [True]


async def test_the_sweep_goes_on_while_a_trigger_waits_for_room(yard: Yard, server: RedisServer, clock: ManualClock):
    await yard.triggers.add("next", "dag", task={"type": "report"})
    held, late = await given_a_running_task(yard), await given_a_running_task(yard)
    server.client().config_set("maxmemory", 1)
    await yard.complete(held.id, held.lease, {"ok": True})

    await elapse(yard, clock, 200)

    assert (await yard.get(late.id)).status is not Status.RUNNING
    assert await yard.find(type="report") == []
    server.client().config_set("maxmemory", 0)
    await elapse(yard, clock, 10)
    assert len(await yard.find(type="report")) == 1


async def test_people_are_notified_of_a_dag_that_ended(yard: Yard, server: RedisServer, clock: ManualClock):
    await yard.notifications.set("ops", "https://example.org/", events=["dag_completed"])
    await given_an_agent(yard)
    await yard.submit({"tasks": [{"type": "code"}]})
    (held,) = await yard.claim("worker", start=True)
    server.client().config_set("maxmemory", 1)
    await yard.complete(held.id, held.lease, {"ok": True})

    await elapse(yard, clock, 10)

    assert [row.workspace for _, row in await yard.store.outbox(TOPIC, 10)] == ["default"]
