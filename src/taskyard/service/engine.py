"""What every class of the tower stands on: the ledger, under the names that its parts still use."""

from __future__ import annotations

from taskyard.core.agent import AgentType
from taskyard.core.changes import Event
from taskyard.core.planning import Planning
from taskyard.core.task import DagId, TaskId
from taskyard.core.units import Micros
from taskyard.features.agents.rules import budget_moved
from taskyard.features.attempts.handed_out import HandedOut
from taskyard.features.breakers.service import Breakers
from taskyard.features.dags.lifecycle import Lifecycle
from taskyard.features.inbox.feed import Feed
from taskyard.ledger.ids import mint_task
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import Options
from taskyard.ledger.queue import Committer
from taskyard.stores.contract import Store


class Engine:
    def __init__(self, store: Store, options: Options) -> None:
        self.store = store
        self.options = options
        self.workspace = options.workspace
        self.ledger = ledger = Ledger(store, options, Committer(store))
        self.dag_lifecycle = Lifecycle(ledger)
        self.breaker_trips = Breakers(ledger)
        self._in_hand = HandedOut()
        ledger.ended = self._in_hand.let_go
        ledger.contributors.append(Feed(store))
        ledger.followers += [self.dag_lifecycle, self.breaker_trips]

        self._committer = ledger.queue
        self._configuration = ledger.configuration
        self._land = ledger.commit
        self._land_all = ledger.commit_all
        self._commit = ledger.commit_set
        self._load = ledger.load
        self._load_all = ledger.load_all
        self._held = ledger.held
        self._define = ledger.definition
        self._policy_of = ledger.policy_of
        self._lane_of = ledger.lane_of
        self._type_of = ledger.type_of
        self._replayed = ledger.replayed
        self._spent = ledger.spent
        self._maker = ledger.maker
        self._is_free = ledger.is_free
        self._told_by = ledger.audit
        self._lanes = ledger.configuration.lane_ids
        self._settle_dag = self.dag_lifecycle.settle
        self._dag_moved = self.dag_lifecycle.moved

    def now(self) -> Micros:
        return self.store.now()

    async def mark(self) -> int:
        """Where the yard stands: to be handed to `changed`, so that nothing written since is missed."""
        return await self.store.changed(-1, 0)

    async def changed(self, mark: int, timeout_sec: float) -> int:
        """Return when something may have been written since the mark, by any process, or at the time-out."""
        return await self.store.changed(mark, timeout_sec)

    async def _planning(self) -> Planning:
        return await self._configuration.current()

    def _told_of_budget(self, before: AgentType, after: AgentType, by: str) -> list[Event]:
        """What a type may spend, from what to what; nothing where that is the same."""
        if before.budget == after.budget:
            return []
        return [self._told_by("agent.budget", by, budget_moved(after.name, before.budget, after.budget))]

    def _mint_task(self) -> TaskId:
        return mint_task()

    def _mint_dag(self) -> DagId:
        return DagId(self._mint_task().replace("task_", "dag_"))
