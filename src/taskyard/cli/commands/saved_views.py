"""Saved views: lists under names, for everybody in the workspace."""

from __future__ import annotations

from typing import Annotated

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli.invocation import AsJson, By, carry_out, in_yard, show
from taskyard.cli.terminal import Text, age, one_line, table
from taskyard.core.units import Micros
from taskyard.features.saved_views.views import SavedView

app = typer.Typer(help="Lists of the dashboard under names, for everybody in the workspace.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A saved view's name.")]


@app.command("save")
def saved(
    context: typer.Context,
    name: NameArgument,
    page: Annotated[str, typer.Argument(metavar="PAGE", help="Of the dashboard: tasks, dags, …")],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="As in its address: status=ready&sort=oldest")],
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Save a list under a name, in place of the one that has it."""
    view = in_yard(context, lambda yard: yard.saved_views.save(name, page, query, description=description, by=by))
    show(as_json, write(view), Text(f"{view.name}: /{view.page}?{view.query}"))


@app.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """The saved views, by their names."""

    async def use(yard: Yard) -> tuple[list[SavedView], Micros]:
        return await yard.saved_views.list(), yard.now()

    views, now = in_yard(context, use)
    rows = [
        (each.name, f"/{each.page}?{each.query}", each.by, f"{age(each.at, now)} ago", one_line(each.description))
        for each in views
    ]
    empty = Text("no saved views: save one with `taskyard saved-views save`", style="dim")
    show(as_json, write(views), table("view", "address", "by", "saved", "for", rows=rows) if rows else empty)


@app.command("rm")
def removed(context: typer.Context, name: NameArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """Forget a saved view."""
    carry_out(context, as_json, lambda yard: yard.saved_views.remove(name, by=by))
