"""Tasks that many callers put in at one moment go to the server together, and each caller has its own answer."""

import asyncio
from typing import Any

import pytest

from taskyard.api import calls
from taskyard.api.calls import Call
from taskyard.client.transport.connection import Connection
from taskyard.core.errors import InvalidInput
from taskyard.features.tasks.result_views import Enqueued
from taskyard.yard import Yard
from tests.client.proxies import Cutting


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """What the client asks its server for."""
    found: list[Call] = []
    ask = Connection.ask

    async def noted(self: Connection, call: Call, *given: Any, **named: Any) -> Any:
        found.append(call)
        return await ask(self, call, *given, **named)

    monkeypatch.setattr(Connection, "ask", noted)
    return found


async def test_those_of_one_moment_are_one_request(local: Yard, remote: Yard, asked: list[Call]):
    made = await asyncio.gather(*(remote.enqueue("code", payload={"number": each}) for each in range(20)))

    assert asked == [calls.ENQUEUE_MANY]
    assert all(task.created for task in made)
    assert [task.payload["number"] for task in made] == list(range(20))
    assert {task.id for task in made} == {task.id for task in await local.find(limit=100)}


async def test_a_lone_one_is_asked_for_as_ever(remote: Yard, asked: list[Call]):
    await remote.enqueue("code")

    assert asked == [calls.ENQUEUE]


async def test_what_is_wrong_with_one_is_reported_to_it_alone_and_by_its_own_name(local: Yard, remote: Yard):
    answers = await asyncio.gather(
        remote.enqueue("code"), remote.enqueue("code", priority=101), remote.enqueue("code"), return_exceptions=True
    )

    assert [type(each) for each in answers] == [Enqueued, InvalidInput, Enqueued]
    assert isinstance(answers[1], InvalidInput)
    assert answers[1].facts["field"] == "priority"
    assert (await local.tasks.stats())["ready"] == {"code": 2}


async def test_one_that_is_wrong_does_not_make_all_others_go_alone(local: Yard, remote: Yard, asked: list[Call]):
    drafts: list[dict[str, Any]] = [{"priority": 101} if each == 21 else {} for each in range(64)]

    answers = await asyncio.gather(*(remote.enqueue("code", **each) for each in drafts), return_exceptions=True)

    assert [place for place, answer in enumerate(answers) if isinstance(answer, InvalidInput)] == [21]
    assert len(asked) <= 1 + 2 * 6, "the halves of 64, down to the one"
    assert (await local.tasks.stats())["ready"] == {"code": 63}


async def test_of_one_key_one_is_made_and_all_get_it(local: Yard, remote: Yard):
    made = await asyncio.gather(*(remote.enqueue("code", idempotency_key="once") for _ in range(5)))

    assert len({task.id for task in made}) == 1
    assert sum(task.created for task in made) == 1
    assert (await local.tasks.stats())["ready"] == {"code": 1}


async def test_several_that_depend_on_others_may_come_at_one_moment(remote: Yard):
    first = await remote.enqueue("code")

    made = await asyncio.gather(*(remote.enqueue("code", depends_on=[first.id]) for _ in range(3)))

    assert all(task.created for task in made)


async def test_where_their_answer_is_lost_each_is_there_once(local: Yard, shaky: Yard, proxy: Cutting):
    proxy.to_lose = 2
    made = await asyncio.gather(*(shaky.enqueue("code") for _ in range(6)))

    assert proxy.lost == 2
    assert all(task.created for task in made)
    assert {task.id for task in made} == {task.id for task in await local.find(limit=100)}
    assert len(await local.find(limit=100)) == 6
