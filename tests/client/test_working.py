"""Agents at work beyond a server, with no more than an agent's token. What else they do is in tests/worker."""

import taskyard
from taskyard.core.task import Status
from taskyard.server.server import Server
from taskyard.yard import Yard
from tests.remote import url_of
from tests.worker.conftest import until, working


async def test_an_agents_token_is_enough_for_its_work(local: taskyard.Yard, server: Server):
    issued = await local.tokens.create("ci", "agent", agent="coder")
    coder = taskyard.Agent("coder", poll_interval_sec=60)

    @coder.handles("code")
    async def write(task: taskyard.Context) -> dict[str, object]:
        await task.progress(0.5, "half way")
        plan = await task.step("plan", lambda: "a plan")
        return {"plan": plan, "before": await task.previous_attempts()}

    async with taskyard.connect(url_of(server), token=issued.text) as yard, working(yard, coder):
        first = await local.enqueue("code", title="while it waits")
        await until(local, first.id, Status.COMPLETED)

    assert (await local.get(first.id)).result == {"plan": "a plan", "before": []}


async def test_a_script_works_off_what_there_is(local: Yard, server: Server):
    crew = taskyard.Agent("crew", max_concurrent_tasks=50)

    @crew.handles("code")
    async def write(task: taskyard.Context) -> int:
        await task.spend("0.01")
        return 1

    await local.enqueue_many([{"type": "code"}] * 50)
    async with taskyard.connect(url_of(server)) as yard:
        attempts = await yard.drain(crew)

    assert attempts == 50
    assert (await local.tasks.stats())["completed"] == {"code": 50}
