"""Long work is done in turns, and whoever holds what others need does not wait for them."""

import asyncio
from collections.abc import Sequence
from itertools import groupby

import pytest

from taskyard.stores import turns
from taskyard.stores.turns import FREED_AT_ONCE, LONG_TURN, ShortCalls, giving_way, in_haste, in_pieces, let_go


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
