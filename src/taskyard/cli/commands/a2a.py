"""A2A: which types of tasks agents elsewhere may ask for."""

from __future__ import annotations

from typing import Annotated

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, By, carry_out, in_yard, show
from taskyard.cli.terminal import Text, table
from taskyard.features.a2a.views import PublishedTypeView

app = typer.Typer(help="Let agents elsewhere ask for work, over A2A.", no_args_is_help=True)
TypeArgument = Annotated[str, typer.Argument(metavar="TYPE", help="A type of tasks.", autocompletion=completion.types)]


@app.command("publish")
def publish(
    context: typer.Context,
    type: TypeArgument,
    description: Annotated[str, typer.Option(help="What it does, for whoever chooses among skills.")] = "",
    example: Annotated[list[str] | None, typer.Option("--example", help="What one may ask; may be repeated.")] = None,
    default: Annotated[bool, typer.Option("--default", help="Taken where a message names no skill.")] = False,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Let agents elsewhere ask for tasks of this type: a skill of the card that `taskyard serve` shows."""
    made = in_yard(
        context,
        lambda yard: yard.a2a.publish(type, description=description, examples=example or (), is_default=default, by=by),
    )
    show(as_json, write(made), Text(f"{made.type} may be asked for over A2A"))


@app.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """The types that agents elsewhere may ask for."""

    async def use(yard: Yard) -> list[PublishedTypeView]:
        return await yard.a2a.list()

    found = in_yard(context, use)
    rows = [(each.type, "yes" if each.is_default else "", each.description, "; ".join(each.examples)) for each in found]
    empty = Text("nothing is published: A2A is off", style="dim")
    shown = table("type", "default", "description", "examples", rows=rows, wraps=("description", "examples"))
    show(as_json, write(found), shown if rows else empty)


@app.command("unpublish")
def unpublish(context: typer.Context, type: TypeArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """Take no more tasks of this type over A2A. Those that are there can still be followed."""
    carry_out(context, as_json, lambda yard: yard.a2a.unpublish(type, by=by))
