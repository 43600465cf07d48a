"""Checking that no notification was forgotten."""

from __future__ import annotations

from taskyard.core.notice import TOPIC, UNDELIVERED
from taskyard.core.units import HOUR
from taskyard.features.notifications import groups, rules
from taskyard.ledger.ledger import Ledger

MOST_ROWS = 1000  # of the outbox, that are looked at
FORGOTTEN = HOUR  # what was due so long before the last run of the outbox is on nobody's list


class NotificationChecks:
    def __init__(self, ledger: Ledger) -> None:
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def problems(self) -> list[str]:
        """Whatever there was to tell is delivered, parked or on its way."""
        ran = await self._store.duty("outbox")
        if ran is None:
            return []
        rows = await self._store.outbox(TOPIC, MOST_ROWS)
        waiting = await self._store.records(UNDELIVERED, self._workspace)
        gathered = [groups.group_of(each) for each in await self._store.records(groups.KIND, self._workspace)]
        trying = [rules.notification_of(record) for record in waiting]
        return [
            *(f"row {number} of the outbox became no notification" for number, row in rows if row.at < ran - FORGOTTEN),
            *(
                f"the notices for {each.notifier} of {each.notice} are gathered and never sent"
                for each in gathered
                if each.closes_at < ran - FORGOTTEN
            ),
            *(f"notification {each.id} is not tried" for each in trying if each.next_at < ran - FORGOTTEN),
        ]
