"""Stores a file for a task, says so, and completes the task when it is told to: filer.py URL PLACE."""

import asyncio
import sys

import taskyard
from tests.processes.child import hear, say


async def main(url: str, place: str) -> None:
    async with taskyard.connect(url, artifacts=place) as yard:
        say(up=True)
        (held,) = await yard.claim("filer", start=True, wait_sec=30)
        stored = await yard.artifacts.put("log.txt", "x" * 100_000, task_id=held.id, lease=held.lease)
        say(stored=stored.id)
        if await hear() is None:
            return
        await yard.complete(held.id, held.lease)
        say(completed=held.id)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
