"""An agent that works until it is dismissed, as fast as it can: worker.py URL AGENT.

Its last word is how many tasks it completed, and of how many the completion was refused because the lease was lost.
"""

import asyncio
import sys

import taskyard
from taskyard.features.tasks.views import Held
from taskyard.yard import Yard
from tests.processes.child import say, wait_for_the_end

BATCH = 20


async def main(url: str, agent: str) -> None:
    async with taskyard.connect(url) as yard:
        dismissed = asyncio.create_task(wait_for_the_end())
        say(up=True)
        completed = refused = 0
        while not dismissed.done():
            batch = await yard.claim(agent, count=BATCH, start=True, wait_sec=0.5)
            accepted = await asyncio.gather(*(complete(yard, held, agent) for held in batch))
            completed += sum(accepted)
            refused += len(batch) - sum(accepted)
    say(completed=completed, refused=refused)


async def complete(yard: Yard, held: Held, agent: str) -> bool:
    try:
        await yard.complete(held.id, held.lease, {"by": agent})
    except taskyard.LeaseLost:
        return False
    return True


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
