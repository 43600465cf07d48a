"""Puts tasks in until its files may grow no more: cramped.py URL BYTES.

It says each task that was acknowledged, and what refused it. Told to go on, it has room again, and puts in one more.
"""

import asyncio
import resource
import sys

import taskyard
from taskyard.yard import Yard
from tests.processes.child import hear, say

PAYLOAD = "x" * 10_000


async def main(url: str, most: int) -> None:
    # The limit of a process on the size of its files: a full disk that needs no disk of its own.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with taskyard.connect(url, sweeps=False) as yard:
        say(up=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        await _fill(yard)
        if await hear() is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            say(stored=(await yard.enqueue("code", payload=PAYLOAD)).id)


async def _fill(yard: Yard) -> None:
    try:
        while True:
            say(stored=(await yard.enqueue("code", payload=PAYLOAD)).id)
    except taskyard.TaskyardError as refused:
        say(refused=refused.code, words=str(refused))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
