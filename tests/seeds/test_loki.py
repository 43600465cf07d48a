"""The document that the preset loki comes from, replayed in its own field names, from its schema to its priorities."""

import asyncio
from typing import Any

import pytest

from taskyard.core.breaker import BreakerState
from taskyard.core.errors import IllegalTransition, InvalidInput, LeaseLost, ReportRequired
from taskyard.core.json_value import Json
from taskyard.core.task import Status
from taskyard.core.units import from_iso
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import status_of
from tests.yards import OpenYard, claim_that, data_of, elapse, events_of, given_an_agent

TYPES = ["eng-backend", "eng-frontend", "ops-devops"]
PAYLOAD = {
    "action": "implement",
    "target": "src/login.ts",
    "params": {},
    "goal": "Log in with a token",
    "constraints": ["No third-party deps", "Maintain backwards compat"],
    "context": {
        "relatedFiles": ["file1.ts", "file2.ts"],
        "architectureDecisions": ["ADR-001: Use JWT tokens"],
        "previousAttempts": "What was tried before, why it failed",
    },
}
REPORT: Json = {"decision": "JWT", "why": "ADR-001"}


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    """A yard with one agent, which is capable of three types."""
    yard = await open_yard(preset="loki")
    await given_an_agent(yard, "agent-1", capabilities=TYPES)
    return yard


async def put(yard: Yard, target: str, type_: str = "eng-backend", **fields: Any) -> str:
    return (await yard.enqueue(type_, payload={"target": target}, **fields)).id


async def take(yard: Yard, task_id: str) -> Held:
    return await claim_that(yard, task_id, by="agent-1")


async def succeed(yard: Yard, held: Held, output: Any = None) -> None:
    await yard.complete(held.id, held.lease, {"status": "success", "output": output}, decision_report=REPORT)


async def bury(yard: Yard, target: str, type_: str = "eng-backend") -> str:
    """A task that fails as often as it may, which is once."""
    held = await take(yard, await put(yard, target, type_, priority=10, maxRetries=1))
    await yard.fail(held.id, held.lease, "crash", "it broke")
    return held.id


async def facts(yard: Yard, task_id: str) -> Any:
    return (await yard.get(task_id)).to_dict()


async def wait_after_failure(yard: Yard, held: Held, error: str) -> float:
    """The seconds that a failed task waits before it can be claimed again."""
    receipt = await yard.fail(held.id, held.lease, "crash", error)
    assert receipt.wake_at is not None
    return (receipt.wake_at - yard.now()) / 1_000_000


async def breaker(yard: Yard, type_: str) -> BreakerState:
    return {each.type: each.state for each in await yard.breakers.list()}.get(type_, BreakerState.CLOSED)


async def queue_of(yard: Yard, task_id: str) -> str:
    """The queue file in which the document has the task."""
    return (await facts(yard, task_id))["state"]


# Task schema


async def test_the_schema_is_taken_field_by_field(yard: Yard):
    first = await put(yard, "first")
    (made,) = await yard.enqueue_many(
        [
            {
                "idempotencyKey": "hash-of-task-content",
                "type": "eng-backend",
                "priority": 8,
                "dependencies": [first],
                "payload": PAYLOAD,
                "timeout": 3600,
                "maxRetries": 3,
                "backoffSeconds": 60,
                "availableAt": "2026-01-01T00:01:00Z",
            }
        ]
    )

    shown = await facts(yard, made.id)
    assert (shown["type"], shown["priority"], shown["depends_on"]) == ("eng-backend", 8, [first])
    assert (shown["idempotency_key"], shown["max_attempts"], shown["attempts"]) == ("hash-of-task-content", 3, 0)
    assert (shown["spec"]["payload"], shown["retry"]["initial_delay_sec"]) == (PAYLOAD, 60)
    assert shown["run_after"] == "2026-01-01T00:01:00.000000Z"
    assert shown["timeouts"]["lease_sec"] == 3600
    assert [shown[name] for name in ("claim", "failure", "completed_at")] == [None, None, None]


async def test_what_the_queue_fills_in_is_not_a_producers_to_give(yard: Yard):
    for kept in ("createdAt", "claimedBy", "claimedAt", "retries", "lastError", "completedAt", "result", "cancelledAt"):
        with pytest.raises(InvalidInput, match=f"{kept}.*is kept by the system"):
            await yard.enqueue_many([{"type": "eng-backend", kept: "2026-01-01T00:00:00Z"}])
    assert await yard.find() == []


async def test_a_task_without_a_decision_report_is_not_complete(yard: Yard):
    held = await take(yard, await put(yard, "a"))

    with pytest.raises(ReportRequired):
        await yard.complete(held.id, held.lease, {"status": "success"})
    assert await queue_of(yard, held.id) == "in-progress"
    await succeed(yard, held, "done")

    shown = await facts(yard, held.id)
    assert shown["output"]["data"] == {"status": "success", "output": "done"}
    assert shown["output"]["decision_report"] == REPORT


# Queue files and queue operations


async def test_a_task_moves_from_one_queue_file_to_the_next(yard: Yard):
    held = await take(yard, await put(yard, "a"))
    dead = await bury(yard, "b")
    waiting, cancelled = await put(yard, "c"), await put(yard, "d")
    await yard.cancel(cancelled)

    found = [await queue_of(yard, each) for each in (waiting, held.id, dead, cancelled)]
    assert found == ["pending", "in-progress", "dead-letter", "cancelled"]
    await succeed(yard, held)
    assert await queue_of(yard, held.id) == "completed"


async def test_a_claim_takes_the_first_by_priority_among_the_types_that_the_agent_is_capable_of(yard: Yard):
    await put(yard, "a", "biz-marketing", priority=10)
    background, normal = await put(yard, "b", priority=1), await put(yard, "c", "ops-devops")
    high, critical = await put(yard, "d", "eng-frontend", priority=9), await put(yard, "e", priority=10)

    claimed = await yard.claim("agent-1", count=10)

    assert [each.id for each in claimed] == [critical, high, normal, background]
    shown = await facts(yard, critical)
    assert shown["claim"]["agent_id"] == "agent-1"
    assert from_iso(shown["claim"]["claimed_at"]) == yard.now()


async def test_tasks_of_one_type_are_processed_in_priority_order_however_old_they_are(yard: Yard, clock: ManualClock):
    old = await put(yard, "documentation", priority=3)
    clock.advance(seconds=10 * 24 * 3600)
    vulnerability = await put(yard, "vulnerability", priority=10)
    feature, same = await put(yard, "feature", priority=8), await put(yard, "same", priority=8)

    assert [each.id for each in await yard.claim("agent-1", count=9)] == [vulnerability, feature, same, old]


async def test_a_claim_waits_for_all_dependencies(yard: Yard):
    one, two = await put(yard, "one"), await put(yard, "two")
    third = await put(yard, "third", dependencies=[one, two])
    first, second = await yard.claim("agent-1", count=9)

    await succeed(yard, first)
    assert await yard.claim("agent-1") == []
    await succeed(yard, second)

    await take(yard, third)


async def test_of_agents_that_claim_at_once_one_gets_the_task(yard: Yard):
    for number in range(2, 6):
        await given_an_agent(yard, f"agent-{number}", capabilities=TYPES)
    only = await put(yard, "only")

    claims = await asyncio.gather(*(yard.claim(f"agent-{number}", count=2) for number in range(1, 6)))

    assert [held.id for claim in claims for held in claim] == [only]


async def test_a_claim_that_has_run_out_is_open_to_others_and_costs_no_retry(yard: Yard, clock: ManualClock):
    await given_an_agent(yard, "agent-2", capabilities=TYPES)
    held = await take(yard, await put(yard, "a", timeout=60))
    await elapse(yard, clock, 59)
    assert await yard.claim("agent-2") == []
    await elapse(yard, clock, 2)

    (again,) = await yard.claim("agent-2")

    assert (again.id, again.failures) == (held.id, 0)
    with pytest.raises(LeaseLost):
        await succeed(yard, held)


async def test_completing_stores_result_and_time_and_triggers_dependents(yard: Yard, clock: ManualClock):
    first = await put(yard, "first")
    second = await put(yard, "second", dependencies=[first])
    held = await take(yard, first)
    clock.advance(seconds=5)

    await succeed(yard, held, "the answer")

    shown = await facts(yard, first)
    assert shown["output"]["data"]["output"] == "the answer"
    assert from_iso(shown["completed_at"]) == yard.now()
    assert (await events_of(yard, second))[-1] == "task.ready"


# Failure handling and dead letters


async def test_a_failure_waits_twice_as_long_each_time_and_the_last_is_a_dead_letter(yard: Yard, clock: ManualClock):
    task = await put(yard, "a", maxRetries=4, backoffSeconds=60)
    waits: list[float] = []
    for number in range(1, 4):
        waits.append(await wait_after_failure(yard, await take(yard, task), f"failure {number}"))
        shown = await facts(yard, task)
        assert (shown["state"], shown["attempts"], shown["failure"]["error"]) == (
            "pending",
            number,
            f"failure {number}",
        )
        assert await yard.claim("agent-1") == []
        await elapse(yard, clock, waits[-1])
    last = await take(yard, task)
    await yard.fail(last.id, last.lease, "crash", "failure 4")

    assert waits == [60, 120, 240]
    shown = await facts(yard, task)
    assert (shown["state"], shown["attempts"], shown["failure"]["error"]) == ("dead-letter", 4, "failure 4")
    ((_, alert),) = await yard.store.outbox("notify", 10)
    assert alert.task_id == task


async def test_the_third_failure_is_the_last_where_a_task_does_not_say(yard: Yard, clock: ManualClock):
    task = await put(yard, "a")
    for wait in (60, 120):
        assert await wait_after_failure(yard, await take(yard, task), "it broke") == wait
        await elapse(yard, clock, wait)
    held = await take(yard, task)

    assert (await yard.fail(held.id, held.lease, "auth_failure")).status is Status.DEAD_LETTERED


async def test_a_review_reads_what_went_wrong_and_decides_each_task(yard: Yard):
    invalid, agents_bug, undecided = [await bury(yard, target) for target in ("a", "b", "c")]
    letters = {letter.task.id: letter.task for letter in await yard.dead_letters.list()}
    assert {letter.attempts[-1].error for letter in letters.values()} == {"it broke"}

    await yard.dead_letters.resolve(invalid, "cancel", by="human:ada", note="the task is invalid")
    receipt = await yard.dead_letters.resolve(agents_bug, "retry", by="human:ada", note="the agent is fixed")
    await yard.dead_letters.resolve(undecided, "escalate", by="human:ada", note="needs a decision")

    assert (receipt.status, receipt.failures) == (Status.READY, 0)
    queues = [await queue_of(yard, each) for each in (invalid, agents_bug, undecided)]
    assert queues == ["cancelled", "pending", "dead-letter"]
    logged = {review.task_id: review.resolution for review in await yard.dead_letters.reviews()}
    assert logged == {invalid: "cancel", agents_bug: "retry", undecided: "escalate"}
    again = await take(yard, agents_bug)
    await succeed(yard, again)


# Idempotency


async def test_the_same_content_is_the_same_task_while_it_waits_is_at_work_or_is_completed(yard: Yard):
    first = await yard.enqueue("eng-backend", payload=PAYLOAD)
    key = first.idempotency_key

    async def once_more() -> tuple[str, bool]:
        again = await yard.enqueue("eng-backend", payload=dict(reversed(PAYLOAD.items())))
        assert again.idempotency_key == key
        return again.id, again.created

    assert await once_more() == (first.id, False)
    held = await take(yard, first.id)
    assert await once_more() == (first.id, False)
    await succeed(yard, held)
    assert await once_more() == (first.id, False)
    assert (await yard.enqueue("eng-backend", payload={**PAYLOAD, "action": "test"})).created


async def test_the_content_of_a_dead_or_cancelled_task_may_come_again(yard: Yard):
    dead, cancelled = await bury(yard, "a"), await put(yard, "b")
    await yard.cancel(cancelled, "not needed")

    assert await put(yard, "a") != dead
    assert await put(yard, "b") != cancelled


# Task cancellation


async def test_a_cancel_takes_along_what_depends_on_the_task_with_the_reason(yard: Yard, clock: ManualClock):
    running, beside = await put(yard, "a"), await put(yard, "other")
    child = await put(yard, "b", dependencies=[running])
    grandchild = await put(yard, "c", dependencies=[child])
    held = await take(yard, running)
    clock.advance(seconds=7)

    cancelled = await yard.cancel(running, "no longer wanted")

    assert set(cancelled.task_ids) == {running, child, grandchild}
    at = (await facts(yard, running))["cancelled"]["at"]
    assert from_iso(at) == yard.now()
    reasons = [(await facts(yard, each))["cancelled"]["reason"] for each in (running, child, grandchild)]
    assert reasons == ["no longer wanted", f"parent {running} cancelled", f"parent {child} cancelled"]
    assert await queue_of(yard, beside) == "pending"
    with pytest.raises(LeaseLost):
        await succeed(yard, held)


async def test_a_completed_task_cannot_be_cancelled_and_a_cancelled_one_is_not_cancelled_again(yard: Yard):
    held = await take(yard, await put(yard, "a"))
    await succeed(yard, held)
    with pytest.raises(IllegalTransition):
        await yard.cancel(held.id)

    other = await put(yard, "b")
    assert (await yard.cancel(other)).task_ids == (other,)
    assert (await yard.cancel(other)).task_ids == ()


# Circuit breakers


async def test_five_dead_letters_open_the_breaker_and_one_test_task_closes_it(yard: Yard, clock: ManualClock):
    for number in range(4):
        await bury(yard, f"dead {number}")
    assert await breaker(yard, "eng-backend") is BreakerState.CLOSED
    await bury(yard, "the fifth")
    waiting = [await put(yard, "a"), await put(yard, "b")]
    other = await put(yard, "c", "eng-frontend")
    assert await breaker(yard, "eng-backend") is BreakerState.OPEN
    assert [each.id for each in await yard.claim("agent-1", count=9)] == [other]
    (opened,) = await data_of(yard, "breaker.opened")
    assert opened["type"] == "eng-backend"
    assert len(await yard.store.outbox("notify", 10)) == 6  # five dead letters, and the breaker

    await elapse(yard, clock, 61)
    assert await breaker(yard, "eng-backend") is BreakerState.HALF_OPEN
    (probe,) = await yard.claim("agent-1", count=9)
    assert await yard.claim("agent-1", count=9) == []
    await succeed(yard, probe)

    assert await breaker(yard, "eng-backend") is BreakerState.CLOSED
    assert {probe.id, *(each.id for each in await yard.claim("agent-1", count=9))} == set(waiting)


async def test_a_test_task_that_fails_opens_the_breaker_again(yard: Yard, clock: ManualClock):
    for number in range(5):
        await bury(yard, f"dead {number}")
    for target in ("a", "b"):
        await put(yard, target)
    await elapse(yard, clock, 61)
    (probe,) = await yard.claim("agent-1", count=9)

    await yard.fail(probe.id, probe.lease, "crash")

    assert await breaker(yard, "eng-backend") is BreakerState.OPEN
    await elapse(yard, clock, 59)
    assert await yard.claim("agent-1", count=9) == []
    await elapse(yard, clock, 2)
    assert len(await yard.claim("agent-1", count=9)) == 1


async def test_success_begins_the_count_of_failures_again(yard: Yard):
    for round_ in ("first", "second"):
        for number in range(4):
            await bury(yard, f"{round_} {number}")
        await succeed(yard, await take(yard, await put(yard, f"good {round_}", priority=10)))

    assert await breaker(yard, "eng-backend") is BreakerState.CLOSED


async def test_a_type_may_be_more_sensitive_or_more_tolerant(yard: Yard):
    await given_an_agent(yard, "agent-1", capabilities=["ops-security", "biz-marketing"])
    for number in range(3):
        assert await breaker(yard, "ops-security") is BreakerState.CLOSED
        await bury(yard, f"{number}", "ops-security")
    for number in range(10):
        assert await breaker(yard, "biz-marketing") is BreakerState.CLOSED
        await bury(yard, f"ad {number}", "biz-marketing")

    assert await breaker(yard, "ops-security") is BreakerState.OPEN
    assert await breaker(yard, "biz-marketing") is BreakerState.OPEN


async def test_the_configuration_is_taken_as_the_file_has_it(yard: Yard, clock: ManualClock):
    overrides = {"ops-devops": {"failureThreshold": 1, "halfOpenAfter": 20}, "eng-backend": {"failureThreshold": 2}}
    await yard.breakers.set_policy(
        failure_threshold=5, half_open_after_sec=60, cooldownSeconds=300, overrides=overrides
    )
    await bury(yard, "a", "ops-devops")
    await bury(yard, "b")
    assert await breaker(yard, "ops-devops") is BreakerState.OPEN
    assert await breaker(yard, "eng-backend") is BreakerState.CLOSED
    waiting = await put(yard, "c", "ops-devops")

    await elapse(yard, clock, 21)

    await take(yard, waiting)


# Rate limits


@pytest.mark.parametrize(
    "error", ["You hit a rate limit", "status 429", "Too Many Requests", "quota exceeded", "see Retry-After"]
)
async def test_each_of_the_indicators_is_a_rate_limit(open_yard: OpenYard, error: str):
    yard = await open_yard(preset="loki")
    await given_an_agent(yard, "agent-1", capabilities=TYPES)
    held = await take(yard, await put(yard, "a"))

    receipt = await yard.fail(held.id, held.lease, "agent_error", error)

    assert (receipt.status, receipt.failures) == (Status.RETRYING, 0)
    assert (await facts(yard, held.id))["failure"]["reason"] == "rate_limit"


async def test_a_rate_limit_slows_others_down_for_half_the_wait_and_resumes_from_the_checkpoint(
    yard: Yard, clock: ManualClock
):
    held = await take(yard, await put(yard, "a"))
    await yard.attempts.checkpoint(held.id, held.lease, "outline", {"chapters": 3})
    at_work = await take(yard, await put(yard, "b"))
    receipt = await yard.fail(held.id, held.lease, "agent_error", "429 Too Many Requests\nRetry-After: 100")
    waiting = await put(yard, "c")

    assert receipt.wake_at == yard.now() + 100_000_000
    assert (await yard.heartbeat(at_work.id, at_work.lease)).words == ("slowdown",)
    (signal,) = await data_of(yard, "signal.slowdown")
    assert (signal["wait_sec"], from_iso(signal["until"])) == (100, yard.now() + 50_000_000)
    await elapse(yard, clock, 49)
    assert await yard.claim("agent-1") == []
    await elapse(yard, clock, 2)
    await take(yard, waiting)
    await elapse(yard, clock, 50)
    await take(yard, held.id)
    assert await yard.attempts.checkpoints(held.id) == {"outline": {"chapters": 3}}


async def test_where_the_provider_names_no_time_the_wait_doubles_up_to_an_hour(yard: Yard, clock: ManualClock):
    task = await put(yard, "a", timeout=7200)
    waits: list[float] = []
    for _ in range(7):
        held = await take(yard, task)
        receipt = await yard.fail(held.id, held.lease, "rate_limit")
        assert receipt.wake_at is not None
        waits.append((receipt.wake_at - yard.now()) / 1_000_000)
        clock.advance(seconds=waits[-1])
        await yard.sweep()

    # The jitter adds up to a tenth; the dice of these yards lie in the middle.
    assert waits == [wait * 1.05 for wait in (60, 120, 240, 480, 960, 1920, 3600)]
    assert await status_of(yard, task) is Status.READY
