"""How fast finished work is removed: a quiet yard as fast as it goes, beside others at a rate that holds over time.

The rate and what a rest is are rules; here are the clock, the rests, and whether others work at all.
"""

from __future__ import annotations

from asyncio import sleep
from time import monotonic

from taskyard.features.retention import rules as retention
from taskyard.ledger.ledger import Ledger


class PruningPace:
    """How fast pruning goes beside others: by what it owes, and whether anybody else writes to the yard."""

    def __init__(self, ledger: Ledger) -> None:
        self._queue = ledger.queue
        self._store = ledger.store
        self._commits = ledger.queue.commits
        self._newest: int | None = None  # event; None: not asked for yet
        self._debt = 0.0
        self._counted_at = self._began_at = monotonic()
        self._others_work = False

    def begin_piece(self, most: int) -> int:
        """How many tasks the piece that begins now looks at."""
        self._began_at = monotonic()
        return retention.piece_size(most, others_work=self._others_work, is_behind=self._debt < 0)

    async def rest(self, *, removed: int, kept: int) -> None:
        """Rest after a piece in which so many tasks were removed, and so many looked at and kept."""
        self._others_work = await self._somebody_wrote()
        now = monotonic()
        passed, self._counted_at = now - self._counted_at, now
        self._debt = retention.debt_after(self._debt, removed=removed, kept=kept, passed=passed)
        if self._others_work:
            await sleep(retention.rest_after(self._debt, now - self._began_at))
        else:
            self._debt = 0.0
            await sleep(0)

    async def _somebody_wrote(self) -> bool:
        """Whether this process committed anything else since the piece before, or another process did.

        Removals have no events, and whoever works makes events: the newest one is asked for where nobody here works.
        """
        commits, self._commits = self._commits, self._queue.commits
        if commits != self._commits:
            self._newest = None
            return True
        before, self._newest = self._newest, await self._newest_event()
        return before is not None and self._newest > before

    async def _newest_event(self) -> int:
        newest = await self._store.newest_events(limit=1)
        return newest[0].seq if newest else 0
