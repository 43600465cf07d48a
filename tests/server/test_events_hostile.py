"""Whatever is said to the WebSocket is answered with a problem or not at all, and harms nobody else."""

import os
from collections.abc import AsyncIterator

import pytest
from websockets.exceptions import ConnectionClosed

from taskyard.server.live import socket
from taskyard.server.server import Server, served
from taskyard.yard import Yard
from tests.server.listeners import Listener, calling, listening

HOSTILE: dict[str, str | bytes] = {
    "nothing": "",
    "no JSON": "{",
    "no object": "[]",
    "a number": "1e999",
    "not a number": '{"action": NaN}',
    "a key twice": '{"action": "ping", "action": "ping"}',
    "bytes": b'{"action": "ping"}',
    "no action": "{}",
    "another action": '{"action": "destroy"}',
    "an action that is no text": '{"action": ["ping"]}',
    "too deep": '{"action": ' + "[" * 10_000 + "]" * 10_000 + "}",
    "a field too many": '{"action": "ping", "loudly": true}',
    "no id": '{"action": "subscribe"}',
    "an empty id": '{"action": "subscribe", "id": ""}',
    "a long id": '{"action": "subscribe", "id": "' + "x" * 65 + '"}',
    "an id that is no text": '{"action": "subscribe", "id": 1}',
    "a NUL": '{"action": "subscribe", "id": "\\u0000"}',
    "half a character": '{"action": "subscribe", "id": "\\ud800"}',
    "a number below none": '{"action": "subscribe", "id": "a", "after": -1}',
    "a number beyond all": '{"action": "subscribe", "id": "a", "after": 1' + "0" * 30 + "}",
    "a number that is text": '{"action": "subscribe", "id": "a", "after": "1"}',
    "a task that is none": '{"action": "subscribe", "id": "a", "task_id": "task_ or 1=1"}',
    "no such subscription": '{"action": "unsubscribe", "id": "a"}',
}


@pytest.fixture
async def server(yard: Yard) -> AsyncIterator[Server]:
    async with served(yard) as server:
        yield server


async def is_well(listener: Listener) -> bool:
    return await listener.ask(action="ping") == {"pong": {}}


async def test_what_makes_no_sense_is_refused_and_the_conversation_goes_on(server: Server):
    codes: dict[str, str] = {}
    async with listening(server) as listener:
        for name, message in HOSTILE.items():
            await listener.connection.send(message)
            codes[name] = (await listener.hear())["error"]["code"]

        assert await is_well(listener)
    unknown = {"a task that is none", "no such subscription"}
    assert codes == {name: "not_found" if name in unknown else "invalid_input" for name in HOSTILE}


@pytest.mark.parametrize("message", ["x" * 70_000, os.urandom(70_000)], ids=["text", "bytes"])
async def test_a_message_that_is_too_long_ends_the_conversation(server: Server, message: str | bytes):
    async with listening(server) as listener, listening(server) as neighbour:
        await listener.connection.send(message)

        assert (await listener.farewell()).code == 1009
        assert await is_well(neighbour)


async def test_a_message_in_many_pieces_is_too_long_all_the_same(server: Server):
    async with listening(server) as listener:
        with pytest.raises(ConnectionClosed):
            await listener.connection.send(["x" * 1000] * 10_000)
        assert (await listener.farewell()).code == 1009


async def test_a_name_is_taken_once_and_subscriptions_are_counted(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket, "MOST_SUBSCRIPTIONS", 2)
    async with listening(server) as listener:
        await listener.subscribe("one")
        again = await listener.ask(action="subscribe", id="one")
        await listener.subscribe("two")
        third = await listener.ask(action="subscribe", id="three")

    assert [answer["error"]["facts"]["field"] for answer in (again, third)] == ["id", "id"]


QUERIES = ["after=-1", "after=x", f"after={2**60}", "limit=0", "limit=501", "task_id=", "colour=red", "after=1&after=2"]


@pytest.mark.parametrize("query", QUERIES)
async def test_a_page_of_events_is_asked_for_soundly_or_refused(server: Server, query: str):
    async with calling(server) as client:
        assert (await client.get(f"/api/events?{query}")).json()["code"] == "invalid_input"


async def test_a_number_to_resume_from_that_is_none_is_refused(server: Server):
    async with calling(server) as client:
        refused = await client.get("/api/events", headers={"Last-Event-ID": "yesterday"})

    assert refused.json()["code"] == "invalid_input"
