"""Checking inboxes: what one lists is there to be read, and nothing is kept that none lists."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from taskyard.core.changes import Record
from taskyard.features.inbox import rules as inbox_rules
from taskyard.ledger.ledger import Ledger

PAGE = 500


class InboxChecks:
    def __init__(self, ledger: Ledger) -> None:
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def problems(self) -> list[str]:
        listed = {
            record.id + entry.id
            async for record in self._every("inbox")
            for entry in inbox_rules.kept(inbox_rules.box_of(record.body))
        }
        kept = {record.id async for record in self._every("inbox_item")}
        return [
            *(f"an inbox lists {each}, which is not there" for each in sorted(listed - kept)),
            *(f"{each} is kept, and no inbox lists it" for each in sorted(kept - listed)),
        ]

    async def _every(self, kind: str) -> AsyncGenerator[Record]:
        below: str | None = None
        while page := await self._store.page(kind, self._workspace, below=below, limit=PAGE):
            for record in page:
                yield record
            below = page[-1].id
