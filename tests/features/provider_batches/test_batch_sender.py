"""The agent that sends batches, where the provider refuses, is late, or says nothing about a call."""

from dataclasses import replace

from taskyard.core.task import Status
from taskyard.core.units import SECOND, Micros, to_iso
from taskyard.ledger.clock import ManualClock
from taskyard.worker.process.drain import drain
from taskyard.yard import Yard
from tests.batch_providers import FakeProvider
from tests.features.provider_batches.readers import TERMS, reader
from tests.yards import elapse

HOUR = 3600
AT_ONCE = replace(TERMS, gather_sec=0)
ONE_BY_ONE = replace(AT_ONCE, most_calls=1)  # each call is a part of its own


async def test_what_was_under_way_in_a_crash_has_ended_before_the_provider_is_searched_for_it(
    yard: Yard, clock: ManualClock, provider: FakeProvider
):
    at: dict[str, Micros] = {}
    provider.before["POST /v1/batches"] = lambda: at.update(lost=clock.now())
    provider.after["GET /v1/batches"] = lambda: at.update(searched=clock.now())
    task = await yard.enqueue("read", prompt="page", service="batch")

    await drain(yard, [reader("openai", provider, terms=replace(TERMS, search_after_sec=50))], clock=clock)

    assert at["searched"] - at["lost"] >= 50 * SECOND
    assert await yard.result(task.id) == "re: page"


async def test_a_call_for_which_it_is_too_late_is_not_sent(yard: Yard, clock: ManualClock, provider: FakeProvider):
    deadline = Micros(clock.now() + HOUR * SECOND)
    await yard.enqueue("read", prompt="page", service="batch", deadline=to_iso(deadline))
    agent = reader("openai", provider)
    await drain(yard, [agent])

    await elapse(yard, clock, HOUR - TERMS.ordinary_sec - TERMS.cancel_sec + 25)  # nobody was there to send it
    await drain(yard, [agent], clock=clock)

    assert (provider.batches, provider.direct) == ([], ["page"])


async def test_a_batch_is_looked_at_when_it_has_to_be_cancelled_however_seldom_otherwise(
    yard: Yard, clock: ManualClock, provider: FakeProvider
):
    cancelled: list[Micros] = []
    provider.ends_at_once = False
    provider.after["POST /v1/batches/batch_1/cancel"] = lambda: cancelled.append(clock.now())
    deadline = Micros(clock.now() + HOUR * SECOND)
    await yard.enqueue("read", prompt="page", service="batch", deadline=to_iso(deadline))
    seldom = replace(TERMS, poll_sec=2000, longest_poll_sec=2000)

    await drain(yard, [reader("openai", provider, terms=seldom)], clock=clock)

    (at,) = cancelled
    before = (deadline - at) / SECOND - TERMS.ordinary_sec
    assert 0 < before <= TERMS.cancel_sec


async def test_a_call_that_no_result_is_about_gives_back_what_its_cancelled_task_reserved(
    yard: Yard, clock: ManualClock, provider: FakeProvider
):
    provider.ends_at_once = False
    await yard.budgets.set(daily_budget_usd="1")
    task = await yard.enqueue("read", prompt="page", service="batch", max_cost_usd="0.25")
    agent = reader("openai", provider, terms=AT_ONCE)
    await drain(yard, [agent])
    await yard.cancel(task.id)
    provider.batches[0].status = "completed"  # without any result

    await drain(yard, [agent], clock=clock)

    (batch,) = await yard.provider_batches.list()
    assert (batch.status, batch.outstanding) == (Status.COMPLETED, 0)
    assert [each for each in await yard.budgets.spending() if each.reserved] == []


async def test_what_was_sent_is_collected_while_the_provider_does_not_take_the_rest(
    yard: Yard, clock: ManualClock, provider: FakeProvider
):
    down: tuple[int, dict[str, str]] = (500, {})
    provider.after["POST /v1/batches"] = lambda: provider.refusals.extend([down] * 3)
    tasks = [await yard.enqueue("read", prompt=f"page {number}", service="batch") for number in range(2)]

    await drain(yard, [reader("openai", provider, terms=ONE_BY_ONE)], clock=clock)

    first, second = sorted([(await yard.get(task.id)).completed_at or 0 for task in tasks])
    assert 0 < first < provider.batches[1].created_at * SECOND <= second
    (batch,) = await yard.provider_batches.list()
    assert (await yard.get(batch.id)).failures == 0


async def test_calls_that_the_provider_refuses_do_not_wait_for_those_that_it_took(yard: Yard, provider: FakeProvider):
    provider.ends_at_once = False
    provider.after["POST /v1/batches"] = lambda: provider.refusals.append((413, {}))
    tasks = [await yard.enqueue("read", prompt=f"page {number}", service="batch") for number in range(2)]

    await drain(yard, [reader("openai", provider, terms=ONE_BY_ONE)])

    assert (len(provider.batches), len(provider.direct)) == (1, 1)
    assert {(await yard.get(task.id)).status for task in tasks} == {Status.PENDING, Status.COMPLETED}
