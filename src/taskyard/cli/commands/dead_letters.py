"""Dead letters: what waits for a person, and what people decided."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from taskyard.app import Yard
from taskyard.cli.commands.tasks import show_task
from taskyard.cli.decision_report import DeadLetterDecision, day_given, decisions_of, report
from taskyard.cli.invocation import AsJson, By, TaskArgument, find_task, in_yard, json_given, show
from taskyard.cli.terminal import Text, dead_letter_cells, short, table
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.units import Micros
from taskyard.features.dead_letters.views import DeadLetter
from taskyard.visible_text import visible

app = typer.Typer(help="Tasks out of attempts: look at them and decide.", no_args_is_help=True)


@app.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """Tasks that wait for a person, newest first."""

    async def use(yard: Yard) -> tuple[list[DeadLetter], Micros]:
        return await yard.dead_letters.list(), yard.now()

    letters, now = in_yard(context, use)
    shown = table(
        "task",
        "type",
        "reason",
        "fails",
        "cost",
        "died",
        "error",
        right=("fails", "cost", "died"),
        rows=[dead_letter_cells(letter, now) for letter in letters],
    )
    empty = Text("no dead letters", style="green")
    show(as_json, [letter.task.to_dict() for letter in letters], shown if letters else empty)


app.command("show")(show_task)


@app.command()
def resolve(
    context: typer.Context,
    task: TaskArgument,
    resolution: Annotated[str, typer.Argument(help="retry, modify_and_retry, cancel or escalate.")],
    reason: Annotated[str, typer.Option("--reason", "-r", help="Why; kept with the decision.")] = "",
    spec: Annotated[str | None, typer.Option(help="With modify_and_retry: changed fields as JSON, @FILE or -.")] = None,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Decide a dead letter."""
    changed = json_given("--spec", spec)
    if changed is not None and not isinstance(changed, dict):
        raise InvalidInput("--spec", "must be a JSON object")

    async def use(yard: Yard) -> dict[str, Json]:
        task_id = await find_task(yard, task)
        receipt = await yard.dead_letters.resolve(task_id, resolution, by=by, note=reason, spec=changed)
        return {"id": receipt.task_id, "status": receipt.status.value, "resolution": resolution}

    answer = in_yard(context, use)
    show(as_json, answer, Text(f"{short(str(answer['id']))} is {answer['status']}"))


@app.command("report")
def reported(
    context: typer.Context,
    date: Annotated[str | None, typer.Option(help="The UTC day, as 2026-11-15. Default: today.")] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="Write it there; in a directory: as dlq-review-DATE.md. Default: print it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The day's decisions on dead letters, as Markdown: who, when, why, what had failed, and what it had cost."""

    async def use(yard: Yard) -> tuple[str, list[DeadLetterDecision]]:
        day = day_given(date, yard.now())
        return day, await decisions_of(yard, day)

    day, made = in_yard(context, use)
    if file is not None:
        place = file / f"dlq-review-{day}.md" if file.is_dir() else file
        place.write_text(visible(report(day, made)), encoding="utf-8")
    elif as_json:
        show(True, {"date": day, "decisions": [each.to_dict() for each in made]})
    else:
        sys.stdout.write(visible(report(day, made)))
