"""Metrics: stats, tasks by state and type, or day by day."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Table

from taskyard.api.codec import write
from taskyard.cli.invocation import AsJson, in_yard, show
from taskyard.cli.terminal import Text, seconds, table
from taskyard.core.task import Status
from taskyard.features.metrics.rules import Metrics, MetricTotals
from taskyard.features.overview.views import Series, SeriesShare

BARS = " ▁▂▃▄▅▆▇█"


class SplitBy(StrEnum):
    TYPE = "type"
    AGENT = "agent"
    QUEUE = "queue"


class SplitWindow(StrEnum):
    HOUR = "1h"
    QUARTER = "6h"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"
    SEASON = "90d"


def stats(
    context: typer.Context,
    days: Annotated[int | None, typer.Option("--days", "-d", help="The figures of so many days instead.")] = None,
    by: Annotated[
        SplitBy | None, typer.Option(help="What each type, agent or queue completed and failed lately instead.")
    ] = None,
    window: Annotated[SplitWindow, typer.Option(help="With --by: how long back.")] = SplitWindow.HOUR,
    as_json: AsJson = False,
) -> None:
    """Tasks by state and type; or what came, went and failed, day by day or for each type, agent or queue."""
    if by is not None:
        series = in_yard(context, lambda yard: yard.overview.series(window.value, by=by.value))
        show(as_json, write(series), _shares(by.value, series))
        return
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


def _shares(by: str, series: Series) -> Table | Text:
    shares = series.shares or {}
    rows = [(name, str(sum(each.completed)), str(sum(each.failed)), _sparkline(each)) for name, each in shares.items()]
    columns = (by, "completed", "failed", f"completed, {series.at[0][:16]} until now")
    return table(*columns, rows=rows, right=columns[1:3]) if rows else Text("nothing was counted", style="dim")


def _sparkline(share: SeriesShare) -> str:
    """Up to 60 columns of what was completed, the tallest for the most."""
    width = -(-len(share.completed) // 60)
    columns = [sum(share.completed[start : start + width]) for start in range(0, len(share.completed), width)]
    most = max(columns)
    return "".join(BARS[-(-each * (len(BARS) - 1) // most)] for each in columns) if most else ""


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
