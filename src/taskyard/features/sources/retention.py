"""What is kept of schedules and triggers for a while only: fires, and the keys of what has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import DAY, Micros
from taskyard.features.retention.service import Retention
from taskyard.features.schedules import rules as schedule_rules
from taskyard.features.sources import fires
from taskyard.features.triggers import rules as trigger_rules
from taskyard.features.triggers.service import LISTENING
from taskyard.features.triggers.trigger_firing import DELIVERY
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.signing import Scheme

AT_ONCE = 500
MOST_PAGES = 20  # of one source in one sweep
# What signs no time could be sent again at any time, so it is remembered long after its fire is forgotten.
UNTIMED_KEPT = Micros(366 * DAY)


class SourceBody(TypedDict):
    """What records of schedules and of triggers have in common."""

    removed_at: Micros | None


class DeliveredBody(TypedDict):
    at: Micros


SOURCE = RecordKind(schedule_rules.KIND, SourceBody, trigger_rules.KIND)
DELIVERED = RecordKind(DELIVERY, DeliveredBody)


class FireRetention:
    def __init__(self, ledger: Ledger, retention: Retention) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._retention = retention
        self._looked_through: dict[str, str] = {}  # by trigger: the key that the last look ended at

    async def forget_all(self, beside: Callable[[str], FireRetention]) -> int:
        """Forget what is older than the yard keeps things, in every workspace."""
        forgotten = 0
        for kind in (schedule_rules.KIND, trigger_rules.KIND):
            for record in await self._store.records(kind):
                forgotten += await beside(record.workspace).forget_of(record)
        return forgotten

    async def forget_of(self, record: Record) -> int:
        source, before = f"{record.kind}:{record.id}", await self._retention.kept_since()
        forgotten = 0
        for _ in range(MOST_PAGES):
            place = fires.place(source, before)
            old = await self._store.page(fires.KIND, self._workspace, prefix=f"{source}/", below=place, limit=AT_ONCE)
            forgotten += await self._drop(old)
            if len(old) < AT_ONCE:
                break
        if record.kind == trigger_rules.KIND:
            forgotten += await self._forget_deliveries(record)
        removed_at = SOURCE.of(record)["removed_at"]
        if removed_at is not None and removed_at < before and not forgotten:
            await self._forget_source(record)
        return forgotten

    async def _forget_deliveries(self, record: Record) -> int:
        """Go through what has come, from where the last look ended: by their keys they stand in no order of time."""
        is_untimed = trigger_rules.trigger_of(record).settings.get("scheme") == Scheme.GITHUB
        before = Micros(self._ledger.now() - UNTIMED_KEPT) if is_untimed else await self._retention.kept_since()
        prefix, forgotten = f"{record.id}/", 0
        for _ in range(MOST_PAGES):
            below = self._looked_through.get(record.id)
            page = await self._store.page(DELIVERY, self._workspace, prefix=prefix, below=below, limit=AT_ONCE)
            forgotten += await self._drop([each for each in page if DELIVERED.of(each)["at"] < before])
            if len(page) < AT_ONCE:
                self._looked_through.pop(record.id, None)
                break
            self._looked_through[record.id] = page[-1].id
        return forgotten

    async def _forget_source(self, record: Record) -> None:
        listening = await self._store.record(LISTENING, self._workspace, record.id)
        await self._drop([record, *([listening] if listening and record.kind == trigger_rules.KIND else [])])

    async def _drop(self, records: list[Record]) -> int:
        if records:
            gone = tuple(RecordChange(*each[:4], None) for each in records)
            await self._ledger.commit_set(ChangeSet(records=gone, at=self._ledger.now()))
        return len(records)
