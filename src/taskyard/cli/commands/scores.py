"""Scores: how good the results of tasks are."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, By, TaskArgument, find_task, in_yard, show
from taskyard.cli.terminal import Text, age, one_line, table
from taskyard.core.units import Micros
from taskyard.features.scores.views import ScoreView, VariantReport

app = typer.Typer(help="How good the results of tasks are.", no_args_is_help=True)
NONE = Text("none", style="dim")


@app.command("add", context_settings={"ignore_unknown_options": True})  # -0.5 is a value
def add(
    context: typer.Context,
    task: TaskArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What is judged, such as correct or style.")],
    value: Annotated[float, typer.Argument(metavar="VALUE", help="A number; for yes and no 1 and 0.")],
    note: Annotated[str, typer.Option(help="Why, for people.")] = "",
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Say how good a task's result is, at once or later. A second score under the same name replaces yours."""

    async def use(yard: Yard) -> tuple[ScoreView, Micros]:
        return await yard.scores.add(await find_task(yard, task), name, value, note=note, by=by), yard.now()

    score, now = in_yard(context, use)
    show(as_json, write(score), scores_table([score], now))


@app.command("ls")
def listed(context: typer.Context, task: TaskArgument, as_json: AsJson = False) -> None:
    """The scores of a task."""

    async def use(yard: Yard) -> tuple[list[ScoreView], Micros]:
        return await yard.scores.list(await find_task(yard, task)), yard.now()

    found, now = in_yard(context, use)
    show(as_json, write(found), scores_table(found, now) if found else NONE)


@app.command("report")
def report(
    context: typer.Context,
    type: Annotated[str, typer.Argument(metavar="TYPE", help="Of tasks.", autocompletion=completion.types)],
    days: Annotated[float, typer.Option(help="Count tasks that were put in during the last days.")] = 30,
    as_json: AsJson = False,
) -> None:
    """The variants of a type beside each other: tasks, failures, cost, time and scores, with 95 % intervals."""
    found = in_yard(context, lambda yard: yard.scores.report(type, days=days))
    show(as_json, write(found), *(_report(found) if found.variants else [NONE]))


def _report(found: VariantReport) -> list[RenderableType]:
    rows = [
        (
            each.name or "–",
            f"{each.completed} of {each.ended}",
            _interval(each.rate.mean, each.rate.low, each.rate.high),
            ", ".join(f"{reason} {count}" for reason, count in each.failures.items()),
        )
        for each in found.variants
    ]
    amounts = [
        (
            each.name or "–",
            f"{each.total_cost:g}",
            _interval(each.cost.mean, each.cost.low, each.cost.high),
            "" if each.p50_sec is None else f"{each.p50_sec:.3g}",
            "" if each.p95_sec is None else f"{each.p95_sec:.3g}",
        )
        for each in found.variants
    ]
    scores = [
        (each.name or "–", score.name, str(score.count), _interval(score.mean, score.low, score.high))
        for each in found.variants
        for score in each.scores
    ]
    compared = [
        (
            each.measure,
            f"{each.variant or '–'} against {each.base or '–'}",
            _interval(each.difference, each.low, each.high, sign="+"),
            each.words,
        )
        for each in found.differences
    ]
    # Two tables: in one, a screen of 80 columns would cut numbers off.
    measured, spent = (
        ("variant", "completed", "rate", "failed attempts"),
        ("variant", "cost $", "each $", "p50 s", "p95 s"),
    )
    parts: list[RenderableType] = [
        table(*measured, rows=rows, wraps=("variant", "failed attempts")),
        Text(""),
        table(*spent, rows=amounts, right=spent[1:], wraps=("variant",)),
    ]
    if scores:
        head = ("variant", "score", "tasks", "mean")
        parts += [Text(""), table(*head, rows=scores, right=("tasks",), wraps=("variant", "score"))]
    if compared:
        head = ("measure", "variants", "difference", "is it chance")
        parts += [Text(""), table(*head, rows=compared, wraps=("measure", "variants", "is it chance"))]
    cut = f"the newest {found.tasks} tasks are counted; there are more" if found.is_cut else ""
    note = "in brackets: 95 % intervals, of rates Wilson's, of means Student's"
    return [*parts, *(Text(each, style="dim") for each in (note, cut) if each)]


def _interval(middle: float | None, low: float | None, high: float | None, sign: str = "") -> str:
    if middle is None:
        return ""
    return f"{middle:{sign}.3g}" if low is None else f"{middle:{sign}.3g} ({low:{sign}.3g} to {high:{sign}.3g})"


def scores_table(found: list[ScoreView], now: Micros) -> Table:
    rows = [(each.name, f"{each.value:g}", each.by, f"{age(each.at, now)} ago", one_line(each.note)) for each in found]
    return table("score", "value", "by", "given", "note", rows=rows, right=("value",))
