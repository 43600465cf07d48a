"""The end of a run: nothing goes wrong any more, everybody is there, and time passes until nothing is left to do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from taskyard.core.task import HELD, Hot, Status
from tests.model.choosing import AGENTS, QUEUES, TYPES, Seen
from tests.model.sides import Side
from tests.model.steps import ELSEWHERE, HERE, Step, hold_of

ROUNDS = 12
LONG_SEC = 8000  # longer than any delay, throttle or time-out of a run


async def drained(side: Side, seen: Seen) -> AsyncIterator[Step]:
    """The steps that bring a yard to rest. What is yielded is made before the next is chosen."""
    yield Step("reopen")
    for workspace in (HERE, ELSEWHERE):
        for step in _freed(workspace):
            yield step
    for number in range(ROUNDS):
        for type_ in TYPES:
            yield Step("close_breaker", {"type_": type_})
        yield Step("advance", {"seconds": LONG_SEC if number else 2})
        yield Step("sweep")
        for step in await _signals(side, seen):
            yield step
        async for step in _worked(seen, f"drain {number}"):
            yield step
        if all(hot.status.is_final for hot in seen.tasks.values()):
            return


def _freed(workspace: str) -> Iterator[Step]:
    """No queue is paused, no money is short, and every agent can do everything."""
    for queue in QUEUES:
        yield Step("resume_queue", {"queue": queue}, workspace=workspace)
    yield Step("set_budget", workspace=workspace)
    yield Step("set_breaker_policy", workspace=workspace)
    for agent in AGENTS:
        facts = {"capabilities": ["gpu", *TYPES], "max_concurrent_tasks": 100}
        yield Step("register", {"agent_id": agent}, workspace=workspace)
        # What an agent held when it went is given up: a lease whose answer was lost is nobody's to give back.
        yield Step("remove_agent", {"agent_id": agent}, workspace=workspace)
        yield Step("register", {"agent_id": agent, **facts}, workspace=workspace)


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
    workspaces = {hot.workspace for hot in seen.tasks.values()}
    busy, number = True, 0
    while busy:
        busy = False
        for workspace in sorted(workspaces):
            for agent in AGENTS:
                number += 1
                given = {"agent_id": agent, "count": 50, "start": True, "request_id": f"{request} {number}"}
                yield Step("claim", given, workspace=workspace)
                for hot in [hot for hot in seen.tasks.values() if hot.status in HELD]:
                    busy = True
                    yield _completed(hot)


def _completed(hot: Hot) -> Step:
    given = {"hold": hold_of(hot.id, hot.attempt), "output": {"is": "ok"}, "decision_report": {}, "cost_usd": 0}
    return Step("complete", given, workspace=hot.workspace)
