"""Steps without a name whose handler goes on after a failure: no result is given out for what it is not of."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from taskyard.app import Yard
from taskyard.worker.context import Context
from taskyard.worker.handlers import Agent
from taskyard.worker.sync_context import SyncContext

Failures = dict[str, int]


def worker(handler: Callable[[Any], Any]) -> Agent:
    agent = Agent("worker")
    agent.handles("go")(handler)
    return agent


class Doing:
    """Notes what is done. Each name fails as often as is left of it."""

    def __init__(self, **failures: int) -> None:
        self.failures: Failures = failures
        self.done: list[str] = []

    def __call__(self, name: str) -> str:
        self.done.append(name)
        if self.failures.get(name, 0):
            self.failures[name] -= 1
            raise ValueError(name)
        return name.upper()


async def result_of(yard: Yard, handler: Callable[[Any], Any]) -> tuple[Any, list[str]]:
    task = await yard.enqueue("go", retry={"strategy": "immediate"})
    await yard.drain(worker(handler))
    return (await yard.get(task.id)).result, list(await yard.attempts.checkpoints(task.id))


def crash_once(task: Context | SyncContext) -> None:
    if task.attempt == 1:
        raise RuntimeError("crash")


def closing_over(doing: Doing, name: str) -> Callable[[], str]:
    return lambda: doing(name)


@pytest.mark.parametrize("work", [closing_over, partial])
async def test_what_was_passed_over_gets_no_result_of_what_came_after(yard: Yard, work: Callable[..., Any]):
    doing = Doing(b=9)

    async def handler(task: Context) -> list[str | None]:
        results = list[str | None]()
        for name in "abc":
            try:
                results.append(await task.step(work(doing, name)))
            except ValueError:
                results.append(None)
        crash_once(task)
        return results

    result, names = await result_of(yard, handler)

    assert (result, names) == (["A", None, "C"], ["step:1", "step:3"])
    assert doing.done == ["a", "b", "c", "b"]


async def test_what_is_done_once_more_keeps_its_number(yard: Yard):
    doing = Doing(b=1)

    async def handler(task: Context) -> list[str]:
        results = list[str]()
        for name in "abc":
            for _ in range(2):
                try:
                    results.append(await task.step(partial(doing, name)))
                    break
                except ValueError:
                    continue
        crash_once(task)
        return results

    result, names = await result_of(yard, handler)

    assert (result, names) == (["A", "B", "C"], ["step:1", "step:2", "step:3"])
    assert doing.done == ["a", "b", "b", "c"]


async def test_where_it_succeeds_later_the_handler_may_go_another_way(yard: Yard):
    doing = Doing(first=1)

    async def handler(task: Context) -> list[str]:
        try:
            results = [await task.step(lambda: doing("first"))]
        except ValueError:
            results = [await task.step(lambda: doing("instead"))]
        results.append(await task.step(lambda: doing("then")))
        if task.attempt < 3:
            raise RuntimeError("crash")
        return results

    result, names = await result_of(yard, handler)

    assert (result, names) == (["FIRST", "THEN"], ["step:2", "step:3", "step:1+:1", "step:1+:2"])
    assert doing.done == ["first", "instead", "then", "first", "then"]


async def test_plain_functions_number_their_steps_in_the_same_way(yard: Yard):
    doing = Doing(first=1)

    def handler(task: SyncContext) -> list[str]:
        try:
            results = [task.step(lambda: doing("first"))]
        except ValueError:
            results = [task.step(lambda: doing("instead"))]
        crash_once(task)
        return results

    result, names = await result_of(yard, handler)

    assert (result, names) == (["FIRST"], ["step:2", "step:1+:1"])


async def test_what_is_done_once_more_behind_others_of_the_same_attempt_keeps_its_number(yard: Yard):
    doing = Doing(a=1)

    async def handler(task: Context) -> list[str]:
        with pytest.raises(ValueError, match="a"):
            await task.step(partial(doing, "a"))
        return [await task.step(partial(doing, "b")), await task.step(partial(doing, "a"))]

    assert await result_of(yard, handler) == (["B", "A"], ["step:2", "step:1"])
