"""A yard as release 0.1.0 left it; and a release at work in a process of its own, while another migrates.

`python -m tests.stores.previous_release URL` says one line when it has begun, and ends when its standard input does.
"""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import taskyard
from taskyard.stores.shared import migrations
from taskyard.stores.shared.migrations import Migration, Schema

_known = migrations.read_migrations

# What takes back every migration after that release. A new migration adds a line here. That of SQLite cannot be taken
# back: tests/stores/sqlite/test_first_release.py has a file that the release wrote.
_UNDOING = {
    "postgres": (
        4,
        """
        drop index yard.task_waiting;
        alter table yard.task drop column agent_type;
        alter table yard.task drop column type_slot;
        alter table yard.attempt drop column agent_type;
        """,
    ),
}


def undone(which: str) -> Callable[[Path], list[Migration]]:
    """Migrations of which the last takes a yard back to what release 0.1.0 had."""
    version, sql = _UNDOING[which.removesuffix("18")]
    back = Migration(Schema(version, 1, 1), "back to 0.1.0", sql)
    return lambda folder: [*_known(folder), back]


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
    asyncio.run(work(sys.argv[1]))
