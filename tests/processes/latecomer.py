"""An agent that is always too late: latecomer.py URL AGENT.

It holds each batch until the yard begins to take it back, and hands all of it in at that very moment. Its last word is
how many of its results were accepted, and how many were refused.
"""

import asyncio
import sys
from collections.abc import AsyncIterator

import taskyard
from taskyard.core.changes import StoredEvent
from taskyard.features.tasks.views import Held
from tests.processes.child import say, wait_for_the_end
from tests.processes.worker import complete

BATCH = 20
BATCHES = 2
FIRST = 10  # so many of a batch are taken back when it is handed in


async def main(url: str, agent: str) -> None:
    handed_in = accepted = 0
    async with taskyard.connect(url) as yard:
        say(up=True)
        events = yard.tail()
        for _ in range(BATCHES):
            if not (batch := await yard.claim(agent, count=BATCH, start=True, wait_sec=5)):
                break
            await _begun_to_be_taken_back(batch, events)
            handed_in += len(batch)
            accepted += sum(await asyncio.gather(*(complete(yard, held, agent) for held in batch)))
        await wait_for_the_end()
    say(completed=accepted, refused=handed_in - accepted)


async def _begun_to_be_taken_back(batch: list[Held], events: AsyncIterator[StoredEvent]) -> None:
    mine = {(held.id, held.attempt) for held in batch}
    taken = 0
    while taken < min(FIRST, len(batch)):
        event = (await anext(events)).event
        taken += event.event == "task.retrying" and (event.task_id, event.attempt) in mine


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
