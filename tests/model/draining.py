"""The end of a run: nothing goes wrong any more, everybody is there, and time passes until nothing is left to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from taskyard.core.task import HELD, Hot, LaneId, Status
from tests.model.choosing import Seen
from tests.model.sides import Side
from tests.model.steps import Step, hold_of
from tests.model.wishes import AGENTS, SKILLS

ROUNDS = 12
LONG_SEC = 8000  # longer than any delay, throttle or time-out of a run


async def drained(side: Side, seen: Seen) -> AsyncIterator[Step]:
    """The steps that bring a yard to rest. What is yielded is made before the next is chosen."""
    yield Step("reopen")
    for workspace in sorted({hot.workspace for hot in seen.tasks.values() if not hot.status.is_final}):
        for step in await _freed(side, workspace):
            yield step
    for number in range(ROUNDS):
        yield Step("advance", {"seconds": LONG_SEC if number else 2})
        yield Step("sweep")
        for step in await _signals(side, seen):
            yield step
        async for step in _worked(seen, f"drain {number}"):
            yield step
        # Not before a sweep has been through everything that a crash may have left.
        if number and all(hot.status.is_final for hot in seen.tasks.values()):
            return


async def _freed(side: Side, workspace: str) -> list[Step]:
    """No queue is paused, no money is short, no breaker is open, and every agent can do everything."""
    records = (await side.store.config(workspace, LaneId(0))).records
    skilled = {"capabilities": list(SKILLS), "max_concurrent_tasks": 100}
    steps = [Step("budgets.set")]
    steps += [Step("queues.resume", {"queue": each.id}) for each in records if each.body.get("paused")]
    steps += [Step("breakers.close", {"type_": each.id}) for each in records if each.kind == "breaker"]
    # What an agent holds is given up: a lease whose answer was lost is nobody's to give back.
    steps += [Step("agents.remove", {"agent_id": each.id}) for each in records if each.kind == "agent"]
    steps += [Step("agents.register", {"agent_id": agent, **skilled}) for agent in AGENTS]
    steps += [Step("agents.set_budget", {"name": agent}) for agent in AGENTS]
    return [replace(step, workspace=workspace) for step in steps]


async def _signals(side: Side, seen: Seen) -> list[Step]:
    pending = {hot.id: hot for hot in seen.tasks.values() if hot.status is Status.PENDING}
    blockers = await side.store.blockers(list(pending))
    return [
        Step(
            "signal",
            {"task_id": each.task_id, "name": each.name.removeprefix("signal:")},
            workspace=pending[each.task_id].workspace,
        )
        for each in blockers
        if each.name.startswith("signal:") and each.wait == pending[each.task_id].wait
    ]


async def _worked(seen: Seen, request: str) -> AsyncIterator[Step]:
    """Claim and complete until nothing more is to be had."""
    number = 0
    for workspace in sorted({hot.workspace for hot in seen.tasks.values()}):
        for agent in AGENTS:
            while any(hot.status is Status.READY for hot in seen.tasks.values() if hot.workspace == workspace):
                number += 1
                given = {"agent_id": agent, "count": 10, "start": True, "request_id": f"{request} {number}"}
                yield Step("claim", given, workspace=workspace)
                held = [hot for hot in seen.tasks.values() if hot.status in HELD]
                for hot in held:
                    yield _completed(hot)
                if not held:
                    break


def _completed(hot: Hot) -> Step:
    output = {"is": "ok", "passed": True}
    given = {"hold": hold_of(hot.id, hot.attempt), "output": output, "decision_report": "so", "cost_usd": 0}
    return Step("complete", given, workspace=hot.workspace)
