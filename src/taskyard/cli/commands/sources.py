"""What schedules and triggers share: what is to be made, and the fires of each."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import RenderableType

from taskyard.cli import completion
from taskyard.cli.invocation import json_given, object_given, text_given
from taskyard.cli.terminal import Text, age, short, table
from taskyard.core.units import Micros, to_iso
from taskyard.features.sources.fires import Fire, FireOutcome

TypeOption = Annotated[
    str | None, typer.Option("--type", "-t", help="The type of the task to make.", autocompletion=completion.types)
]
PromptOption = Annotated[str | None, typer.Option(help="Its prompt: a text, @FILE, or - for standard input.")]
PayloadOption = Annotated[str | None, typer.Option(help="Its payload: JSON, @FILE, or -.")]
TaskOption = Annotated[str | None, typer.Option("--task", help="The whole task as JSON, @FILE, or -.")]
DagOption = Annotated[str | None, typer.Option("--dag", help="A DAG file (YAML or JSON) to make instead of a task.")]
_COLOURS = {
    FireOutcome.FIRED: "green",
    FireOutcome.SKIPPED: "bright_black",
    FireOutcome.MISSED: "yellow",
    FireOutcome.FAILED: "bold red",
    FireOutcome.REFUSED: "red",
}


def work_given(
    *, type: str | None, prompt: str | None, payload: str | None, task: str | None, dag: str | None
) -> dict[str, Any]:
    """What is to be made: a DAG file, a whole task, or a task of the options given."""
    if dag is not None:
        from taskyard.cli.dag_text import dag_file  # noqa: PLC0415 - YAML is slow to import

        return {"dag": dag_file(dag)}
    given: dict[str, Any] = dict(object_given("task", task) or {})
    given |= {} if type is None else {"type": type}
    given |= {} if prompt is None else {"prompt": text_given("prompt", prompt)}
    given |= {} if payload is None else {"payload": json_given("payload", payload)}
    return {"task": given} if given else {}


def fires_table(fires: tuple[Fire, ...] | list[Fire], now: Micros) -> RenderableType:
    rows = [
        (
            "" if fire.nominal is None else shown_time(fire.nominal),
            f"{age(fire.at, now)} ago",
            Text(fire.outcome.value, style=_COLOURS[fire.outcome]),
            short(fire.run) if fire.run else "",
            fire.why,
        )
        for fire in fires
    ]
    if not rows:
        return Text("it has not fired yet", style="dim")
    return table("time", "decided", "outcome", "made", "why", rows=rows, right=("decided",))


def shown_time(at: Micros) -> str:
    return to_iso(at)[:19] + "Z"
