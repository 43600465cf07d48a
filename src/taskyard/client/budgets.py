"""Budgets of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.body import body
from taskyard.features.budgets.service import Budgets
from taskyard.features.budgets.views import SettingsView, SpendReport, SpendView
from taskyard.ledger.options import LOCAL


class RemoteBudgets(Remote, Budgets):
    async def spending(self) -> list[SpendView]:
        """What is reserved and was spent, by agent, by graph and by day."""
        return read(list[SpendView], (await self._connection.ask(calls.SPEND))["spend"])

    async def show(self) -> SettingsView:
        """What the workspace decides for all its tasks."""
        return read(SettingsView, await self._connection.ask(calls.SETTINGS))

    async def report(self, days: int = 30) -> SpendReport:
        """Where the money of the last days went, as the sweep has counted it so far."""
        return read(SpendReport, await self._connection.ask(calls.SPEND_REPORT, query={"days": days}))

    async def set(
        self, *, daily_budget_usd: str | float | None = None, default_reserve_usd: str | float = 0, by: str = LOCAL
    ) -> SettingsView:
        """What the workspace may spend in a day, and what a task without a maximum reserves where money is limited."""
        request = body(daily_budget_usd=daily_budget_usd, default_reserve_usd=default_reserve_usd)
        return read(SettingsView, await self._connection.ask(calls.BUDGET, request))
