"""Model calls that go on side by side: what ends the attempt loses none of them, and nothing begins behind it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import taskyard
from taskyard.app import Yard
from taskyard.core.task import Status
from taskyard.integrations.agent_steps import call_model
from taskyard.worker.current import find_task
from taskyard.worker.steps.calls_under_way import CallsUnderWay
from tests.integrations.conftest import RateLimitError


class Slow:
    """A model that answers when it is let go, and counts what was asked."""

    def __init__(self, *refused: str) -> None:
        self.asked: list[str] = []
        self.let_go = asyncio.Event()
        self._refused = list(refused)

    async def ask(self, text: str) -> str:
        task = find_task()
        assert task is not None

        async def body() -> str:
            self.asked.append(text)
            if text in self._refused:
                self._refused.remove(text)
                asyncio.get_running_loop().call_soon(self.let_go.set)
                raise RateLimitError()
            await self.let_go.wait()
            return text

        return await call_model(task, f"model:{text}", body, spend="0.01")


async def in_gather(*calls: Awaitable[Any]) -> list[Any]:
    return [*await asyncio.gather(*calls)]


async def in_group(*calls: Awaitable[Any]) -> list[Any]:
    async def one(call: Awaitable[Any]) -> Any:
        return await call

    async with asyncio.TaskGroup() as group:
        begun = [group.create_task(one(each)) for each in calls]
    return [each.result() for each in begun]


@pytest.mark.parametrize("together", [in_gather, in_group])
async def test_a_rate_limit_of_one_call_loses_none_beside_it(yard: Yard, together: Callable[..., Awaitable[Any]]):
    model, worker = Slow("b"), taskyard.Agent("helper")

    @worker.handles("ask")
    async def handler(task: taskyard.Context) -> list[str]:
        return await together(*(model.ask(each) for each in "abc"))

    task = await yard.enqueue("ask", max_attempts=1)
    await yard.drain(worker)

    done = await yard.get(task.id)
    assert (done.status, done.result) == (Status.COMPLETED, ["a", "b", "c"])
    assert sorted(model.asked) == ["a", "b", "b", "c"]
    assert [each.cost for each in done.attempts] == [20_000, 10_000]


async def test_a_task_suspends_when_the_calls_beside_are_over_and_no_other_begins(yard: Yard):
    model, worker = Slow(), taskyard.Agent("helper")

    async def two(first: str, second: str) -> list[str]:
        return [await model.ask(first), await model.ask(second)]

    @worker.handles("ask")
    async def handler(task: taskyard.Context) -> list[Any]:
        task.loop.call_soon(model.let_go.set)
        return await in_gather(two("a", "b"), task.spawn("research", wait=True))

    @worker.handles("research")
    async def research(task: taskyard.Context) -> str:
        return "found"

    task = await yard.enqueue("ask")
    await yard.drain(worker)

    done = await yard.get(task.id)
    assert (done.result, model.asked) == ([["a", "b"], "found"], ["a", "b"])
    assert [(each.outcome.value, each.cost) for each in done.attempts] == [("suspended", 10_000), ("completed", 10_000)]


async def test_what_a_handler_that_raised_left_running_is_stored_and_begins_nothing(yard: Yard):
    model, worker, left = Slow(), taskyard.Agent("helper"), list[asyncio.Task[Any]]()

    async def three() -> list[str]:
        return [await model.ask(each) for each in "abc"]

    @worker.handles("ask")
    async def handler(task: taskyard.Context) -> Any:
        if task.attempt == 1:
            left.append(asyncio.create_task(three()))
            await asyncio.sleep(0)
            task.loop.call_soon(model.let_go.set)
            raise ValueError("something else")
        return await model.ask("a")

    task = await yard.enqueue("ask", retry={"strategy": "immediate"})
    await yard.drain(worker)
    await asyncio.wait(left)

    assert ((await yard.get(task.id)).result, model.asked) == ("a", ["a"])
    assert "over" in str(left[0].exception())


async def test_an_attempt_that_is_stopped_waits_for_no_call():
    calls, begun = CallsUnderWay(), asyncio.Event()

    async def call() -> None:
        async with calls.one():
            begun.set()
            await asyncio.Event().wait()

    calling = asyncio.create_task(call())
    await begun.wait()
    ending = asyncio.create_task(calls.outlived(ValueError("something else")))
    await asyncio.sleep(0)

    ending.cancel("cancelled")

    assert isinstance(await ending, asyncio.CancelledError)
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)
