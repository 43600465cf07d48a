"""A server that is killed between taking a message and being asked about its task has lost nothing."""

from pathlib import Path

import pytest

from taskyard.app import connect
from tests.a2a.clients import client, data, get, message, output_of, send, state_of
from tests.mcp.conftest import SERVED
from tests.mcp.crew import at_work
from tests.mcp.test_kills import server
from tests.storage import give_back, take, url_of


@pytest.mark.parametrize("store", SERVED)
async def test_a_task_that_was_answered_with_is_found_after_the_server_was_killed(store: str, tmp_path: Path):
    take(store, tmp_path)
    url, sent = url_of(store, tmp_path), message("the shop")
    async with connect(url) as yard:
        await yard.a2a.publish("deploy")
    async with server(url) as address, client(address.removesuffix("/mcp")) as agent:
        begun = await send(agent, sent, at_once=True)
    async with connect(url) as yard, server(url) as address, client(address.removesuffix("/mcp")) as agent:
        found, again = await get(agent, begun.id), await send(agent, sent, at_once=True)
        async with at_work(yard):
            asked = await send(agent, sent)
            done = await send(agent, message(data({"approved": True}), task_id=begun.id))
        verified = await yard.verify()

    assert state_of(found) == "submitted"
    assert begun.id == found.id == again.id == asked.id
    assert output_of(done) == {"answer": {"approved": True}}
    assert verified.ok, str(verified)
    give_back(store, tmp_path)
