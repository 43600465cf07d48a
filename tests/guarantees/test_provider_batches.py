"""The cheap lane on every store: money stays reserved while a call waits, and each answer is settled once."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from taskyard.core.task import Status
from taskyard.core.units import Micros, seconds, to_iso
from taskyard.features.provider_batches.rules import TYPE
from taskyard.features.provider_batches.views import CallOutcome
from taskyard.ledger.clock import ManualClock
from taskyard.worker.cheap_lane.batch_provider import BatchTerms, ProviderCall, ProviderResult, SentBatch
from taskyard.worker.cheap_lane.batch_sender import LARGEST
from taskyard.worker.context import Context
from taskyard.worker.handlers import Agent
from taskyard.worker.process.drain import drain
from taskyard.yard import Yard
from tests.yards import OpenYard, elapse

LARGE = 1_500_000  # characters: more than fits into a row


class Shelf:
    """A provider that answers when it is told to."""

    name = "shelf"
    terms = BatchTerms(gather_sec=0, poll_sec=30)

    def __init__(self) -> None:
        self.sent: list[ProviderCall] = []
        self.has_ended = False
        self.more: dict[str, str] = {}  # of every answer

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
                yield ProviderResult(custom_id, CallOutcome.ANSWERED, {"then": prompt} | self.more)


def reader(shelf: Shelf) -> Agent:
    agent = Agent("reader", batch=shelf, max_concurrent_tasks=10)

    @agent.handles("read")
    async def read(task: Context) -> Any:
        return await task.call_model({"model": "gpt-4o", "prompt": task.prompt})

    @agent.handles("measure")
    async def measure(task: Context) -> int:
        return len((await task.call_model({"model": "gpt-4o", "prompt": task.prompt}))["long"])

    del read, measure
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


async def test_an_answer_that_is_too_large_for_a_row_becomes_an_artifact_of_its_task(
    open_yard: OpenYard, tmp_path: Path
):
    yard, shelf = await open_yard(artifacts=(tmp_path / "objects").as_uri()), Shelf()
    shelf.has_ended, shelf.more = True, {"long": "x" * LARGE}
    tasks = [await yard.enqueue("measure", prompt=f"page {number}", service="batch") for number in range(5)]

    await drain(yard, [reader(shelf)])

    for task in tasks:
        assert await yard.result(task.id) == LARGE
        assert [each.cost for each in await yard.tasks.history(task.id)] == [6_250, 0]
        assert "task.artifact" in [each.event.event for each in await yard.events(task_id=task.id)]
        assert await yard.artifacts.list(task_id=task.id) == []  # it is no output
    assert (await yard.verify()).ok


async def test_a_large_answer_that_comes_when_its_task_was_woken_for_the_deadline_is_used(
    open_yard: OpenYard, clock: ManualClock, tmp_path: Path
):
    yard, shelf = await open_yard(artifacts=(tmp_path / "objects").as_uri()), Shelf()
    shelf.more = {"long": "x" * LARGE}
    deadline = Micros(clock.now() + seconds(2 * shelf.terms.ordinary_sec + shelf.terms.cancel_sec))
    task = await yard.enqueue("measure", prompt="page", service="batch", deadline=to_iso(deadline))
    await drain(yard, [reader(shelf)])
    await elapse(yard, clock, shelf.terms.ordinary_sec + shelf.terms.cancel_sec + 1)
    assert (await yard.get(task.id)).status is Status.READY

    await yard.agents.register("reader-2", type="reader")
    (batch,) = await yard.claim("reader-2", types=[TYPE], start=True)
    (call,) = await yard.provider_batches.outstanding(batch.id, batch.lease)
    paid = {"custom_id": call.custom_id, "outcome": "answered", "answer": shelf.more, "cost_usd": "0.10"}
    assert await yard.provider_batches.collect(batch.id, batch.lease, [paid]) == 1
    await yard.complete(batch.id, batch.lease)
    await drain(yard, [reader(shelf)])

    assert await yard.result(task.id) == LARGE
    assert len(shelf.sent) == 1
    assert sum(each.cost for each in await yard.tasks.history(task.id)) == 100_000
    assert (await yard.verify()).ok


async def test_an_answer_that_nothing_can_hold_fails_its_call_and_is_paid_for(open_yard: OpenYard, tmp_path: Path):
    yard, shelf = await open_yard(artifacts=(tmp_path / "objects").as_uri(), max_artifact_bytes=LARGE), Shelf()
    shelf.has_ended, shelf.more = True, {"long": "x" * LARGE}
    task = await yard.enqueue("measure", prompt="page", service="batch", max_attempts=1)

    await drain(yard, [reader(shelf)])

    assert (await yard.get(task.id)).status is Status.DEAD_LETTERED
    first, second = await yard.tasks.history(task.id)
    assert (first.cost, second.cost) == (6_250, 0)
    assert "answer" in (second.error or "")


async def test_answers_are_settled_in_calls_that_a_server_takes(open_yard: OpenYard, tmp_path: Path):
    yard, shelf = await open_yard(artifacts=(tmp_path / "objects").as_uri()), Shelf()
    shelf.has_ended, shelf.more = True, {"long": "x" * (LARGEST + 1)}
    beyond = await yard.enqueue("measure", prompt="page", service="batch", max_attempts=1)
    await drain(yard, [reader(shelf)])
    first, second = await yard.tasks.history(beyond.id)
    assert first.cost == 6_250
    assert "is not kept" in (second.error or "")
