"""Fast path, 19 % of a claim here and 50 % at the server: two round trips, the second a statement and a transaction.

It applies if only the agent's slots limit the claim and no task is of a DAG; it needs a connection of its own. The slow
path (`claims`) takes four round trips (decision 25).

A query reads tasks without locks, and the core chooses. One statement then locks the chosen tasks, checks that they did
not change, and takes all of them. If another process took one meanwhile, nothing is written and the slow path claims.
Other ceilings than slots must not change between the query and the write, so claims under them use the slow path.
"""

from __future__ import annotations

from time import monotonic

from taskyard.core.claiming import Choice, ClaimPlan
from taskyard.core.identifiers import slots_ceiling
from taskyard.core.task import LaneId
from taskyard.stores.contract import Claimed, Stale
from taskyard.stores.postgres import claims
from taskyard.stores.postgres.claims import SearchState
from taskyard.stores.postgres.connection.address import PostgresAddress
from taskyard.stores.postgres.connection.pool import Pool
from taskyard.stores.postgres.connection.wakeup import Wakeup
from taskyard.stores.postgres.fast.claim_cursors import ClaimCursors, Place
from taskyard.stores.postgres.fast.guarded_statements import OneStatement
from taskyard.stores.postgres.fast.look_ahead import LookAhead
from taskyard.stores.postgres.fast.statement_runner import StatementRunner
from taskyard.stores.postgres.statements import Statements
from taskyard.stores.shared.log_rows import split_events
from taskyard.stores.shared.store_clock import StoreClock
from taskyard.stores.shielding import Shield

_GENERAL_FOR = 1.0  # seconds of the general path after an optimistic claim failed


class OptimisticClaims:
    """Makes one optimistic claim at a time, on its own connection."""

    def __init__(
        self,
        where: PostgresAddress,
        sql: Statements,
        time: StoreClock,
        shield: Shield,
        cursors: ClaimCursors,
        *,
        beside: Pool,
    ) -> None:
        self._shield = shield
        self._pool = Pool(where.for_claims, beside=beside)
        self._transactions = StatementRunner(where, self._pool, sql, time, is_repeated=False)
        looks_ahead = where.for_claims.connections > 1
        self.look_ahead = LookAhead(self._transactions, self._pool, cursors, time.now) if looks_ahead else None
        self._is_possible = where.has_claim_connection
        self._is_busy = False
        self._general_until = 0.0

    async def close(self) -> None:
        if self.look_ahead is not None:
            await self.look_ahead.close()
        await self._pool.close()

    async def claim(
        self, plan: ClaimPlan, cursors: dict[LaneId, Place]
    ) -> tuple[Claimed | Stale, Wakeup | None] | None:
        """The answer, and the wake-up to send. None: the fast path does not apply, and nothing was written."""
        if self._is_busy or not self._is_possible or monotonic() < self._general_until:
            return None
        self._is_busy = True
        try:
            return await self._claim(plan, cursors)
        finally:
            self._is_busy = False

    async def _claim(
        self, plan: ClaimPlan, cursors: dict[LaneId, Place]
    ) -> tuple[Claimed | Stale, Wakeup | None] | None:
        ahead = None if self.look_ahead is None else await self.look_ahead.choice(plan, cursors)
        if ahead is not None:
            choice, (_, found, changes) = ahead
            if (answer := await self._write(plan, choice, found, cursors, changes)) is not None:
                return answer
        seen = await self._transactions.read_unlocked(lambda on: claims.search(on, plan, (), cursors))
        if isinstance(seen, Stale):
            return seen, None
        choice, found = seen
        if not choice.taken and not choice.parked:
            return claims.to_claimed(choice, found), None
        answer = await self._write(plan, choice, found, cursors)
        if answer is None:
            self._general_until = monotonic() + _GENERAL_FOR
        return answer

    async def _write(
        self,
        plan: ClaimPlan,
        choice: Choice,
        found: SearchState,
        cursors: dict[LaneId, Place],
        changes: int | None = None,
    ) -> tuple[Claimed | Stale, Wakeup | None] | None:
        """Take what was chosen, and look for the next claim meanwhile. None: nothing was written.

        Changes: of the pool, when the tasks were seen. None: on the connection that was used last, which is used again.
        """
        if not _is_applicable(plan, choice, found):
            return None

        async def take(on: OneStatement) -> bool:
            if changes is not None and changes != self._pool.changes:
                return False
            if self.look_ahead is not None:
                self.look_ahead.begin(plan, choice, found, cursors)
            return await _take(on, plan, choice)

        taken = await self._shield.run(self._transactions.write_once(take))
        if taken is not None and taken[0]:
            return claims.to_claimed(choice, found), taken[1]
        if self.look_ahead is not None:
            self.look_ahead.drop()
        return None


def _is_applicable(plan: ClaimPlan, choice: Choice, found: SearchState) -> bool:
    if choice.parked or claims.limiting_ceilings(plan, found) != {slots_ceiling(plan.agent)}:
        return False
    # A DAG can get a ceiling at any time without making claim plans stale.
    return all(change.before.dag_id is None for change in choice.taken)


async def _take(transaction: OneStatement, plan: ClaimPlan, choice: Choice) -> bool:
    events = [change.event for change in choice.taken]
    transaction.plan_events(events)
    transaction.apply_changes(choice.taken)
    transaction.move_limits([(plan.workspace, spend.name, spend.held, spend.spent) for spend in choice.spends])
    transaction.queue_log(split_events(events))
    tasks = [change.before for change in choice.taken]
    return await transaction.take(tasks, plan.workspace, plan.epoch, plan.slots)
