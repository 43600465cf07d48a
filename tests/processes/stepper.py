"""Does a task of two steps and leaves a line in a file for each: stepper.py URL FILE.

After the first step it says so, and goes on when it is told to.
"""

import asyncio
import os
import sys
from pathlib import Path

import taskyard
from taskyard.core.json_value import Json
from taskyard.features.tasks.views import Held
from taskyard.yard import Yard
from tests.processes.child import hear, say


async def main(url: str, file: str) -> None:
    async with taskyard.connect(url) as yard:
        say(up=True)
        (held,) = await yard.claim("stepper", start=True, wait_sec=30)
        first = await step(yard, held, "first", Path(file))
        say(stored="first")
        if await hear() is None:
            return
        second = await step(yard, held, "second", Path(file))
        await yard.complete(held.id, held.lease, [first, second])
        say(completed=held.id)


async def step(yard: Yard, held: Held, name: str, file: Path) -> Json:
    """The result of a step that was done before, or else of doing it now."""
    done = await yard.attempts.checkpoints(held.id)
    if name in done:
        return done[name]
    with file.open("a", encoding="utf-8") as effects:
        effects.write(f"{name}\n")
    return await yard.attempts.checkpoint(held.id, held.lease, name, {"step": name, "done_by": os.getpid()})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
