"""What random histories found (tests/model), each told once more as the plain story that it comes down to."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from taskyard.core.task import Status
from taskyard.core.units import SECOND, Micros, to_iso
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from taskyard.yard import Yard, local_yard
from tests.interference import ProcessDied
from tests.yards import claim_that, given_a_running_task, given_an_agent, row_of


async def status_of(yard: Yard, task_id: str) -> Status:
    return (await yard.get(task_id)).status


async def test_what_has_expired_is_not_claimed_before_the_sweep_has_seen_it(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    late = await yard.enqueue("code", expires_at=to_iso(Micros(yard.now() + 60 * SECOND)))
    other = await yard.enqueue("code")
    clock.advance(seconds=60)

    assert [held.id for held in await yard.claim("worker", count=2)] == [other.id]
    assert await status_of(yard, late.id) is Status.READY


@pytest.mark.parametrize("going", ["cancelled", "expired"])
async def test_when_the_next_for_a_key_goes_the_one_after_it_is_next(yard: Yard, clock: ManualClock, going: str):
    first = await given_a_running_task(yard, concurrency_key="repo")
    second = await yard.enqueue("code", concurrency_key="repo", expires_at=to_iso(Micros(yard.now() + 60 * SECOND)))
    third = await yard.enqueue("code", concurrency_key="repo")
    assert await yard.claim("worker", count=2) == []
    await yard.complete(first.id, first.lease)
    assert (await status_of(yard, second.id), await status_of(yard, third.id)) == (Status.READY, Status.PENDING)

    if going == "cancelled":
        await yard.cancel(second.id)
    else:
        clock.advance(seconds=60)
        await yard.sweep()

    assert await status_of(yard, third.id) is Status.READY
    await claim_that(yard, third.id)


async def test_when_the_next_for_a_key_lacks_the_money_the_one_after_it_is_next(yard: Yard):
    first = await given_a_running_task(yard, concurrency_key="repo")
    dag = await yard.submit(
        {
            "budget_ceiling_usd": "1",
            "tasks": [
                {"name": "dear", "type": "code", "max_cost_usd": "0.6", "concurrency_key": "repo", "priority": 1},
                {"name": "spends", "type": "ops", "max_cost_usd": "0.6"},
            ],
        }
    )
    free = await yard.enqueue("code", max_cost_usd="0.6", concurrency_key="repo")
    assert await yard.claim("worker", count=2, types=["code"]) == []
    await yard.complete(first.id, first.lease)
    assert await status_of(yard, dag.tasks["dear"].id) is Status.READY
    assert len(await yard.claim("worker", types=["ops"])) == 1

    assert await yard.claim("worker", types=["code"]) == []
    assert await status_of(yard, dag.tasks["dear"].id) is Status.PENDING

    await claim_that(yard, free.id)


async def test_what_reserves_less_than_before_comes_back_to_its_graph(yard: Yard):
    await given_an_agent(yard)
    await yard.budgets.set(default_reserve_usd="2")
    dag = await yard.submit({"budget_ceiling_usd": "1", "tasks": [{"name": "only", "type": "code"}]})
    assert await yard.claim("worker") == []

    await yard.budgets.set(default_reserve_usd="0.5")

    await claim_that(yard, dag.tasks["only"].id)


class _DiesOverATouch:
    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def touch(self, _: object) -> None:
        raise ProcessDied


async def test_a_sweep_that_dies_on_the_way_frees_nothing_that_still_waits(yard: Yard, clock: ManualClock):
    first = await yard.enqueue("code")
    second = await yard.enqueue("code", depends_on=[first.id], run_after=to_iso(Micros(yard.now() + 5 * SECOND)))
    clock.advance(seconds=6)
    with pytest.raises(ProcessDied):
        await local_yard(cast(Store, _DiesOverATouch(yard.store)), yard.options).sweep()

    clock.advance(seconds=6)
    await yard.sweep()

    assert await status_of(yard, second.id) is Status.PENDING


async def test_a_claim_goes_on_in_other_lanes_when_a_breaker_admits_only_its_probe(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    probe, behind = [await yard.enqueue("code") for _ in range(2)]
    await yard.breakers.open("code")
    other = await yard.enqueue("research")
    clock.advance(seconds=61)

    assert [held.id for held in await yard.claim("worker", count=2)] == [probe.id, other.id]
    assert await status_of(yard, behind.id) is Status.READY


WAITS: dict[str, Callable[[Yard, Held], Awaitable[object]]] = {
    "sleep": lambda yard, held: yard.attempts.sleep(held.id, held.lease, "nap", 100),
    "wait_for": lambda yard, held: yard.attempts.wait_for(held.id, held.lease, "ask", "approved"),
    "spawn": lambda yard, held: yard.tasks.spawn(held.id, held.lease, [{"type": "research"}], name="facts", wait=True),
}


@pytest.mark.parametrize("wait", WAITS)
async def test_a_call_that_has_suspended_its_task_is_answered_the_same_when_it_is_repeated(yard: Yard, wait: str):
    held = await given_a_running_task(yard)

    first = await WAITS[wait](yard, held)
    suspended = await row_of(yard, held.id)

    assert await WAITS[wait](yard, held) == first
    assert await row_of(yard, held.id) == suspended
