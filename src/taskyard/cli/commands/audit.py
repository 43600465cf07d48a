"""The audit log: who did what."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from typing import Annotated, Literal, TypedDict

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli.csv_text import csv_text
from taskyard.cli.invocation import AsJson, By, in_yard, show
from taskyard.cli.terminal import Text, age, one_line, table
from taskyard.core.json_value import compact
from taskyard.core.units import Micros, to_iso
from taskyard.features.audit.service import MOST_LISTED
from taskyard.features.audit.views import AuditEntry, AuditPage
from taskyard.ledger.options import LOCAL
from taskyard.visible_text import visible

app = typer.Typer(help="Who did what.", no_args_is_help=True)
COLUMNS = ("at", "by", "action", "object", "facts")
NONE = Text("none", style="dim")

Who = Annotated[str | None, typer.Option(help="Only acts of this author, such as human:ada.")]
Action = Annotated[str | None, typer.Option(help="Only these acts: task.cancelled, or task.* for all that begin so.")]
Object = Annotated[str | None, typer.Option(help="Only what was done to this: agent:coder, a task's or DAG's id.")]
Since = Annotated[str | None, typer.Option(help="From this time on, as ISO 8601.")]
Until = Annotated[str | None, typer.Option(help="Before this time, as ISO 8601.")]


class _AuditConditions(TypedDict):
    who: str | None
    action: str | None
    object: str | None
    since: str | None
    until: str | None


@app.command("ls")
def listed(
    context: typer.Context,
    who: Who = None,
    action: Action = None,
    object: Object = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Go on behind the page that showed this.")] = None,
    as_json: AsJson = False,
) -> None:
    """Who did what, newest first."""
    wanted = _AuditConditions(who=who, action=action, object=object, since=since, until=until)

    async def use(yard: Yard) -> tuple[AuditPage, Micros]:
        return await yard.audit.list(**wanted, limit=limit, cursor=cursor), yard.now()

    page, now = in_yard(context, use)
    rows = [
        (f"{age(each.at, now)} ago", each.by, each.action, each.object or "", one_line(_facts(each)))
        for each in page.entries
    ]
    more = [] if page.cursor is None else [Text(f"more: --cursor {page.cursor}", style="dim")]
    shown = table("done", "by", "act", "what", "facts", rows=rows) if rows else NONE
    show(as_json, write(page), shown, *more)


@app.command("export")
def export(
    context: typer.Context,
    format: Annotated[
        Literal["csv", "jsonl"], typer.Option("--format", help="csv for spreadsheets, jsonl for programs.")
    ] = "jsonl",
    who: Who = None,
    action: Action = None,
    object: Object = None,
    since: Since = None,
    until: Until = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format jsonl.")] = False,
) -> None:
    """Write every entry to standard output, newest first."""
    is_csv = format == "csv" and not as_json
    wanted = _AuditConditions(who=who, action=action, object=object, since=since, until=until)

    async def use(yard: Yard) -> None:
        if is_csv:
            sys.stdout.write(csv_text(COLUMNS, ()))
        async for page in _pages(yard, wanted):
            sys.stdout.write(_csv(page) if is_csv else _json_lines(page))

    in_yard(context, use)


async def _pages(yard: Yard, wanted: _AuditConditions) -> AsyncGenerator[AuditPage, None]:
    cursor: str | None = None
    while True:
        page = await yard.audit.list(**wanted, limit=MOST_LISTED, cursor=cursor)
        yield page
        if (cursor := page.cursor) is None:
            return


def _csv(page: AuditPage) -> str:
    rows = [(to_iso(each.at), each.by, each.action, each.object or "", compact(each.facts)) for each in page.entries]
    return csv_text(COLUMNS, rows).partition("\n")[2]


def _json_lines(page: AuditPage) -> str:
    return "".join(visible(json.dumps(write(each), ensure_ascii=False)) + "\n" for each in page.entries)


@app.command("keep")
def keep(
    context: typer.Context,
    days: Annotated[
        float | None, typer.Argument(metavar="[DAYS]", help="How long entries are kept; 400 where nobody said.")
    ] = None,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Show how long entries are kept, or set it."""

    async def use(yard: Yard) -> object:
        policy = await (yard.audit.policy() if days is None else yard.audit.set_policy(days, by=by))
        return policy.days

    kept = in_yard(context, use)
    show(as_json, {"days": kept}, Text(f"entries are kept for {kept:g} days"))


def _facts(entry: AuditEntry) -> str:
    return " ".join(f"{name}={value}" for name, value in entry.facts.items() if value not in (None, "", []))
