"""What schedules and triggers share: what is to be made, and the fires of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from taskyard.cli import completion
from taskyard.cli.invocation import json_given, object_given, text_given
from taskyard.cli.terminal import Text, age, short, table
from taskyard.core.units import Micros, to_iso
from taskyard.features.sources.fires import Fire, FireOutcome

_COLOURS = {
    FireOutcome.FIRED: "green",
    FireOutcome.SKIPPED: "bright_black",
    FireOutcome.MISSED: "yellow",
    FireOutcome.FAILED: "bold red",
    FireOutcome.REFUSED: "red",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOptions:
    """What a schedule or a trigger makes: a DAG file, a whole task, or a task of the options given."""

    type: Annotated[
        str | None, typer.Option("--type", "-t", help="The type of the task to make.", autocompletion=completion.types)
    ] = None
    prompt: Annotated[str | None, typer.Option(help="Its prompt: a text, @FILE, or - for standard input.")] = None
    payload: Annotated[str | None, typer.Option(help="Its payload: JSON, @FILE, or -.")] = None
    task: Annotated[str | None, typer.Option("--task", help="The whole task as JSON, @FILE, or -.")] = None
    dag: Annotated[str | None, typer.Option("--dag", help="A DAG file (YAML or JSON) to make instead of a task.")] = (
        None
    )

    def work(self) -> dict[str, Any]:
        if self.dag is not None:
            from taskyard.cli.dag_text import dag_file  # noqa: PLC0415 - YAML is slow to import

            return {"dag": dag_file(self.dag)}
        given: dict[str, Any] = dict(object_given("task", self.task) or {})
        given |= {} if self.type is None else {"type": self.type}
        given |= {} if self.prompt is None else {"prompt": text_given("prompt", self.prompt)}
        given |= {} if self.payload is None else {"payload": json_given("payload", self.payload)}
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
