"""Hints between processes: that they come, what they say, how many they are, and what is done where none come."""

import asyncio
import json
import os
import signal
from typing import Any

import asyncpg
import pytest

from taskyard.core.task import LaneId
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.connection import notify_channel
from taskyard.stores.postgres.connection.address import parse_address
from taskyard.stores.postgres.connection.pool import LISTENER
from taskyard.stores.postgres.connection.wakeup import NOTHING, Wakeup
from taskyard.stores.postgres.fast.claim_cursors import ClaimCursors
from taskyard.stores.postgres.statements import statements
from tests.stores.given import a_lane, given_a_task, lane_of
from tests.stores.plans import a_plan
from tests.stores.postgres.conftest import Gate


def listening(gate: Gate) -> str:
    """Connections of this yard that listen, have heard themselves, and looked whether anything came before they did."""
    return f"from pg_stat_activity where application_name = '{LISTENER}' and query like '%{gate.schema}.log_seq%'"


@pytest.fixture
def by_hints_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once hints come, nobody looks."""
    monkeypatch.setattr(notify_channel, "_POLL_EVERY", 3600.0)


async def waiting(store: PostgresStore, gate: Gate) -> asyncio.Task[int]:
    """Somebody waits, and listens."""
    task = asyncio.create_task(store.changed(await store.changed(0, 0), 60))
    await gate.until(f"select count(*) {listening(gate)}", 1)
    return task


async def test_a_hint_wakes_who_waits(store: PostgresStore, other: PostgresStore, gate: Gate, by_hints_alone: None):
    woken = await waiting(store, gate)

    await given_a_task(other)

    await asyncio.wait_for(woken, 30)


async def test_hints_come_again_after_the_listening_connection_was_cut(
    store: PostgresStore, other: PostgresStore, gate: Gate, by_hints_alone: None
):
    woken = await waiting(store, gate)
    lost = await gate.ask(f"select pid {listening(gate)}")
    await gate.ask("select pg_terminate_backend($1)", lost)
    await gate.until(f"select count(*) {listening(gate)} and pid <> {lost}", 1)

    await given_a_task(other)

    await asyncio.wait_for(woken, 30)


async def test_a_listening_connection_that_is_dead_without_a_word_is_noticed(
    store: PostgresStore, other: PostgresStore, gate: Gate, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(notify_channel, "_POLL_EVERY", 0.1)
    monkeypatch.setattr(notify_channel, "_ANSWER_WITHIN", 0.5)
    woken = await waiting(store, gate)
    silent: int = await gate.ask(f"select pid {listening(gate)}")
    os.kill(silent, signal.SIGSTOP)

    try:
        await given_a_task(other)
        await asyncio.wait_for(woken, 30)
    finally:
        os.kill(silent, signal.SIGCONT)


async def test_a_claim_is_not_woken_for_lanes_it_cannot_take(
    store: PostgresStore, other: PostgresStore, gate: Gate, by_hints_alone: None
):
    theirs = await lane_of(store, a_lane(type="theirs"))
    plan = await a_plan(store)
    anything = await waiting(store, gate)
    mine = asyncio.create_task(store.changed(await store.changed(0, 0), 60, plan))

    await given_a_task(other, lane=theirs)
    await asyncio.wait_for(anything, 30)
    assert not mine.done()

    await given_a_task(other)
    await asyncio.wait_for(mine, 30)


async def test_a_claim_does_not_look_again_for_what_came_to_other_lanes_before_it_waited(
    store: PostgresStore, gate: Gate, by_hints_alone: None
):
    theirs = await lane_of(store, a_lane(type="theirs"))
    plan = await a_plan(store)
    anything = await waiting(store, gate)
    mark = await store.changed(0, 0)
    await given_a_task(store, lane=theirs)
    await asyncio.wait_for(anything, 30)

    mine = asyncio.create_task(store.changed(mark, 60, plan))
    await given_a_task(store, lane=theirs)
    assert not mine.done()

    await given_a_task(store)
    await asyncio.wait_for(mine, 30)


async def test_the_first_hint_is_sent_at_once_and_the_rest_are_gathered(
    store: PostgresStore,
    other: PostgresStore,
    gate: Gate,
    mine: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
):
    lanes = [await lane_of(other, a_lane(type=f"type {number}")) for number in range(5)]
    monkeypatch.setattr(notify_channel, "_FIRST_PAUSE", 1.0)
    await other.close()  # so that nothing of this is still to be told
    hints: asyncio.Queue[Any] = asyncio.Queue()
    await mine.add_listener(f"taskyard_{gate.schema}", lambda _connection, _pid, _channel, hint: hints.put_nowait(hint))

    for lane in lanes:
        await given_a_task(store, lane=lane)

    first, rest = [json.loads(await asyncio.wait_for(hints.get(), 30))[1] for _ in range(2)]
    assert list(first) == [str(lanes[0])]
    assert sorted(rest) == sorted(str(lane) for lane in lanes[1:])


async def test_a_quiet_yard_waits_little_between_hints_and_a_busy_one_longer(monkeypatch: pytest.MonkeyPatch):
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def ask(_: str, values: tuple[object, ...]) -> object:
        return None

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) < 6:
            talker.written(ready, notify=True)
        await sleep(0)

    ready = Wakeup({LaneId(1): (0, 1)})
    monkeypatch.setattr(asyncio, "sleep", pause)
    talker = notify_channel.NotifyChannel(
        parse_address("postgresql://", "yard"), statements("yard"), ask, ClaimCursors()
    )
    talker.written(ready, notify=True)
    await talker.close()
    talker.written(ready, notify=True)
    await talker.close()

    assert pauses == [0.005, 0.01, 0.02, 0.04, 0.05, 0.05, 0.005]


async def test_what_nobody_can_take_anything_for_is_reported_with_what_comes_next(monkeypatch: pytest.MonkeyPatch):
    sent: list[str] = []
    sleep = asyncio.sleep

    async def ask(_: str, values: tuple[object, ...]) -> object:
        sent.append(str(values[1]))
        return None

    async def pause(_: float) -> None:
        if not sent:
            talker.written(Wakeup({LaneId(1): (0, 1)}), notify=True)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", pause)
    talker = notify_channel.NotifyChannel(
        parse_address("postgresql://", "yard"), statements("yard"), ask, ClaimCursors()
    )
    talker.written(NOTHING, notify=True)
    await talker.close()

    assert [json.loads(hint)[1] for hint in sent] == [{"1": [0, 1]}]


async def test_a_hint_that_would_be_too_long_says_that_it_may_be_anything():
    sent: list[str] = []

    async def ask(_: str, values: tuple[object, ...]) -> object:
        sent.append(str(values[1]))
        return None

    talker = notify_channel.NotifyChannel(
        parse_address("postgresql://", "yard"), statements("yard"), ask, ClaimCursors()
    )
    talker.written(Wakeup({LaneId(number): (0, number) for number in range(5000)}), notify=True)
    await talker.close()

    assert json.loads(sent[0])[1] is None
