"""Attempts whose lease, claim time or longest duration is over."""

from __future__ import annotations

from taskyard.core.changes import (
    ChangeSet,
    Touch,
)
from taskyard.core.outcomes import BY_THE_YARD
from taskyard.core.task import Failure, Hot, Reason, Status, next_due
from taskyard.features.attempts.endings.losses import Losses
from taskyard.features.attempts.validation.validators import Validators
from taskyard.ledger.ledger import Ledger


class Expiry:
    def __init__(self, ledger: Ledger, validators: Validators) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._validators = validators

    async def expire(self, hot: Hot, losses: Losses) -> bool:
        """Take a task back whose time is over. A heartbeat that comes first wins."""
        now = self._ledger.now()
        if hot.lease_expires_at is not None and hot.lease_expires_at <= now:
            reason = Reason.CLAIM_EXPIRED if hot.status is Status.CLAIMED else Reason.HEARTBEAT_TIMEOUT
            expiring = True
        elif hot.limit_at is not None and hot.limit_at <= now:
            reason, expiring = Reason.TIMEOUT, False
        else:
            await self._store.touch([Touch(hot.id, hot.due_at or now, next_due(hot))])
            return False
        failure = Failure(reason=reason, error=_EXPIRED[reason])
        in_company = await losses.are_more(hot, self._ledger)

        async def decide() -> tuple[ChangeSet | None, bool]:
            fresh = await self._ledger.load(hot.id)
            if fresh.lease != hot.lease or fresh.lease_expires_at != hot.lease_expires_at:
                return None, False
            change_set, _ = await self._validators.failed(
                fresh, failure, BY_THE_YARD, expiring=expiring, in_company=in_company
            )
            return change_set, True

        expired = await self._ledger.commit_keyed(decide)
        if expired:
            await losses.gone(hot, self._ledger)
        return expired


_EXPIRED = {
    Reason.CLAIM_EXPIRED: "was claimed and not started in time",
    Reason.HEARTBEAT_TIMEOUT: "no heartbeat in time",
    Reason.TIMEOUT: "max_duration_sec has passed",
}
