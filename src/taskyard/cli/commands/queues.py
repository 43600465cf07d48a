"""Queues: see them, pause and resume them; and the preset that tasks are put in under."""

from __future__ import annotations

from typing import Annotated

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, By, carry_out, in_yard, show
from taskyard.cli.terminal import Text, age, table
from taskyard.core.policy import PRESETS
from taskyard.core.units import Micros
from taskyard.features.queues.views import ThrottleView
from taskyard.ledger.options import LOCAL

app = typer.Typer(help="See, pause and resume queues.", no_args_is_help=True)
presets = typer.Typer(help="The preset that new tasks are put in under.", no_args_is_help=True)
QueueArgument = Annotated[
    str, typer.Argument(metavar="QUEUE", help="The name of a queue.", autocompletion=completion.queues)
]


@app.command("ls")
def queues_listed(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """Queues with their state, what waits in them, and their preset."""
    views = in_yard(context, lambda yard: yard.queues.list())
    rows = [
        (
            view.queue,
            "paused" if view.paused else "open",
            str(view.ready),
            view.preset,
            "required" if view.report_required else "",
        )
        for view in views
    ]
    columns = ("queue", "state", "ready", "preset", "reports")
    shown = table(*columns, rows=rows, right=("ready",)) if rows else Text("no queue was ever used", style="dim")
    show(as_json, write(views), shown)


@app.command()
def pause(
    context: typer.Context,
    queue: QueueArgument,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Hand out nothing of a queue."""
    carry_out(context, as_json, lambda yard: yard.queues.pause(queue, by=by))


@app.command("resume")
def queue_resumed(
    context: typer.Context,
    queue: QueueArgument,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Hand out a paused queue's tasks again."""
    carry_out(context, as_json, lambda yard: yard.queues.resume(queue, by=by))


@app.command()
def preset(
    context: typer.Context,
    queue: QueueArgument,
    name: Annotated[str, typer.Argument(metavar="PRESET", help="The name of a preset.")],
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Let a queue's new tasks follow a preset."""
    carry_out(context, as_json, lambda yard: yard.queues.set_preset(queue, name, by=by))


@app.command()
def reports(
    context: typer.Context,
    queue: Annotated[
        str | None, typer.Argument(help="This queue alone. Default: all.", autocompletion=completion.queues)
    ] = None,
    required: Annotated[bool, typer.Option("--required/--optional", help="Whether a report is required.")] = True,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Let new tasks be completed only with a decision report."""
    carry_out(context, as_json, lambda yard: yard.queues.set_report_policy(required, queue=queue, by=by))


@app.command("throttles")
def throttles_listed(context: typer.Context, as_json: AsJson = False) -> None:
    """What is slowed down after a provider's rate limit, and until when."""

    async def use(yard: Yard) -> tuple[list[ThrottleView], Micros]:
        return await yard.queues.throttles(), yard.now()

    views, now = in_yard(context, use)
    rows = [(view.type, view.model or "any", age(view.until, now)) for view in views]
    shown = table("type", "model", "until", rows=rows) if rows else Text("nothing is slowed down", style="green")
    show(as_json, write(views), shown)


@app.command("lift")
def throttle_lifted(
    context: typer.Context,
    type: Annotated[str, typer.Argument(metavar="TYPE", help="Of tasks.", autocompletion=completion.types)],
    model: Annotated[str | None, typer.Option("--model", help="Where the throttle is of one model.")] = None,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Hand out what is slowed down, before the time that its rate limit asked for."""
    carry_out(context, as_json, lambda yard: yard.queues.lift_throttle(type, model=model, by=by))


@presets.command("show")
def preset_shown(context: typer.Context, as_json: AsJson = False) -> None:
    """The preset of the workspace."""
    name = in_yard(context, lambda yard: yard.presets.current(), preset=None)
    show(as_json, {"preset": name}, Text(name))


@presets.command("set")
def preset_chosen(
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
