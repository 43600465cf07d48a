"""Breakers: see them, move them by hand, and set their policy."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, By, carry_out, in_yard, json_given, show
from taskyard.cli.terminal import Text, table
from taskyard.core.breaker import BreakerState
from taskyard.core.errors import InvalidInput
from taskyard.features.breakers.views import BreakerPolicyView
from taskyard.ledger.options import LOCAL

app = typer.Typer(help="Circuit breakers, one for each task type.", no_args_is_help=True)
TypeArgument = Annotated[
    str, typer.Argument(metavar="TYPE", help="The type of the tasks.", autocompletion=completion.types)
]
WhyOption = Annotated[str, typer.Option("--why", help="The reason; kept with the event.")]


@app.command("ls")
def breakers_listed(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """Breakers that have ever opened."""
    views = in_yard(context, lambda yard: yard.breakers.list())
    value = [{"type": view.type, "state": view.state.value, "open_until": view.open_until} for view in views]
    rows = [
        (
            view.type,
            Text(view.state.value, style="green" if view.state is BreakerState.CLOSED else "bold red"),
            view.open_until or "",
            view.why,
        )
        for view in views
    ]
    empty = Text("no breaker has opened", style="green")
    show(as_json, value, table("type", "state", "open until", "why", rows=rows) if rows else empty)


@app.command("policy")
def breaker_policy(
    context: typer.Context,
    threshold: Annotated[int | None, typer.Option(help="Failures in a row that open a breaker.")] = None,
    half_open_after: Annotated[
        float | None, typer.Option(help="Seconds until an open one lets a probe through.")
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            help='For one type, as TYPE=N or TYPE=JSON: ops-security={"failureThreshold": 3}. May be repeated.'
        ),
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Everything as the preset has it.")] = False,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Show when the workspace's breakers open, or set it as a whole: what is not given is the preset's."""
    overrides = dict(_override(each) for each in override or [])

    async def use(yard: Yard) -> BreakerPolicyView:
        if threshold is None and half_open_after is None and not overrides and not reset:
            return (await yard.budgets.show()).breakers or BreakerPolicyView(None, None, {})
        return await yard.breakers.set_policy(
            failure_threshold=threshold, half_open_after_sec=half_open_after, overrides=overrides, by=by
        )

    value = write(in_yard(context, use))
    show(as_json, value, Text(json.dumps(value, indent=2)))


def _override(given: str) -> tuple[str, Any]:
    type_, equals, value = given.partition("=")
    if not equals:
        raise InvalidInput("--override", "must be TYPE=N or TYPE=JSON")
    return type_, json_given("--override", value)


@app.command("open")
def opened(
    context: typer.Context,
    type: TypeArgument,
    why: WhyOption = "opened by hand",
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Hand out nothing of a type for a while."""
    carry_out(context, as_json, lambda yard: yard.breakers.open(type, why=why, by=by))


@app.command("close")
def closed(
    context: typer.Context,
    type: TypeArgument,
    why: WhyOption = "closed by hand",
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Let a type through again."""
    carry_out(context, as_json, lambda yard: yard.breakers.close(type, why=why, by=by))
