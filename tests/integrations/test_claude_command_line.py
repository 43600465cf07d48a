"""Claude's own command line, which the SDK brings, as a worker: it asks an endpoint of the test, not a provider."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import AgentDefinition, AssistantMessage, ClaudeAgentOptions, Message, SystemMessage

import taskyard
from taskyard.app import Yard
from taskyard.integrations.claude import run
from tests.integrations.anthropic_endpoint import Endpoint, endpoint
from tests.integrations.conftest import outcomes, spent

PRICE = 4_500  # micro-dollars for 1,000 tokens read and 100 written by Claude Sonnet 4.5: 3 and 15 dollars a million


@pytest.fixture(autouse=True)
def _no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests run in may be an agent itself."""
    for name in ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def worker_of(
    served: Endpoint, folder: Path, on_message: Callable[[Message], object] | None = None, **options: Any
) -> taskyard.Agent:
    """Each attempt has a home of its own, as on another machine."""
    worker, homes = taskyard.Agent("claude"), count()

    @worker.handles("code")
    async def code(task: taskyard.Context) -> Any:
        home = folder / f"home-{next(homes)}"
        home.mkdir()
        environment = {
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / "claude"),
            "ANTHROPIC_BASE_URL": served.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        model = "claude-sonnet-4-5"
        given = ClaudeAgentOptions(env=environment, cwd=folder, model=model, **options)
        return await run(task, options=given, on_message=on_message)

    return worker


async def test_a_tool_that_needs_permission_waits_for_a_person_and_each_answer_is_paid_for_once(
    yard: Yard, tmp_path: Path
):
    made = tmp_path / "made"
    touch = {"command": f"touch {made}", "description": "Make a file"}
    with endpoint(touch, touch, "It is done") as served:
        worker = worker_of(served, tmp_path)
        task = await yard.enqueue("code", prompt="Make it")
        await yard.drain(worker)
        (asked,) = await yard.approvals.list(task_id=task.id)
        assert asked.question is not None
        assert (asked.question.context, made.exists()) == ({"tool": "Bash", "arguments": touch}, False)

        await yard.approvals.answer(task.id, asked.signal, {"approved": True})
        await yard.drain(worker)

    assert ((await yard.get(task.id)).result, made.exists(), len(served.heard)) == ("It is done", True, 3)
    assert await outcomes(yard, task.id) == [("suspended", None, False), ("completed", None, False)]
    assert [each.cost for each in await yard.tasks.history(task.id)] == [PRICE, 2 * PRICE]
    assert [each.tokens.output for each in await yard.tasks.history(task.id)] == [100, 200]


async def test_a_rate_limit_parks_the_task_and_the_session_goes_on_elsewhere(yard: Yard, tmp_path: Path):
    with endpoint({"command": "echo hello", "description": "Greet"}, 429, "It is done") as served:
        task = await yard.enqueue("code", prompt="Greet", max_attempts=1)
        await yard.drain(worker_of(served, tmp_path, allowed_tools=["Bash"]))

    assert (await yard.get(task.id)).result == "It is done"
    assert await outcomes(yard, task.id) == [("failed", "rate_limit", False), ("completed", None, False)]
    assert "Go on where you were cut off" in served.heard[-1]
    assert await spent(yard, task.id) == 2 * PRICE


@pytest.mark.parametrize(("kind", "cost"), [(SystemMessage, 0), (AssistantMessage, 3_015)])
async def test_a_session_of_which_nothing_was_kept_begins_again(
    yard: Yard, tmp_path: Path, kind: type[Message], cost: int
):
    """The attempt has named its session, and has ended before its transcript was stored. What was read is paid for."""
    crashes = [RuntimeError("crash")]

    def on_message(message: Message) -> None:
        if crashes and isinstance(message, kind):
            raise crashes.pop()

    with endpoint("Hello", "Hello") as served:
        task = await yard.enqueue("code", prompt="Greet", retry={"strategy": "immediate"})
        await yard.drain(worker_of(served, tmp_path, on_message))

    assert (await yard.get(task.id)).result == "Hello"
    assert [each.cost for each in await yard.tasks.history(task.id)] == [cost, PRICE]


async def test_the_answers_of_a_sub_agent_are_counted_with_all_their_tokens(yard: Yard, tmp_path: Path):
    """Its messages have the tokens of their beginning, and its last answer is no message at all."""
    lead = {"description": "Look", "prompt": "Look", "subagent_type": "scout", "run_in_background": False}
    scout = AgentDefinition(description="looks", prompt="Look around", model="claude-sonnet-4-5")
    with endpoint(lead, {"command": "echo hello", "description": "Look"}, "Seen", "It is done") as served:
        task = await yard.enqueue("code", prompt="Look")
        await yard.drain(worker_of(served, tmp_path, agents={"scout": scout}, allowed_tools=["Bash"]))

    assert ((await yard.get(task.id)).result, len(served.heard)) == ("It is done", 4)
    assert [each.tokens.output for each in await yard.tasks.history(task.id)] == [400]
    assert await spent(yard, task.id) == 4 * PRICE


async def test_a_conversation_that_is_too_long_is_not_tried_again(yard: Yard, tmp_path: Path):
    with endpoint(400) as served:
        task = await yard.enqueue("code", prompt="Read", max_attempts=3)
        await yard.drain(worker_of(served, tmp_path))

    assert [each[1] for each in await outcomes(yard, task.id)] == ["context_length"]


async def test_a_message_may_be_larger_than_a_mebibyte(yard: Yard, tmp_path: Path):
    with endpoint({"command": f"true {'x' * (1 << 20)}", "description": "Long"}, "It is done") as served:
        task = await yard.enqueue("code", prompt="Write", max_attempts=1)
        await yard.drain(worker_of(served, tmp_path, allowed_tools=["Bash"]))

    assert (await yard.get(task.id)).result == "It is done"


async def test_a_worker_that_is_killed_takes_the_command_line_with_it(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'yard.db'}"
    async with taskyard.connect(url, sweeps=False) as yard:
        await yard.enqueue("code", prompt="Greet")
    with endpoint(None) as served:
        words = [sys.executable, "-m", "tests.integrations.claude_host", url, served.url, str(tmp_path)]
        worker = subprocess.Popen(words)  # noqa: ASYNC220 - it is killed
        try:
            assert await asyncio.to_thread(served.asked.wait, 60)
        finally:
            worker.kill()
            worker.wait()

        assert await asyncio.to_thread(served.hung_up.wait, 30)
