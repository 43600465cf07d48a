"""The release before this one, at work in a process of its own: `python -m tests.stores.previous_release URL`.

It says one line when it has begun, and ends when its standard input does.
"""

import asyncio
import sys
from pathlib import Path

import taskyard
from taskyard.stores import migrate
from taskyard.stores.migrate import Migration

_known = migrate.migrations


def known_before(folder: Path) -> list[Migration]:
    """All migrations but the last."""
    return _known(folder)[:-1]


async def work(url: str) -> None:
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    async with taskyard.connect(url, workspace="load") as yard:
        await yard.register("old", max_concurrent_tasks=10)
        while not ended.done():
            await yard.enqueue("code")
            for held in await yard.claim("old", start=True):
                await yard.complete(held.id, held.lease)
            sys.stdout.write("done\n")
            sys.stdout.flush()


if __name__ == "__main__":
    migrate.migrations = known_before
    asyncio.run(work(sys.argv[1]))
