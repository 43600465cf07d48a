"""An agent that puts tasks in and works them off, and repeats whatever it got no answer to: steadfast.py URL AGENT.

It says what was acknowledged, as it comes. Dismissed, it puts in no more, works off what is left, and says how often it
had to repeat itself.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeVar

import taskyard
from taskyard.core.errors import Unavailable
from taskyard.features.tasks.views import Held
from taskyard.yard import Yard
from tests.processes.child import say, wait_for_the_end

AT_ONCE = 10

Answer = TypeVar("Answer")


class Steadfast:
    def __init__(self, yard: Yard, agent: str) -> None:
        self._yard = yard
        self._agent = agent
        self._serial = count(1)
        self.repeated = 0

    async def put_in(self) -> None:
        """Under a key, so that what was stored without an answer is found when it is put in again."""
        key = f"{self._agent}-{next(self._serial)}"
        task = await self._insist(lambda: self._yard.enqueue("code", idempotency_key=key))
        say(stored=task.id)

    async def work(self) -> int:
        """Under the name of a request, so that what was claimed without an answer is handed out again."""
        request = f"{self._agent}-{next(self._serial)}"
        held = await self._insist(lambda: self._yard.claim(self._agent, count=AT_ONCE, start=True, request_id=request))
        await asyncio.gather(*map(self._complete, held))
        return len(held)

    async def _complete(self, held: Held) -> None:
        await self._insist(lambda: self._yard.complete(held.id, held.lease, {"by": self._agent}))
        say(completed=held.id)

    async def _insist(self, call: Callable[[], Awaitable[Answer]]) -> Answer:
        while True:
            try:
                return await call()
            except Unavailable:
                self.repeated += 1


async def main(url: str, agent: str) -> None:
    async with taskyard.connect(url) as yard:
        me = Steadfast(yard, agent)
        dismissed = asyncio.create_task(wait_for_the_end())
        say(up=True)
        while not dismissed.done():
            await asyncio.gather(*(me.put_in() for _ in range(AT_ONCE)))
            await me.work()
        while await me.work():
            pass
    say(repeated=me.repeated)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
