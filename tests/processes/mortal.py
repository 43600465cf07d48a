"""An agent that dies with work in hand: mortal.py URL AGENT.

It completes a batch, takes another, says how many tasks that is, and holds them until it is killed.
"""

import asyncio
import sys

import taskyard
from taskyard.features.tasks.views import Held
from taskyard.yard import Yard
from tests.processes.child import say, wait_for_the_end
from tests.processes.worker import BATCH, complete


async def main(url: str, agent: str) -> None:
    async with taskyard.connect(url) as yard:
        say(up=True)
        await asyncio.gather(*(complete(yard, held, agent) for held in await take(yard, agent)))
        say(holds=len(await take(yard, agent)))
        await wait_for_the_end()


async def take(yard: Yard, agent: str) -> list[Held]:
    while True:
        if batch := await yard.claim(agent, count=BATCH, start=True, wait_sec=5):
            return batch


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
