"""The task that is being worked on, wherever the code that asks runs; and steps that nobody named."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest

import taskyard
from taskyard import Agent, Context, SyncContext
from taskyard.app import Yard
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.task import Status
from taskyard.ledger.clock import ManualClock


@pytest.fixture
async def yard() -> AsyncGenerator[Yard]:
    async with taskyard.connect("memory://", clock=ManualClock(), sweeps=False) as yard:
        yield yard


def a_tool() -> str:
    return taskyard.current_task().id


async def test_each_handler_finds_its_own_task_and_so_do_those_it_calls(yard: Yard):
    agent, both_run = Agent("worker", max_concurrent_tasks=2), asyncio.Barrier(2)

    @agent.handles("ask")
    async def ask(task: Context) -> list[bool]:
        await both_run.wait()
        found = [a_tool(), await asyncio.create_task(asyncio.to_thread(a_tool))]
        return [each == task.id for each in found] + [taskyard.current_task() is task]

    tasks = [await yard.enqueue("ask") for _ in range(2)]
    await yard.drain(agent)

    assert [(await yard.get(task.id)).result for task in tasks] == [[True, True, True]] * 2


async def test_a_plain_function_finds_its_task_in_its_thread_and_calls_it_without_await(yard: Yard):
    agent = Agent("worker")

    @agent.handles("ask")
    def ask(task: SyncContext) -> list[object]:
        return [a_tool() == task.id, taskyard.current_task().sync.step("plan", lambda: "a plan")]

    task = await yard.enqueue("ask")
    await yard.drain(agent)

    assert (await yard.get(task.id)).result == [True, "a plan"]
    assert await yard.attempts.checkpoints(task.id) == {"plan": "a plan"}


async def test_there_is_no_current_task_outside_of_a_handler_nor_after_it(yard: Yard):
    agent, left = Agent("worker"), asyncio.Event()
    late: list[asyncio.Task[str]] = []

    @agent.handles("ask")
    async def ask(task: Context) -> None:
        async def ask_late() -> str:
            await left.wait()
            return a_tool()

        late.append(asyncio.create_task(ask_late()))

    with pytest.raises(LookupError, match="no task is being worked on here"):
        taskyard.current_task()
    await yard.enqueue("ask")
    await yard.drain(agent)
    left.set()

    with pytest.raises(LookupError):
        await late[0]


async def test_steps_without_a_name_are_numbered_alike_in_every_attempt(yard: Yard):
    agent, done = Agent("worker"), list[str]()

    @agent.handles("ask")
    async def ask(task: Context) -> list[str]:
        first = await task.step(lambda: done.append("first") or "one")
        named = await task.step("middle", lambda: "two")
        last = await task.step(lambda: done.append("last") or "three", spend="0.10")
        if task.attempt == 1:
            raise RuntimeError("crash")
        return [first, named, last]

    task = await yard.enqueue("ask", retry={"strategy": "immediate"})
    await yard.drain(agent)

    assert (await yard.get(task.id)).result == ["one", "two", "three"]
    assert done == ["first", "last"]
    assert list(await yard.attempts.checkpoints(task.id)) == ["step:1", "middle", "step:2"]
    assert [each.cost for each in await yard.tasks.history(task.id)] == [100_000, 0]


async def test_steps_without_a_name_are_numbered_in_plain_functions_too(yard: Yard):
    agent = Agent("worker")

    @agent.handles("ask")
    def ask(task: SyncContext) -> list[str]:
        return [task.step(lambda: "one"), task.step(lambda: "two")]

    task = await yard.enqueue("ask")
    await yard.drain(agent)

    assert await yard.attempts.checkpoints(task.id) == {"step:1": "one", "step:2": "two"}


async def test_a_step_without_its_work_is_refused(yard: Yard):
    agent, refused = Agent("worker"), list[InvalidInput]()

    @agent.handles("ask")
    async def ask(task: Context) -> None:
        with pytest.raises(InvalidInput, match="step") as raised:
            await task.step("plan")
        refused.append(raised.value)

    task = await yard.enqueue("ask")
    await yard.drain(agent)

    assert (await yard.get(task.id)).status is Status.COMPLETED
    assert [error.facts["field"] for error in refused] == ["function"]


async def test_what_is_numbered_inside_a_step_shifts_no_number_outside_of_it(yard: Yard):
    agent = Agent("worker")

    @agent.handles("ask")
    async def ask(task: Context) -> list[str]:
        inside = await task.step("search", lambda: task.spawn("child", prompt="inside"))
        outside = await task.spawn("child", prompt="outside")
        if task.attempt == 1:
            raise RuntimeError("crash")
        return [inside, outside]

    task = await yard.enqueue("ask", retry={"strategy": "immediate"})
    await yard.drain(agent)

    spawned = (await yard.get(task.id)).result
    assert [(await yard.get(each)).prompt for each in spawned] == ["inside", "outside"]


async def test_the_stored_steps_are_read_once_in_an_attempt(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    agent, reads = Agent("worker"), list[str]()
    read = yard.attempts.checkpoints

    async def counted(task_id: str) -> dict[str, Json]:
        reads.append(task_id)
        return await read(task_id)

    monkeypatch.setattr(yard.attempts, "checkpoints", counted)

    @agent.handles("ask")
    async def ask(task: Context) -> int:
        return sum([await task.step(f"{each}", lambda: 1) for each in range(9)] + [await task.step("0", lambda: 5)])

    task = await yard.enqueue("ask")
    await yard.drain(agent)

    assert (await yard.get(task.id)).result == 10
    assert reads == [task.id]


async def test_a_long_name_inside_of_steps_is_short_enough_to_be_stored_and_the_same_each_time(yard: Yard):
    agent, done = Agent("worker"), list[str]()

    @agent.handles("ask")
    async def ask(task: Context) -> str:
        async def inside() -> str:
            return await task.step(lambda: done.append("once") or "deep")

        return await task.step("a" * 255, inside) if task.attempt > 1 else await crashing(task, inside)

    async def crashing(task: Context, inside: Callable[[], Awaitable[str]]) -> str:
        async def crash() -> None:
            await inside()
            raise RuntimeError("crash")

        return await task.step("a" * 255, crash)

    task = await yard.enqueue("ask", retry={"strategy": "immediate"})
    await yard.drain(agent)

    assert ((await yard.get(task.id)).result, done) == ("deep", ["once"])
