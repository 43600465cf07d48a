"""The fires of schedules and triggers, as they are stored."""

from __future__ import annotations

from taskyard.definition import arguments, fields
from taskyard.features.sources import fires
from taskyard.features.sources.fires import Fire
from taskyard.ledger.ledger import Ledger

MOST_FIRES = 200


class FireLog:
    def __init__(self, ledger: Ledger) -> None:
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def of(self, source: str, limit: int, below: str | None) -> list[Fire]:
        fields.whole(limit, "limit", least=1, most=MOST_FIRES)
        last = None if below is None else f"{source}/{arguments.name('below', below)}"
        page = await self._store.page(fires.KIND, self._workspace, prefix=f"{source}/", below=last, limit=limit)
        return [fires.fire_of(record) for record in page]
