"""A server in a process of its own: it says its port, and serves until its standard input ends."""

import asyncio
import sys

import taskyard
from taskyard.server.server import served
from tests.processes.child import say


async def main(url: str) -> None:
    async with taskyard.connect(url) as yard, served(yard) as server:
        say(port=server.port)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
