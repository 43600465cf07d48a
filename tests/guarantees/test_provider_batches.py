"""The cheap lane on every store: money stays reserved while a call waits, and each answer is settled once."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from taskyard.core.task import Status
from taskyard.core.units import Micros
from taskyard.features.provider_batches.views import CallOutcome
from taskyard.ledger.clock import ManualClock
from taskyard.worker.cheap_lane.batch_provider import BatchTerms, ProviderCall, ProviderResult, SentBatch
from taskyard.worker.context import Context
from taskyard.worker.handlers import Agent
from taskyard.worker.process.drain import drain
from taskyard.yard import Yard
from tests.yards import OpenYard, elapse


class Shelf:
    """A provider that answers when it is told to."""

    name = "shelf"
    terms = BatchTerms(gather_sec=0, poll_sec=30)

    def __init__(self) -> None:
        self.sent: list[ProviderCall] = []
        self.has_ended = False

    def group_of(self, request: Any) -> str:
        return request["model"]

    def model_of(self, request: Any) -> str:
        return request["model"]

    def spent(self, answer: Any) -> dict[str, Any]:
        assert answer
        return {"model": "gpt-4o", "input_tokens": 1000, "output_tokens": 1000}

    async def call(self, request: Any) -> Any:
        return {"now": request["prompt"]}

    async def send(self, key: str, calls: Sequence[ProviderCall]) -> SentBatch:
        assert key
        self.sent += calls
        return SentBatch("shelf_1", None)

    async def find(self, key: str, custom_ids: Sequence[str], *, since: Micros) -> SentBatch | None:
        raise AssertionError(f"{key} {custom_ids} {since}: nothing crashed")

    async def is_over(self, batch_id: str) -> bool:
        assert batch_id == "shelf_1"
        return self.has_ended

    async def cancel(self, batch_id: str) -> None:
        raise AssertionError(f"{batch_id}: no deadline is near")

    async def results(self, batch_id: str) -> AsyncIterator[ProviderResult]:
        assert batch_id == "shelf_1"
        for custom_id, request in self.sent:
            prompt = request["prompt"] if isinstance(request, dict) else None
            if prompt == "gone":
                yield ProviderResult(custom_id, CallOutcome.EXPIRED, None)
            else:
                yield ProviderResult(custom_id, CallOutcome.ANSWERED, {"then": prompt})


def reader(shelf: Shelf) -> Agent:
    agent = Agent("reader", batch=shelf, max_concurrent_tasks=10)

    @agent.handles("read")
    async def read(task: Context) -> Any:
        return await task.call_model({"model": "gpt-4o", "prompt": task.prompt})

    return agent


async def day(yard: Yard) -> tuple[int, int]:
    (found,) = [each for each in await yard.budgets.spending() if each.name.startswith("day:")]
    return found.reserved, found.spent


async def test_calls_wait_with_their_money_and_each_is_settled_once(open_yard: OpenYard, clock: ManualClock):
    here, there = await open_yard(), await open_yard()
    await here.budgets.set(daily_budget_usd="1")
    clock.advance(seconds=2)
    shelf = Shelf()
    kept, gone, dropped = [
        await here.enqueue("read", prompt=each, service="batch", max_cost_usd="0.1")
        for each in ("kept", "gone", "dropped")
    ]
    await drain(there, [reader(shelf)])
    assert [(await here.get(each.id)).status for each in (kept, gone, dropped)] == [Status.PENDING] * 3
    assert await day(here) == (300_000, 0)
    (cause,) = (await here.why(kept.id)).causes
    assert cause.words.startswith("in provider batch shelf_1 since ")
    assert cause.words.endswith(" with 2 others")

    await here.cancel(dropped.id)
    assert await day(here) == (300_000, 0)
    shelf.has_ended = True
    await elapse(here, clock, 40)
    await drain(there, [reader(shelf)])

    assert len(shelf.sent) == 3
    assert await here.result(kept.id) == {"then": "kept"}
    assert await here.result(gone.id) == {"now": "gone"}
    costs = [(await here.get(each.id)).cost for each in (kept, gone, dropped)]
    assert costs == [6_250, 12_500, 6_250]
    assert await day(here) == (0, sum(costs))
    (batch,) = await there.provider_batches.list()
    assert (batch.status, batch.outstanding) == (Status.COMPLETED, 0)


async def test_a_batch_is_forgotten_with_its_task(open_yard: OpenYard, clock: ManualClock):
    yard, shelf = await open_yard(), Shelf()
    shelf.has_ended = True
    await yard.enqueue("read", prompt="kept", service="batch")
    await drain(yard, [reader(shelf)])
    clock.advance(seconds=8 * 86_400)
    await elapse(yard, clock, 60)
    clock.advance(seconds=3_600)
    await elapse(yard, clock, 60)

    assert await yard.provider_batches.list() == []
