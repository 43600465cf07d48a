"""A process that fires what is due, over and over, until it is killed: `python -m tests.processes.scheduler URL`."""

import asyncio
import sys

import taskyard
from taskyard.features.schedules import schedule_firing
from tests.processes.child import say, wait_for_the_end


async def main(url: str) -> None:
    schedule_firing.FIRED_AT_ONCE = 7  # so that there are many moments to be killed at
    async with taskyard.connect(url, sweeps=False) as yard:
        say(up=True)
        over = asyncio.create_task(wait_for_the_end())
        while not over.done():
            say(fired=await yard.on_store.sweeper.fire_schedules())


asyncio.run(main(sys.argv[1]))
