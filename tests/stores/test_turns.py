"""Long work is done in turns, and whoever holds what others need does not wait for them."""

import asyncio
from collections.abc import Sequence
from itertools import groupby

import pytest

from taskyard.stores import turns
from taskyard.stores.shared.waiters import Waiters
from taskyard.stores.turns import (
    FREED_AT_ONCE,
    LATELY,
    LONG_TURN,
    QUIET,
    REST,
    ShortCalls,
    at_rest,
    giving_way,
    in_haste,
    in_pieces,
    let_go,
)


async def go_round(made: list[str]) -> None:
    """Note each turn that others have of the loop."""
    while True:
        made.append("others")
        await asyncio.sleep(0)


def in_a_row(made: list[str], what: str) -> list[int]:
    return [len(list(run)) for who, run in groupby(made) if who == what]


async def test_pieces_are_made_in_turns_and_in_order():
    made: list[str] = []

    def double(piece: Sequence[int]) -> list[int]:
        made.extend(["item"] * len(piece))
        return [2 * each for each in piece]

    beside = asyncio.create_task(go_round(made))
    found = await in_pieces(double, range(5 * LONG_TURN + 1))
    beside.cancel()

    assert found == list(range(0, 10 * LONG_TURN + 2, 2))
    assert in_a_row(made, "item") == [LONG_TURN] * 5 + [1]


async def test_many_items_are_let_go_in_turns():
    made: list[str] = []

    class Item:
        def __del__(self) -> None:
            made.append("freed")

    items = [Item() for _ in range(3 * FREED_AT_ONCE)]
    beside = asyncio.create_task(go_round(made))
    await let_go(items)
    beside.cancel()

    assert items == []
    assert in_a_row(made, "freed") == [FREED_AT_ONCE] * 3


async def test_work_in_haste_waits_for_no_short_call(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "PATIENCE", 1_000_000)
    calls, made = ShortCalls(clock=lambda: 0.0), list[str]()
    beside = asyncio.create_task(go_round(made))
    with calls.call(), giving_way(calls):
        with in_haste():
            await asyncio.wait_for(turns.pause(), timeout=30)
        waiting = asyncio.create_task(turns.pause())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
    await waiting
    beside.cancel()
    assert made


class Hours:
    """A clock that a test sets, and the rests that are taken by it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.passes = 0.0  # times a second of the clock that passes while somebody rests for a second
        self.rests: list[float] = []
        let_others_go_on = asyncio.sleep

        async def sleep(seconds: float) -> None:
            if seconds:
                self.rests.append(seconds)
                self.now += self.passes * seconds
            await let_others_go_on(0)

        monkeypatch.setattr(turns.asyncio, "sleep", sleep)
        self.calls = ShortCalls(clock=lambda: self.now)

    async def turn(self, seconds: float) -> None:
        self.now += seconds
        await turns.pause()


async def test_a_call_that_may_flood_rests_after_each_turn_while_short_calls_come(monkeypatch: pytest.MonkeyPatch):
    hours = Hours(monkeypatch)
    with hours.calls.call():
        pass
    with giving_way(hours.calls, rests=True):
        await hours.turn(0.004)
        await hours.turn(0.006)
        assert hours.rests == pytest.approx([0.004 * REST, 0.006 * REST])
        hours.now += LATELY
        await hours.turn(0.004)
    assert len(hours.rests) == 2


async def test_turns_too_short_to_rest_after_are_added_up(monkeypatch: pytest.MonkeyPatch):
    hours = Hours(monkeypatch)
    with hours.calls.call():
        pass
    with giving_way(hours.calls, rests=True):
        for _ in range(8):
            await hours.turn(0.0002)
    assert sum(hours.rests) == pytest.approx(8 * 0.0002 * REST, abs=0.001)


async def test_nobody_rests_for_large_calls_or_for_those_that_were_refused(monkeypatch: pytest.MonkeyPatch):
    hours = Hours(monkeypatch)
    with hours.calls.call() as is_large:
        is_large()
    with pytest.raises(PermissionError), hours.calls.call():
        raise PermissionError
    with giving_way(hours.calls, rests=True):
        await hours.turn(0.004)
    with hours.calls.call():
        pass
    with giving_way(hours.calls):
        await hours.turn(0.004)
    assert hours.rests == []


async def test_a_call_waits_until_short_ones_have_ended_for_a_moment(monkeypatch: pytest.MonkeyPatch):
    hours = Hours(monkeypatch)
    hours.passes = 1.0
    with hours.calls.call():
        pass
    ended = hours.now
    with giving_way(hours.calls, quiet=QUIET):
        await turns.pause()
    assert QUIET <= hours.now - ended < 2 * QUIET
    with giving_way(hours.calls, quiet=QUIET):
        await turns.pause()  # it is quiet already
    assert hours.now - ended < 2 * QUIET
    with hours.calls.call() as is_large:
        is_large()  # what waits itself does not make others wait
        with giving_way(hours.calls, quiet=QUIET):
            await turns.pause()
    assert hours.now - ended < 2 * QUIET


async def test_a_call_waits_for_quiet_only_as_long_as_it_has_patience(monkeypatch: pytest.MonkeyPatch):
    hours = Hours(monkeypatch)
    with hours.calls.call(), giving_way(hours.calls, patience=0.01, quiet=QUIET):
        await turns.pause()
        assert sum(hours.rests) == pytest.approx(0.01, abs=0.0011)
        hours.rests.clear()
        await turns.pause()
    assert hours.rests == []


async def test_a_call_that_waits_for_a_write_is_given_way_to_once_it_goes_on():
    calls, waiters = ShortCalls(clock=lambda: 0.0), Waiters()
    goes_on = asyncio.Event()

    async def call() -> None:
        with calls.call():
            await waiters.wait(waiters.mark, timeout=30)
            await goes_on.wait()

    waiting = asyncio.create_task(call())
    while not waiters.is_awaited:  # noqa: ASYNC110 - for the other task
        await asyncio.sleep(0)
    assert not calls.are_under_way
    waiters.wake()
    for _ in range(5):
        await asyncio.sleep(0)
    assert calls.are_under_way
    goes_on.set()
    await waiting
    assert not calls.are_under_way


async def test_a_task_that_outlives_its_call_is_not_given_way_to():
    calls, may_end = ShortCalls(clock=lambda: 0.0), asyncio.Event()

    async def go_on() -> None:
        with at_rest():
            await may_end.wait()

    with calls.call():
        task = asyncio.create_task(go_on())
        await asyncio.sleep(0)
    may_end.set()
    await task
    assert not calls.are_under_way
