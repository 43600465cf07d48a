"""Inboxes as agents use them: callbacks, batches as they come, subagents and graphs from a handler."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import taskyard
from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.core.task import Status
from taskyard.features.inbox import rules
from taskyard.features.inbox.views import ItemBatch
from taskyard.worker.context import Context
from taskyard.worker.handlers import Agent
from taskyard.worker.inbox import Inbox
from tests.worker.conftest import until, working


class Heard:
    """Callbacks that write down what they hear, and then fall over if they are asked to."""

    def __init__(self, *, raising: bool = False) -> None:
        self.said: list[str] = []
        self._raising = raising

    def _note(self, said: str) -> None:
        self.said.append(said)
        if self._raising:
            raise RuntimeError("a callback that is of no use")

    def enqueued(self, item: Any, length: int) -> None:
        self._note(f"enqueued {item.content} {length}")

    async def dequeued(self, batch: ItemBatch) -> None:
        self._note(f"dequeued {batch.merged_count}")

    def blocked(self, reason: str) -> None:
        self._note(f"blocked {reason}")

    def dropped(self, _item_id: str | None, reason: str, length: int) -> None:
        self._note(f"dropped {reason} {length}")

    def cleared(self, reason: str, count: int) -> None:
        self._note(f"cleared {reason} {count}")

    def inbox(self, yard: Yard) -> Inbox:
        return Inbox(
            yard,
            "planner",
            "c1",
            on_enqueued=self.enqueued,
            on_dequeued=self.dequeued,
            on_blocked=self.blocked,
            on_dropped=self.dropped,
            on_cleared=self.cleared,
        )


@pytest.mark.parametrize("raising", [False, True])
async def test_callbacks_hear_what_happens_and_one_that_raises_disturbs_nothing(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, raising: bool
):
    monkeypatch.setattr(rules, "SOFT_LIMIT", 2)
    monkeypatch.setattr(rules, "HARD_LIMIT", 3)
    heard = Heard(raising=raising)
    inbox = heard.inbox(yard)

    for content in ("one", "two", "three"):
        assert await inbox.enqueue(content) is not None
    assert await inbox.try_dequeue("streaming") is None
    assert await inbox.try_dequeue("streaming") is None
    batch = await inbox.try_dequeue()
    assert batch is not None
    assert batch.turn == "two\nthree"
    assert await inbox.enqueue("yes", kind="approval_result") is not None
    assert await inbox.enqueue("no", kind="approval_result") is None
    await inbox.consume(batch)
    assert [item.content for item in await inbox.peek()] == ["yes"]
    assert await inbox.clear("shutdown") == 1

    assert heard.said == [
        *("enqueued one 1", "enqueued two 2", "dropped soft_limit 2", "enqueued three 2"),
        *("blocked streaming", "dequeued 2", "enqueued yes 1", "dropped hard_limit 1", "cleared shutdown 1"),
    ]


async def test_batches_come_as_they_are_put_in_and_are_consumed_when_the_next_is_asked_for(yard: Yard):
    inbox, seen = Inbox(yard, "planner"), list[Any]()

    async def read() -> None:
        async for batch in inbox.batches():
            seen.append(batch.turn)
            if batch.turn == "stop":
                return

    async with asyncio.timeout(20):
        reading = asyncio.create_task(read())
        for content in ("one", "two"):
            await inbox.enqueue(content, kind="approval_result")
        await inbox.enqueue("stop")
        await reading

    assert seen == ["one", "two", "stop"]
    (view,) = await yard.inbox.list()
    assert (view.queue_len, view.held) == (0, 1)  # who stops in the middle of a batch has not dealt with it


async def test_a_handler_starts_a_subagent_and_hears_of_its_end_once(yard: Yard):
    agent = Agent("lead", max_concurrent_tasks=2)

    @agent.handles("explore")
    async def explore(task: Context) -> dict[str, Any]:
        await task.message("I am on my way")
        await task.progress(0.5, "half way")
        return {"turns": task.payload["subagent"]["max_turns"]}

    @agent.handles("lead")
    async def lead(task: Context) -> dict[str, Any]:
        begun = [await task.subagent("explore", "Look", max_turns=3, name="scout") for _ in range(2)]
        async for batch in task.inbox().batches():
            told: Any = batch.items[0].content
            return {"begun": [each.task_id for each in begun], "told": told}
        return {}

    async with working(yard, agent):
        task = await yard.enqueue("lead")
        await until(yard, task.id, Status.COMPLETED)

    output: Any = (await yard.get(task.id)).result
    assert set(output["begun"]) == {output["told"]["task_id"]}
    assert output["told"]["result"] == {"turns": 3}
    events = [line["event"] for line in await yard.subagents.transcript(output["told"]["task_id"])]
    assert events[-3:] == ["task.message", "task.progress", "task.completed"]


async def test_an_orchestrator_submits_its_graph_once_however_often_its_handler_is_run(yard: Yard):
    planner = Agent("planner", orchestrator=True)

    @planner.handles("goal")
    async def plan(task: Context) -> dict[str, Any]:
        dag_id = await task.submit({"title": "Page", "tasks": [{"type": "code", "agent": "coder"}]})
        if task.attempt == 1:
            raise RuntimeError("it fell over after it had submitted")
        return {"dag": dag_id}

    async with working(yard, planner):
        goal = await yard.enqueue("goal", prompt="Build a landing page", retry={"strategy": "immediate"})
        await until(yard, goal.id, Status.COMPLETED)

    (dag,) = await yard.dags.list()
    assert write(dag)["inbox"] == {
        "agent": "planner",
        "conversation": goal.id,
        "about": ["ended", "dead_lettered", "escalated"],
    }


async def test_transcripts_are_written_beside_the_file_of_the_yard(tmp_path: Path):
    async with taskyard.connect(f"sqlite:///{tmp_path / 'yard.db'}") as yard:
        begun = await yard.subagents.start("explore", "Look", parent="lead")

    assert begun.output_file == str(tmp_path / "taskyard-transcripts" / f"{begun.task_id}.jsonl")
