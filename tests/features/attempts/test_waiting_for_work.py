"""An agent waits for what it could claim: time may open that too, and others' writes do not end the wait."""

import asyncio
from dataclasses import replace

import pytest

from taskyard.core.agent import Budget, Period
from taskyard.core.breaker import Breaker
from taskyard.core.changes import Record
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.planning import Planning
from taskyard.core.units import DAY, SECOND, Micros, MicroUsd
from taskyard.features.attempts.planner import FOREVER, next_opening
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.core.choosing import a_plan
from tests.core.defining import NOW

QUIET = Planning(workspace="default", epoch=1)


def throttled(*until: int) -> Planning:
    records = {str(at): Record("throttle", "default", str(at), 1, {"until": at, "wait": 0}) for at in until}
    return replace(QUIET, throttles=records)


def test_time_opens_nothing_where_nothing_is_closed_for_a_time():
    assert next_opening(QUIET, a_plan()) == FOREVER
    assert next_opening(throttled(NOW - 1), a_plan()) == FOREVER


def test_the_end_of_a_throttle_opens_its_lanes():
    later = Micros(NOW + 3 * SECOND)

    assert next_opening(throttled(later + SECOND, later), a_plan()) == later


def test_a_breaker_that_half_opens_lets_a_probe_be_claimed():
    breaker = Breaker("default", "code", 3, NOW, 1)
    planning = replace(QUIET, breakers={"code": breaker})

    assert next_opening(planning, a_plan()) == breaker.half_open_at(planning.breaker_policy) > NOW


@pytest.mark.parametrize(
    ("budget", "opens"),
    [
        (Budget(MicroUsd(5), Period.DAY), NOW - NOW % DAY + DAY),
        (Budget(MicroUsd(5), Period.MONTH), NOW - NOW % DAY + DAY),
        (Budget(MicroUsd(5), Period.EVER), FOREVER),
        (Budget(None, Period.DAY), FOREVER),
    ],
)
def test_the_budget_of_a_period_is_renewed_when_a_day_begins(budget: Budget, opens: int):
    assert next_opening(QUIET, a_plan(type_budget=budget)) == opens


async def test_it_ends_with_the_throttle_that_kept_the_agent_away(yard: Yard, clock: ManualClock):
    await yard.agents.register("worker", max_concurrent_tasks=5)
    first, _ = await yard.enqueue_many([{"type": "code"}] * 2)
    (held,) = await yard.claim("worker")
    await yard.heartbeat(first.id, held.lease, rate_limited_sec=0.2)
    claimed = await yard.attempts.claim_marked("worker")
    assert claimed.tasks == []

    async with asyncio.timeout(30):
        while not (claimed := await yard.attempts.claim_marked("worker")).tasks:
            await yard.attempts.wait_for_work("worker", claimed.mark, 600, took_all=claimed.took_all)
            clock.advance(seconds=1)


async def test_it_ends_for_what_the_agent_may_claim_and_for_nothing_else(yard: Yard):
    await yard.agents.register("worker", types=["code"])
    await yard.enqueue_many([{"type": "review"}, {"type": "code", "queue": "slow"}])
    claimed = await yard.attempts.claim_marked("worker", queues=["default"])
    assert (claimed.tasks, claimed.took_all) == ([], True)

    wait = yard.attempts.wait_for_work("worker", claimed.mark, 600, queues=["default"], took_all=True)
    waiting = asyncio.create_task(wait)
    await asyncio.sleep(0)
    for _ in range(3):
        mark = await yard.mark()
        await yard.enqueue_many([{"type": "review"}, {"type": "code", "queue": "slow"}])
        await yard.changed(mark, 30)
    assert not waiting.done()
    await yard.enqueue("code")

    await asyncio.wait_for(waiting, 30)


async def test_what_came_between_the_claim_and_the_wait_ends_it_at_once(yard: Yard):
    await yard.agents.register("worker")
    claimed = await yard.attempts.claim_marked("worker")
    await yard.enqueue("never seen")

    await asyncio.wait_for(yard.attempts.wait_for_work("worker", claimed.mark, 600, took_all=claimed.took_all), 30)


@pytest.mark.parametrize("unknown", ["", "cafe0123-9000000"])
async def test_a_mark_of_another_process_is_no_reason_to_wait(yard: Yard, unknown: str):
    await yard.agents.register("worker")
    await yard.attempts.claim_marked("worker")

    await asyncio.wait_for(yard.attempts.wait_for_work("worker", unknown, 600, took_all=True), 30)


async def test_an_agent_that_is_not_there_waits_for_nothing(yard: Yard):
    with pytest.raises(NotFound):
        await yard.attempts.wait_for_work("nobody", "", 600)
    with pytest.raises(InvalidInput, match="agent_id"):
        await yard.attempts.wait_for_work("", "", 600)
