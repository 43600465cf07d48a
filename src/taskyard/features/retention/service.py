"""How long finished work is kept: one stored fact of the yard, whichever process removes what is older."""

from __future__ import annotations

from typing import TypedDict

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import DAY, Micros
from taskyard.features.retention import rules as retention
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL
from taskyard.stores.contract import OutcomeUnknown

KIND = "retention"


class RetentionBody(TypedDict):
    days: float


RETENTION = RecordKind(KIND, RetentionBody)
WHOLE_YARD = "default"  # the workspace of the record: a sweep of any process removes what is old in all workspaces
ID = "yard"


class Retention:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store

    async def agree(self) -> None:
        """Store what this process was given: the last explicit value counts for every process."""
        if self._ledger.options.retention_days is None:
            return
        try:
            await self._store_days(self._ledger.options.retention_days)
        except OutcomeUnknown:
            await self._store_days(self._ledger.options.retention_days)  # stored or not, to do it again is harmless

    async def _store_days(self, days: float) -> None:
        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self._store.record(KIND, WHOLE_YARD, ID)
            before = retention.DEFAULT_DAYS if record is None else RETENTION.of(record)["days"]
            if record is not None and before == days:
                return None, None
            change = RecordChange(KIND, WHOLE_YARD, ID, 0 if record is None else record.version, {"days": days})
            event = self._ledger.audit("yard.retention", LOCAL, {"days": days, "before": before})
            return ChangeSet(records=(change,), events=(event,), at=self._ledger.now()), None

        await self._ledger.commit(decide)

    async def kept_since(self) -> Micros:
        """What ended before this moment is removed."""
        return Micros(self._ledger.now() - await self.kept_for())

    async def kept_for(self) -> Micros:
        """How long what has ended is kept."""
        record = await self._store.record(KIND, WHOLE_YARD, ID)
        days = retention.DEFAULT_DAYS if record is None else RETENTION.of(record)["days"]
        return Micros(int(days * DAY))
