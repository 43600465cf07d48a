"""A write goes on to its end, also where its caller is cancelled."""

import asyncio
from collections.abc import Sequence

import pytest

from taskyard.ledger.batcher import Batcher
from taskyard.stores.shielding import UNCANCELLED, Shield


class Write:
    """A write that takes until it is let go on."""

    def __init__(self) -> None:
        self.has_begun = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.is_stored = False
        self.task: asyncio.Task[object] | None = None

    async def run(self) -> str:
        self.task = asyncio.current_task()
        self.has_begun.set()
        await self.goes_on.wait()
        self.is_stored = True
        return "stored"


async def cancelled(caller: asyncio.Task[str]) -> None:
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_a_write_is_stored_though_its_caller_is_cancelled():
    shield, write = Shield(), Write()
    caller = asyncio.create_task(shield.run(write.run()))
    await write.has_begun.wait()

    await cancelled(caller)
    write.goes_on.set()
    await shield.close()

    assert write.is_stored
    assert write.task is not caller


async def test_whoever_asks_a_batcher_and_is_cancelled_does_not_stop_the_write_which_is_no_task_of_its_own():
    shield, write = Shield(), Write()
    answering: list[asyncio.Task[object] | None] = []

    async def answer(asked: Sequence[str]) -> list[str]:
        answering.append(asyncio.current_task())
        return [await shield.run(write.run()) for _ in asked]

    batcher = Batcher[str, str](answer, most=10)

    async def ask() -> str:
        return await batcher.ask("something")

    caller = asyncio.create_task(ask())
    await write.has_begun.wait()
    await cancelled(caller)
    write.goes_on.set()
    await batcher.close()

    assert write.is_stored
    assert write.task is answering[0]
    assert not UNCANCELLED
