"""A lease is the right to finish one attempt. Who has lost it changes nothing any more."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from taskyard.core.errors import LeaseLost, Refused
from taskyard.core.task import Hot, Status
from taskyard.core.units import Micros
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import (
    OpenYard,
    claim_that,
    elapse,
    events_of,
    given_a_claimed_task,
    given_a_running_task,
    given_an_agent,
    row_of,
)


async def test_a_claim_that_is_never_started_fails_after_its_claim_time(yard: Yard, clock: ManualClock):
    held = await given_a_claimed_task(yard)

    await elapse(yard, clock, 59)
    assert (await yard.get(held.id)).status is Status.CLAIMED

    await elapse(yard, clock, 2)
    task = await yard.get(held.id)
    assert task.status is Status.RETRYING
    assert task.failures == 1
    assert task.attempts[0].reason == "claim_expired"


async def test_a_heartbeat_of_a_claim_does_not_stand_for_its_start(yard: Yard, clock: ManualClock):
    held = await given_a_claimed_task(yard)
    await elapse(yard, clock, 50)
    await yard.heartbeat(held.id, held.lease)
    await elapse(yard, clock, 11)

    assert (await yard.get(held.id)).attempts[0].reason == "claim_expired"


@pytest.mark.parametrize(("silent", "status"), [(89, Status.RUNNING), (91, Status.RETRYING)])
async def test_a_running_task_is_taken_back_when_its_last_heartbeat_is_older_than_its_lease(
    yard: Yard, clock: ManualClock, silent: float, status: Status
):
    held = await given_a_running_task(yard)
    await elapse(yard, clock, 40)
    await yard.heartbeat(held.id, held.lease)
    await elapse(yard, clock, silent)

    assert (await yard.get(held.id)).status is status


async def test_a_task_that_was_taken_back_says_why(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await elapse(yard, clock, 91)

    task = await yard.get(held.id)
    assert task.attempts[0].reason == "heartbeat_timeout"
    assert task.attempts[0].counted


async def test_heartbeats_do_not_stretch_the_time_that_an_attempt_may_run(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard, max_duration_sec=100)
    for _ in range(4):
        await elapse(yard, clock, 24)
        assert (await yard.heartbeat(held.id, held.lease)).words == ()
    await elapse(yard, clock, 5)

    assert (await yard.heartbeat(held.id, held.lease)).words == ("lease_lost",)
    assert (await yard.get(held.id)).attempts[0].reason == "timeout"


# Who has lost the lease

Verb = Callable[[Yard, Held], Awaitable[object]]

REFUSED: dict[str, Verb] = {
    "start": lambda yard, held: yard.start(held.id, held.lease),
    "complete": lambda yard, held: yard.complete(held.id, held.lease, {"late": True}),
    "fail": lambda yard, held: yard.fail(held.id, held.lease, "crash"),
    "release": lambda yard, held: yard.release(held.id, held.lease),
    "checkpoint": lambda yard, held: yard.attempts.checkpoint(held.id, held.lease, "step", 1),
    "session": lambda yard, held: yard.attempts.pin_session(held.id, held.lease, session_id="s"),
    "message": lambda yard, held: yard.attempts.message(held.id, held.lease, "hello"),
    "sleep": lambda yard, held: yard.attempts.sleep(held.id, held.lease, "nap", 5),
    "snooze": lambda yard, held: yard.attempts.snooze(held.id, held.lease, 5),
    "wait for": lambda yard, held: yard.attempts.wait_for(held.id, held.lease, "wait", "go"),
    "spawn": lambda yard, held: yard.tasks.spawn(held.id, held.lease, [{"type": "code"}], name="child"),
}
TOLD: dict[str, Verb] = {
    "heartbeat": lambda yard, held: yard.heartbeat(held.id, held.lease, cost_usd=5, tokens_input=7),
    "progress": lambda yard, held: yard.progress(held.id, held.lease, {"done": 1.0}),
}


async def taken_back(yard: Yard, clock: ManualClock) -> Held:
    """A task that was taken back from its agent, and that nobody has claimed since."""
    held = await given_a_running_task(yard)
    await elapse(yard, clock, 91)
    return held


async def taken_over(yard: Yard, clock: ManualClock) -> Held:
    """A task that was taken back from its agent and runs again, under another lease of the same agent."""
    held = await taken_back(yard, clock)
    await elapse(yard, clock, 11)
    await claim_that(yard, held.id, start=True)
    return held


async def cancelled(yard: Yard, clock: ManualClock) -> Held:
    held = await given_a_running_task(yard)
    await yard.cancel(held.id)
    return held


async def all_of(yard: Yard, task_id: str) -> tuple[Hot, int, int, object]:
    task = await yard.get(task_id)
    return (
        await row_of(yard, task.id),
        len(task.attempts),
        len(await yard.events()),
        await yard.attempts.checkpoints(task_id),
    )


@pytest.mark.parametrize("lost", [taken_back, taken_over, cancelled])
@pytest.mark.parametrize("verb", REFUSED)
async def test_a_stale_lease_is_refused_and_changes_nothing(
    yard: Yard, clock: ManualClock, verb: str, lost: Callable[[Yard, ManualClock], Awaitable[Held]]
):
    held = await lost(yard, clock)
    before = await all_of(yard, held.id)

    with pytest.raises(LeaseLost):
        await REFUSED[verb](yard, held)
    assert await all_of(yard, held.id) == before


@pytest.mark.parametrize("verb", TOLD)
async def test_a_stale_heartbeat_is_reported_and_changes_nothing(yard: Yard, clock: ManualClock, verb: str):
    held = await taken_over(yard, clock)
    before = await all_of(yard, held.id)

    told = await TOLD[verb](yard, held)
    assert getattr(told, "words", None) == ("lease_lost",)
    assert await all_of(yard, held.id) == before


async def test_a_lease_counts_until_it_is_taken_back_whatever_the_clock_says(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    clock.advance(seconds=3600)

    receipt = await yard.complete(held.id, held.lease, {"slow": True})
    assert receipt.status is Status.COMPLETED


@pytest.mark.parametrize("lease", ["", "x", "lease_0.1", "\0", "\ud800.1", "é.1"])
async def test_what_is_no_lease_finishes_nothing(yard: Yard, lease: str):
    held = await given_a_running_task(yard)

    with pytest.raises(LeaseLost):
        await yard.complete(held.id, lease)
    assert (await yard.get(held.id)).status is Status.RUNNING


# The same call again


async def test_a_completion_that_is_repeated_answers_the_same_and_changes_nothing(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    first = await yard.complete(held.id, held.lease, {"answer": 42}, cost_usd="0.10")
    before = await all_of(yard, held.id)
    clock.advance(seconds=10)

    assert await yard.complete(held.id, held.lease, {"answer": 42}, cost_usd="0.10") == first
    assert await all_of(yard, held.id) == before


async def test_a_completion_with_another_output_is_not_the_same_call(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease, {"answer": 42})

    with pytest.raises(LeaseLost):
        await yard.complete(held.id, held.lease, {"answer": 43})
    with pytest.raises(LeaseLost):
        await yard.fail(held.id, held.lease, "crash")
    assert (await yard.get(held.id)).result == {"answer": 42}


async def test_a_fail_that_is_repeated_after_the_next_attempt_began_does_not_fail_that_one(
    yard: Yard, clock: ManualClock
):
    held = await given_a_running_task(yard)
    first = await yard.fail(held.id, held.lease, "crash", "out of memory")
    await elapse(yard, clock, 11)
    second = await claim_that(yard, held.id, start=True)
    before = await all_of(yard, held.id)

    assert await yard.fail(held.id, held.lease, "crash", "out of memory") == first
    assert await all_of(yard, held.id) == before
    with pytest.raises(LeaseLost):
        await yard.fail(held.id, held.lease, "crash", "something else")
    assert (await yard.complete(second.id, second.lease)).status is Status.COMPLETED


async def test_a_release_that_is_repeated_after_the_next_claim_does_not_release_that_one(yard: Yard):
    held = await given_a_running_task(yard)
    first = await yard.release(held.id, held.lease)
    await claim_that(yard, held.id, start=True)

    assert await yard.release(held.id, held.lease) == first
    assert (await yard.get(held.id)).status is Status.RUNNING


async def test_to_start_twice_is_to_start_once(yard: Yard):
    held = await given_a_claimed_task(yard)
    first = await yard.start(held.id, held.lease)

    assert await yard.start(held.id, held.lease) == first
    assert (await events_of(yard, held.id)).count("task.running") == 1


async def test_a_release_counts_no_attempt(yard: Yard):
    held = await given_a_running_task(yard, max_attempts=1)
    for _ in range(3):
        await yard.release(held.id, held.lease)
        held = await claim_that(yard, held.id, start=True)

    task = await yard.get(held.id)
    assert (task.attempt, task.failures) == (4, 0)
    assert [attempt.outcome for attempt in task.attempts] == ["released"] * 3


# A claim whose answer was lost


async def test_the_same_request_gets_the_same_tasks_and_leases(yard: Yard, open_yard: OpenYard):
    await given_an_agent(yard)
    for _ in range(3):
        await yard.enqueue("code")
    first = await yard.claim("worker", count=2, request_id="r1")

    again = await (await open_yard()).claim("worker", count=2, request_id="r1")
    assert [(held.id, held.lease) for held in again] == [(held.id, held.lease) for held in first]
    assert len(again) == 2
    assert (await yard.tasks.stats())["claimed"] == {"code": 2}


async def test_another_request_gets_other_tasks(yard: Yard):
    await given_an_agent(yard)
    for _ in range(2):
        await yard.enqueue("code")
    (first,) = await yard.claim("worker", request_id="r1")
    (second,) = await yard.claim("worker", request_id="r2")

    assert first.id != second.id


async def test_a_request_that_is_repeated_too_late_gets_another_lease(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    await yard.enqueue("code")
    (first,) = await yard.claim("worker", request_id="r1")
    await elapse(yard, clock, 61)  # its claim time is over
    await elapse(yard, clock, 11)  # and the delay after that
    (again,) = await yard.claim("worker", request_id="r1")

    assert again.id == first.id
    assert again.lease != first.lease
    with pytest.raises(LeaseLost):
        await yard.start(first.id, first.lease)


async def test_a_request_that_is_repeated_after_its_claim_time_asks_for_more(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    for _ in range(3):
        await yard.enqueue("code")
    (first,) = await yard.claim("worker", request_id="r1", start=True)
    clock.advance(seconds=61)
    await yard.heartbeat(first.id, first.lease)
    (second,) = await yard.claim("worker", request_id="r1")
    assert second.id != first.id

    (again,) = await yard.claim("worker", request_id="r1")
    assert again.id == second.id


async def test_what_a_request_was_given_is_not_handed_to_another_agent(yard: Yard):
    await given_an_agent(yard, "ada")
    await given_an_agent(yard, "bob")
    await yard.enqueue("code")
    await yard.claim("ada", request_id="r1")

    assert await yard.claim("bob", request_id="r1") == []


# Races


async def test_a_heartbeat_that_comes_while_a_sweep_looks_wins(
    yard: Yard, open_yard: OpenYard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    held = await given_a_running_task(yard)
    sweeper = await open_yard()
    list_due = sweeper.store.due

    async def due_and_then_a_heartbeat(now: Micros, limit: int) -> list[Hot]:
        found = await list_due(now, limit)
        assert [hot.id for hot in found] == [held.id]
        await yard.heartbeat(held.id, held.lease)
        return found

    monkeypatch.setattr(sweeper.store, "due", due_and_then_a_heartbeat)
    clock.advance(seconds=91)
    await sweeper.sweep()

    assert (await yard.get(held.id)).status is Status.RUNNING


async def test_a_heartbeat_that_comes_after_a_sweep_has_decided_wins(
    yard: Yard, open_yard: OpenYard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    held = await given_a_running_task(yard)
    sweeper = await open_yard()
    commit = sweeper.store.commit
    beaten: list[object] = []

    async def a_heartbeat_and_then_commit(sets: object) -> object:
        if not beaten:
            beaten.append(await yard.heartbeat(held.id, held.lease))
        return await commit(sets)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(sweeper.store, "commit", a_heartbeat_and_then_commit)
    clock.advance(seconds=91)
    await sweeper.sweep()

    assert beaten
    assert (await yard.get(held.id)).status is Status.RUNNING


async def test_of_a_heartbeat_and_an_expiry_at_once_exactly_one_wins(
    yard: Yard, open_yard: OpenYard, clock: ManualClock
):
    sweeper = await open_yard()
    for _ in range(10):
        held = await given_a_running_task(yard)
        clock.advance(seconds=91)
        told, swept = await asyncio.gather(yard.heartbeat(held.id, held.lease), sweeper.sweep())

        task = await yard.get(held.id)
        assert (told.words == ("lease_lost",)) == (swept.expired == 1) == (task.status is not Status.RUNNING)
        await yard.cancel(held.id)
        await elapse(yard, clock, 1)


async def test_of_many_endings_at_once_one_is_accepted_and_the_slot_is_given_back_once(
    yard: Yard, open_yard: OpenYard, clock: ManualClock
):
    others = [await open_yard() for _ in range(4)]
    await yard.agents.register("worker", max_concurrent_tasks=1)
    for _ in range(5):
        task = await yard.enqueue("code")
        held = await claim_that(yard, task.id, start=True)
        clock.advance(seconds=91)
        results = await asyncio.gather(
            others[0].complete(held.id, held.lease, 1),
            others[1].release(held.id, held.lease),
            others[2].fail(held.id, held.lease, "crash"),
            others[3].cancel(held.id),
            yard.sweep(),
            return_exceptions=True,
        )
        assert all(isinstance(each, Refused) or not isinstance(each, BaseException) for each in results)
        assert len((await yard.get(held.id)).attempts) == 1
        if not (await yard.get(held.id)).status.is_final:
            await yard.cancel(held.id)
    for _ in range(3):
        await yard.enqueue("code")

    assert len(await yard.claim("worker", count=3)) == 1


async def test_of_outputs_handed_in_at_once_each_stands_or_falls_alone(
    yard: Yard, open_yard: OpenYard, clock: ManualClock
):
    """They are decided on together: one that comes too late, or was heard of since, must not hold the others up."""
    other = await open_yard()
    await yard.agents.register("worker", max_concurrent_tasks=10)
    await yard.enqueue_many([{"type": "code"}] * 6)
    held = await yard.claim("worker", count=6, start=True)
    cancelled, lost, heard_of = held[1], held[3], held[4]
    clock.advance(seconds=1)
    await other.cancel(cancelled.id)
    await other.release(lost.id, lost.lease)
    await other.heartbeat(heard_of.id, heard_of.lease, cost_usd="0.5")

    results = await asyncio.gather(
        *(yard.complete(each.id, each.lease, number) for number, each in enumerate(held)), return_exceptions=True
    )

    late = [place for place, result in enumerate(results) if isinstance(result, LeaseLost)]
    assert [held[place] for place in late] == [cancelled, lost]
    for number, each in enumerate(held):
        task = await yard.get(each.id)
        if number not in late:
            assert (task.status, task.output.data) == (Status.COMPLETED, number)
            assert results[number] == await yard.complete(each.id, each.lease, number)
            assert (await events_of(yard, each.id)).count("task.completed") == 1
    assert [attempt.cost for attempt in (await yard.get(heard_of.id)).attempts] == [500_000]
    await yard.enqueue_many([{"type": "code"}] * 20)
    assert len(await yard.claim("worker", count=20)) == 10, "a slot was given back twice, or not at all"


# The yard itself was away


async def test_after_the_store_was_away_every_held_lease_gets_one_more_of_its_length(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await elapse(yard, clock, 50)
    clock.advance(seconds=60)  # nothing could be written, no heartbeat and no sweep
    await yard.sweep()
    assert (await yard.get(held.id)).status is Status.RUNNING

    await elapse(yard, clock, 89)
    assert (await yard.get(held.id)).status is Status.RUNNING
    await elapse(yard, clock, 2)
    assert (await yard.get(held.id)).status is Status.RETRYING


async def test_a_long_outage_burns_no_more_than_one_attempt(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.sweep()
    for _ in range(3):
        clock.advance(seconds=3600)
        await yard.sweep()
    assert (await yard.get(held.id)).failures == 0

    await elapse(yard, clock, 91)
    assert (await yard.get(held.id)).failures == 1


async def test_to_be_forgiven_never_shortens_a_claim_time(open_yard: OpenYard, clock: ManualClock):
    yard = await open_yard(preset="multica")  # 300 s to start, and leases of 75
    held = await given_a_claimed_task(yard)
    await yard.sweep()
    clock.advance(seconds=40)
    await elapse(yard, clock, 259)

    assert (await yard.get(held.id)).status is Status.CLAIMED


# Presets


@pytest.mark.parametrize(
    ("preset", "lease_sec"), [("loki", 3600), ("ade", 30), ("automechanica", 30), ("multica", 75), ("factory", 90)]
)
async def test_each_preset_has_its_own_lease(open_yard: OpenYard, clock: ManualClock, preset: str, lease_sec: float):
    yard = await open_yard(preset=preset)
    await given_an_agent(yard, capabilities=["code"])
    task = await yard.enqueue("code")
    await claim_that(yard, task.id, start=True)

    await elapse(yard, clock, lease_sec - 1)
    assert (await yard.get(task.id)).status is Status.RUNNING
    await elapse(yard, clock, 2)
    assert (await yard.get(task.id)).status is not Status.RUNNING
    assert (await yard.get(task.id)).attempts[0].reason == "heartbeat_timeout"
