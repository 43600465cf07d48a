"""Cutovers: one queue takes the place of another in phases, with figures at each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli.invocation import AsJson, By, carry_out, in_yard, show
from taskyard.cli.terminal import Text, age, table
from taskyard.core.units import Micros
from taskyard.features.cutovers.rules import DAYS, LEAST, Phase
from taskyard.features.cutovers.views import CutoverView

app = typer.Typer(help="Let the yard take the place of another queue, phase by phase.", no_args_is_help=True)
CutoverArgument = Annotated[str, typer.Argument(metavar="NAME", help="The cutover's name.")]
Force = Annotated[bool, typer.Option("--force", help="Also where something stands in the way.")]


@app.command("start")
def start(
    context: typer.Context,
    name: CutoverArgument,
    days: Annotated[float, typer.Option(min=0, help="How long each phase is to last at least.")] = DAYS,
    least: Annotated[int, typer.Option(min=0, help="How many calls each phase is to have at least.")] = LEAST,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Begin with dual write: programs write to both queues, and the old one answers."""
    _show_one(context, as_json, lambda yard: yard.cutovers.start(name, days=days, least=least, by=by))


@app.command("shadow")
def shadow(
    context: typer.Context,
    name: CutoverArgument,
    force: Force = False,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Go on to shadow: the old queue answers, and what the yard would have answered is compared.

    In the phase already, it begins anew with figures of 0: after what made the queues differ was mended.
    """
    _move(context, name, Phase.SHADOW, force, by, as_json)


@app.command("switch")
def switch(
    context: typer.Context,
    name: CutoverArgument,
    force: Force = False,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Cut over: the yard answers, and the old queue is kept in step as a fallback. Refused where they have differed."""
    _move(context, name, Phase.CUTOVER, force, by, as_json)


@app.command("finish")
def finish(
    context: typer.Context,
    name: CutoverArgument,
    force: Force = False,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Use the yard alone. From here on there is no way back: the old queue misses what comes."""
    _move(context, name, Phase.FINISHED, force, by, as_json)


@app.command("back")
def back(
    context: typer.Context,
    name: CutoverArgument,
    to: Annotated[Phase, typer.Option(help="dual_write or shadow: in both the old queue answers.")] = Phase.SHADOW,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Let the old queue answer again. Nothing stands in the way of that before the end."""
    _move(context, name, to, False, by, as_json)


@app.command("compare")
def compare(context: typer.Context, name: CutoverArgument, as_json: AsJson = False) -> None:
    """The figures of each phase, the latest differences, and what stands in the way of the next phase.

    Exit status 1 where the queues have differed in this phase.
    """
    found = _show_one(context, as_json, lambda yard: yard.cutovers.get(name))
    if not found.agrees:
        raise typer.Exit(1)


@app.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """Every cutover, with its phase."""

    async def use(yard: Yard) -> tuple[list[CutoverView], Micros]:
        return await yard.cutovers.list(), yard.now()

    found, now = in_yard(context, use)
    rows = [
        (each.name, each.phase.value, age(each.since, now), "yes" if each.agrees else "no", "; ".join(each.obstacles))
        for each in found
    ]
    columns = ("name", "phase", "for", "agrees", "in the way of the next")
    shown = table(*columns, rows=rows, wraps=(columns[-1],)) if rows else Text("none", style="dim")
    show(as_json, write(found), shown)


@app.command("rm")
def remove(context: typer.Context, name: CutoverArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """Forget a cutover. Programs that follow it stay in the phase that they know."""
    carry_out(context, as_json, lambda yard: yard.cutovers.remove(name, by=by))


def _move(context: typer.Context, name: str, to: Phase, force: bool, by: str, as_json: bool) -> None:
    _show_one(context, as_json, lambda yard: yard.cutovers.move(name, to.value, force=force, by=by))


def _show_one(context: typer.Context, as_json: bool, use: Callable[[Yard], Awaitable[CutoverView]]) -> CutoverView:
    found = in_yard(context, use)
    heading = Text.assemble((found.name, "bold"), f" is in {found.phase.value}: {_WORDS[found.phase]}")
    rows = [(each.phase.value, str(each.calls), str(each.compared), str(each.differences)) for each in found.figures]
    columns = ("phase", "calls", "compared", "differences")
    figures = [table(*columns, rows=rows, right=columns[1:])] if rows else []
    latest = [
        Text(f"{each.phase.value} {each.call}: the old queue says {each.old}, the yard {each.new}", style="red")
        for each in found.differences
    ]
    after = "" if found.next is None else found.next.value
    way = [Text(f"not yet {after}: {each}", style="yellow") for each in found.obstacles]
    ready = [Text(f"ready for {after}", style="green")] if after and not way else []
    show(as_json, write(found), heading, *figures, *latest, *way, *ready)
    return found


_WORDS = {
    Phase.DUAL_WRITE: "both queues are written, the old one answers",
    Phase.SHADOW: "the old queue answers, the yard is compared with it",
    Phase.CUTOVER: "the yard answers, the old queue is kept in step",
    Phase.FINISHED: "the yard is alone",
}
