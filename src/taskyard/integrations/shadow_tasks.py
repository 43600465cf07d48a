"""Moving from another queue of tasks to the yard without a leap; tasks of subagents are among them.

A task has one id on both sides. Whoever takes it takes it on both, and both hear how it ends: so no task is
worked on twice, and either side could go on alone at any moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, NamedTuple

from taskyard.core.json_value import Json
from taskyard.core.task import HELD, Status
from taskyard.features.cutovers.rules import Phase
from taskyard.features.subagents.views import StartedSubagent
from taskyard.features.tasks.views import Held, Task
from taskyard.integrations.two_queues import BothAnswers, Difference, TwoQueues, asking, fact, is_accepted, tried
from taskyard.ledger.ids import mint
from taskyard.yard import Yard

DONE_THERE = "ended by the old queue"  # why a task is cancelled that the yard would have handed out in another order
ENDS = {Status.COMPLETED: "completed", Status.DEAD_LETTERED: "failed", Status.CANCELLED: "cancelled"}


class TakenTask(NamedTuple):
    """A task to work on, as each side has it; None where a side would have handed out another one."""

    phase: Phase  # that it was taken in: both hear of its end in the same order
    old: Any
    new: Held | None

    @property
    def task(self) -> Any:
        """What the side that answers has handed out."""
        return BothAnswers(*self).answer

    @property
    def id(self) -> str:
        return str(fact(self.task, "id"))


class YardTasks:
    """The yard with the calls of a plain queue of tasks, for one agent."""

    def __init__(self, yard: Yard, agent_id: str, types: Sequence[str] | None) -> None:
        self._yard = yard
        self._agent_id = agent_id
        self._types = types

    async def enqueue(self, task_id: str, type: str, **fields: Any) -> Task:
        (put,) = await self._yard.enqueue_many([{"id": task_id, "type": type, **fields}])
        return put

    async def start_subagent(self, task_id: str, type: str, prompt: str, **facts: Any) -> StartedSubagent:
        return await self._yard.subagents.start(type, prompt, task_id=task_id, **facts)

    async def claim(self) -> Held | None:
        held = await self._yard.claim(self._agent_id, types=self._types, start=True)
        return held[0] if held else None

    async def heartbeat(self, held: Held) -> object:
        return await self._yard.heartbeat(held.id, held.lease)

    async def complete(self, held: Held, output: Json) -> object:
        return await self._yard.complete(held.id, held.lease, output)

    async def fail(self, held: Held, reason: str, error: str) -> bool:
        receipt = await self._yard.fail(held.id, held.lease, reason, error)
        return not receipt.status.is_final

    async def release(self, held: Held) -> object:
        return await self._yard.release(held.id, held.lease)

    async def drop(self, task_id: str) -> object:
        return await self._yard.cancel(task_id, DONE_THERE)

    async def status(self, task_id: str) -> str:
        status = (await self._yard.get(task_id)).status
        return ENDS.get(status) or ("running" if status in HELD | {Status.VALIDATING} else "queued")


class ShadowedTasks(TwoQueues):
    """The yard's tasks beside the queue of tasks that they are to replace, with the calls of both.

    The old queue is any object with these calls, plain or async: `enqueue(task_id, type, **fields)`,
    `start_subagent(task_id, type, prompt, **facts)` where there are subagents, `claim()` for something with an `id`, or
    None; `complete(task, output)`; `fail(task, reason, error)`, which says whether it will be tried again;
    `status(task_id)`; and where it has them `heartbeat(task)`, `release(task)` and `drop(task_id)`.
    """

    def __init__(
        self,
        old: Any,
        yard: Yard,
        agent_id: str,
        *,
        types: Sequence[str] | None = None,
        phase: Phase = Phase.DUAL_WRITE,
        cutover: str | None = None,
        on_difference: Callable[[Difference], object] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__(yard, phase=phase, cutover=cutover, on_difference=on_difference, clock=clock)
        self._old = old
        self._new = YardTasks(yard, agent_id, types)
        self._taking = asyncio.Lock()  # both sides are asked by one caller at a time, so that both hand out the same

    async def enqueue(self, type: str, *, task_id: str | None = None, **fields: Any) -> str:
        """Put a task into both, under one id."""
        return await self._put("enqueue", task_id, type, **fields)

    async def start_subagent(self, type: str, prompt: str, *, task_id: str | None = None, **facts: Any) -> str:
        """Start a subagent on both, under the id of one task. `facts` are those of `yard.subagents.start`."""
        return await self._put("start_subagent", task_id, type, prompt, **facts)

    async def claim(self) -> TakenTask | None:
        """The next task of the side that answers, taken on both. What the other would have given instead goes back."""
        async with self._taking:
            both = await self._both(*self._asked("claim"))
            if both.phase is not Phase.DUAL_WRITE:
                self._compare(both, "claim", _id_of)
            if _id_of(both.old) != _id_of(both.new) and both.phase is not Phase.FINISHED:
                spare, side = (both.old, self._old) if both.new_answers else (both.new, self._new)
                await self._given_back(spare, side)
                both = both._replace(old=None) if both.new_answers else both._replace(new=None)
            return None if both.answer is None else TakenTask(*both)

    async def heartbeat(self, taken: TakenTask) -> Any:
        """Keep the task. An old queue without heartbeats is not asked."""
        return (await self._both(*self._calls(taken, "heartbeat"), phase=taken.phase)).answer

    async def complete(self, taken: TakenTask, output: Json = None) -> Any:
        """The task is done, on both sides."""
        return await self._ended(taken, "complete", output)

    async def fail(self, taken: TakenTask, reason: str, error: str) -> Any:
        """The attempt has failed, on both sides; the answer says whether there will be another."""
        both = await self._both(*self._calls(taken, "fail", reason, error), phase=taken.phase)
        if taken.old is not None and taken.new is not None:
            self._compare(both, "fail", _repeats)
        return both.answer

    async def status(self, task_id: str) -> Any:
        """`queued`, `running`, `completed`, `failed` or `cancelled`, as the side that answers has it."""
        both = await self._both(*self._asked("status", task_id))
        self._compare(both, "status", _status_of)
        return both.answer

    async def _put(self, call: str, task_id: str | None, *arguments: Any, **facts: Any) -> str:
        task_id = task_id or f"task_{mint()}"
        self._compare(await self._both(*self._asked(call, task_id, *arguments, **facts)), call, is_accepted)
        return task_id

    async def _ended(self, taken: TakenTask, call: str, *arguments: Any) -> Any:
        both = await self._both(*self._calls(taken, call, *arguments), phase=taken.phase)
        if taken.old is not None and taken.new is not None:
            self._compare(both, call, _is_taken)
        elif both.phase is not Phase.FINISHED:  # the other side has it still, and must not hand it out
            side = self._old if both.new_answers else self._new
            if hasattr(side, "drop"):
                await tried(asking(side, "drop", taken.id))
        return both.answer

    async def _given_back(self, spare: Any, side: Any) -> None:
        if spare is not None and not isinstance(spare, Exception) and hasattr(side, "release"):
            await tried(asking(side, "release", spare))

    def _asked(self, call: str, *arguments: Any, **named: Any) -> Any:
        return tuple(asking(side, call, *arguments, **named) for side in (self._old, self._new))

    def _calls(self, taken: TakenTask, call: str, *arguments: Any) -> Any:
        """The call for each side that has the task and knows the call."""
        sides = ((self._old, taken.old), (self._new, taken.new))
        return tuple(
            asking(side, call, its, *arguments) if its is not None and hasattr(side, call) else _nothing
            for side, its in sides
        )


async def _nothing() -> None:
    return None


def _id_of(task: Any) -> object:
    if isinstance(task, Exception):
        return repr(task)
    return None if task is None else str(fact(task, "id"))


def _repeats(answer: Any) -> object:
    return repr(answer) if isinstance(answer, Exception) else bool(answer)


def _is_taken(answer: Any) -> object:
    return repr(answer) if isinstance(answer, Exception) else True


def _status_of(answer: Any) -> object:
    return repr(answer) if isinstance(answer, Exception) else answer
