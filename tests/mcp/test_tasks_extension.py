"""The Tasks extension: tool calls that are tasks of the yard, followed by clients that others wrote."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp_tasks.client import ToolTask
from fastmcp_tasks.client import call_tool_task as call_task  # pyright: ignore[reportUnknownVariableType]

from taskyard.app import Yard
from tests.mcp.clients import answer_of, http, serving
from tests.mcp.crew import at_work
from tests.mcp.raw import EXTENSION, Raw


@asynccontextmanager
async def fastmcp(url: str, token: str | None = None, **options: Any) -> AsyncGenerator[Client[Any]]:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with Client(StreamableHttpTransport(url, headers=headers), **options) as client:
        yield client


async def call_tool_task(client: Client[Any], tool: str, given: dict[str, Any], **options: Any) -> ToolTask:
    return await cast(Any, call_task)(client, tool, given, **options)


async def agrees(message: str, *_: Any) -> dict[str, Any]:
    return {"approved": True, "comment": message}


async def state_of(task: ToolTask, wanted: str) -> Any:
    return await task.wait(state=wanted, timeout=30)


async def suspended(yard: Yard, times: int) -> None:
    """Wait until tasks have been suspended so often."""
    async with asyncio.timeout(30):
        async for stored in yard.tail():
            times -= stored.event.event == "task.suspended"
            if not times:
                return


async def test_a_call_is_followed_to_its_end_and_the_user_is_asked_on_the_way(live: Yard):
    async with serving(live) as url, at_work(live), fastmcp(url, elicitation_handler=agrees) as client:
        done = await client.call_tool("run_task", {"type": "deploy", "title": "Deploy 1.2"})

    output = {"answer": {"approved": True, "comment": "Deploy 1.2 waits for approve."}}
    assert done.structured_content is not None
    assert (done.structured_content["status"], done.structured_content["output"]) == ("completed", output)
    (task,) = await live.find()
    assert (await live.get(task.id)).result == output


async def test_each_wait_of_a_task_has_a_key_of_its_own(live: Yard):
    asked: list[str] = []

    async def answers(message: str, *_: Any) -> dict[str, Any]:
        asked.append(message)
        return {"approved": len(asked) == 1}

    async with serving(live) as url, at_work(live), fastmcp(url, elicitation_handler=answers) as client:
        done = await client.call_tool("run_task", {"type": "twice"})

    assert len(asked) == 2
    assert done.structured_content is not None
    assert done.structured_content["output"] == {"first": {"approved": True}, "second": {"approved": False}}


async def test_a_handle_cannot_be_guessed_and_is_good_for_no_other_workspace(live: Yard):
    mine = (await live.tokens.create("ci", "orchestrator")).text
    theirs = (await live.beside("theirs").tokens.create("ci", "admin")).text
    async with serving(live) as url, fastmcp(url, mine) as client:
        task = await call_tool_task(client, "run_task", {"type": "deploy"})
        (stored,) = await live.find()
        raw = Raw(url, theirs)
        foreign = await raw.ask("tasks/get", taskId=task.task_id)
        by_id = await Raw(url, mine).ask("tasks/get", taskId=stored.id)
        own = await Raw(url, mine).ask("tasks/get", taskId=task.task_id)

    assert len(task.task_id) == 32
    assert (foreign["error"]["code"], by_id["error"]["code"]) == (-32602, -32602)
    assert own["result"]["status"] == "working"


async def test_a_client_that_has_not_declared_the_extension_gets_no_task(live: Yard):
    async with serving(live) as url, http(url) as client:
        waited = answer_of(await client.call_tool("run_task", {"type": "deploy", "wait_sec": 0}))
        refused = await Raw(url, extensions={}).ask("tasks/get", taskId="unknown")

    assert (waited["ended"], waited["status"]) == (False, "ready")
    assert "no agent" in waited["why"]
    assert refused["error"]["code"] == -32021
    assert EXTENSION in refused["error"]["data"]["requiredCapabilities"]["extensions"]


async def test_a_dead_letter_is_an_answer_that_is_an_error_and_stays_one(live: Yard):
    async with serving(live) as url, at_work(live), fastmcp(url) as client:
        task = await call_tool_task(client, "run_task", {"type": "fail"}, raise_on_error=False)
        died = await task.result()
        (stored,) = await live.find()
        await live.dead_letters.resolve(stored.id, "cancel", by="human:ann")
        again = await call_tool_task(client, "run_task", {"type": "fail"}, raise_on_error=False)
        await again.result()
        revived = (await live.find())[0]
        await live.dead_letters.resolve(revived.id, "retry", by="human:ann")
        later = await again.status()

    assert died.is_error
    assert "auth_failure" in str(died.structured_content)
    assert later.status == "completed"
    assert later.result is not None
    assert later.result["isError"] is True


async def test_cancelling_is_polite_and_final(live: Yard):
    async with serving(live) as url, at_work(live), fastmcp(url, elicitation_handler=agrees) as client:
        task = await call_tool_task(client, "run_task", {"type": "deploy"})
        asks = await state_of(task, "input_required")
        await task.cancel()
        await task.cancel()
        status = await task.status()
        late = await Raw(url).ask("tasks/update", taskId=task.task_id, inputResponses=_answers(asks))

    assert status.status == "cancelled"
    assert "error" not in late


async def test_an_answer_is_for_its_own_wait_and_no_later_one(live: Yard):
    """A client that sends its answer twice, for the first may be lost, has said nothing of the second question."""
    async with serving(live) as url, at_work(live), fastmcp(url, elicitation_handler=agrees) as client:
        task = await call_tool_task(client, "run_task", {"type": "twice"})
        first = _answers(await state_of(task, "input_required"))
        raw = Raw(url)
        sent = [raw.ask("tasks/update", taskId=task.task_id, inputResponses=first) for _ in range(5)]
        await asyncio.gather(*sent)
        await raw.ask("tasks/update", taskId=task.task_id, inputResponses={**first, "unknown": {"action": "accept"}})
        await suspended(live, 2)
        second = await state_of(task, "input_required")
        (stored,) = await live.find()
        await task.cancel()

    assert second.input_requests is not None
    assert second.input_requests.keys().isdisjoint(first)
    assert (await live.get(stored.id)).status.value == "cancelled"


async def test_a_header_that_names_another_task_is_refused(live: Yard):
    async with serving(live) as url, fastmcp(url) as client:
        task = await call_tool_task(client, "run_task", {"type": "deploy"})
        wrong = await Raw(url).ask("tasks/get", {"mcp-name": "another"}, taskId=task.task_id)
        right = await Raw(url).ask("tasks/get", {"mcp-name": task.task_id}, taskId=task.task_id)

    assert wrong["error"]["code"] == -32602
    assert right["result"]["taskId"] == task.task_id


def _answers(status: Any) -> dict[str, Any]:
    return {key: {"action": "accept", "content": {"approved": True}} for key in status.input_requests}
