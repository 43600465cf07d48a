"""Over HTTP an agent waits for what it could claim, and nobody waits in its name."""

import asyncio
from typing import Any

import httpx
import pytest

from taskyard.app import connect
from taskyard.server.server import served
from taskyard.yard import Yard
from tests.server.calling import calling
from tests.yards import given_an_agent


async def wait(client: httpx.AsyncClient, **asked: Any) -> httpx.Response:
    return await client.get("/api/changed", params={"wait_sec": 20, **asked})


async def test_a_claim_says_from_where_to_wait_and_whether_it_took_all(yard: Yard):
    await given_an_agent(yard, "ada", max_concurrent_tasks=2)
    await yard.enqueue("code")
    async with calling(yard) as client:
        answers = [(await client.post("/api/tasks/claim", json={"agent_id": "ada", "count": 5})).json()]
        await yard.enqueue_many([{"type": "code"}] * 2)
        answers += [(await client.post("/api/tasks/claim", json={"agent_id": "ada", "count": 5})).json()]

    assert [(len(answer["tasks"]), answer["took_all"]) for answer in answers] == [(1, True), (1, False)]
    assert answers[0]["mark"] != answers[1]["mark"]


async def test_the_wait_ends_for_what_the_agent_may_claim(yard: Yard):
    await given_an_agent(yard, "ada", types=["code"])
    await yard.enqueue_many([{"type": "review"}, {"type": "code", "queue": "third"}])  # what is new is looked at by all
    async with calling(yard) as client:
        claim = (await client.post("/api/tasks/claim", json={"agent_id": "ada", "queues": ["default"]})).json()
        asked = {"agent_id": "ada", "queues": ["default", "other"], "mark": claim["mark"], "took_all": True}
        waiting = asyncio.create_task(wait(client, **asked))
        for queue, type_ in (("default", "review"), ("third", "code")):
            mark = await yard.mark()
            await yard.enqueue(type_, queue=queue)
            await wait(client, mark=mark)
        assert not waiting.done()
        await yard.enqueue("code", queue="other")

        assert (await asyncio.wait_for(waiting, 15)).json()["mark"] != claim["mark"]


async def test_nobody_waits_in_the_name_of_an_agent_that_the_token_is_not_for(yard: Yard):
    await given_an_agent(yard, "ada", type="coder")
    token = (await yard.tokens.create("t", "agent", agent="mallory")).text
    async with calling(yard, token) as client:
        assert (await wait(client, agent_id="ada")).status_code == 403
        assert (await wait(client, mark="")).status_code == 200


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"agent_id": "nobody"}, 404),
        ({"agent_id": ""}, 422),
        ({"agent_id": "ada", "took_all": "perhaps"}, 422),
        ({"agent_id": "ada", "queue": "default"}, 422),
    ],
)
async def test_what_is_asked_wrongly_is_refused_at_once(yard: Yard, asked: dict[str, str], status: int):
    await given_an_agent(yard, "ada")
    async with calling(yard) as client:
        assert (await wait(client, **asked)).status_code == status


async def test_a_client_of_the_server_waits_alike(yard: Yard):
    await given_an_agent(yard, "ada", types=["code"])
    await yard.enqueue("review")  # what is new is looked at by all
    async with served(yard) as server, connect(f"http://127.0.0.1:{server.port}") as remote:
        claimed = await remote.attempts.claim_marked("ada", queues=["default"], types=["code"])
        assert (claimed.tasks, claimed.took_all) == ([], True)
        wait_for_work = remote.attempts.wait_for_work
        waiting = asyncio.create_task(
            wait_for_work("ada", claimed.mark, 60, queues=["default"], types=["code"], took_all=True)
        )
        mark = await yard.mark()
        await yard.enqueue("review")
        await remote.changed(mark, 30)
        assert not waiting.done()
        await yard.enqueue("code")

        await asyncio.wait_for(waiting, 30)
