"""Budgets of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.budgets.service import Budgets


class RemoteBudgets(Remote, Budgets):
    spending = over_http(Budgets.spending, calls.SPEND)
    show = over_http(Budgets.show, calls.SETTINGS)
    report = over_http(Budgets.report, calls.SPEND_REPORT)
    set = over_http(Budgets.set, calls.BUDGET)
