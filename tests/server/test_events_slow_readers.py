"""A reader that does not read is cut off, costs the others nothing, and misses nothing when it comes back."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from taskyard.api.messages import Closing
from taskyard.features.tasks.views import Held
from taskyard.server import server as serving
from taskyard.server.live import connections, event_buffer, socket
from taskyard.server.live.feed import LiveFeed
from taskyard.server.server import Server, served
from taskyard.yard import Yard
from tests.server.crowd import join
from tests.server.listeners import STREAM, Listener, calling, chunks, listening, live, until
from tests.yards import given_a_running_task

TEXT = "x" * 200_000
MOST = 200  # messages: more than the network between two sockets holds


@pytest.fixture
async def server(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    monkeypatch.setattr(event_buffer, "MOST_BYTES", 4 * len(TEXT))
    async with served(yard) as server:
        yield server


@pytest.fixture
async def feed(server: Server, yard: Yard, monkeypatch: pytest.MonkeyPatch) -> LiveFeed:
    monkeypatch.setattr(connections, "UNHEARD", 600.0)  # who listens may have to be connected first
    return await live(server).feed_of(yard)


async def talk_until_there_are(listeners: int, yard: Yard, held: Held, feed: LiveFeed) -> int:
    """Say more and more until only so many still listen; how much was said."""
    for said in range(1, MOST + 1):
        await yard.attempts.message(held.id, held.lease, {"number": said, "text": TEXT})
        if len(list(feed.everyone())) == listeners:
            return said
    raise AssertionError("nobody was cut off")


async def heard_until_cut_off(listener: Listener) -> list[dict[str, Any]]:
    heard: list[dict[str, Any]] = []
    while True:
        try:
            heard += await listener.events(1)
        except ConnectionClosed:
            return heard


def numbers(events: list[dict[str, Any]]) -> list[int]:
    return [event["payload"]["number"] for event in events]


async def test_a_slow_reader_is_cut_off_and_misses_nothing_when_it_resumes(yard: Yard, server: Server, feed: LiveFeed):
    held = await given_a_running_task(yard)
    wanted = {"task_id": held.id, "event": "task.message"}
    async with listening(server) as quick:
        await quick.subscribe(**wanted)
        async with listening(server, is_tight=True) as slow:
            await slow.subscribe(**wanted)
            hearing = asyncio.create_task(quick.events(MOST))
            said = await talk_until_there_are(1, yard, held, feed)

            before = await heard_until_cut_off(slow)
            farewell = await slow.farewell()

        # Any number from that of the last event to before that of the next one will do.
        reason, _, last = farewell.reason.rpartition(" ")
        assert (farewell.code, reason) == (Closing.TOO_SLOW, "too slow: connect again, and resume after")
        assert int(last) >= before[-1]["seq"]
        async with listening(server) as resumed:
            await resumed.subscribe(after=int(last), **wanted)
            after = await resumed.events(said - len(before))
        assert numbers(before + after) == list(range(1, said + 1))

        for number in range(said, MOST):
            await yard.attempts.message(held.id, held.lease, {"number": number + 1})
        assert numbers(await hearing) == list(range(1, MOST + 1))


async def test_a_slow_stream_ends_and_is_resumed_where_it_ended(yard: Yard, server: Server, feed: LiveFeed):
    held = await given_a_running_task(yard)
    path = f"/api/events?task_id={held.id}&event=task.message"
    async with calling(server) as client:
        async with client.stream("GET", path, headers=STREAM) as slow:
            await until(lambda: bool(list(feed.everyone())))
            said = await talk_until_there_are(0, yard, held, feed)
            before = [int(chunk["id"]) async for chunk in chunks(slow)]
        async with client.stream("GET", path, headers={**STREAM, "Last-Event-ID": str(before[-1])}) as resumed:
            after: list[int] = []
            async for chunk in chunks(resumed):
                after.append(int(chunk["id"]))
                if len(before) + len(after) == said:
                    break

    stored = await yard.events(task_id=held.id)
    assert before + after == [each.seq for each in stored if each.event.event == "task.message"]


async def test_a_reader_that_never_reads_is_hung_up_on(
    yard: Yard, server: Server, feed: LiveFeed, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(socket, "LEAVING", 0.1)
    monkeypatch.setattr(serving, "HANGING_UP", 2)
    held = await given_a_running_task(yard)
    member = await join(server.port, task_id=held.id)
    member.transport.pause_reading()
    await talk_until_there_are(0, yard, held, feed)

    await until(lambda: not server.server_state.connections)
    member.transport.abort()


async def test_what_is_kept_for_listeners_is_bounded(yard: Yard, server: Server, feed: LiveFeed):
    held = await given_a_running_task(yard)
    for _ in range(20):
        await yard.attempts.message(held.id, held.lease, {"text": TEXT})
    last = (await yard.events())[-1].seq
    await until(lambda: feed.recent.head == last)

    assert sum(len(entry.text) for entry in feed.recent.since(0)) < event_buffer.MOST_BYTES + 2 * len(TEXT)
