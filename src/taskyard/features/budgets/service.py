"""Money: what a workspace may spend, what it has spent, and on what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from taskyard.core.changes import Lift, Limit
from taskyard.core.changes import Spend as StoredSpend
from taskyard.core.claiming import type_money
from taskyard.core.identifiers import DAY_BLOCKER, CeilingKind, ceiling_kind, ceiling_name
from taskyard.core.task import TaskId
from taskyard.core.units import DAY, Micros, MicroUsd, to_usd, utc_date
from taskyard.definition import arguments
from taskyard.features.budgets.views import (
    DagShare,
    SettingsView,
    Share,
    SpendReport,
    SpendView,
    settings_view,
    spend_of,
)
from taskyard.features.metrics import rules as metric_rules
from taskyard.features.metrics.rules import MetricTotals
from taskyard.features.metrics.service import MetricCounts
from taskyard.features.tasks.lookup.queries import Queries
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL

MOST_SHARES = 20
_SHOWN = frozenset({CeilingKind.AGENT, CeilingKind.DAG, CeilingKind.DAY})


class Budgets:
    def __init__(self, ledger: Ledger, queries: Queries, metrics: MetricCounts) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._queries = queries
        self._metrics = metrics

    async def show(self) -> SettingsView:
        """What the workspace decides for all its tasks."""
        return settings_view((await self._ledger.configuration.fresh()).settings)

    async def set(
        self, *, daily_budget_usd: str | float | None = None, default_reserve_usd: str | float = 0, by: str = LOCAL
    ) -> SettingsView:
        """What the workspace may spend in a day, and what a task without a maximum reserves where money is limited."""
        daily = arguments.money("daily_budget_usd", daily_budget_usd)
        reserve = arguments.money("default_reserve_usd", default_reserve_usd) or 0
        limits = await self._store.limits(self._workspace, None)
        dags = [
            limit.name
            for limit in limits.values()
            if ceiling_kind(limit.name) is CeilingKind.DAG and limit.ceiling is not None
        ]
        # With more money today nothing has to wait for tomorrow's; a claim parks anew what it still cannot pay for. And
        # what reserves less than before may fit into its DAG's.
        await self._ledger.configure(
            "workspace",
            self._workspace,
            {"daily_budget": daily, "default_reserve": reserve},
            "workspace.budget",
            by,
            lifts=(Lift(DAY_BLOCKER),),
            spends=tuple(StoredSpend(self._workspace, name, 0) for name in dags),
        )
        return settings_view((await self._ledger.configuration.fresh()).settings)

    async def spending(self) -> list[SpendView]:
        """What is reserved and was spent, by agent, by graph and by day; and by type of agents that has a budget."""
        limits = await self._store.limits(self._workspace, None)
        stored = (limit for limit in limits.values() if ceiling_kind(limit.name) in _SHOWN)
        return [spend_of(limit) for limit in sorted((*stored, *await self._type_budgets(limits)))]

    async def _type_budgets(self, limits: Mapping[str, Limit]) -> list[Limit]:
        """A budget of a type is a setting, and what stands against it is counted under its period."""
        planning, now = await self._ledger.configuration.fresh(), self._ledger.now()
        budgets = {name: planning.agent_type(name).budget for name in planning.type_names()}
        rows = {type_money(name, budget.per, now): budget.amount for name, budget in budgets.items()}
        nothing = Limit(self._workspace, "", None, 0, 0)
        return [
            limits.get(name, nothing)._replace(name=name, ceiling=amount)
            for name, amount in rows.items()
            if amount is not None
        ]

    async def report(self, days: int = 30) -> SpendReport:
        """Where the money of the last days went, as the sweep has counted it so far."""
        metered = (await self._metrics.report(days=days)).days
        total = MetricTotals()
        for day in metered:
            total.add(day.totals)
        dearest = await self._queries.rows_by_id([TaskId(each) for each, _ in total.dearest.most_common(MOST_SHARES)])
        return SpendReport(
            since=utc_date(Micros(self._ledger.now() - (days - 1) * DAY)),
            until=utc_date(self._ledger.now()),
            total_usd=to_usd(total.spent),
            by_day=[Share(day.date, to_usd(day.totals.spent)) for day in metered],
            by_model=_shares(total, lambda labels: labels.model),
            by_type=_shares(total, lambda labels: labels.type),
            by_agent=_shares(total, lambda labels: labels.agent),
            by_dag=await self._dag_shares(),
            dearest=list(dearest.values()),
        )

    async def _dag_shares(self) -> list[DagShare]:
        limits = [each for each in await self.spending() if ceiling_kind(each.name) is CeilingKind.DAG and each.spent]
        dearest = sorted(limits, key=lambda limit: -limit.spent)[:MOST_SHARES]
        titles = await self._store.named("dag", self._workspace, [_dag_of(limit) for limit in dearest])
        return [
            DagShare(dag, str(titles[dag].body["title"]) if dag in titles else "", to_usd(limit.spent))
            for limit in dearest
            for dag in [_dag_of(limit)]
        ]


def _shares(total: MetricTotals, label: Callable[[metric_rules.CostLabels], str]) -> list[Share]:
    spent = Counter[str]()
    for labels, cost in total.costs.items():
        spent[label(labels)] += cost
    return [Share(name, to_usd(MicroUsd(cost))) for name, cost in spent.most_common(MOST_SHARES)]


def _dag_of(limit: SpendView) -> str:
    return ceiling_name(limit.name).rest
