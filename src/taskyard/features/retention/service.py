"""How long finished work is kept: one stored fact of the yard, whichever process removes what is older."""

from __future__ import annotations

from typing import cast

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.units import DAY, Micros
from taskyard.features.retention import rules as retention
from taskyard.ledger.options import LOCAL
from taskyard.service.engine import Engine
from taskyard.stores.contract import OutcomeUnknown

KIND = "retention"
WHOLE_YARD = "default"  # the workspace of the record: a sweep of any process removes what is old in all workspaces
ID = "yard"


class Retaining(Engine):
    async def agree_on_retention(self) -> None:
        """Store what this process was given: the last explicit value counts for every process."""
        if self.options.retention_days is None:
            return
        try:
            await self._store_retention(self.options.retention_days)
        except OutcomeUnknown:
            await self._store_retention(self.options.retention_days)  # stored or not, to do it again is harmless

    async def _store_retention(self, days: float) -> None:
        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self.store.record(KIND, WHOLE_YARD, ID)
            before = retention.DEFAULT_DAYS if record is None else cast(float, record.body["days"])
            if record is not None and before == days:
                return None, None
            change = RecordChange(KIND, WHOLE_YARD, ID, 0 if record is None else record.version, {"days": days})
            event = self._told_by("yard.retention", LOCAL, {"days": days, "before": before})
            return ChangeSet(records=(change,), events=(event,), at=self.now()), None

        await self._land(decide)

    async def _kept_since(self) -> Micros:
        """What ended before this moment is removed."""
        record = await self.store.record(KIND, WHOLE_YARD, ID)
        days = retention.DEFAULT_DAYS if record is None else cast(float, record.body["days"])
        return Micros(self.now() - int(days * DAY))
