"""What is answered about money; and what an attempt has cost, which is said in the same words everywhere."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, NamedTuple, TypedDict

from taskyard.core.changes import Limit
from taskyard.core.planning import Settings
from taskyard.core.units import MicroUsd
from taskyard.definition.view import About, Money, view
from taskyard.features.breakers.views import BreakerPolicyView, policy_view
from taskyard.features.tasks.task_rows import TaskRow


class Spent(TypedDict, total=False):
    """Each is a total of the attempt; what is absent or None leaves what was reported before.

    Where only a model and tokens are given, the cost is looked up (`taskyard[prices]`).
    """

    cost_usd: str | float | int | Decimal | None
    tokens_input: int | None  # every token read, cached ones among them
    tokens_output: int | None
    tokens_cache_read: int | None
    tokens_cache_write: int | None
    model: str | None


@view
class SpendView:
    """What stands against one ceiling."""

    name: Annotated[str, About("agent:ID, type:TYPE, type-day:DATE:TYPE, type-month:MONTH:TYPE, dag:ID or day:DATE")]
    ceiling: Money | None
    reserved: Money
    spent: Money


def spend_of(limit: Limit) -> SpendView:
    ceiling = None if limit.ceiling is None else MicroUsd(limit.ceiling)
    return SpendView(limit.name, ceiling, MicroUsd(limit.held), MicroUsd(limit.spent))


@view
class SettingsView:
    """What a workspace decides for all its tasks."""

    preset: str | None
    daily_budget: Money | None
    default_reserve: Money
    breakers: BreakerPolicyView | None
    report_required: Annotated[bool, About("In every queue, tasks are completed only with a decision report.")]


def settings_view(settings: Settings) -> SettingsView:
    return SettingsView(
        settings.preset,
        settings.daily_budget,
        settings.default_reserve,
        None if settings.breakers is None else policy_view(settings.breakers),
        settings.report_required,
    )


class Share(NamedTuple):
    name: str
    spent_usd: str


class DagShare(NamedTuple):
    name: str
    title: str
    spent_usd: str


class SpendReport(NamedTuple):
    """Where the money of some days went, most first."""

    since: str
    until: str
    total_usd: str
    by_day: list[Share]  # in order
    by_model: list[Share]
    by_type: list[Share]
    by_agent: Annotated[list[Share], About("By type of agent.")]
    by_dag: Annotated[list[DagShare], About("By what they have spent in all.")]
    dearest: list[TaskRow]
