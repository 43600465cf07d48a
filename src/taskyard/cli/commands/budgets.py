"""Budgets: what may be spent, and what was."""

from __future__ import annotations

from typing import Annotated

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, By, carry_out, in_yard, show
from taskyard.cli.terminal import Text, dollars, table
from taskyard.core.identifiers import day_ceiling
from taskyard.core.json_value import Json
from taskyard.core.units import usd, utc_date
from taskyard.ledger.options import LOCAL

app = typer.Typer(help="What may be spent, and what was.", no_args_is_help=True)
_MONEY = ("spent_usd", "reserved_usd", "ceiling_usd")
DagArgument = Annotated[str, typer.Argument(metavar="DAG", help="A DAG's id.", autocompletion=completion.dags)]


@app.command("show")
def spent(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """What was spent today, by agents and by DAGs."""

    async def use(yard: Yard) -> list[dict[str, Json]]:
        today = day_ceiling(utc_date(yard.now()))
        return [{**write(spend), "today": spend.name == today} for spend in await yard.budgets.spending()]

    rows = in_yard(context, use)
    shown = table(
        "what",
        "spent",
        "reserved",
        "ceiling",
        right=("spent", "reserved", "ceiling"),
        rows=[
            (
                "today" if row["today"] else str(row["name"]),
                *(dollars(None if row[name] is None else usd(str(row[name]))) for name in _MONEY),
            )
            for row in rows
        ],
    )
    show(as_json, rows, shown if rows else Text("nothing was spent", style="dim"))


@app.command("dag")
def dag_limited(
    context: typer.Context,
    dag: DagArgument,
    dollars_: Annotated[str | None, typer.Argument(metavar="[DOLLARS]", help="Nothing: no limit.")] = None,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Set what a DAG may spend in all."""
    carry_out(context, as_json, lambda yard: yard.dags.set_budget(dag, dollars_, by=by))


@app.command("tasks")
def dag_sized(
    context: typer.Context,
    dag: DagArgument,
    tasks: Annotated[int | None, typer.Argument(metavar="[TASKS]", help="Nothing: as many as any, 10,000.")] = None,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Set how many tasks a DAG may have in all."""
    carry_out(context, as_json, lambda yard: yard.dags.set_limit(dag, tasks, by=by))


@app.command("set")
def limited(
    context: typer.Context,
    daily: Annotated[str | None, typer.Option(help="What the workspace may spend in a UTC day, in dollars.")] = None,
    reserve: Annotated[str, typer.Option(help="What a task without a maximum reserves where money is limited.")] = "0",
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Limit what the workspace spends in a day."""
    carry_out(
        context, as_json, lambda yard: yard.budgets.set(daily_budget_usd=daily, default_reserve_usd=reserve, by=by)
    )
