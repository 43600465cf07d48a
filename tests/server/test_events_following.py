"""Who follows events hears all of what it asked for, once and in order, from wherever it begins."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any
from unittest.mock import Mock

import pytest

from taskyard.api.messages import Closing
from taskyard.ledger.clock import ManualClock
from taskyard.server.live import connections
from taskyard.server.live import feed as feeds
from taskyard.server.live import stream as streams
from taskyard.server.live.event_buffer import Interest
from taskyard.server.server import GRACE, Server, served
from taskyard.yard import Yard
from tests.server.listeners import STREAM, calling, chunks, listening, live, streamed, until
from tests.yards import given_a_running_task, given_an_agent

STORY = ["task.created", "task.claimed", "task.running", "task.completed"]


@pytest.fixture
async def server(yard: Yard) -> AsyncIterator[Server]:
    async with served(yard) as server:
        yield server


async def given_a_finished_task(yard: Yard, type_: str = "code") -> str:
    held = await given_a_running_task(yard, type_)
    await yard.complete(held.id, held.lease, {"done": True})
    return held.id


async def given_a_yard_that_forgot(yard: Yard, clock: ManualClock) -> None:
    """Its first events are no longer kept, and some later ones are."""
    await given_a_finished_task(yard)
    await yard.sweep()
    clock.advance(seconds=7 * 86_400 + 61)
    await yard.sweep()
    await given_a_finished_task(yard)


async def test_a_listener_hears_what_happens_in_both_vocabularies(yard: Yard, server: Server):
    await given_an_agent(yard)
    async with listening(server) as listener:
        await listener.subscribe()
        task_id = await given_a_finished_task(yard)

        told = await listener.events(4)

    assert [event["event"] for event in told] == STORY
    assert [event["type"] for event in told] == ["task:queued", "task:dispatch", "task:running", "task:completed"]
    assert {event["task_id"] for event in told} == {task_id}


async def test_what_a_listener_hears_is_what_a_reader_of_the_page_sees(yard: Yard, server: Server):
    await given_a_finished_task(yard)
    async with listening(server) as listener, calling(server) as client:
        await listener.subscribe(after=0)
        page = (await client.get("/api/events")).json()

        assert await listener.events(len(page["events"])) == page["events"]
        assert page["after"] == page["events"][-1]["seq"]


async def test_a_page_ends_where_the_next_begins(yard: Yard, server: Server):
    await given_a_finished_task(yard)
    everything = [stored.seq for stored in await yard.events()]
    read: list[int] = []
    after = 0
    async with calling(server) as client:
        while page := (await client.get("/api/events", params={"after": after, "limit": 2})).json()["events"]:
            read += [event["seq"] for event in page]
            after = read[-1]

    assert read == everything


FILTERS: list[tuple[dict[str, str], list[str]]] = [
    ({"event": "task.completed"}, ["task.completed"]),
    ({"event": "task.c*"}, ["task.created", "task.claimed", "task.completed"]),
    ({"type": "task:dispatch"}, ["task.claimed"]),
    ({"task_type": "code"}, STORY),
    ({"subject": "issue:7"}, STORY),
    ({"agent": "worker", "event": "task.c*"}, ["task.claimed", "task.completed"]),
    ({"task_id": "TASK"}, STORY),
    ({"dag_id": "DAG"}, STORY),
    ({"task_id": "TASK", "dag_id": "DAG", "type": "task:running", "event": "task.*"}, ["task.running"]),
]


@pytest.mark.parametrize(("wanted", "heard"), FILTERS, ids="-".join)
async def test_a_listener_hears_only_what_it_asked_for(
    yard: Yard, server: Server, wanted: dict[str, str], heard: list[str]
):
    held = await given_a_running_task(yard, subject="issue:7")
    names = {"TASK": held.id, "DAG": held.id.replace("task_", "dag_")}
    asked = {field: names.get(value, value) for field, value in wanted.items()}
    async with listening(server) as listener, calling(server) as client:
        await listener.subscribe(after=0, **asked)
        await yard.complete(held.id, held.lease)
        await given_a_finished_task(yard)
        page = (await client.get("/api/events", params=asked)).json()["events"]

        assert await listener.events(len(page)) == page
        assert "pong" in await listener.ask(action="ping")
    of_one = [event["event"] for event in page if event["task_id"] == held.id]
    assert of_one == heard
    assert (len(page) == len(of_one)) == bool({"TASK", "DAG", "issue:7"} & set(wanted.values()))


async def test_who_resumes_from_a_number_hears_everything_after_it(yard: Yard, server: Server):
    await given_a_finished_task(yard)
    everything = [stored.seq for stored in await yard.events()]
    async with listening(server) as listener:
        await listener.subscribe(after=everything[1])

        assert [event["seq"] for event in await listener.events(len(everything) - 2)] == everything[2:]


async def test_who_begins_in_the_future_hears_nothing_before_it(yard: Yard, server: Server):
    before = [await yard.enqueue("code") for _ in range(2)]
    first, second = [(await yard.events(task_id=task.id))[0].seq for task in before]
    gap = second - first  # of a store that leaves room between the events of two commits
    async with listening(server) as listener:
        await listener.subscribe(after=second + gap)
        await yard.enqueue("code")
        await yard.enqueue("code")

        assert [event["seq"] for event in await listener.events(1)] == [second + 2 * gap]


async def test_a_stream_resumes_where_a_browser_says_it_was(yard: Yard, server: Server):
    await given_a_finished_task(yard)
    everything = [stored.seq for stored in await yard.events()]
    headers = {**STREAM, "Last-Event-ID": str(everything[1])}
    async with calling(server) as client, client.stream("GET", "/api/events?after=0", headers=headers) as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        assert [event["seq"] for event in await streamed(stream, len(everything) - 2)] == everything[2:]


async def test_a_stream_has_only_the_subject_that_was_asked_for(yard: Yard, server: Server):
    await given_a_finished_task(yard)
    held = await given_a_running_task(yard, subject="issue:7")
    query = {"after": "0", "subject": "issue:7", "agent": "worker", "task_type": "code"}
    async with calling(server) as client, client.stream("GET", "/api/events", params=query, headers=STREAM) as stream:
        told = await streamed(stream, 2)

    assert [(event["event"], event["task_id"]) for event in told] == [
        ("task.claimed", held.id),
        ("task.running", held.id),
    ]
    assert {(event["subject"], event["agent"], event["task_type"]) for event in told} == {("issue:7", "worker", "code")}


async def test_a_stream_goes_on_with_what_happens_while_it_is_read(yard: Yard, server: Server):
    async with calling(server) as client, client.stream("GET", "/api/events", headers=STREAM) as stream:
        task_id = await given_a_finished_task(yard)
        wanted = [event for event in await streamed(stream, 5) if event["task_id"] == task_id]

    assert [event["event"] for event in wanted] == STORY


async def test_nothing_is_skipped_where_the_past_goes_over_into_the_present(
    yard: Yard, server: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(feeds, "CAUGHT_UP_AT_ONCE", 3)
    held = await given_a_running_task(yard)
    async with listening(server) as listener:
        await listener.subscribe("now", event="never")  # so that the feed runs, and has a past to be resumed from
        for number in range(20):
            await yard.attempts.message(held.id, held.lease, {"number": number})
        late = [Numbered(server, wanted) for wanted in ({}, {"task_id": held.id}, {"event": "task.message"})]
        hearing = [asyncio.create_task(each.hear(40)) for each in late]
        for number in range(20, 40):
            await yard.attempts.message(held.id, held.lease, {"number": number})

        assert await asyncio.gather(*hearing) == [list(range(40))] * len(late)


class Numbered:
    """A listener that comes late, and hears the numbers in the messages of a task."""

    def __init__(self, server: Server, wanted: dict[str, Any]) -> None:
        self._server = server
        self._wanted = wanted

    async def hear(self, number: int) -> list[int]:
        heard: list[int] = []
        async with listening(self._server) as listener:
            await listener.subscribe(after=0, **self._wanted)
            while len(heard) < number:
                (event,) = await listener.events(1)
                heard += [event["payload"]["number"]] if event["event"] == "task.message" else []
        return heard


async def test_one_connection_has_as_many_subscriptions_as_it_asks_for(yard: Yard, server: Server):
    async with listening(server) as listener:
        await listener.subscribe("ready", type="task:queued")
        await listener.subscribe("all", event="task.*")
        await yard.enqueue("code")
        heard = [(await listener.hear())["subscription"] for _ in range(2)]
        assert await listener.ask(action="unsubscribe", id="all") == {"unsubscribed": "all"}
        await yard.enqueue("code")

        assert sorted(heard) == ["all", "ready"]
        assert (await listener.hear())["subscription"] == "ready"
        assert list((await listener.ask(action="ping"))["pong"]) == ["ready"]


async def test_a_listener_that_wants_little_still_learns_how_far_it_is(yard: Yard, server: Server):
    async with listening(server) as listener:
        await listener.subscribe("breakers", event="breaker.opened")
        await listener.subscribe("all")
        await given_a_finished_task(yard)
        last = (await listener.events(5))[-1]["seq"]

        assert (await listener.ask(action="ping"))["pong"] == {"breakers": last, "all": last}


async def test_a_quiet_stream_shows_that_it_is_alive_and_where_to_resume(
    yard: Yard, server: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(streams, "QUIET", 0.05)
    await given_a_finished_task(yard)
    last = (await yard.events())[-1].seq
    async with calling(server) as client, client.stream("GET", "/api/events", headers=STREAM) as stream:
        sign = await anext(chunks(stream))

    assert sign == {"": "quiet", "id": str(last)}


async def test_who_comes_back_after_retention_learns_that_events_are_gone(
    yard: Yard, server: Server, clock: ManualClock
):
    await given_a_yard_that_forgot(yard, clock)
    oldest = await yard.store.pruned(yard.workspace) + 1
    async with listening(server) as listener, calling(server) as client:
        told = await listener.ask(action="subscribe", id="late", after=1)
        refused = [await client.get("/api/events?after=1", headers=headers) for headers in (STREAM, {})]

        assert (told["error"]["code"], told["subscription"]) == ("events_gone", "late")
        assert told["error"]["facts"] == {"oldest_seq": oldest}
        assert [each.status_code for each in refused] == [410, 410]
        assert await listener.subscribe(after=oldest - 1) == oldest - 1


async def test_who_goes_is_no_longer_listened_for(yard: Yard, server: Server):
    feed = await live(server).feed_of(yard)
    async with listening(server) as listener, calling(server) as client:
        await listener.subscribe()
        async with client.stream("GET", "/api/events", headers=STREAM):
            await until(lambda: len(list(feed.everyone())) == 2)
        await until(lambda: len(list(feed.everyone())) == 1)
    await until(lambda: not list(feed.everyone()))


async def test_a_server_that_stops_sends_everybody_home(yard: Yard):
    async with AsyncExitStack() as guests:
        async with asyncio.timeout(GRACE / 2), served(yard) as server:  # before the server would lose its patience
            silent = await guests.enter_async_context(listening(server))
            listener = await guests.enter_async_context(listening(server))
            await listener.subscribe()
            client = await guests.enter_async_context(calling(server))
            stream = await guests.enter_async_context(client.stream("GET", "/api/events", headers=STREAM))

        assert [(await each.farewell()).code for each in (silent, listener)] == [Closing.STOPPING] * 2
        assert [line async for line in stream.aiter_lines()] == []


async def test_events_are_read_while_somebody_listens_and_no_longer(
    yard: Yard, server: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connections, "UNHEARD", 0.0)
    monkeypatch.setattr(connections, "EVERY", 0.001)
    await given_an_agent(yard)
    async with listening(server) as listener:
        await listener.subscribe()
        feed = await live(server).feed_of(yard)
        for _ in range(5):
            await given_a_finished_task(yard)
            await listener.events(4)
        assert await live(server).feed_of(yard) is feed
    reading = f"taskyard events of {yard.workspace}"
    await until(lambda: reading not in {task.get_name() for task in asyncio.all_tasks()})

    read_to = feed.recent.head
    await given_a_finished_task(yard)
    async with listening(server) as listener:
        assert await listener.subscribe(after=read_to) == read_to
        assert [event["event"] for event in await listener.events(4)] == STORY
    assert feed.recent.head == read_to


async def test_who_still_reads_what_is_long_past_keeps_the_feed(yard: Yard, server: Server):
    feed = await live(server).feed_of(yard)
    late = feeds.Subscription(feed, Interest(), 0, Mock())  # it joins when it has read what is stored

    assert feed.unheard_for() == 0.0
    late.leave()
    await until(lambda: feed.unheard_for() > 0.0)
