"""Metrics: stats, tasks by state and type, or day by day."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from taskyard.cli.invocation import AsJson, in_yard, show
from taskyard.cli.terminal import Text, seconds, table
from taskyard.core.task import Status
from taskyard.features.metrics.rules import Metrics, MetricTotals


def stats(
    context: typer.Context,
    days: Annotated[int | None, typer.Option("--days", "-d", help="The figures of so many days instead.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tasks by state and type; or what came, went and failed, day by day."""
    if days is not None:
        metrics = in_yard(context, lambda yard: yard.local.metrics.report(days=days))
        show(as_json, metrics.to_dict(), _days(metrics))
        return
    figures = in_yard(context, lambda yard: yard.tasks.stats())
    types = sorted({type_ for counts in figures.values() for type_ in counts})
    words = [status for status in Status if figures[status.value]]
    rows = [(type_, *(str(figures[word].get(type_, "")) for word in words)) for type_ in types]
    shown = table("type", *words, rows=rows, right=words) if rows else Text("the yard is empty", style="dim")
    show(as_json, figures, shown)


def _days(metrics: Metrics) -> Table:
    columns = ("created", "completed", "failed", "dead", "latency", "heartbeat", "error rates")
    rows = [(day.date, *_figures(day.totals)) for day in metrics.days]
    rows.append(("in all", *_figures(metrics.total)))
    return table("day", *columns, rows=rows, right=columns[:-1])


def _figures(totals: MetricTotals) -> tuple[str, ...]:
    counts = (totals.created, totals.tasks_completed, totals.tasks_failed, totals.dead_lettered)
    times = (totals.average_latency, totals.worker_heartbeat_delay)
    return (
        *map(str, counts),
        *("" if time is None else seconds(time) for time in times),
        ", ".join(f"{agent} {rate:.0%}" for agent, rate in totals.error_rates_per_agent.items()),
    )
