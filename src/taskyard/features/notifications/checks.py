"""Checking that nothing to be told was forgotten."""

from __future__ import annotations

from taskyard.core.notice import TOPIC, UNDELIVERED
from taskyard.core.units import HOUR
from taskyard.features.notifications import rules
from taskyard.service.engine import Engine

MOST_ROWS = 1000  # of the outbox, that are looked at
FORGOTTEN = HOUR  # what was due so long before the last errands is on nobody's list


class NoticeChecks(Engine):
    async def _notice_problems(self) -> list[str]:
        """Whatever there was to tell is delivered, parked or on its way."""
        ran = await self.store.duty("outbox")
        if ran is None:
            return []
        rows = await self.store.outbox(TOPIC, MOST_ROWS)
        waiting = await self.store.records(UNDELIVERED, self.workspace)
        trying = [rules.notification_of(record) for record in waiting]
        return [
            *(f"row {number} of the outbox became no notification" for number, row in rows if row.at < ran - FORGOTTEN),
            *(f"notification {each.id} is not tried" for each in trying if each.next_at < ran - FORGOTTEN),
        ]
