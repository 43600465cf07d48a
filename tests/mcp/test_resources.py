"""Resources, their updates, prompts and completion."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import PromptReference, ResourceTemplateReference, TextResourceContents

from taskyard.app import Yard
from tests.mcp.clients import MODES, http, serving, stdio
from tests.mcp.raw import Raw
from tests.yards import given_a_running_task, given_an_agent


async def text_at(client: Any, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_in_the_yard_can_be_read_by_address(live: Yard, mode: str):
    dag = await live.submit(
        {
            "tasks": [
                {"type": "plan", "name": "plan", "title": 'Plan"]; click'},
                {"type": "code", "name": "code", "depends_on": ["plan"]},
            ]
        }
    )
    artifact = await live.artifacts.put("notes.md", "# Notes")
    code = dag.tasks["code"].id
    async with serving(live) as url, http(url, mode=mode) as client:
        listed = {str(each.uri) for each in (await client.list_resources()).resources}
        templates = {each.uri_template for each in (await client.list_resource_templates()).resource_templates}
        overview = json.loads(await text_at(client, "yard://overview"))
        task = json.loads(await text_at(client, f"yard://tasks/{code}"))
        why = await text_at(client, f"yard://tasks/{code}/why")
        drawn = await text_at(client, f"yard://dags/{dag.id}")
        notes = await text_at(client, f"yard://artifacts/{artifact.id}")
        with pytest.raises(MCPError, match="not_found"):
            await client.read_resource("yard://tasks/task_01J8ZZZZZZZZZZZZZZZZZZZZZZ")

    assert listed == {"yard://overview", "yard://dead-letters"}
    assert "yard://dags/{id}" in templates
    assert (overview["approvals"], task["id"], notes) == (0, code, "# Notes")
    assert why.startswith("pending: waits for ")
    assert drawn.splitlines()[1] == '  t0["Plan··· click<br/>ready"]'
    assert "  t0 --> t1" in drawn.splitlines()


async def test_whoever_listens_hears_what_changed_and_nothing_else(live: Yard):
    held, other = await given_a_running_task(live), await live.enqueue("code")
    uri, unseen = f"yard://tasks/{held.id}", "yard://tasks/task_01J8ZZZZZZZZZZZZZZZZZZZZZZ"
    async with serving(live) as url, Listening(url, resourceSubscriptions=[uri, unseen]) as heard:
        acknowledged = await heard.next()
        await live.tasks.set_priority(other.id, 5)
        await live.complete(held.id, held.lease)
        told = await heard.next()

    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"]["notifications"] == {"resourceSubscriptions": [uri]}
    assert (told["method"], told["params"]["uri"]) == ("notifications/resources/updated", uri)


async def test_a_task_that_is_followed_is_pushed_as_it_changes(live: Yard):
    held = await given_a_running_task(live)
    handle = (await live.handles.create(held.id)).handle
    async with serving(live) as url, Listening(url, taskIds=[handle, "unknown"]) as heard:
        acknowledged = await heard.next()
        await live.complete(held.id, held.lease, {"done": True})
        told = await heard.next()

    assert acknowledged["params"]["notifications"] == {"taskIds": [handle]}
    assert told["method"] == "notifications/tasks"
    assert (told["params"]["taskId"], told["params"]["status"]) == (handle, "completed")
    assert told["params"]["result"]["structuredContent"]["output"] == {"done": True}


async def test_a_stream_ends_with_its_token(live: Yard):
    issued, held = await live.tokens.create("reader", "viewer"), await given_a_running_task(live)
    uri = f"yard://tasks/{held.id}"
    async with serving(live) as url, Listening(url, issued.text, resourceSubscriptions=[uri]) as heard:
        await heard.next()
        await live.tokens.revoke(issued.token.id)
        await live.complete(held.id, held.lease)
        last = await heard.next()

    assert "result" in last  # the stream's own end, and no word of the task


async def test_an_agent_hears_of_nothing_that_is_not_its_own(live: Yard):
    held = await given_a_running_task(live)
    token = (await live.tokens.create("bob", "agent", agent="bob")).text
    uris = [f"yard://tasks/{held.id}", "yard://overview"]
    async with serving(live) as url, Listening(url, token, resourceSubscriptions=uris) as heard:
        acknowledged = await heard.next()

    assert acknowledged["params"]["notifications"] == {}


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_sessions_of_the_protocol_before_hear_of_them_too(live: Yard, tmp_path: Any):
    updated = asyncio.Queue[str]()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            await updated.put(str(message.params.uri))

    async with stdio(f"sqlite:///{tmp_path / 'mine.db'}", mode="legacy", message_handler=hear) as client:
        await client.subscribe_resource("yard://overview")  # pyright: ignore[reportDeprecated]
        await client.call_tool("enqueue_task", {"type": "code"})
        async with asyncio.timeout(20):
            heard = await updated.get()

    assert heard == "yard://overview"


async def test_a_server_that_stops_ends_its_streams_in_good_order(live: Yard):
    async with serving(live) as url:
        listening = Listening(url, resourceSubscriptions=["yard://overview"])
        heard = await listening.__aenter__()
        await heard.next()
    last = await heard.next()
    await listening.__aexit__(None, None, None)

    assert "result" in last


async def test_prompts_are_filled_and_their_arguments_complete(live: Yard):
    await given_an_agent(live, "coder-1")
    await live.enqueue("code", tags=["red"])
    await live.enqueue("cook")
    async with serving(live) as url, http(url) as client:
        names = {each.name for each in (await client.list_prompts()).prompts}
        loop = await client.get_prompt("work_loop", {"agent": "coder-1"})
        types = await client.complete(PromptReference(name="work_loop"), {"name": "type", "value": "co"})
        agents = await client.complete(PromptReference(name="work_loop"), {"name": "agent", "value": ""})
        ids = await client.complete(
            ResourceTemplateReference(uri="yard://tasks/{id}"), {"name": "id", "value": "task_"}
        )
        with pytest.raises(MCPError, match="goal"):
            await client.get_prompt("plan_dag", {})

    assert names == {"work_loop", "plan_dag", "triage_dead_letters", "daily_report"}
    assert "'coder-1'" in str(loop.messages[0].content)
    assert (types.completion.values, agents.completion.values) == (["code", "cook"], ["coder-1"])
    assert len(ids.completion.values) == 2


async def test_a_worker_is_shown_neither_lists_nor_prompts_of_others(live: Yard):
    token = (await live.tokens.create("bob", "agent", agent="bob")).text
    async with serving(live) as url, http(url, token) as client:
        prompts = {each.name for each in (await client.list_prompts()).prompts}
        resources = (await client.list_resources()).resources
        types = await client.complete(PromptReference(name="work_loop"), {"name": "type", "value": ""})

    assert (prompts, resources, types.completion.values) == ({"work_loop"}, [], [])


class Listening:
    """A stream of `subscriptions/listen`, read by hand."""

    def __init__(self, url: str, token: str | None = None, **wanted: Any) -> None:
        self._raw, self._wanted = Raw(url, token), wanted
        self._client = httpx.AsyncClient(timeout=30)

    async def __aenter__(self) -> "Listening":
        request = self._raw.request(self._client, "subscriptions/listen", notifications=self._wanted)
        self._answer = await self._client.send(request, stream=True)
        self._lines = self._answer.aiter_lines()
        return self

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(20):
            async for line in self._lines:
                if line.startswith("data: "):
                    return json.loads(line.removeprefix("data: "))
        raise AssertionError("the stream has ended")

    async def __aexit__(self, *_: object) -> None:
        await self._answer.aclose()
        await self._client.aclose()
