"""Tasks whose delay is over, or whose time to be of use."""

from __future__ import annotations

from taskyard.core import transitions
from taskyard.core.changes import (
    ChangeSet,
    Lift,
    Touch,
    expected,
)
from taskyard.core.identifiers import TIME_BLOCKER, ends_with_time
from taskyard.core.task import Hot, Status
from taskyard.core.units import Micros
from taskyard.features.tasks.cancellation import Cancellation
from taskyard.ledger.ledger import Ledger


class WakeUps:
    def __init__(self, ledger: Ledger, cancellation: Cancellation) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._cancellation = cancellation

    async def wake(self, hot: Hot) -> bool:
        async def decide() -> tuple[ChangeSet | None, bool]:
            fresh, now = await self._ledger.load(hot.id), self._ledger.now()
            if fresh.due_at is None or fresh.due_at > now:
                return None, False
            change_set = await self._woken(fresh, now)
            return change_set, change_set is not None

        woken = await self._ledger.commit_keyed(decide)
        if hot.expires_at is not None and hot.expires_at <= self._ledger.now():
            await self._cancellation.finish_cascade(hot.id)
        # Where other blockers are left, its time is over all the same.
        await self._store.touch([Touch(hot.id, hot.due_at or self._ledger.now(), hot.expires_at)])
        return woken

    async def _woken(self, hot: Hot, now: Micros) -> ChangeSet | None:
        if hot.expires_at is not None and hot.expires_at <= now:
            return await self._cancellation.cancellation(
                hot, "expired", follows=(await self._ledger.policy_of(hot)).cascades
            )
        if hot.status is Status.RETRYING:
            return ChangeSet(changes=(transitions.promote(hot, now=now),), at=now)
        names = {blocker.name for blocker in await self._store.blockers([hot.id]) if blocker.wait == hot.wait}
        # A time among other blockers only lifts itself; that of a wait for a signal or a batch is the wait's end. What
        # waits for neither was woken before, by a sweep that did not live to move its due time.
        if TIME_BLOCKER in names:
            lift = Lift(TIME_BLOCKER, hot.id)
        elif any(map(ends_with_time, names)):
            lift = Lift("", hot.id, ends_wait=True)
        else:
            return None
        return ChangeSet(expects=(expected(hot),), lifts=(lift,), at=now)
