"""Budgets: what may be spent, and where the money went."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from taskyard.api import calls, openapi, requests
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.budgets.views import SettingsView, SpendReport, SpendView
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("budgets")
SPENDING = openapi.answer("Spending", spend=list[SpendView])


@routes.add(calls.SPEND, SPENDING)
async def spend(caller: Calling) -> Response:
    """What is reserved and was spent, by agent, by graph and by day."""
    return answer({"spend": write(await caller.yard.budgets.spending())})


@routes.add(calls.BUDGET, model(SettingsView))
async def set_budget(caller: Calling, asked: requests.DayBudget) -> Response:
    """What the workspace may spend in a day, and what a task without a maximum reserves."""
    settings = await caller.yard.budgets.set(
        daily_budget_usd=asked.daily_budget_usd, default_reserve_usd=asked.default_reserve_usd, by=caller.by
    )
    return answer(write(settings))


@routes.add(calls.SPEND_REPORT, model(SpendReport))
async def spend_report(caller: Calling, days: Annotated[int, Query(ge=1, le=400)] = 30) -> Response:
    """Where the money of the last days went: the first twenty of each kind."""
    return answer(write(await caller.yard.budgets.report(days)))


@routes.add(calls.SETTINGS, model(SettingsView))
async def settings(caller: Calling) -> Response:
    """What the workspace decides for all its tasks: its budget for a day among it."""
    return answer(write(await caller.yard.budgets.show()))
