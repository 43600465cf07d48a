"""Writes to an inbox, and reads from it: correspondent.py URL NAME.

What it has read it says, batch by batch, after that is consumed. One that is to die says what it holds, and waits.
"""

import asyncio
import sys

import taskyard
from taskyard.app import Yard
from tests.processes.child import hear, say

INBOX = ("planner", "c1")
HOLD_SEC = 4.0


async def write(yard: Yard, name: str, count: int) -> None:
    for number in range(count):
        await yard.inbox.put(*INBOX, f"{name}.{number}", kind="message" if number % 3 else "approval_result")


async def read(yard: Yard, *, dies: bool) -> None:
    while True:
        mark = await yard.mark()
        batch = (await yard.inbox.take(*INBOX, hold_sec=HOLD_SEC)).batch
        if batch is None:
            await yard.changed(mark, 0.5)
            continue
        contents = [item.content for item in batch.items]
        if dies:
            say(holding=contents)
            await asyncio.Event().wait()
        await yard.inbox.consume(*INBOX, batch.batch_id)
        say(read=contents)


async def main(url: str, name: str) -> None:
    async with taskyard.connect(url, sweeps=False) as yard:
        say(up=True)
        reading: asyncio.Task[None] | None = None
        while (told := await hear()) is not None:
            reading = asyncio.create_task(read(yard, dies=told["dies"]))
            await write(yard, name, told["write"])
        if reading is not None:
            reading.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
