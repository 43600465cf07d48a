"""The preset that tasks are put in under: see it, and change it for what is still to come."""

from __future__ import annotations

from typing import Annotated

import typer

from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.session import AsJson, By, carry_out, in_yard, show
from taskyard.cli.tables import Text
from taskyard.core.policy import PRESETS

app = typer.Typer(help="The preset that new tasks are put in under.", no_args_is_help=True)


@app.command("show")
def shown(context: typer.Context, as_json: AsJson = False) -> None:
    """The preset of the workspace."""
    name = in_yard(context, lambda yard: yard.presets.current(), preset=None)
    show(as_json, {"preset": name}, Text(name))


@app.command("set")
def chosen(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(PRESETS)}.")],
    queue: Annotated[
        str | None,
        typer.Option("--queue", help="For this queue alone. Default: the workspace.", autocompletion=completion.queues),
    ] = None,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Let tasks that are put in from now on follow a preset. Tasks that are there keep theirs."""

    async def use(yard: Yard) -> None:
        await (yard.presets.set(name, by=by) if queue is None else yard.queues.set_preset(queue, name, by=by))

    carry_out(context, as_json, use, preset=None)
