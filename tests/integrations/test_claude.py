"""The Claude Agent SDK as a worker, unmodified, with a program that speaks as Claude's command line does."""

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import time
from typing import Any, cast

import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    PermissionResultAllow,
    SessionKey,
    SessionStore,
    SessionStoreEntry,
)
from claude_agent_sdk.testing import run_session_store_conformance
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import taskyard
from taskyard.app import Yard
from taskyard.core.task import Status
from taskyard.core.units import SECOND
from taskyard.integrations.claude import TaskSessionStore, run
from taskyard.ledger.clock import ManualClock
from tests.integrations.conftest import Crash, lose_lease, outcomes, spent, traced_calls

PRICE = 4_500  # micro-dollars for 1,000 tokens read and 100 written by Claude Sonnet 4.5: 3 and 15 dollars a million
PROGRAM = Path(__file__).parent / "claude_program.py"


class Claude:
    """Claude's command line, with a script of its turns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = count()
        self.path = folder / "claude"
        self.path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{PROGRAM}" "$@"\n')
        self.path.chmod(0o755)

    def plays(self, *turns: dict[str, Any]) -> None:
        (self.folder / "script.json").write_text(json.dumps(turns))

    def options(self) -> ClaudeAgentOptions:
        home = str(self.folder / f"home-{next(self._numbers)}")
        environment = {"CLAUDE_SCRIPT": str(self.folder / "script.json"), "CLAUDE_CONFIG_DIR": home}
        return ClaudeAgentOptions(cli_path=self.path, env=environment, cwd=self.folder)

    def worker(self) -> taskyard.Agent:
        worker = taskyard.Agent("claude")

        @worker.handles("code")
        async def code(task: taskyard.Context) -> Any:
            return await run(task, options=self.options())

        return worker

    def noted(self, what: str) -> list[Any]:
        lines = (self.folder / "script.log").read_text().splitlines()
        return [value for name, value in map(json.loads, lines) if name == what]


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path)


async def test_what_claude_says_last_is_the_output_and_its_cost_is_exact(yard: Yard, claude: Claude):
    claude.plays({"say": "I look"}, {"say": "It is fixed"})
    task = await yard.enqueue("code", prompt="Fix it", max_cost_usd=1)

    await yard.drain(claude.worker())

    done = await yard.get(task.id)
    assert (done.result, await spent(yard, task.id)) == ("It is fixed", 2 * PRICE)
    assert claude.noted("prompt") == ["Fix it"]
    [options] = claude.noted("options")
    assert options[options.index("--max-budget-usd") + 1] == "1.0"


async def test_a_handler_may_be_a_plain_function(yard: Yard, claude: Claude):
    claude.plays({"say": "I look"}, {"say": "It is fixed"})
    worker = taskyard.Agent("claude")

    @worker.handles("code")
    def code(task: taskyard.SyncContext) -> Any:
        return asyncio.run(run(task, options=claude.options()))

    task = await yard.enqueue("code", prompt="Fix it")
    await yard.drain(worker)

    assert ((await yard.get(task.id)).result, await spent(yard, task.id)) == ("It is fixed", 2 * PRICE)


async def test_what_claudes_own_sum_has_beyond_its_answers_is_charged_once(yard: Yard, claude: Claude):
    claude.plays({"say": "I look", "searches": 0.01}, {"say": "It is fixed"})
    task = await yard.enqueue("code", prompt="Fix it")

    await yard.drain(claude.worker())

    assert await spent(yard, task.id) == 2 * PRICE + 10_000


async def test_a_second_conversation_of_an_attempt_may_spend_what_the_first_has_left(yard: Yard, claude: Claude):
    worker = taskyard.Agent("claude")

    @worker.handles("code")
    async def code(task: taskyard.Context) -> Any:
        await run(task, options=claude.options())
        (claude.folder / "script.turn").unlink()
        return await run(task, options=claude.options())

    claude.plays({"say": "I look"}, {"say": "It is fixed"})
    await yard.enqueue("code", prompt="Fix it", max_cost_usd=1)
    await yard.drain(worker)

    budgets = [float(each[each.index("--max-budget-usd") + 1]) for each in claude.noted("options")]
    assert budgets == [1.0, pytest.approx(1 - 2 * PRICE / 1e6)]


async def test_a_killed_claude_goes_on_with_its_session_on_another_machine(
    yard: Yard, claude: Claude, clock: ManualClock
):
    """The home folder of the second attempt is empty, as on another machine."""
    claude.plays(*({"say": f"step {each}"} for each in range(5)), {"die": True}, {"say": "step 5"}, {"say": "done"})
    task = await yard.enqueue("code", prompt="Fix it")

    await yard.drain(claude.worker())

    assert (await yard.get(task.id)).result == "done"
    assert claude.noted("resumed") == [[f"step {each}" for each in range(5)]]
    assert claude.noted("prompt") == ["Fix it", "Go on where you were cut off."]
    assert [each.cost for each in await yard.tasks.history(task.id)] == [5 * PRICE, 2 * PRICE]


async def test_a_rate_limit_parks_the_task_until_claudes_own_time(yard: Yard, claude: Claude):
    claude.plays({"say": "I look"}, {"limit": int(time()) + 3600}, {"say": "done"})
    task = await yard.enqueue("code", prompt="Fix it", max_attempts=1)

    await yard.drain(claude.worker())

    first, second = await yard.tasks.history(task.id)
    assert await outcomes(yard, task.id) == [("failed", "rate_limit", False), ("completed", None, False)]
    assert second.claimed_at - (first.ended_at or 0) > 3500 * SECOND
    assert (await spent(yard, task.id), claude.noted("prompt")[1]) == (2 * PRICE, "Go on where you were cut off.")


async def test_a_tool_that_needs_permission_waits_for_a_person_without_a_slot(yard: Yard, claude: Claude):
    claude.plays(
        {"say": "I look"}, {"tool": "Bash", "given": {"command": "make deploy"}, "say": "Deployed", "ends": True}
    )
    task = await yard.enqueue("code", prompt="Deploy it")

    await yard.drain(claude.worker())

    assert (await yard.get(task.id)).status is Status.PENDING
    (asked,) = await yard.approvals.list(task_id=task.id)
    assert asked.question is not None
    assert (asked.question.text, asked.question.context) == (
        "May Claude call Bash?",
        {"tool": "Bash", "arguments": {"command": "make deploy"}},
    )
    await yard.approvals.answer(task.id, asked.signal, {"approved": True})
    await yard.drain(claude.worker())

    assert (await yard.get(task.id)).result == "Deployed"
    assert claude.noted("tool") == [["Bash", "deny"], ["Bash", "allow"]]
    assert await spent(yard, task.id) == 2 * PRICE
    assert await outcomes(yard, task.id) == [("suspended", None, False), ("completed", None, False)]


async def test_the_run_is_one_trace_with_each_answer_of_the_model(
    yard: Yard, claude: Claude, spans: InMemorySpanExporter
):
    claude.plays({"say": "I look"}, {"say": "It is fixed"})
    await yard.enqueue("code", prompt="Fix it")

    await yard.drain(claude.worker())

    calls = traced_calls(spans)
    assert [call["gen_ai.usage.input_tokens"] for call in calls] == [1000, 1000]
    assert {call["taskyard.cost_usd"] for call in calls} == {PRICE / 1e6}


async def test_a_sub_agent_can_be_a_task_of_its_own_with_its_own_cost(yard: Yard, claude: Claude):
    claude.plays({"say": "The tests fail"}, {"say": "Fixed"})
    worker = claude.worker()

    @worker.handles("lead")
    async def lead(task: taskyard.Context) -> Any:
        return await task.spawn("code", prompt="Fix it", wait=True)

    task = await yard.enqueue("lead")
    await yard.drain(worker)

    (child,) = await yard.find(parent_id=task.id)
    assert (await yard.get(task.id)).result == "Fixed"
    assert (await spent(yard, task.id), await spent(yard, child.id)) == (0, 2 * PRICE)


async def test_a_tool_that_a_person_denies_is_not_used(yard: Yard, claude: Claude):
    claude.plays({"tool": "Bash", "given": {"command": "rm"}, "say": "no", "ends": True}, {"say": "Left alone"})
    task = await yard.enqueue("code", prompt="Clean up")
    await yard.drain(claude.worker())
    (asked,) = await yard.approvals.list(task_id=task.id)
    await yard.approvals.answer(task.id, asked.signal, {"approved": False, "comment": "never"})
    claude.plays({"tool": "Bash", "given": {"command": "rm"}, "say": "no"}, {"say": "Left alone"})

    await yard.drain(claude.worker())

    assert (await yard.get(task.id)).result == "Left alone"
    assert claude.noted("tool") == [["Bash", "deny"], ["Bash", "deny"]]


async def test_a_result_that_is_stored_is_not_asked_for_again(yard: Yard, claude: Claude, clock: ManualClock):
    """A crash between the result and the completion."""
    claude.plays({"say": "done"})
    worker, crashes = taskyard.Agent("claude"), [Crash()]

    @worker.handles("twice")
    async def twice(task: taskyard.Context) -> Any:
        result = await run(task, options=claude.options())
        if crashes:
            raise crashes.pop()
        return result

    task = await yard.enqueue("twice", prompt="Fix it")
    await yard.drain(worker)
    await lose_lease(yard, clock)
    await yard.drain(worker)

    assert ((await yard.get(task.id)).result, len(claude.noted("prompt"))) == ("done", 1)


async def test_what_claude_wrote_down_is_stored_before_its_turn_is_over(yard: Yard, claude: Claude):
    """What is stored only with the result would be paid for again where the worker dies before it."""
    stored, was_stored = asyncio.Event(), list[bool]()

    class Watched(TaskSessionStore):
        async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
            await super().append(key, entries)
            stored.set()

    async def may_use(*_: Any) -> PermissionResultAllow:
        with suppress(TimeoutError):
            await asyncio.wait_for(stored.wait(), 10)
        was_stored.append(stored.is_set())
        return PermissionResultAllow()

    worker = taskyard.Agent("claude")

    @worker.handles("code")
    async def code(task: taskyard.Context) -> Any:
        store = cast(SessionStore, Watched(task))
        return await run(task, options=replace(claude.options(), session_store=store, can_use_tool=may_use))

    claude.plays({"say": "I look"}, {"tool": "Bash", "given": {"command": "ls"}, "say": "Seen"})
    task = await yard.enqueue("code", prompt="Look")
    await yard.drain(worker)

    assert ((await yard.get(task.id)).result, was_stored) == ("Seen", [True])


async def test_an_entry_of_a_transcript_that_is_sent_again_comes_once(yard: Yard):
    key: SessionKey = {"project_key": "here", "session_id": "s"}
    said, unnamed = [{"type": "user", "uuid": f"u{number}"} for number in range(3)], [{"type": "mode"}] * 2
    loaded = list[Any]()
    worker = taskyard.Agent("claude")

    @worker.handles("code")
    async def code(task: taskyard.Context) -> None:
        store = TaskSessionStore(task)
        for entries in ([*said[:2], *unnamed], said[1:]):
            await store.append(key, cast(list[SessionStoreEntry], entries))
        loaded.extend(await store.load(key) or [])

    await yard.enqueue("code")
    await yard.drain(worker)

    assert loaded == [*said[:2], *unnamed, said[2]]


async def test_the_store_of_sessions_is_what_the_sdk_expects(yard: Yard):
    worker = taskyard.Agent("claude")

    @worker.handles("code")
    async def code(task: taskyard.Context) -> None:
        numbers = count()
        await run_session_store_conformance(lambda: cast(SessionStore, TaskSessionStore(task, f"{next(numbers)}")))

    task = await yard.enqueue("code")
    await yard.drain(worker)

    done = await yard.get(task.id)
    assert done.status is Status.COMPLETED, done.failure
