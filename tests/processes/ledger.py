"""Workers that repeat whatever they got no answer to, and what each of them was told was done."""

import asyncio
from collections.abc import Callable, Sequence

from taskyard.yard import Yard
from tests.processes.crew import Crew, Member

WORKERS = 8


class Ledger:
    """What a worker was told was done."""

    def __init__(self, worker: Member) -> None:
        self._worker = worker
        self.stored: list[str] = []
        self.completed: list[str] = []
        self.repeated = 0

    async def listen(self, until: Callable[["Ledger"], bool]) -> None:
        while not until(self):
            self._note(**await self._worker.hear())

    async def listen_to_the_end(self) -> None:
        self._worker.let_go()
        while "repeated" not in (heard := await self._worker.hear()):
            self._note(**heard)
        self.repeated = heard["repeated"]

    def _note(self, *, stored: str | None = None, completed: str | None = None) -> None:
        self.stored += [stored] if stored else []
        self.completed += [completed] if completed else []


async def all_listen(ledgers: Sequence[Ledger], until: Callable[[Ledger], bool]) -> None:
    await asyncio.gather(*(ledger.listen(until) for ledger in ledgers))


async def given_workers(yard: Yard, crew: Crew, url: str) -> dict[str, Ledger]:
    agents = [f"worker-{number}" for number in range(WORKERS)]
    for agent in agents:
        await yard.agents.register(agent, max_concurrent_tasks=1000)
    return {agent: Ledger(await crew.start("steadfast", url, agent)) for agent in agents}
