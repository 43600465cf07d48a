"""What one token's flood costs the others: it pays for what its calls carry, and large batches are made in turns."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import pytest
from pydantic import TypeAdapter

import taskyard
from taskyard.api.calls import BATCH, CALLS
from taskyard.core import dag as dags
from taskyard.core.errors import InvalidInput
from taskyard.features.tasks.creation import drafts
from taskyard.features.tasks.creation.drafts import Drafter, Drafts
from taskyard.features.tasks.creation.growth_limits import MOST_IN_A_BATCH
from taskyard.server import request
from taskyard.server.access.limiter import Limiter, OneAtATime, Rate
from taskyard.server.request import LARGE_BATCH
from taskyard.server.server import served
from taskyard.stores import turns
from taskyard.stores.turns import LONG_TURN, SHORT, TURN, ShortCalls, giving_way, in_turns
from taskyard.yard import Yard
from tests.server.calling import client_of

TEN = Rate(per_sec=0.1, burst=10)


def tasks(number: int) -> dict[str, Any]:
    return {"tasks": [{"type": "code", "dedup": "none"}] * number}


async def test_a_call_costs_what_it_carries_and_only_who_makes_it_pays(yard: Yard):
    ann, bob = [(await yard.tokens.create(name, "orchestrator")).text for name in ("ann", "bob")]
    async with served(yard, calls=Limiter(TEN)) as server:
        async with client_of(server.port, ann) as client:
            first = await client.post("/api/tasks/batch", json=tasks(20))
            after = await client.get("/api/stats")
        async with client_of(server.port, bob) as other:
            others = [(await other.get("/api/stats")).status_code for _ in range(10)]

    assert (first.status_code, after.status_code, after.json()["code"]) == (201, 429, "too_many_requests")
    # Ten too many were sent, and a tenth of one comes back in a second.
    assert 100 < int(after.headers["retry-after"]) <= 120
    assert others == [200] * 10


CLAIM = ("/api/tasks/claim", {"agent_id": "coder", "count": 20})
MOVED = ("/api/tasks/bulk", {"action": "priority", "priority": 1, "filter": {"type": ["code"]}})
LOOKED_AT = ("/api/tasks/bulk", {"action": "cancel", "dry_run": True, "filter": {"type": ["code"]}})


@pytest.mark.parametrize("call", [CLAIM, MOVED, LOOKED_AT])
async def test_a_call_that_comes_to_many_costs_as_many(yard: Yard, call: tuple[str, dict[str, Any]]):
    await yard.agents.register("coder", max_concurrent_tasks=20)
    await yard.enqueue_many(tasks(20)["tasks"])
    ann = (await yard.tokens.create("ann", "admin")).text
    async with served(yard, calls=Limiter(TEN)) as server, client_of(server.port, ann) as client:
        first = await client.post(call[0], json=call[1])
        after = await client.get("/api/stats")

    assert (first.status_code, after.status_code) == (200, 429)
    assert 100 < int(after.headers["retry-after"]) <= 120


async def test_claims_that_come_to_nothing_cost_one_each(yard: Yard):
    await yard.agents.register("coder", max_concurrent_tasks=20)
    ann = (await yard.tokens.create("ann", "admin")).text
    async with served(yard, calls=Limiter(TEN)) as server, client_of(server.port, ann) as client:
        answers = [(await client.post(CLAIM[0], json=CLAIM[1])).status_code for _ in range(11)]

    assert answers == [200] * 10 + [429]


async def test_of_batches_sent_at_once_no_more_are_made_than_there_is_room_for(yard: Yard):
    token = (await yard.tokens.create("ann", "orchestrator")).text
    async with served(yard, calls=Limiter(TEN)) as server, client_of(server.port, token) as client:
        sent = [client.post("/api/tasks/batch", json=tasks(20)) for _ in range(5)]
        answers = [answer.status_code for answer in await asyncio.gather(*sent)]

    assert sorted(answers) == [201, 429, 429, 429, 429]
    assert len(await yard.find()) == 20


def test_every_call_that_takes_a_batch_says_what_it_carries():
    assert [name for name, call in CALLS.items() if (call.bounds is BATCH) != (call.carries is not None)] == []


async def test_a_batch_has_a_bound_on_every_door(yard: Yard):
    many = tasks(MOST_IN_A_BATCH + 1)
    with pytest.raises(InvalidInput, match="1000") as refused:
        await yard.enqueue_many(many["tasks"])
    async with served(yard) as server, client_of(server.port) as client:
        answer = await client.post("/api/tasks/batch", json=many)
        async with taskyard.connect(f"http://127.0.0.1:{server.port}") as remote:
            with pytest.raises(InvalidInput, match="1000"):
                await remote.enqueue_many(many["tasks"])

    assert refused.value.facts["field"] == answer.json()["facts"]["field"] == "tasks"
    assert (answer.status_code, await yard.find()) == (422, [])


async def test_of_a_large_batch_the_item_at_fault_is_named(yard: Yard):
    many = tasks(4 * TURN)
    many["tasks"][3 * TURN] = {"type": 5}
    async with served(yard) as server, client_of(server.port) as client:
        answer = await client.post("/api/tasks/batch", json=many)

    assert (answer.status_code, answer.json()["facts"]["field"]) == (422, f"tasks.{3 * TURN}.type")
    assert await yard.find() == []


async def test_large_batches_of_one_token_are_made_one_at_a_time():
    calls, made = OneAtATime(), list[str]()
    go_on = asyncio.Event()

    async def call(caller: str, number: int) -> None:
        async with calls.turn(caller):
            made.append(f"{caller} {number}")
            await go_on.wait()

    waiting = [asyncio.create_task(call(caller, number)) for number in (1, 2) for caller in ("ann", "bob")]
    for _ in range(5):
        await asyncio.sleep(0)
    assert made == ["ann 1", "bob 1"]
    go_on.set()
    await asyncio.gather(*waiting)
    assert sorted(made) == ["ann 1", "ann 2", "bob 1", "bob 2"]


async def test_a_large_batch_waits_for_the_one_of_its_token_that_is_under_way(yard: Yard):
    ann, bob = [await yard.tokens.create(name, "orchestrator") for name in ("ann", "bob")]
    turns, large = OneAtATime(), tasks(2 * LARGE_BATCH)
    async with (
        served(yard, large_calls=turns) as server,
        client_of(server.port, ann.text) as client,
        client_of(server.port, bob.text) as other,
    ):
        async with turns.turn(ann.token.id):
            waiting = asyncio.create_task(client.post("/api/tasks/batch", json=large))
            short = await client.post("/api/tasks/batch", json=tasks(LARGE_BATCH))
            anothers = await other.post("/api/tasks/batch", json=large)
            assert not waiting.done()
        answers = [short, anothers, await waiting]

    assert [answer.status_code for answer in answers] == [201, 201, 201]


async def test_a_large_batch_lets_others_in_while_it_is_checked(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []
    validate = TypeAdapter[Any].validate_python

    def noted(adapter: TypeAdapter[Any], value: Any, /, **more: Any) -> Any:
        if isinstance(value, dict):
            made.append("item" if "type" in value else "body")
        return validate(adapter, value, **more)

    monkeypatch.setattr(TypeAdapter, "validate_python", noted)
    async with served(yard) as server, client_of(server.port) as client:
        beside = asyncio.create_task(go_round(made))
        answer = await client.post("/api/tasks/batch", json=tasks(5 * TURN))
        beside.cancel()

    in_a_row = [len(list(run)) for who, run in groupby(made) if who == "item"]
    assert (answer.status_code, sum(in_a_row)) == (201, 5 * TURN)
    assert max(in_a_row) <= TURN


async def go_round(made: list[str]) -> None:
    """Note each turn that others have of the loop."""
    while True:
        made.append("others")
        await asyncio.sleep(0)


@pytest.mark.parametrize("way", ["enqueue_many", "submit"])
async def test_a_large_batch_lets_others_in_while_it_is_made(yard: Yard, way: str, monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []
    draft = Drafter.draft

    def noted(*args: Any, **more: Any) -> Any:
        made.append("draft")
        return draft(*args, **more)

    monkeypatch.setattr(Drafter, "draft", noted)
    beside = asyncio.create_task(go_round(made))
    rows = tasks(5 * TURN)
    await (yard.enqueue_many(rows["tasks"]) if way == "enqueue_many" else yard.submit(rows))
    beside.cancel()

    in_a_row = [len(list(run)) for who, run in groupby(made) if who == "draft"]
    assert sum(in_a_row) == 5 * TURN
    assert max(in_a_row) <= TURN


async def test_a_large_dag_lets_others_in_while_it_is_named_and_measured(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []

    def note(owner: Any, method: str, what: str) -> None:
        called = getattr(owner, method)

        def noted(*args: Any, **more: Any) -> Any:
            made.append(what)
            return called(*args, **more)

        monkeypatch.setattr(owner, method, noted)

    note(Drafts, "_name_of", "name")
    note(Drafter, "draft", "draft")
    note(dags, "heights", "heights")
    note(drafts, "common_fields", "row")
    beside = asyncio.create_task(go_round(made))
    await yard.submit(tasks(3 * LONG_TURN))
    beside.cancel()

    runs = [(who, len(list(run))) for who, run in groupby(made)]
    steps = [run for run in runs if run[0] != "others"]
    assert [run for run in steps if run[0] == "name"] == [("name", LONG_TURN)] * 3
    assert steps.index(("heights", 1)) == steps.index(("row", LONG_TURN)) - 1
    place = runs.index(("heights", 1))
    assert [who for who, _ in runs[place - 2 : place + 3]] == ["draft", "others", "heights", "others", "row"]


async def let_others_go_on() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_between_its_turns_a_large_call_lets_short_ones_end():
    calls, made = ShortCalls(), list[int]()

    async def large() -> None:
        with giving_way(calls):
            await in_turns(made.append, range(2 * TURN))

    with calls.call():
        under_way = asyncio.create_task(large())
        await let_others_go_on()
        assert len(made) == TURN
    await under_way
    assert len(made) == 2 * TURN


async def test_a_large_call_does_not_give_way_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "PATIENCE", 0.003)
    calls, made = ShortCalls(clock=lambda: 0.0), list[int]()
    with calls.call(), giving_way(calls):
        await in_turns(made.append, range(2 * TURN))

    assert len(made) == 2 * TURN


def test_a_call_that_has_waited_for_long_is_not_given_way_to():
    now = 0.0
    calls = ShortCalls(clock=lambda: now)
    with calls.call():
        assert calls.are_under_way
        now = 1.1 * SHORT
        assert not calls.are_under_way
        with calls.call() as is_large:
            assert calls.are_under_way
            is_large()
            assert not calls.are_under_way


async def test_only_a_large_batch_gives_way_and_short_calls_are_counted(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "PATIENCE", 1_000_000)
    calls = ShortCalls(clock=lambda: 0.0)
    async with served(yard, short_calls=calls) as server, client_of(server.port) as client:
        with calls.call():
            large = asyncio.create_task(client.post("/api/tasks/batch", json=tasks(2 * LARGE_BATCH)))
            small = await client.post("/api/tasks/batch", json=tasks(LARGE_BATCH))
            assert (small.status_code, len(await yard.find(limit=200))) == (201, LARGE_BATCH)
            assert not large.done()
        assert (await large).status_code == 201
    assert not calls.are_under_way


async def test_only_a_token_that_puts_large_batches_in_rests_for_others(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    rests: list[bool] = []

    @contextmanager
    def noted(calls: ShortCalls, **asked: bool) -> Generator[None]:
        rests.append(asked["rests"])
        with giving_way(calls, **asked):
            yield

    monkeypatch.setattr(request, "giving_way", noted)
    results = {"results": [{"task_id": "task_none", "lease": "none"}] * (2 * LARGE_BATCH)}
    async with served(yard) as server, client_of(server.port) as anybody:
        assert (await anybody.post("/api/tasks/batch", json=tasks(2 * LARGE_BATCH))).status_code == 201
    token = (await yard.tokens.create("ann", "admin")).text
    async with served(yard) as server, client_of(server.port, token) as client:
        assert (await client.post("/api/tasks/batch", json=tasks(2 * LARGE_BATCH))).status_code == 201
        assert (await client.post("/api/dags", json=tasks(2 * LARGE_BATCH))).status_code == 201
        assert (await client.post("/api/tasks/complete", json=results)).status_code == 200
        assert (await client.post("/api/tasks/batch", json=tasks(LARGE_BATCH))).status_code == 201

    assert rests == [False, True, True, False]
