"""What an attempt writes while it works reaches those who follow the task over A2A, as artifacts that grow."""

from typing import Any

import httpx
import pytest
from a2a.types.a2a_pb2 import StreamResponse, SubscribeToTaskRequest
from google.protobuf.json_format import MessageToDict

from taskyard.app import Yard
from tests.a2a.clients import BINDINGS, client, data, get, heard, message, request, send, serving, state_of
from tests.mcp.crew import at_work


def _kinds(responses: list[StreamResponse]) -> list[str]:
    """What each response is, in short: a state, words in a state, or the artifact that it is about."""
    return [_kind(each) for each in responses]


def _kind(response: StreamResponse) -> str:
    match response.WhichOneof("payload"):
        case "artifact_update":
            return response.artifact_update.artifact.artifact_id
        case "status_update":
            update = response.status_update
            words = [part.text for part in update.status.message.parts if part.text]
            return f"{state_of(update)}: {words[0]}" if words else state_of(update)
        case _:
            return f"task {state_of(response.task)}"


def _assembled(responses: list[StreamResponse]) -> dict[str, list[Any]]:
    """What a client that follows the protocol has of each artifact in the end."""
    found: dict[str, list[Any]] = {}
    closed: set[str] = set()
    for update in (each.artifact_update for each in responses if each.HasField("artifact_update")):
        name = update.artifact.artifact_id
        assert name not in closed, f"{name} goes on after its last chunk"
        assert update.append == (name in found), f"{name} is begun once, and then appended to"
        parts = [
            part.text or MessageToDict(part.data)
            for part in update.artifact.parts
            if part.text or part.HasField("data")
        ]
        found[name] = [*found.get(name, []), *parts]
        if update.last_chunk:
            closed.add(name)
    assert closed == set(found)
    return found


@pytest.mark.parametrize("binding", BINDINGS)
async def test_what_attempts_write_comes_as_an_artifact_of_each_before_the_state_it_led_to(live: Yard, binding: str):
    await live.a2a.publish("write")
    async with serving(live) as url, client(url, binding=binding, streaming=True) as agent:
        stream = agent.send_message(request(message("a tale")))
        responses = [await anext(stream)]
        async with at_work(live):
            responses += [each async for each in stream]
            followed = agent.subscribe(SubscribeToTaskRequest(id=responses[0].task.id))
            asking = await anext(followed)
            await heard(agent, message(data("yes"), task_id=asking.task.id))
            answered = [each async for each in followed]
        seen = await get(agent, responses[0].task.id)

    kinds = _kinds(responses)
    assert kinds[0] == "task submitted"
    assert kinds[-1] == "input_required: write waits for approve."
    assert "working: the second half follows" in kinds
    assert kinds.index("working") < kinds.index("stream-1") < kinds.index("stream-2")
    assert _texts(_assembled(responses)) == {"stream-1": "Once ", "stream-2": "Once {'chapter': 'one'}upon a time."}
    assert _texts(_assembled(answered))["stream-3"] == "Once {'chapter': 'one'}upon a time.The end."
    assert _kinds(answered)[-2:] == ["output", "completed"]
    assert [each.artifact_id for each in seen.artifacts] == ["output"]


def _texts(artifacts: dict[str, list[Any]]) -> dict[str, str]:
    """Pieces that came together are one, so that only the whole can be compared."""
    return {name: "".join(map(str, parts)) for name, parts in artifacts.items() if name != "output"}


async def test_who_comes_late_gets_the_attempt_under_way_from_its_beginning(live: Yard):
    await live.a2a.publish("write")
    await live.agents.register("author", keep=True)
    async with serving(live) as url, client(url) as agent, client(url, streaming=True) as follower:
        begun = await send(agent, message("a tale"), at_once=True)
        (first,) = await live.claim("author", start=True)
        await live.streams.append(first.id, first.lease, [{"text": "lost"}])
        await live.release(first.id, first.lease)
        (held,) = await live.claim("author", start=True)
        await live.streams.append(held.id, held.lease, [{"text": "a"}, {"kind": "stdout", "text": "a log"}])
        stream = follower.subscribe(SubscribeToTaskRequest(id=begun.id))
        responses = [await anext(stream), await anext(stream)]
        await live.streams.append(held.id, held.lease, [{"text": "b"}, {"text": "c"}])
        responses += [await anext(stream), await anext(stream)]
        await live.complete(held.id, held.lease, {"words": 3})
        responses += [each async for each in stream]

    assert _kinds(responses) == ["task working", *["stream-2"] * 4, "output", "completed"]
    assert _texts(_assembled(responses)) == {"stream-2": "abc"}


async def test_output_before_the_end_is_followed_however_soon_the_end_came(live: Yard):
    await live.a2a.publish("write")
    await live.agents.register("author", keep=True)
    async with serving(live) as url, client(url, streaming=True) as follower:
        stream = follower.send_message(request(message("a tale")))
        responses = [await anext(stream)]
        (held,) = await live.claim("author", start=True)
        await live.attempts.message(held.id, held.lease, {"text": "nearly done"})
        await live.streams.append(held.id, held.lease, [{"text": "done"}])
        await live.complete(held.id, held.lease)
        responses += [each async for each in stream]

    kinds = _kinds(responses)
    assert "working: nearly done" in kinds
    assert _texts(_assembled(responses)) == {"stream-1": "done"}
    assert kinds[-1] == "completed"


async def test_a_client_of_the_version_before_gets_the_same_chunks(live: Yard):
    await live.a2a.publish("write")
    await live.agents.register("author", keep=True)
    sent = {"kind": "message", "messageId": "old", "role": "user", "parts": [{"kind": "text", "text": "a tale"}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": {"message": sent}}
    lines: list[str] = []
    async with (
        serving(live) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as network,
        network.stream("POST", "/a2a", json=body) as answer,
    ):
        async for line in answer.aiter_lines():
            if not line.startswith("data:"):
                continue
            lines.append(line)
            if len(lines) == 1:
                (held,) = await live.claim("author", start=True)
                await live.streams.append(held.id, held.lease, [{"text": "old"}])
                await live.complete(held.id, held.lease)

    updates = [line for line in lines if '"artifact-update"' in line.replace(" ", "")]
    assert '"old"' in updates[0]
    assert '"lastChunk":true' in updates[-1].replace(" ", "")
