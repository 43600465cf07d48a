"""`taskyard mcp` in a process of its own, as a client starts it.

To start it takes longer than all that is asked of it: each test, and each mode of the first one, meets one store.
"""

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

import taskyard
from tests.mcp.clients import MODES, answer_of, names_of_tools, stdio, text_of
from tests.mcp.conftest import SERVED
from tests.storage import give_back, take, url_of


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    take(request.param, tmp_path)
    yield url_of(request.param, tmp_path)
    give_back(request.param, tmp_path)


@pytest.mark.parametrize(("mode", "url"), list(zip(MODES, cycle(SERVED))), indirect=["url"])
async def test_a_client_puts_a_task_in_claims_it_and_finishes_it(url: str, mode: str):
    async with stdio(url, "--agent", "coder-1", mode=mode) as client:
        task = answer_of(await client.call_tool("enqueue_task", {"type": "code", "prompt": "Fix the test"}))
        held = answer_of(await client.call_tool("claim_task", {"types": ["code"]}))
        mine = {"task_id": held["task_id"], "lease": held["lease"]}
        spent = {"tokens_input": 1000, "tokens_cache_read": 600, "tokens_output": 100, "model": "gpt-4o"}
        answer_of(await client.call_tool("heartbeat", {**mine, "progress": 0.5, "note": "half way", **spent}))
        answer_of(await client.call_tool("complete_task", {**mine, "output": {"diff": "+1"}}))
        ended = answer_of(await client.call_tool("wait_for_task", {"task_id": task["id"]}))

    assert (held["task_id"], held["prompt"], held["agent"]) == (task["id"], "Fix the test", "coder-1")
    assert (ended["status"], ended["output"]) == ("completed", {"diff": "+1"})
    async with taskyard.connect(url) as yard:
        stored = await yard.get(task["id"])
        assert (stored.result, stored.agent, stored.created_by) == ({"diff": "+1"}, "coder-1", "human:local")
        assert (stored.cost, stored.tokens_used.input) == (2750, 1000)  # 600 of them at the price of cached ones


@pytest.mark.parametrize("url", SERVED[:1], indirect=True)
async def test_the_role_says_which_tools_are_shown(url: str):
    async with stdio(url, "--role", "worker") as client:
        shown = await names_of_tools(client)
        refused = await client.call_tool("enqueue_task", {"type": "code"})

    assert {"claim_task", "complete_task", "ask_human"} <= shown
    assert shown.isdisjoint({"enqueue_task", "resolve_dead_letter", "pause_queue"})
    assert refused.is_error
    assert text_of(refused).startswith("forbidden: ")
    async with taskyard.connect(url) as yard:
        assert await yard.find() == []


@pytest.mark.parametrize("url", SERVED[-1:], indirect=True)
async def test_what_the_yard_refuses_is_an_answer_with_its_code_and_its_sentence(url: str):
    async with stdio(url) as client:
        wrong = await client.call_tool("complete_task", {"task_id": "task_01M7JRNCJFTEA40YPNH6MT1GBH", "lease": "no"})
        unread = await client.call_tool("find_tasks", {"limit": 51})
        unknown = await client.call_tool("enqueue_task", {"type": "code", "promt": "misspelt"})

    assert wrong.is_error
    assert text_of(wrong).startswith("not_found: ")
    assert text_of(unread).startswith("invalid_input: Correct limit: ")
    assert text_of(unknown).startswith("invalid_input: Correct promt: ")
