"""Puts in the same task as often as it is told: producer.py URL.

The order of the payload is that of a set, which PYTHONHASHSEED shuffles.
"""

import asyncio
import sys

import taskyard
from tests.processes.child import hear, say

NAMES = {"repository", "branch", "commit", "author", "reviewer", "labels", "milestone", "summary"}


async def main(url: str) -> None:
    payload = {name: {"name": name, "length": len(name)} for name in NAMES}
    async with taskyard.connect(url, sweeps=False) as yard:
        say(up=True)
        while (told := await hear()) is not None:
            times = told.pop("times")
            puts = (yard.enqueue("code", payload=payload, **told) for _ in range(times))
            tasks = await asyncio.gather(*puts)
            say(
                ids=sorted({task.id for task in tasks}),
                created=sum(task.created for task in tasks),
                key=tasks[0].idempotency_key,
                order=list(payload),
            )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
