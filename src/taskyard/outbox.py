"""What leads out of the store: clearing objects away, and telling people. What is slow there delays no sweep."""

from __future__ import annotations

import logging
from collections.abc import Callable

from taskyard.core.changes import Outbox
from taskyard.core.errors import TaskyardError
from taskyard.core.notice import TOPIC, UNDELIVERED
from taskyard.core.units import MINUTE, SECOND, Micros
from taskyard.features.artifacts.rules import LOOSE
from taskyard.features.notifications import groups, rules
from taskyard.features.notifications.service import AT_ONCE, ROWS
from taskyard.features.notifications.views import OutboxRun
from taskyard.sweeper import Sweeper
from taskyard.workspace import Workspace

logger = logging.getLogger("taskyard")


class OutboxRunner:
    """Does for all workspaces of one store what reaches out of it."""

    def __init__(self, sweeper: Sweeper, here: Workspace, workspace_of: Callable[[str], Workspace]) -> None:
        self._sweeper = sweeper
        self._ledger = here.ledger
        self._store = here.ledger.store
        self._workspace_of = workspace_of

    async def run(self) -> OutboxRun:
        """Do what is due outside the store. Call it every second, from as many processes as there are."""
        # A process that was not given the object store leaves artifacts to those that were.
        cleared = (
            0
            if self._ledger.options.artifacts is None
            else await self._sweeper.on_duty("loose", MINUTE, self._clear_all)
        )
        now = self._ledger.now()
        if await self._store.take_duty("outbox", now, Micros(now + SECOND)) is None:
            return OutboxRun(cleared=cleared)
        # A slow target holds nothing up: the next process takes the duty, and each try is stored before it is made.
        addressed = await self._address_all()
        await self._close_groups()
        return OutboxRun(addressed=addressed, delivered=await self._deliver(), cleared=cleared)

    async def _address_all(self) -> int:
        rows = await self._store.outbox(TOPIC, ROWS)
        found: dict[str, list[tuple[int, Outbox]]] = {}
        for number, row in rows:
            found.setdefault(row.workspace, []).append((number, row))
        for workspace, mine in found.items():
            await self._workspace_of(workspace).notification_addressing.address(mine)
        return len(rows)

    async def _close_groups(self) -> None:
        """Tell of what was gathered for as long as its window was."""
        now = self._ledger.now()
        for record in await self._store.records(groups.KIND):
            if groups.group_of(record).closes_at <= now:
                await self._workspace_of(record.workspace).notification_addressing.close(record)

    async def _deliver(self) -> int:
        now = self._ledger.now()
        waiting = await self._store.records(UNDELIVERED)
        due = [record for record in waiting if rules.notification_of(record).next_at <= now][:AT_ONCE]
        workspaces = sorted({record.workspace for record in due})
        delivered = 0
        for workspace in workspaces:
            mine = [record for record in due if record.workspace == workspace]
            delivered += await self._workspace_of(workspace).notification_delivery.send_due(mine)
        return delivered

    async def _clear_all(self) -> int:
        cleared = 0
        for record in await self._store.records(LOOSE):
            try:
                cleared += await self._workspace_of(record.workspace).orphan_objects.look_at_loose(record)
            except TaskyardError as error:
                logger.warning("%s cannot be cleared away now: %s", record.id, error)
        return cleared
