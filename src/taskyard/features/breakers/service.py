"""Circuit breakers: they open by themselves when attempts at a type fail in a row."""

from __future__ import annotations

from taskyard.core import breaker as breakers
from taskyard.core.changes import ChangeSet
from taskyard.core.identifiers import CounterKind, counter_name
from taskyard.core.units import Micros
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.listeners import Commit


class Breakers:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def committed(self, commit: Commit) -> None:
        """Open the breaker of a type whose failures have become too many."""
        for name, value in commit.result.counts.items():
            kind, type_, circuit = counter_name(name)
            if kind is CounterKind.BREAKER and value:
                await self._trip(type_, int(circuit), value)

    async def _trip(self, type_: str, circuit: int, failures: int) -> None:
        async def decide() -> tuple[ChangeSet | None, None]:
            planning = await self._ledger.configuration.fresh()
            breaker = planning.breaker(type_)
            if not breakers.trips(breaker, planning.breaker_policy, failures, circuit):
                return None, None
            now = self._ledger.now()
            move = breakers.opened(breaker, why=f"{failures} failures in a row", now=now)
            return moved(move, now), None

        await self._ledger.commit(decide)


def moved(move: breakers.Move, now: Micros) -> ChangeSet:
    return ChangeSet(records=(move.record,), events=(move.event,), counts=move.counts, outbox=move.outbox, at=now)
