"""How plain claims are made: in two round trips, the second of which is a transaction by itself.

Tasks are looked at without locking them, and the core chooses. Then one statement locks what was chosen, looks whether
it is still so, and takes all of it. Where another has taken some of it meanwhile nothing is written, and `claims` makes
the claim. So does it where more than the agent's slots limits what may be taken: such ceilings must stay as they were
seen, from the look to the write.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any

from taskyard.core.claiming import Choice, ClaimPlan
from taskyard.core.identifiers import slots_ceiling
from taskyard.core.task import LaneId
from taskyard.stores.contract import Claimed, Stale
from taskyard.stores.postgres import claims
from taskyard.stores.postgres.claims import Found
from taskyard.stores.postgres.connection.address import Address
from taskyard.stores.postgres.connection.pool import Pool
from taskyard.stores.postgres.connection.wakeups import News
from taskyard.stores.postgres.fast.claim_cursors import Place
from taskyard.stores.postgres.statements import Statements
from taskyard.stores.postgres.transaction import Transaction
from taskyard.stores.postgres.transaction_runner import Transactions
from taskyard.stores.shared.store_clock import StoreClock

ToItsEnd = Callable[
    [Coroutine[Any, Any, Any]], Coroutine[Any, Any, Any]
]  # what a caller that goes away does not break off
_CAREFUL_FOR = 1.0  # seconds after one that could not be made so


class PlainClaims:
    """Makes them one at a time, on a connection of its own, as long as that goes well."""

    def __init__(self, where: Address, sql: Statements, time: StoreClock, to_its_end: ToItsEnd) -> None:
        self._to_its_end = to_its_end
        self._pool = Pool(where.for_claims)
        self._transactions = Transactions(where, self._pool, sql, time)
        self._is_possible = where.spares_one
        self._is_busy = False
        self._careful_until = 0.0

    async def close(self) -> None:
        await self._pool.close()

    async def claim(self, plan: ClaimPlan, behind: dict[LaneId, Place]) -> tuple[Claimed | Stale, News | None] | None:
        """The answer, and the news. None: it cannot be made so, and nothing was written."""
        if self._is_busy or not self._is_possible or monotonic() < self._careful_until:
            return None
        self._is_busy = True
        try:
            return await self._claim(plan, behind)
        finally:
            self._is_busy = False

    async def _claim(self, plan: ClaimPlan, behind: dict[LaneId, Place]) -> tuple[Claimed | Stale, News | None] | None:
        seen = await self._transactions.look(lambda on: claims.search(on, plan, (), behind))
        if isinstance(seen, Stale):
            return seen, None
        choice, found = seen
        if not choice.taken and not choice.parked:
            return claims.claimed(choice, found), None
        if _is_plain(plan, choice, found):
            taken = await self._to_its_end(self._transactions.write_at_once(lambda on: _take(on, plan, choice)))
            if taken is not None and taken[0]:
                return claims.claimed(choice, found), taken[1]
        self._careful_until = monotonic() + _CAREFUL_FOR
        return None


def _is_plain(plan: ClaimPlan, choice: Choice, found: Found) -> bool:
    if choice.parked or claims.limiting(plan, found) != {slots_ceiling(plan.agent)}:
        return False
    # A graph may be given a ceiling at any time, and that does not make a plan void.
    return all(change.before.dag_id is None for change in choice.taken)


async def _take(transaction: Transaction, plan: ClaimPlan, choice: Choice) -> bool:
    transaction.move_hot((change.before, change.after) for change in choice.taken)
    transaction.move_limits([(plan.workspace, spend.name, spend.held, spend.spent) for spend in choice.spends])
    transaction.tell(change.event for change in choice.taken)
    transaction.tell_now()
    tasks = [change.before for change in choice.taken]
    return await transaction.take(tasks, plan.workspace, plan.epoch, plan.slots)
