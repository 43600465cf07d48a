"""The event log: every stored change is one event, in order, and a reader that comes back skips none."""

import asyncio
import json
from contextlib import aclosing
from itertools import pairwise

import pytest

from taskyard.api.codec import write
from taskyard.core.changes import StoredEvent
from taskyard.core.errors import IllegalTransition, InvalidInput, LeaseLost
from taskyard.core.transitions import GRAPH
from taskyard.core.units import to_iso
from taskyard.features.events import shared_reader
from taskyard.features.events.views import event_view
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import (
    bury,
    claim_all,
    dag_history,
    every_event,
    given_a_graph,
    several,
    task,
    work_off,
)
from tests.yards import (
    OpenYard,
    claim_that,
    elapse,
    events_of,
    given_a_claimed_task,
    given_a_running_task,
    given_an_agent,
)

STEPS = {(before, after) for edges in GRAPH.values() for before, to in edges.items() for after in to}


async def given_a_long_story(yard: Yard, clock: ManualClock) -> str:
    """A task that goes through everything that can happen to one."""
    held = await given_a_claimed_task(yard, fallback_models=["small"], max_attempts=3)
    await yard.release(held.id, held.lease)
    held = await claim_that(yard, held.id)
    await yard.start(held.id, held.lease)
    await yard.attempts.pin_session(held.id, held.lease, session_id="s1")
    await yard.attempts.checkpoint(held.id, held.lease, "plan", 1)
    await yard.signal(held.id, "weather")
    await yard.attempts.wait_for(held.id, held.lease, "ask", "approval")
    await yard.signal(held.id, "approval")
    await yard.tasks.set_priority(held.id, 1)
    held = await claim_that(yard, held.id, start=True)
    await yard.fail(held.id, held.lease, "crash")
    await elapse(yard, clock, 30)
    await bury(yard, await claim_that(yard, held.id, start=True))
    await yard.dead_letters.resolve(held.id, "escalate", by="human:ada")
    await yard.dead_letters.resolve(held.id, "retry", by="human:grace")
    held = await claim_that(yard, held.id, start=True)
    (child,) = await yard.tasks.spawn(held.id, held.lease, [task("child")], name="help", wait=True)
    await yard.cancel(child)
    held = await claim_that(yard, held.id, start=True)
    await yard.complete(held.id, held.lease)
    return held.id


async def test_every_change_of_a_task_is_one_event_and_follows_the_published_graph(yard: Yard, clock: ManualClock):
    told = await given_a_long_story(yard, clock)

    changes = [each.event for each in await yard.events(task_id=told) if each.event.version is not None]

    assert [event.version for event in changes] == list(range(1, (await yard.get(told)).version + 1))
    statuses = [event.status for event in changes]
    assert all(step in STEPS for step in pairwise(statuses))
    assert [event.event for event in changes] == [
        "task.created",
        "task.claimed",
        "task.released",
        "task.claimed",
        "task.running",
        "task.session",
        "task.signalled",
        "task.suspended",
        "task.signalled",
        "task.ready",
        "task.reprioritised",
        "task.running",
        "task.retrying",
        "task.ready",
        "task.running",
        "task.dead_lettered",
        "task.escalated",
        "task.revived",
        "task.running",
        "task.suspended",
        "task.ready",
        "task.running",
        "task.completed",
    ]


async def test_states_that_are_only_passed_through_are_named_in_the_event(yard: Yard):
    await given_an_agent(yard)
    waiting = await yard.enqueue("code", max_attempts=1)
    held = await claim_that(yard, waiting.id, start=True)
    await yard.fail(held.id, held.lease, "crash")

    created, running, dead = [json.loads(each.event.data or "") for each in await yard.events(task_id=waiting.id)]

    assert created["through"] == ["created", "pending"]
    assert running["through"] == ["claimed"]
    assert (dead["from"], dead["through"]) == ("running", ["failed"])


async def test_what_is_refused_or_only_kept_alive_is_no_event(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    before = await yard.events()
    clock.advance(seconds=10)

    await yard.heartbeat(held.id, held.lease, progress={"done": 0.5})
    with pytest.raises(LeaseLost):
        await yard.complete(held.id, "another lease")
    with pytest.raises(IllegalTransition):
        await yard.rerun(held.id)
    with pytest.raises(InvalidInput):
        await yard.enqueue("code", priority=101)

    assert await yard.events() == before


async def test_a_repeated_call_is_no_second_event(yard: Yard):
    held = await given_a_running_task(yard)
    for _ in range(3):
        await yard.complete(held.id, held.lease, {"same": True})

    assert (await events_of(yard, held.id)).count("task.completed") == 1


async def test_what_happens_in_one_step_is_reported_in_one_order(yard: Yard):
    """A completion, what it makes ready and the end of the graph: cause before effect."""
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("b", "a"))
    await work_off(yard)

    told = [(event.event, event.task_id) for event in await every_event(yard) if event.dag_id == dag.id]

    a, b = dag.tasks["a"].id, dag.tasks["b"].id
    assert told[3:] == [
        ("task.running", a),
        ("task.completed", a),
        ("task.ready", b),
        ("task.running", b),
        ("task.completed", b),
        ("dag.completed", None),
    ]


async def test_agents_and_breakers_have_their_events_too(yard: Yard):
    await given_an_agent(yard)
    await yard.agents.drain("worker")
    await yard.breakers.open("code")
    await yard.breakers.close("code")

    assert [event.event for event in await every_event(yard)] == [
        "agent.registered",
        "agent.draining",
        "breaker.opened",
        "breaker.closed",
    ]


async def test_an_event_is_shown_in_the_yards_words_and_in_those_of_multica(yard: Yard):
    waiting = await yard.enqueue("code")
    (stored,) = await yard.events()

    assert write(event_view(stored)) == {
        "seq": stored.seq,
        "at": to_iso(yard.now()),
        "type": "task:queued",
        "event": "task.created",
        "task_id": waiting.id,
        "dag_id": waiting.dag_id,
        "workspace": "default",
        "task_type": "code",
        "agent": None,
        "subject": None,
        "payload": {
            "through": ["created", "pending"],
            "type": "code",
            "by": "human:local",
            "status": "ready",
            "attempt": 0,
            "version": 1,
        },
    }


# Following


async def read(yard: Yard, count: int, *, after: int = 0) -> list[StoredEvent]:
    """The next events of a tail that is opened for them and closed again."""
    async with aclosing(yard.tail(after=after)) as tail:
        return [await anext(tail) for _ in range(count)]


async def test_a_tail_gives_what_is_there_and_then_what_comes(
    yard: Yard, open_yard: OpenYard, monkeypatch: pytest.MonkeyPatch
):
    """What another process does arrives by itself: the tail does not look again unasked."""
    monkeypatch.setattr(shared_reader, "IDLE", 600.0)
    monkeypatch.setattr("taskyard.server.live.feed.IDLE", 600.0)
    elsewhere = await open_yard()
    first = await yard.enqueue("code")
    tail = yard.tail()
    assert (await anext(tail)).event.task_id == first.id

    following = asyncio.ensure_future(anext(tail))
    second = await elsewhere.enqueue("code")

    async with asyncio.timeout(30):
        assert (await following).event.task_id == second.id


async def test_a_tail_begins_after_the_number_it_is_given(yard: Yard):
    tasks = [await yard.enqueue("code") for _ in range(3)]
    first, *_ = await yard.events()

    assert [each.event.task_id for each in await read(yard, 2, after=first.seq)] == [each.id for each in tasks[1:]]


async def test_a_reader_that_stops_and_comes_back_skips_nothing_while_many_write(yard: Yard, open_yard: OpenYard):
    await given_an_agent(yard)
    writers = await several(open_yard, 4)

    async def write(writer: Yard) -> None:
        for _ in range(10):
            dag = await given_a_graph(writer, task("a"), task("b", "a"), task("c", "a"))
            await writer.cancel(dag.tasks["b"].id)

    async def follow() -> list[StoredEvent]:
        seen: list[StoredEvent] = []
        while sum(each.event.event == "task.cancelled" for each in seen) < 40:
            seen += await read(yard, 3, after=seen[-1].seq if seen else 0)
        return seen

    following = asyncio.create_task(follow())
    await asyncio.gather(*(write(each) for each in writers))
    seen = await following

    # Read again at rest, the log is the same: nothing came in behind the reader.
    assert seen == (await yard.events())[: len(seen)]
    assert [each.seq for each in seen] == sorted({each.seq for each in seen})
    for dag in await yard.dags.list():
        assert await dag_history(yard, dag.id) == ["dag.created"]


async def test_events_of_one_task_are_in_the_order_of_its_versions_whoever_wrote_them(yard: Yard, open_yard: OpenYard):
    held = await given_a_running_task(yard)
    yards = await several(open_yard, 4)

    await asyncio.gather(*(each.signal(held.id, "tick", number) for each in yards for number in range(10)))

    versions = [each.event.version for each in await yard.events(task_id=held.id)]
    assert versions == list(range(1, 44))


async def test_a_page_of_events_goes_on_where_the_last_one_ended(yard: Yard):
    await given_an_agent(yard)
    await given_a_graph(yard, *(task(str(number)) for number in range(20)))
    await claim_all(yard, 20)
    whole = await yard.events()

    pages: list[StoredEvent] = []
    while page := await yard.events(after=pages[-1].seq if pages else 0, limit=7):
        assert len(page) <= 7
        pages += page

    assert pages == whole
