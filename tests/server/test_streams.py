"""Streams over HTTP: pages, server-sent events that are resumed, and who may append."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any

import httpx
import pytest

import taskyard
from taskyard.api.stream_requests import AppendOf
from taskyard.client import streams as client_streams
from taskyard.core.json_value import Json
from taskyard.features.streams import rules
from taskyard.server import request
from taskyard.server.server import Server, served
from taskyard.stores import turns
from taskyard.stores.turns import QUIET, TURN, ShortCalls
from taskyard.yard import Yard
from tests.server.listeners import STREAM, calling, chunks
from tests.stores.redis.relay import Relay
from tests.yards import claim_that, given_a_running_task

SAID = 60
# A process of its own, which says one number after the other, each in a write of its own.
SPEAKER = """
import asyncio, sys, taskyard
async def main():
    async with taskyard.connect(sys.argv[1]) as yard:
        for number in range(int(sys.argv[4])):
            await yard.streams.append(sys.argv[2], sys.argv[3], [{"text": f"{number} "}])
        await yard.complete(sys.argv[2], sys.argv[3])
asyncio.run(main())
"""


@pytest.fixture
async def server(yard: Yard) -> AsyncIterator[Server]:
    async with served(yard) as server:
        yield server


async def read_some(client: httpx.AsyncClient, path: str, last: str | None, number: int) -> list[dict[str, Any]]:
    """So many messages, and then the connection is cut."""
    found: list[dict[str, Any]] = []
    headers = STREAM if last is None else {**STREAM, "Last-Event-ID": last}
    async with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200
        async for chunk in chunks(response):
            if "data" not in chunk:
                continue  # a sign of life
            found.append(chunk)
            if chunk.get("event") == "end" or len(found) == number:
                break
    return found


async def test_a_reader_that_is_cut_off_gets_every_chunk_of_another_process_once_and_in_order(
    yard: Yard, server: Server
):
    held = await given_a_running_task(yard)
    url = f"http://127.0.0.1:{server.port}"
    words = [sys.executable, "-c", SPEAKER, url, held.id, held.lease, str(SAID)]
    speaker = await asyncio.create_subprocess_exec(*words)
    got: list[dict[str, Any]] = []
    async with calling(server) as client, asyncio.timeout(60):
        while not got or got[-1].get("event") != "end":
            last = got[-1]["id"] if got else None
            got += await read_some(client, f"/api/tasks/{held.id}/stream", last, 7)
    assert await speaker.wait() == 0
    *said, end = got
    assert "".join(json.loads(each["data"])["text"] for each in said) == "".join(f"{n} " for n in range(SAID))
    assert [each["id"] for each in said] == [f"1-{n}" for n in range(len(said))]
    assert json.loads(end["data"]) == {"status": "completed"}


async def test_a_new_attempt_comes_as_restarted(yard: Yard, server: Server):
    held = await given_a_running_task(yard)
    await yard.streams.append(held.id, held.lease, [{"text": "one"}])
    await yard.release(held.id, held.lease)
    again = await claim_that(yard, held.id, start=True)
    await yard.streams.append(again.id, again.lease, [{"text": "two"}])
    await yard.complete(again.id, again.lease)
    async with calling(server) as client:
        heard = await read_some(client, f"/api/tasks/{held.id}/stream", None, 9)
    assert [(each.get("event"), each.get("id")) for each in heard] == [
        (None, "1-0"),
        ("restarted", "2-0"),
        ("end", None),
    ]


async def test_pages_are_read_on_from_where_they_end(yard: Yard, server: Server):
    held = await given_a_running_task(yard)
    async with calling(server) as client:
        body = {"lease": held.lease, "chunks": [{"text": "a"}, {"kind": "json", "data": [1]}], "request_id": "r1"}
        for _ in range(2):
            assert (await client.post(f"/api/tasks/{held.id}/stream", json=body)).json() == {"is_full": False}
        page = (await client.get(f"/api/tasks/{held.id}/stream", params={"limit": 1})).json()
        assert [each["text"] for each in page["chunks"]] == ["a"]
        rest = (await client.get(f"/api/tasks/{held.id}/stream", params={"after": page["after"]})).json()
        assert [each["data"] for each in rest["chunks"]] == [[1]]
        assert (rest["after"], rest["is_over"], rest["status"]) == ("1-1", False, "running")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"lease": "lease_x.1"}, 409),
        ({"chunks": []}, 422),
        ({"chunks": [{"kind": "progress", "data": 1}]}, 422),
        ({"chunks": [{"text": "x", "data": 1}]}, 422),
        ({"chunks": [{"text": 7}]}, 422),
    ],
)
async def test_a_bad_append_is_refused_alone_and_among_many(
    yard: Yard, server: Server, change: dict[str, Any], status: int
):
    held = await given_a_running_task(yard)
    good = {"lease": held.lease, "chunks": [{"text": "good"}]}
    async with calling(server) as client:
        answer = await client.post(f"/api/tasks/{held.id}/stream", json={**good, **change})
        assert answer.status_code == status, answer.text
        many = {"appends": [{"task_id": held.id, **good}, {"task_id": held.id, **good, **change}]}
        answers = await client.post("/api/tasks/stream", json=many)
    if answers.status_code == 200:
        assert ["error" in each for each in answers.json()["results"]] == [False, True]
        assert [each.text for each in (await yard.streams.page(held.id)).chunks] == ["good"]
    else:
        assert (answers.status_code, status) == (422, 422)
        assert (await yard.streams.page(held.id)).chunks == ()


async def test_a_remote_reader_follows_what_a_remote_worker_streams(yard: Yard, server: Server):
    agent = taskyard.Agent("remote")

    @agent.handles("write")
    async def write(task: taskyard.Context) -> None:
        for number in range(5):
            await task.stream(f"{number} ")

    async with taskyard.connect(f"http://127.0.0.1:{server.port}") as remote:
        tasks = [await remote.enqueue("write") for _ in range(3)]
        await remote.drain(agent)
        for task in tasks:
            said = [chunk.text async for chunk in remote.streams.follow(task.id)]
            assert "".join(said) == "0 1 2 3 4 "


async def test_a_remote_reader_asks_once_for_many_chunks(yard: Yard, server: Server):
    held = await given_a_running_task(yard)
    async with _relayed(server) as (relay, url), taskyard.connect(url) as remote, asyncio.timeout(60):
        reading = remote.streams.follow(held.id)
        for number in range(30):
            await yard.streams.append(held.id, held.lease, [{"text": f"{number}\u2028\n"}])
            assert (await anext(reading)).text == f"{number}\u2028\n"
        await yard.complete(held.id, held.lease)
        assert [chunk async for chunk in reading] == []
    assert relay.asked == 1


async def test_a_remote_reader_that_is_cut_off_goes_on_where_it_was(yard: Yard, server: Server):
    held = await given_a_running_task(yard)
    heard: list[str] = []
    async with _relayed(server) as (relay, url), taskyard.connect(url) as remote, asyncio.timeout(60):
        reading = remote.streams.follow(held.id)
        for number in range(20):
            await yard.streams.append(held.id, held.lease, [{"text": f"{number} "}])
            heard.append((await anext(reading)).text)
            if number % 5 == 4:
                relay.cut()
        await yard.complete(held.id, held.lease)
        heard += [chunk.text async for chunk in reading]
    assert heard == [f"{number} " for number in range(20)]
    assert 4 <= relay.asked <= 6


async def test_a_remote_reader_that_is_cut_off_before_anything_came_gets_all_that_comes(yard: Yard, server: Server):
    held = await given_a_running_task(yard)
    async with _relayed(server) as (relay, url), taskyard.connect(url) as remote, asyncio.timeout(60):
        reading = asyncio.create_task(_texts(remote, held.id))
        await relay.has_answered.wait()
        relay.cut()
        await yard.streams.append(held.id, held.lease, [{"text": "one "}])
        await yard.complete(held.id, held.lease)
        assert await reading == "one "


@pytest.mark.parametrize("most", [0, 1])
async def test_where_too_many_are_followed_the_rest_is_read_in_pages(
    yard: Yard, server: Server, monkeypatch: pytest.MonkeyPatch, most: int
):
    monkeypatch.setattr(client_streams, "MOST_FOLLOWED", most)
    held = await given_a_running_task(yard)
    async with taskyard.connect(f"http://127.0.0.1:{server.port}") as remote, asyncio.timeout(60):
        readers = [asyncio.create_task(_texts(remote, held.id)) for _ in range(3)]
        await yard.streams.append(held.id, held.lease, [{"text": "one "}])
        await yard.complete(held.id, held.lease)
        assert await asyncio.gather(*readers) == ["one "] * 3


async def _texts(yard: Yard, task_id: str) -> str:
    return "".join([chunk.text async for chunk in yard.streams.follow(task_id)])


class _Counting(Relay):
    """Counts how often a stream is asked for, and knows when a stream begins."""

    asked = 0

    def __init__(self, behind: int) -> None:
        super().__init__(behind)
        self.has_answered = asyncio.Event()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            self.asked += data.count(b"/stream")
            writer.write(data)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            if client_streams.EVENTS.encode() in data:
                self.has_answered.set()
        writer.close()


@asynccontextmanager
async def _relayed(server: Server) -> AsyncGenerator[tuple[_Counting, str]]:
    relay = _Counting(server.port)
    await relay.open()
    try:
        yield relay, f"http://127.0.0.1:{relay.port}"
    finally:
        await relay.close()


async def test_many_appends_of_one_call_let_others_in(yard: Yard, server: Server, monkeypatch: pytest.MonkeyPatch):
    held = await given_a_running_task(yard)
    made: list[str] = []
    read, understood = AppendOf.model_dump, rules.entries_of

    def noted_read(append: AppendOf, **how: Any) -> dict[str, Any]:
        made.append("read")
        return read(append, **how)

    def noted(chunks: Any) -> Any:
        made.append("understood")
        return understood(chunks)

    async def go_round() -> None:
        while True:
            made.append("others")
            await asyncio.sleep(0)

    monkeypatch.setattr(AppendOf, "model_dump", noted_read)
    monkeypatch.setattr(rules, "entries_of", noted)
    each: dict[str, Json] = {"task_id": held.id, "lease": held.lease}
    appends: list[Json] = [
        {**each, "request_id": str(number), "chunks": [{"text": f"{number} "}]} for number in range(5 * TURN)
    ]
    beside = asyncio.create_task(go_round())
    async with calling(server) as client:
        answer = await client.post("/api/tasks/stream", json={"appends": appends})
    beside.cancel()

    assert answer.json()["results"] == [{"is_full": False}] * 5 * TURN
    page = await yard.streams.page(held.id)
    assert [chunk.text for chunk in page.chunks] == [f"{number} " for number in range(5 * TURN)]
    for what in ("read", "understood"):
        in_a_row = [len(list(run)) for who, run in groupby(made) if who == what]
        assert (sum(in_a_row), max(in_a_row)) == (5 * TURN, TURN)


async def test_patient_appends_wait_for_short_calls_however_few_they_are(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(request, "PATIENCE_OF_STREAMS", 1_000_000)
    monkeypatch.setattr(turns, "PATIENCE", 0)  # that of other calls
    held, now = await given_a_running_task(yard), 0.0
    calls = ShortCalls(clock=lambda: now)
    awaited: dict[str, Json] = {"task_id": held.id, "lease": held.lease, "chunks": [{"text": "awaited"}]}
    patient: dict[str, Json] = {**awaited, "chunks": [{"text": "patient"}], "patient": True}
    async with served(yard, short_calls=calls) as server, calling(server) as client:
        with calls.call():
            appending = asyncio.create_task(client.post("/api/tasks/stream", json={"appends": [patient]}))
            both = await client.post("/api/tasks/stream", json={"appends": [awaited, {**patient, "request_id": "b"}]})
            assert both.json()["results"] == [{"is_full": False}] * 2  # one of them is waited for
            for _ in range(10):
                page = (await client.get(f"/api/tasks/{held.id}/stream")).json()
                assert [chunk["text"] for chunk in page["chunks"]] == ["awaited", "patient"]
            assert not appending.done()
        now += QUIET
        assert (await appending).json()["results"] == [{"is_full": False}]
    stored = await yard.streams.page(held.id)
    assert [chunk.text for chunk in stored.chunks] == ["awaited", "patient", "patient"]


async def test_appends_are_written_though_short_calls_never_end(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(request, "PATIENCE_OF_STREAMS", 0.003)
    held, calls = await given_a_running_task(yard), ShortCalls(clock=lambda: 0.0)
    each: dict[str, Json] = {"task_id": held.id, "lease": held.lease, "chunks": [{"text": "a"}], "patient": True}
    async with served(yard, short_calls=calls) as server, calling(server) as client:
        with calls.call():
            answer = await client.post("/api/tasks/stream", json={"appends": [each]})
    assert answer.json()["results"] == [{"is_full": False}]
