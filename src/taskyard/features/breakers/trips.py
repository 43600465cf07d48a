"""Circuit breakers that open by themselves when attempts at a type fail in a row, and close when a probe completes."""

from __future__ import annotations

from taskyard.core import breaker as breakers
from taskyard.core.changes import ChangeSet, Event, RecordChange
from taskyard.core.identifiers import CounterKind, counter_name
from taskyard.core.task import (
    Hot,
)
from taskyard.core.units import Micros
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.listeners import Commit


class BreakerTrips:
    """Follows every commit."""

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

    async def probe_passed(self, hot: Hot, change_set: ChangeSet) -> ChangeSet:
        planning = await self._ledger.configuration.fresh()
        circuit = planning.breaker(await self._ledger.type_of(hot))
        if not breakers.awaits(circuit, hot.circuit):
            return change_set
        move = breakers.closed(circuit, why=f"probe {hot.id} completed", now=change_set.at)
        return with_record(change_set, move.record, move.event)._replace(counts=(*change_set.counts, *move.counts))


def moved(move: breakers.BreakerChange, now: Micros) -> ChangeSet:
    return ChangeSet(records=(move.record,), events=(move.event,), counts=move.counts, outbox=move.outbox, at=now)


def with_record(change_set: ChangeSet, record: RecordChange, event: Event) -> ChangeSet:
    return change_set._replace(records=(*change_set.records, record), events=(*change_set.events, event))
