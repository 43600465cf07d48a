"""A clock that was wrong, or was set back: leases, delays and windows keep their own lengths, and it is told."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from taskyard.core.task import Status
from taskyard.core.units import SECOND, Micros, from_iso, to_iso
from taskyard.features.verify.health import findings
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.sqlite import SqliteStore
from taskyard.yard import Yard, local_yard
from tests.yards import given_a_running_task, given_an_agent

HOUR = 3600
OpenAt = Callable[[float], Awaitable[tuple[Yard, ManualClock]]]


@pytest.fixture
async def open_at(path: Path) -> AsyncIterator[OpenAt]:
    """Opens the yard by a clock of its own that is wrong by so many seconds."""
    opened: list[Yard] = []

    async def open_at(wrong_by: float) -> tuple[Yard, ManualClock]:
        clock = ManualClock()
        clock.advance(seconds=wrong_by)
        yard = local_yard(SqliteStore(path, clock=clock), Options(sweeps=False))
        await yard.open()
        opened.append(yard)
        return yard, clock

    yield open_at
    for yard in opened:
        await yard.close()


async def test_a_lease_of_a_process_whose_clock_is_ahead_expires_after_its_own_length(open_at: OpenAt):
    ahead, _ = await open_at(HOUR)
    yard, clock = await open_at(0)
    held = await given_a_running_task(ahead, timeouts={"lease_sec": 20, "heartbeat_sec": 5})

    await yard.sweep()
    clock.advance(seconds=19)
    await yard.sweep()
    assert (await yard.get(held.id)).status is Status.RUNNING

    clock.advance(seconds=2)
    await yard.sweep()
    assert (await yard.get(held.id)).status is Status.RETRYING


async def test_a_claim_and_a_time_limit_last_as_long_as_they_were_made_for(open_at: OpenAt):
    ahead, _ = await open_at(HOUR)
    yard, clock = await open_at(0)
    limited = await given_a_running_task(ahead, spec={"constraints": {"max_duration_sec": 15}})
    claimed = await ahead.enqueue("code", timeouts={"claim_ttl_sec": 10})
    await ahead.claim("worker")
    await yard.sweep()

    clock.advance(seconds=11)
    await yard.sweep()
    assert (await yard.get(claimed.id)).attempts[-1].reason == "claim_expired"
    assert (await yard.get(limited.id)).status is Status.RUNNING

    clock.advance(seconds=5)
    await yard.sweep()
    assert (await yard.get(limited.id)).attempts[-1].reason == "timeout"


async def test_a_delay_lasts_as_long_as_it_was_made_for(open_at: OpenAt):
    ahead, _ = await open_at(HOUR)
    yard, clock = await open_at(0)
    held = await given_a_running_task(ahead, retry={"strategy": "fixed", "initial_delay_sec": 10, "jitter": 0})
    await ahead.fail(held.id, held.lease, "crash")
    await yard.sweep()

    clock.advance(seconds=9)
    await yard.sweep()
    assert (await yard.get(held.id)).status is Status.RETRYING

    clock.advance(seconds=2)
    await yard.sweep()
    assert (await yard.get(held.id)).status is Status.READY


async def test_a_moment_that_was_named_stays_where_it_is(open_at: OpenAt):
    ahead, _ = await open_at(HOUR)
    yard, clock = await open_at(0)
    at = to_iso(Micros(clock.now() + 2 * HOUR * SECOND))
    task = await ahead.enqueue("code", run_after=at)

    await yard.sweep()

    assert (await yard.get(task.id)).wake_at == from_iso(at)


async def test_a_breaker_and_a_throttle_last_as_long_as_they_were_made_for(open_at: OpenAt):
    ahead, _ = await open_at(HOUR)
    yard, clock = await open_at(0)
    await given_an_agent(ahead, "worker")
    for type_ in ("failing",) * 5 + ("slow",):
        held = await given_a_running_task(ahead, type_, max_attempts=1)
        await ahead.fail(held.id, held.lease, "rate_limit" if type_ == "slow" else "crash", retry_after_sec=20)
    assert [each.until for each in await ahead.queues.throttles()] == [ahead.now() + 10 * SECOND]
    await yard.sweep()

    assert [each.until for each in await yard.queues.throttles()] == [clock.now() + 10 * SECOND]
    (breaker,) = [each for each in await yard.breakers.list() if each.state == "open"]
    assert breaker.open_until == to_iso(Micros(clock.now() + 60 * SECOND))


async def test_the_agents_that_were_heard_of_in_the_future_were_heard_of_now(open_at: OpenAt):
    ahead, _ = await open_at(HOUR)
    yard, clock = await open_at(0)
    held = await given_a_running_task(ahead)
    await ahead.heartbeat(held.id, held.lease)

    await yard.sweep()

    assert set((await yard.store.pulses("")).values()) == {clock.now()}


async def test_a_clock_that_is_set_back_holds_nothing_up(open_at: OpenAt):
    yard, clock = await open_at(0)
    held = await given_a_running_task(yard, timeouts={"lease_sec": 20, "heartbeat_sec": 5})
    await yard.sweep()
    clock.advance(seconds=-HOUR)

    await yard.sweep()
    assert yard.now() == clock.now()
    clock.advance(seconds=21)
    await yard.sweep()

    assert (await yard.get(held.id)).status is Status.RETRYING
    assert (await yard.verify()).ok


async def test_a_clock_that_is_ahead_takes_no_lease_away_while_both_sweep(open_at: OpenAt):
    yard, clock = await open_at(0)
    held = await given_a_running_task(yard)
    await yard.sweep()
    ahead, wrong = await open_at(HOUR)

    for _ in range(5):
        await ahead.sweep()
        await yard.sweep()
        for each in (clock, wrong):
            each.advance(seconds=10)
        told = await yard.heartbeat(held.id, held.lease)

        assert not told.must_stop
        assert told.lease_expires_at == clock.now() + 90 * SECOND


async def test_a_jump_is_logged_and_reported_by_the_doctor_for_a_day(open_at: OpenAt, caplog: pytest.LogCaptureFixture):
    yard, clock = await open_at(0)
    await yard.enqueue("code")
    assert (await yard.health())["clock_jump_sec"] == 0
    clock.advance(seconds=-HOUR)

    with caplog.at_level(logging.WARNING, logger="taskyard"):
        await yard.enqueue("code")
        await yard.enqueue("code")

    assert [record.message.partition(": ")[2][:36] for record in caplog.records] == [
        "the clock went back by 3600.0 s sinc"
    ]
    assert (await yard.health())["clock_jump_sec"] == HOUR
    assert [each.ok for each in findings(await yard.health()) if each.name == "clock_jump_sec"] == [False]
    clock.advance(seconds=24 * HOUR + 1)
    await yard.enqueue("code")
    assert (await yard.health())["clock_jump_sec"] == 0
