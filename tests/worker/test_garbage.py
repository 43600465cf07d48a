"""What an attempt leaves behind: nothing that only the collector of garbage finds."""

import gc
import weakref

import taskyard
from taskyard import Agent, Context


async def test_an_attempt_that_is_over_is_freed_without_the_collector():
    agent, attempts = Agent("worker", max_concurrent_tasks=10), weakref.WeakSet[Context]()

    @agent.handles("work")
    async def work(task: Context) -> str:
        attempts.add(task)
        return "done"

    async with taskyard.connect("memory://", sweeps=False) as yard:
        await yard.enqueue_many([{"type": "work"}] * 10)
        gc.collect()
        gc.disable()
        try:
            await yard.drain(agent)
            left = len(attempts)
        finally:
            gc.enable()

    assert left == 0
