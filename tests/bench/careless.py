"""Queues that do not do what they promise, each in its own way, for the bench to notice."""

from collections.abc import Sequence

from bench.peers.adapters import sqlite_floor
from bench.peers.contract import Done

UNLUCKY = 7


class Honest(sqlite_floor.Peer):
    """Does what it promises."""


class Losing(sqlite_floor.Peer):
    """Never runs one of the jobs, and says it is done."""

    async def work(self, done: Done) -> None:
        await super().work(lambda number: None if number == UNLUCKY else done(number))


class Doubling(sqlite_floor.Peer):
    """Runs one of the jobs twice."""

    async def work(self, done: Done) -> None:
        def twice(number: int) -> None:
            done(number)
            if number == UNLUCKY:
                done(number)

        await super().work(twice)


class Forgetting(sqlite_floor.Peer):
    """Runs every job, and does not store that one of them is done."""

    async def left(self) -> int:
        return max(1, await super().left())


class Dropping(sqlite_floor.Peer):
    """Takes jobs in and does not store them all."""

    async def put_many(self, numbers: Sequence[int]) -> None:
        await super().put_many([number for number in numbers if number != UNLUCKY])


class Crashing(sqlite_floor.Peer):
    """Falls over as soon as it has work to do."""

    async def work(self, done: Done) -> None:
        raise RuntimeError(f"cannot tell {done} anything")
