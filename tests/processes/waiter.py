"""Waits for a task, and would not look again by itself for hours: waiter.py URL AGENT.

It says when it has found nothing and waits for a sign.
"""

import asyncio
import sys

import taskyard
from taskyard.core.claiming import ClaimPlan
from taskyard.features.attempts import claims
from tests.processes.child import say


async def main(url: str, agent: str) -> None:
    claims.PATIENCE = 3600.0
    async with taskyard.connect(url, sweeps=False) as yard:
        changed = yard.store.changed

        async def announced(mark: int, timeout: float, plan: ClaimPlan | None = None, *, took_all: bool = False) -> int:
            if timeout:
                say(waiting=timeout)
            return await changed(mark, timeout, plan, took_all=took_all)

        yard.store.changed = announced
        say(up=True)
        (held,) = await yard.claim(agent, wait_sec=3600)
        say(claimed=held.id)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
