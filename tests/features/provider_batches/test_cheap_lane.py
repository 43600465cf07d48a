"""Tasks that wait for a provider's batch: gathered, answered at the batch price, and never late."""

import json
from dataclasses import replace

import pytest

from taskyard.core.task import Outcome, Status
from taskyard.core.units import SECOND, Micros, MicroUsd, to_iso
from taskyard.ledger.clock import ManualClock
from taskyard.worker.cheap_lane.batch_provider import BatchTerms
from taskyard.worker.process.drain import drain
from taskyard.yard import Yard
from tests.batch_providers import FakeProvider
from tests.features.provider_batches.readers import MODELS, TERMS, reader

# 1,000 tokens in and 1,000 out, in micro-dollars.
ORDINARY = {"openai": 12_500, "anthropic": 18_000}


@pytest.fixture(params=sorted(MODELS))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


async def costs(yard: Yard, task_id: str) -> list[MicroUsd]:
    return [attempt.cost for attempt in await yard.tasks.history(task_id)]


async def test_tasks_are_answered_in_one_batch_at_half_the_price(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    tasks = [await yard.enqueue("read", prompt=f"page {number}", service="batch") for number in range(12)]

    await drain(yard, [reader(kind, provider)], clock=clock)

    assert len(provider.batches) == 1
    assert provider.direct == []
    for number, task in enumerate(tasks):
        assert await yard.result(task.id) == f"re: page {number}"
        assert await costs(yard, task.id) == [ORDINARY[kind] // 2, 0]
        assert [each.outcome for each in await yard.tasks.history(task.id)] == [Outcome.SUSPENDED, Outcome.COMPLETED]
    assert set(provider.billed.values()) == {1}
    assert (await yard.verify()).ok


async def test_a_standard_task_is_answered_at_once_and_at_the_full_price(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    task = await yard.enqueue("read", prompt="now")

    await drain(yard, [reader(kind, provider)], clock=clock)

    assert (provider.batches, provider.direct) == ([], ["now"])
    assert await costs(yard, task.id) == [ORDINARY[kind]]


async def test_money_stays_reserved_while_a_call_waits_and_the_real_cost_is_settled(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    provider.ends_at_once = False
    await yard.budgets.set(daily_budget_usd="1")
    task = await yard.enqueue("read", prompt="page", service="batch", max_cost_usd="0.25")
    agent = reader(kind, provider)
    await drain(yard, [agent])
    day = next(each for each in await yard.budgets.spending() if each.name.startswith("day:"))
    assert (day.reserved, day.spent) == (250_000, 0)
    assert (await yard.get(task.id)).status is Status.PENDING
    assert (await yard.verify()).ok

    provider.ends_at_once = True
    await drain(yard, [agent], clock=clock)

    day = next(each for each in await yard.budgets.spending() if each.name.startswith("day:"))
    assert (day.reserved, day.spent) == (0, ORDINARY[kind] // 2)
    assert (await yard.get(task.id)).status is Status.COMPLETED
    assert (await yard.verify()).ok


async def test_what_the_provider_lets_expire_goes_back_to_the_ordinary_lane(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    provider.ends_at_once, provider.answers = False, 2
    provider.expires_after = 3600
    tasks = [await yard.enqueue("read", prompt=f"page {number}", service="batch") for number in range(5)]

    await drain(yard, [reader(kind, provider)], clock=clock)

    assert [batch.status for batch in provider.batches] == ["expired"]
    assert len(provider.direct) == 3
    assert set(provider.billed.values()) == {1}
    paid = sorted([sum(await costs(yard, task.id)) for task in tasks])
    assert paid == [ORDINARY[kind] // 2] * 2 + [ORDINARY[kind]] * 3
    assert (await yard.verify()).ok


async def test_a_batch_is_cancelled_for_a_deadline_and_nothing_is_late_or_paid_for_twice(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    provider.ends_at_once, provider.answers = False, 1
    deadline = Micros(clock.now() + 3600 * SECOND)
    tasks = [
        await yard.enqueue("read", prompt=f"page {number}", service="batch", deadline=to_iso(deadline))
        for number in range(4)
    ]

    await drain(yard, [reader(kind, provider)], clock=clock)

    assert [batch.status for batch in provider.batches] == ["cancelled"]
    assert len(provider.direct) == 3
    assert set(provider.billed.values()) == {1}
    for task in tasks:
        ended = (await yard.get(task.id)).completed_at
        assert ended is not None
        assert ended <= deadline
    assert (await yard.verify()).ok


@pytest.mark.parametrize("may_pay_twice", [True, False])
async def test_of_deadline_and_price_the_one_that_the_agent_chose_goes_first(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str, may_pay_twice: bool
):
    provider.ends_at_once, provider.cancels_after, provider.answers = False, 7200, 1
    deadline = Micros(clock.now() + 3600 * SECOND)
    task = await yard.enqueue("read", prompt="page", service="batch", deadline=to_iso(deadline), max_cost_usd="1")

    await drain(yard, [reader(kind, provider, terms=replace(TERMS, may_pay_twice=may_pay_twice))], clock=clock)

    details = await yard.get(task.id)
    assert details.completed_at is not None
    assert (details.completed_at <= deadline) is may_pay_twice
    assert provider.billed["page"] == len(provider.direct) + 1 == (2 if may_pay_twice else 1)
    told = [
        json.loads(each.event.data or "{}")
        for each in await yard.events(limit=1000)
        if each.event.event == "task.batched"
    ]
    assert [each["outcome"] for each in told] == ["given_up" if may_pay_twice else "late", "answered"]
    assert sum(await costs(yard, task.id)) == ORDINARY[kind] // 2 + (ORDINARY[kind] if may_pay_twice else 0)
    assert (await yard.verify()).ok


async def test_a_call_whose_deadline_is_near_is_not_put_into_a_batch(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    await yard.enqueue("read", prompt="soon", service="batch", deadline=to_iso(Micros(clock.now() + 900 * SECOND)))

    await drain(yard, [reader(kind, provider)], clock=clock)

    assert (provider.batches, provider.direct) == ([], ["soon"])


async def test_calls_that_may_cut_a_batch_short_are_in_one_of_their_own(
    yard: Yard, clock: ManualClock, provider: FakeProvider
):
    near = to_iso(Micros(clock.now() + 7200 * SECOND))
    await yard.enqueue("read", prompt="patient", service="batch")
    await yard.enqueue("read", prompt="hurried", service="batch", deadline=near)

    await drain(yard, [reader("openai", provider)], clock=clock)

    assert [len(batch.requests) for batch in provider.batches] == [1, 1]


async def test_an_error_of_one_call_fails_that_attempt_and_the_next_one_asks_again(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    good = await yard.enqueue("read", prompt="good", service="batch")
    bad = await yard.enqueue("read", prompt="bad", service="batch", max_attempts=2)

    await drain(yard, [reader(kind, provider)], clock=clock)

    assert (await yard.get(good.id)).status is Status.COMPLETED
    assert (await yard.get(bad.id)).status is Status.DEAD_LETTERED
    reasons = [each.error for each in await yard.tasks.history(bad.id) if each.outcome is Outcome.FAILED]
    assert [each for each in reasons if "bad prompt" in (each or "")] == reasons
    assert len(reasons) == 2
    assert len([each for batch in provider.batches for each in batch.requests]) == 3
    assert sum(await costs(yard, bad.id)) == 0
    assert (await yard.verify()).ok


async def test_a_rate_limit_at_sending_parks_the_batch_and_costs_no_attempt(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    provider.refusals = [(429, {"Retry-After": "120"})]
    task = await yard.enqueue("read", prompt="page", service="batch")

    await drain(yard, [reader(kind, provider)], clock=clock)

    assert (await yard.get(task.id)).status is Status.COMPLETED
    (batch,) = await yard.provider_batches.list()
    assert (await yard.get(batch.id)).failures == 0
    assert set(provider.billed.values()) == {1}


async def test_a_batch_that_the_provider_refuses_is_asked_one_by_one(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    provider.refusals = [(413, {})]
    await yard.enqueue("read", prompt="page", service="batch")

    await drain(yard, [reader(kind, provider)], clock=clock)

    assert (len(provider.batches), provider.direct) == (0, ["page"])
    assert (await yard.verify()).ok


async def test_a_task_that_is_cancelled_before_it_is_sent_is_not_sent_and_gives_its_money_back(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    await yard.budgets.set(daily_budget_usd="1")
    task = await yard.enqueue("read", prompt="page", service="batch", max_cost_usd="0.25")
    other = await yard.enqueue("read", prompt="other", service="batch")
    agent = reader(kind, provider)
    await drain(yard, [agent])
    await yard.cancel(task.id)

    await drain(yard, [agent], clock=clock)

    assert [len(batch.requests) for batch in provider.batches] == [1]
    assert (await yard.get(other.id)).status is Status.COMPLETED
    assert [each.reserved for each in await yard.budgets.spending() if each.name.startswith("day:")] == [0]
    assert (await yard.verify()).ok


async def test_a_task_that_is_cancelled_after_it_was_sent_is_still_paid_for(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    provider.ends_at_once = False
    await yard.budgets.set(daily_budget_usd="1")
    task = await yard.enqueue("read", prompt="page", service="batch", max_cost_usd="0.25")
    agent = reader(kind, provider)
    await drain(yard, [agent])
    clock.advance(seconds=25)
    await yard.sweep()
    clock.advance(seconds=25)
    await yard.sweep()
    clock.advance(seconds=15)
    await yard.sweep()
    await drain(yard, [agent])
    assert len(provider.batches) == 1
    await yard.cancel(task.id)
    provider.ends_at_once = True

    await drain(yard, [agent], clock=clock)

    assert (await yard.get(task.id)).status is Status.CANCELLED
    assert await costs(yard, task.id) == [ORDINARY[kind] // 2]
    assert [each.spent for each in await yard.budgets.spending() if each.name.startswith("day:")] == [
        ORDINARY[kind] // 2
    ]
    assert (await yard.verify()).ok


async def test_a_batch_whose_task_is_cancelled_lets_its_tasks_go_on_in_the_ordinary_lane(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    task = await yard.enqueue("read", prompt="page", service="batch")
    agent = reader(kind, provider)
    await drain(yard, [agent])
    (batch,) = await yard.provider_batches.list()
    await yard.cancel(batch.id)

    await drain(yard, [agent], clock=clock)

    assert (await yard.get(task.id)).status is Status.COMPLETED
    assert (provider.batches, provider.direct) == ([], ["page"])
    assert (await yard.verify()).ok


async def test_a_batch_larger_than_the_provider_takes_is_sent_in_parts(
    yard: Yard, clock: ManualClock, provider: FakeProvider
):
    for number in range(7):
        await yard.enqueue("read", prompt=f"page {number}", service="batch")

    await drain(yard, [reader("openai", provider, terms=BatchTerms(most_calls=3))], clock=clock)

    assert [len(batch.requests) for batch in provider.batches] == [3, 3, 1]
    assert set(provider.billed.values()) == {1}


async def test_why_names_the_batch_how_many_are_in_it_and_until_when(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    provider.ends_at_once = False
    deadline = Micros(clock.now() + 7200 * SECOND)
    tasks = [
        await yard.enqueue("read", prompt=f"page {number}", service="batch", deadline=to_iso(deadline))
        for number in range(3)
    ]
    agent = reader(kind, provider)
    await drain(yard, [agent])
    (gathering,) = (await yard.why(tasks[0].id)).causes
    assert gathering.kind == "batch"
    assert f"its call is gathered for a batch of {kind}:127.0.0.1" in gathering.words
    for _ in range(3):
        clock.advance(seconds=25)
        await yard.sweep()
    await drain(yard, [agent])

    (cause,) = (await yard.why(tasks[0].id)).causes

    until = to_iso(Micros(deadline - 300 * SECOND))
    assert cause.words.startswith(f"in provider batch {provider.batches[0].id} since ")
    assert cause.words.endswith(f" with 2 others, at the latest until {until}")
    assert cause.facts["others"] == 2
