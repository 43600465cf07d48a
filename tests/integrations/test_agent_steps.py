"""What the integrations share: an answer that has come is kept, whatever the framework does meanwhile."""

import asyncio
from contextlib import suppress
from pathlib import Path

import taskyard
from taskyard.integrations.agent_steps import call_model
from tests.integrations.conftest import spent


async def test_an_answer_that_has_come_is_stored_though_its_call_is_given_up(tmp_path: Path):
    """As a framework gives up the calls beside one that failed. A store in a file takes a moment."""
    worker = taskyard.Agent("helper")

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> list[str]:
        async def answered() -> str:
            asyncio.get_running_loop().call_soon(calling.cancel)
            return "an answer"

        calling = asyncio.create_task(call_model(task, "model", answered, spend="0.01"))
        with suppress(asyncio.CancelledError):
            await calling
        assert calling.cancelled()
        return [*await task.stored_steps()]

    async with taskyard.connect(f"sqlite:///{tmp_path}/yard.db") as yard:
        task = await yard.enqueue("ask")
        await yard.drain(worker)

        assert ((await yard.get(task.id)).result, await spent(yard, task.id)) == (["model:1"], 10_000)
