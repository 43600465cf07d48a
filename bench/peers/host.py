"""A process that hosts one system: commands come in as lines of JSON, answers go out the same way.

`python -m bench.peers.host MODULE[:CLASS] PLACE RECORDS`. Each job that is run writes a line to the records: its number
and the moment. The moments of all processes of one machine can be compared.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from time import monotonic_ns, perf_counter, process_time
from typing import Any

from bench.peers.contract import AT_ONCE, IN_FLIGHT, Peer

Answer = dict[str, Any]


class Host:
    def __init__(self, peer: Peer, records: int) -> None:
        self._peer = peer
        self._records = records
        self._working: asyncio.Task[None] | None = None
        self._used = 0.0
        self.commands: dict[str, Callable[..., Awaitable[Answer]]] = {
            "prepare": self._prepare,
            "open": self._open,
            "put": self._put,
            "pace": self._pace,
            "work": self._work,
            "used": self._used_since,
            "left": self._left,
        }

    async def _prepare(self) -> Answer:
        await self._peer.prepare()
        return {}

    async def _open(self) -> Answer:
        await self._peer.open()
        return {}

    async def _put(self, *, how: str, first: int, number: int) -> Answer:
        """Enqueue so many jobs in one of three ways, and say how long that took."""
        numbers = range(first, first + number)
        put = {"one": self._one_by_one, "flight": self._in_flight, "bulk": self._in_bulk}[how]
        used, began = process_time(), perf_counter()
        await put(numbers)
        return {"seconds": perf_counter() - began, "cpu": process_time() - used}

    async def _one_by_one(self, numbers: range) -> None:
        for number in numbers:
            await self._peer.put(number)

    async def _in_flight(self, numbers: range) -> None:
        parts = [numbers[start::IN_FLIGHT] for start in range(IN_FLIGHT)]
        if self._peer.blocking:
            await asyncio.gather(*(asyncio.to_thread(asyncio.run, self._one_by_one(part)) for part in parts))
        else:
            await asyncio.gather(*(self._one_by_one(part) for part in parts))

    async def _in_bulk(self, numbers: range) -> None:
        for start in range(0, len(numbers), AT_ONCE):
            await self._peer.put_many(numbers[start : start + AT_ONCE])

    async def _pace(self, *, first: int, number: int, pause: float) -> Answer:
        """Enqueue one job after each pause, and say when each was begun."""
        moments: list[int] = []
        for each in range(first, first + number):
            await asyncio.sleep(pause)
            moments.append(monotonic_ns())
            await self._peer.put(each)
        return {"moments": moments}

    async def _work(self) -> Answer:
        self._used = process_time()
        self._working = asyncio.create_task(self._peer.work(self._done))
        self._working.add_done_callback(self._worked)
        return {}

    def _worked(self, working: asyncio.Task[None]) -> None:
        """Nobody waits for a worker, so one that fails ends the process, which is noticed."""
        if not working.cancelled() and (error := working.exception()):
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            sys.stderr.flush()
            os._exit(1)

    def _done(self, number: int) -> None:
        os.write(self._records, b"%9d %19d\n" % (number, monotonic_ns()))

    async def _used_since(self) -> Answer:
        """What working has cost so far."""
        return {"cpu": process_time() - self._used}

    async def _left(self) -> Answer:
        return {"left": await self._peer.left()}


# As `taskyard work` has it, for every system that runs in Python: most of what they make is gone a moment later.
COLLECT_AFTER = 10_000


async def serve(system: str, place: str, records: str) -> None:
    logging.disable(logging.ERROR)  # what the systems say about their work is no answer, and costs time
    module, _, name = system.partition(":")
    peer: Peer = getattr(import_module(module), name or "Peer")(place)
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    host = Host(peer, os.open(records, os.O_WRONLY | os.O_APPEND | os.O_CREAT))
    while line := await asyncio.to_thread(sys.stdin.readline):
        command = json.loads(line)
        answer = await host.commands[command.pop("do")](**command)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    await peer.close()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
