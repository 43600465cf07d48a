"""Reports: sums, counts and percentiles by group."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from taskyard.api.codec import write
from taskyard.cli.commands.tasks import ReasonOption, SelectionOptions
from taskyard.cli.csv_text import csv_text
from taskyard.cli.invocation import AsJson, in_yard, show, with_option_groups
from taskyard.cli.terminal import Text, dollars, seconds, table
from taskyard.features.reports import rules
from taskyard.features.reports.views import GroupedReport, ReportRow

NONE = Text("nothing was measured", style="dim")


@with_option_groups
def report(
    context: typer.Context,
    by: Annotated[
        list[str] | None, typer.Option("--by", help=f"Up to three of {', '.join(rules.GROUPINGS)}. Default: type.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", "-m", help=f"Of {', '.join(rules.MEASURES)}. May be repeated."),
    ] = None,
    source: Annotated[
        str, typer.Option(help="attempts, or days: the stored figures, which reach further back.")
    ] = rules.ATTEMPTS,
    since: Annotated[str | None, typer.Option(help="From this time on (ISO 8601). Default: seven days ago.")] = None,
    until: Annotated[str | None, typer.Option(help="Before this time.")] = None,
    *,
    chosen: SelectionOptions,
    reason: ReasonOption = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="As comma-separated values, with a line of names.")] = False,
    as_json: AsJson = False,
) -> None:
    """What was done, what it cost and how long it took: sums, counts and percentiles by group."""
    asked: dict[str, Any] = {
        **chosen.selection(),
        "by": by or ["type"],
        "measures": measure or [*rules.USUAL_MEASURES],
        "source": source,
        "since": since,
        "until": until,
        "reason": reason,
    }
    found = in_yard(context, lambda yard: yard.reports.make(**asked))
    if as_csv:
        lines = [[*row.group, *row.values] for row in found.rows]
        sys.stdout.write(csv_text([*found.by, *found.measures], lines))
        return
    show(as_json, write(found), *(_shown(found) if found.rows else [NONE]))


def _shown(found: GroupedReport) -> list[RenderableType]:
    rows = [_cells(found, row, [each or "–" for each in row.group]) for row in found.rows]
    rows.append(_cells(found, found.total, ["in all", *("" for _ in found.by[1:])][: len(found.by)]))
    what = "tasks" if found.source == rules.ATTEMPTS else "days"
    notes = [f"of {found.read:,} {what}"]
    if found.is_cut:
        notes.append(f"there are more: the newest {found.read:,} are counted")
    if found.rows_left_out:
        notes.append(f"{found.rows_left_out:,} more rows are left out")
    return [
        table(*found.by, *found.measures, rows=rows, right=found.measures),
        Text("; ".join(notes), style="dim"),
    ]


def _cells(found: GroupedReport, row: ReportRow, names: list[str]) -> tuple[str, ...]:
    return (*names, *(_value(name, each) for name, each in zip(found.measures, row.values, strict=True)))


def _value(measure: str, value: float | None) -> str:
    if value is None:
        return ""
    if measure in rules.COUNTS:
        return f"{value:,.0f}"
    return dollars(round(value * rules.USD)) if measure.startswith("cost") else seconds(value)
