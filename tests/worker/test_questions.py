"""Handlers that ask people."""

from taskyard import Agent, Context, Status, SyncContext
from taskyard.app import Yard
from tests.worker.conftest import until


async def test_a_handler_asks_and_goes_on_with_the_answer(yard: Yard):
    agent = Agent("deployer")

    @agent.handles("deploy")
    async def deploy(task: Context) -> str:
        first = await task.ask("Where to?", choices=["here", "there"])
        second = await task.ask("Sure?", timeout=3600, default=None, schema={"type": ["boolean", "null"]})
        return f"{first}: {second}, said {task.answered_by}"

    asked = await yard.enqueue("deploy")
    for name, answer in (("ask:1", "there"), ("ask:2", True)):
        await yard.drain(agent)
        (wanted,) = await yard.approvals.list(task_id=asked.id)
        assert (wanted.signal, wanted.task.status) == (name, Status.PENDING)
        await yard.approvals.answer(asked.id, name, answer)
    await yard.drain(agent)

    assert (await yard.get(asked.id)).result == "there: True, said human:local"
    latest = await yard.approvals.get(asked.id, "ask:2")
    assert latest.question is not None
    assert latest.question.answered is not None
    assert (latest.question.answered.by, latest.question.answered.data) == ("human:local", True)


async def test_a_handler_without_a_loop_asks_too(yard: Yard):
    agent = Agent("deployer")

    @agent.handles("deploy")
    def deploy(task: SyncContext) -> str:
        try:
            where = task.ask("Where to?", choices=["here"], timeout=0)
        except TimeoutError:
            where = "nowhere"
        default = task.ask("Really?", choices=["yes", "no"], timeout=0, default="no")
        return f"{where}, {default}, {task.answered_by}, {task.ask('Then?', choices=['so'], name='then')}"

    asked = await yard.enqueue("deploy")
    await yard.drain(agent)
    await yard.approvals.answer(asked.id, "then", "so")
    await yard.drain(agent)
    await until(yard, asked.id, Status.COMPLETED)

    assert (await yard.get(asked.id)).result == "nowhere, no, timeout, so"
