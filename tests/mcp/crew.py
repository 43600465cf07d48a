"""An agent that asks before it deploys, and fails when it is told to."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import taskyard
from taskyard.yard import Yard
from tests.worker.conftest import working

agent = taskyard.Agent("deployer", poll_interval_sec=1, max_concurrent_tasks=5)


@agent.handles("deploy")
async def deploy(task: taskyard.Context) -> dict[str, Any]:
    return {"answer": await task.wait_for("approve")}


@agent.handles("twice")
async def twice(task: taskyard.Context) -> dict[str, Any]:
    return {"first": await task.wait_for("approve"), "second": await task.wait_for("approve")}


@agent.handles("fail")
async def fail(_: taskyard.Context) -> None:
    raise taskyard.Fail("auth_failure", "the key was refused")


@agent.handles("write")
async def write(task: taskyard.Context) -> dict[str, Any]:
    await task.stream("Once ")
    if task.attempt == 1:
        raise taskyard.Retry(0, "the pen broke")
    await task.message("the second half follows")
    await task.stream({"chapter": "one"})
    await task.stream("upon a time.")
    answer = await task.wait_for("approve")
    await task.stream("The end.")
    return {"answer": answer}


@asynccontextmanager
async def at_work(yard: Yard) -> AsyncGenerator[None]:
    async with working(yard, agent):  # pyright: ignore[reportArgumentType]
        yield
