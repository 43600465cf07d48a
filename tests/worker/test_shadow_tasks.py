"""Moving to the yard from another queue of tasks: both have each task, one hands it out, differences are reported."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import taskyard
from taskyard.app import Yard
from taskyard.features.cutovers.rules import Phase
from taskyard.integrations.shadow_tasks import ShadowedTasks
from taskyard.integrations.two_queues import Difference
from taskyard.worker.inbox import Inbox

IMMEDIATE: dict[str, Any] = {"retry": {"strategy": "immediate"}, "max_attempts": 2}


class OldTasks:
    """A queue of tasks in memory, as programs have one: first in, first out, two attempts."""

    def __init__(self, *, newest_first: bool = False, attempts: int = 2) -> None:
        self.waiting: list[dict[str, Any]] = []
        self.states: dict[str, str] = {}
        self.worked_on: list[str] = []
        self._newest_first = newest_first
        self._attempts = attempts

    def enqueue(self, task_id: str, type: str, **_fields: Any) -> dict[str, Any]:
        self.waiting.append({"id": task_id, "type": type, "failures": 0})
        self.states[task_id] = "queued"
        return self.waiting[-1]

    def start_subagent(self, task_id: str, type: str, prompt: str, **_facts: Any) -> dict[str, Any]:
        return self.enqueue(task_id, type, prompt=prompt)

    async def claim(self) -> dict[str, Any] | None:
        if not self.waiting:
            return None
        task = self.waiting.pop(-1 if self._newest_first else 0)
        self.states[task["id"]] = "running"
        return task

    def complete(self, task: dict[str, Any], _output: Any) -> None:
        self.states[task["id"]] = "completed"

    def fail(self, task: dict[str, Any], _reason: str, _error: str) -> bool:
        task["failures"] += 1
        is_over = task["failures"] >= self._attempts
        self.states[task["id"]] = "failed" if is_over else "queued"
        if not is_over:
            self.waiting.insert(0, task)  # it keeps its place, as it does in the yard
        return not is_over

    def release(self, task: dict[str, Any]) -> None:
        self.waiting.insert(0, task)

    def drop(self, task_id: str) -> None:
        self.waiting = [task for task in self.waiting if task["id"] != task_id]

    def status(self, task_id: str) -> str:
        return self.states[task_id]


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncIterator[Yard]:
    async with taskyard.connect("memory://", sweeps=False, transcripts=tmp_path) as yard:
        await yard.agents.register("worker", max_concurrent_tasks=10)
        yield yard


async def work_through(queue: ShadowedTasks) -> list[str]:
    """Three tasks of which the second fails once; the ids in the order in which they were worked on."""
    ids = [await queue.enqueue("code", **IMMEDIATE) for _ in range(3)]
    seen: list[str] = []
    while (taken := await queue.claim()) is not None:
        await queue.heartbeat(taken)
        seen.append(taken.id)
        if taken.id == ids[1] and seen.count(ids[1]) == 1:
            assert await queue.fail(taken, "crash", "it broke")
        else:
            await queue.complete(taken, {"by": "worker"})
    assert [await queue.status(each) for each in ids] == ["completed"] * 3
    return seen


@pytest.mark.parametrize("phase", Phase)
async def test_in_every_phase_each_task_is_worked_on_once_and_both_sides_end_alike(yard: Yard, phase: Phase):
    old = OldTasks()
    queue = ShadowedTasks(old, yard, "worker", phase=phase)

    seen = await work_through(queue)

    tasks = await yard.find(type="code")
    assert len(seen) == 4  # one of the three was tried twice
    assert queue.differences == []
    assert {task.status.value for task in tasks} == {"completed"}
    assert [len((await yard.get(task.id)).attempts) for task in tasks] == [seen.count(task.id) for task in tasks]
    if phase is not Phase.FINISHED:
        assert old.states == {task.id: "completed" for task in tasks}


async def test_the_old_queue_hands_out_until_it_is_switched(yard: Yard):
    queue = ShadowedTasks(OldTasks(), yard, "worker")
    kinds: list[str] = []
    for phase in Phase:
        queue.switch_to(phase)
        await queue.enqueue("code")
        taken = await queue.claim()
        assert taken is not None
        await queue.complete(taken)
        kinds.append(type(taken.task).__name__)

    assert kinds == ["dict", "dict", "Held", "Held"]


async def test_a_task_that_is_taken_in_one_phase_and_ends_in_another_ends_on_both(yard: Yard):
    old = OldTasks()
    queue = ShadowedTasks(old, yard, "worker", phase=Phase.SHADOW)
    task_id = await queue.enqueue("code")
    taken = await queue.claim()
    assert taken is not None
    queue.switch_to(Phase.FINISHED)
    await queue.complete(taken, {"late": True})

    assert (old.states[task_id], (await yard.get(task_id)).status.value) == ("completed", "completed")


@pytest.mark.parametrize("phase", [Phase.SHADOW, Phase.CUTOVER])
async def test_another_order_is_a_difference_and_no_task_is_worked_on_twice(yard: Yard, phase: Phase):
    old = OldTasks(newest_first=True)
    queue = ShadowedTasks(old, yard, "worker", phase=phase)
    ids = [await queue.enqueue("code") for _ in range(2)]
    seen: list[str] = []
    while (taken := await queue.claim()) is not None:
        seen.append(taken.id)
        await queue.complete(taken)

    stands = {task.id: task.status.value for task in await yard.find(type="code")}
    assert sorted(seen) == sorted(ids)
    assert queue.differences == [Difference("claim", old=ids[1], new=ids[0])]
    assert old.waiting == []
    if phase is Phase.SHADOW:  # what the yard got back was taken on both sides the next time
        assert stands == {ids[1]: "cancelled", ids[0]: "completed"}
    else:
        assert (set(stands.values()), old.states[ids[1]]) == ({"completed"}, "completed")


async def test_a_queue_that_gives_up_earlier_differs_at_the_failure(yard: Yard):
    queue = ShadowedTasks(OldTasks(attempts=1), yard, "worker")
    await queue.enqueue("code", **IMMEDIATE)
    taken = await queue.claim()
    assert taken is not None

    assert await queue.fail(taken, "crash", "it broke") is False
    assert queue.differences == [Difference("fail", old=False, new=True)]


async def test_a_yard_that_refuses_disturbs_nobody_until_it_answers(yard: Yard):
    old = OldTasks()
    queue = ShadowedTasks(old, yard, "worker")
    task_id = await queue.enqueue("code", priority="none")  # which the yard does not take

    taken = await queue.claim()
    assert taken is not None
    await queue.complete(taken)

    assert old.states == {task_id: "completed"}
    assert [each.call for each in queue.differences] == ["enqueue"]


async def test_a_subagent_is_one_task_of_both_and_its_end_reaches_the_parents_inbox(yard: Yard):
    old = OldTasks()
    await yard.cutovers.start("subagents", days=0, least=3)
    queue = ShadowedTasks(old, yard, "worker", cutover="subagents")
    task_id = await queue.start_subagent("explore", "Look around", parent="lead", conversation="c1")
    taken = await queue.claim()
    assert taken is not None
    await queue.complete(taken, {"report": "a door"})
    await queue.report()

    batch = await Inbox(yard, "lead", "c1").try_dequeue()
    assert batch is not None
    told: Any = batch.items[0].content
    assert (told["task_id"], told["status"], told["result"]) == (task_id, "completed", {"report": "a door"})
    assert old.states == {task_id: "completed"}
    moved = await yard.cutovers.move("subagents", "shadow")
    assert [(each.phase.value, each.calls, each.compared, each.differences) for each in moved.figures] == [
        ("dual_write", 3, 2, 0)
    ]
