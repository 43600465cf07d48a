"""A server of the yard, until it is dismissed or killed: server.py URL. Its second word is the port."""

import asyncio
import sys

import taskyard
from taskyard.server.server import served
from tests.processes.child import say, wait_for_the_end


async def main(url: str) -> None:
    async with taskyard.connect(url) as yard, served(yard) as server:
        say(up=True)
        say(port=server.port)
        await wait_for_the_end()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
