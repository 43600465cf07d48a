"""A release at work in a process of its own, while another migrates.

`python -m tests.stores.previous_release URL` says one line when it has begun, and ends when its standard input does.
"""

import asyncio
import sys

import taskyard


async def work(url: str) -> None:
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    async with taskyard.connect(url, workspace="load") as yard:
        await yard.agents.register("old", max_concurrent_tasks=10)
        while not ended.done():
            await yard.enqueue("code")
            for held in await yard.claim("old", start=True):
                await yard.complete(held.id, held.lease)
            sys.stdout.write("done\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1]))
