"""Long work is done in turns, and whoever holds what others need does not wait for them."""

import asyncio
from collections.abc import Sequence
from itertools import groupby

import pytest

from taskyard.stores import turns
from taskyard.stores.turns import (
    FREED_AT_ONCE,
    LATELY,
    LONG_TURN,
    REST,
    ShortCalls,
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
        self.rests: list[float] = []
        let_others_go_on = asyncio.sleep

        async def sleep(seconds: float) -> None:
            if seconds:
                self.rests.append(seconds)
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
