"""Fast path, 41 % of a completion at Redis' server: rows of running tasks as this process was handed them.

What ends soon need not be read again. Other gains of a completion: 19 % of the process on Redis, 5 % of it and 17 % of
the server on PostgreSQL, 1 % on SQLite.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from taskyard.core.changes import Change
from taskyard.core.task import Hot, Status
from taskyard.core.units import Micros

MOST = 10_000


class HandedOut:
    """By sealed lease, those that were extended last at the end. Every way in which an attempt ends lets its row go."""

    def __init__(self) -> None:
        self._rows: dict[str, Hot] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, lease: object) -> bool:
        return lease in self._rows

    def take(self, lease: str) -> Hot | None:
        return self._rows.pop(lease, None)

    def keep(self, rows: Iterable[Hot], now: Micros) -> None:
        """What runs, up to a number: of what is beyond it, the first are read again when they end."""
        for hot in rows:
            if hot.lease is not None and hot.status is Status.RUNNING:
                self._rows.pop(hot.lease, None)
                self._rows[hot.lease] = hot
        while len(self._rows) > MOST:
            del self._rows[next(iter(self._rows))]
        self._let_go_of_expired(now)

    def let_go(self, changes: Sequence[Change]) -> None:
        """Attempts that were ended by changes of this process."""
        for before, after, *_ in changes:
            if before.lease is not None and before.lease != after.lease:
                self._rows.pop(before.lease, None)

    def _let_go_of_expired(self, now: Micros) -> None:
        """Attempts that another process has ended, or that nobody works on: no call of this process says so."""
        while self._rows:
            first = next(iter(self._rows))
            if (self._rows[first].lease_expires_at or now) > now:
                return
            del self._rows[first]
