"""Work that an agent or a process no longer has, taken back at once."""

from __future__ import annotations

from collections.abc import Iterable

from taskyard.core.errors import LeaseLost
from taskyard.core.outcomes import Report
from taskyard.core.runtime import runtime_of
from taskyard.core.task import Failure, Hot, Reason, RuntimeId, Status
from taskyard.features.attempts.endings.failures import Failures
from taskyard.features.attempts.endings.losses import Losses
from taskyard.ledger.ledger import Ledger


class LostWork:
    def __init__(self, ledger: Ledger, failures: Failures) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._failures = failures

    async def held_on(self, runtime: RuntimeId) -> list[Hot]:
        """What all processes of a runtime hold."""
        held = await self._store.held()
        return [hot for hot in held if hot.workspace == self._workspace and runtime_of(hot.runtime) == runtime]

    async def held_by(self, runtime_id: RuntimeId) -> list[Hot]:
        held = await self._store.held(runtime=runtime_id)
        return [hot for hot in held if hot.workspace == self._workspace]

    async def fail(self, held: Iterable[Hot], reason: Reason) -> list[Status]:
        """Take back what its worker no longer has, and say what became of each. A breaker counts one of each type."""
        losses, fates = Losses(self._store), list[Status]()
        for hot in held:
            failure = Failure(reason=reason, error=f"runtime {runtime_of(hot.runtime)} no longer has it")
            in_company = await losses.are_more(hot, self._ledger)
            try:
                failed = await self._failures.fail_attempt(
                    hot.id, hot.lease or "", failure, Report("orphan", ""), in_company=in_company
                )
            except LeaseLost:
                continue  # it ended, or was taken back, while we were on the way
            await losses.gone(hot, self._ledger)
            fates.append(failed.status)
        return fates
