"""Dead letters: what waits for a person, and what people decided."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.text import Text

from taskyard.app import Yard
from taskyard.cli.look import one_line, show_task
from taskyard.cli.running import AsJson, By, TaskArgument, find_task, in_yard, json_given, show
from taskyard.cli.tables import age, dollars, short, table
from taskyard.core.changes import Record
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Json
from taskyard.core.units import Micros, to_iso, utc_date
from taskyard.wire.answers import DeadLetter

app = typer.Typer(help="Tasks out of attempts: look at them and decide.", no_args_is_help=True)


@app.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """Tasks that wait for a person, newest first."""

    async def use(yard: Yard) -> tuple[list[DeadLetter], Micros]:
        return await yard.dead_letters(), yard.now()

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
        rows=[_row(letter, now) for letter in letters],
    )
    empty = Text("no dead letters", style="green")
    show(as_json, [letter.task.to_dict() for letter in letters], shown if letters else empty)


def _row(letter: DeadLetter, now: Micros) -> tuple[str | Text, ...]:
    task, body = letter.task, letter.record.body
    last = task.attempts[-1] if task.attempts else None
    reason = Text(str(body["reason"]))
    if body["poison_pill"]:
        reason.append(" poison pill", style="bold red")
    if body["reviewed"]:
        reason.append(f" ({body['resolution']})", style="dim")
    error = one_line(last.error or "") if last else ""
    died = Micros(cast(int, body["at"]))
    return short(task.id), task.type, reason, str(task.hot.failures), dollars(task.cost), f"{age(died, now)} ago", error


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
        receipt = await yard.resolve(task_id, resolution, by=by, note=reason, spec=cast(dict[str, Any] | None, changed))
        return {"id": receipt.task_id, "status": receipt.status.value, "resolution": resolution}

    answer = in_yard(context, use)
    show(as_json, answer, Text(f"{short(str(answer['id']))} is {answer['status']}"))


@app.command()
def report(
    context: typer.Context,
    date: Annotated[str | None, typer.Option(help="The UTC day, as 2026-11-15. Default: today.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Write it there instead of printing it.")] = None,
) -> None:
    """The day's decisions on dead letters, as Markdown."""

    async def use(yard: Yard) -> str:
        day = date or utc_date(yard.now())
        made = [record for record in await yard.reviews() if utc_date(_reviewed_at(record)) == day]
        return "\n".join([f"# Dead letters decided on {day}", "", *[await _decision(yard, each) for each in made]])

    text = in_yard(context, use)
    if file is None:
        show(False, None, Text(text))
    else:
        file.write_text(text + "\n")


async def _decision(yard: Yard, record: Record) -> str:
    body = record.body
    task = await yard.get(str(body["task_id"]))
    attempts = "\n".join(
        f"- attempt {attempt.number} by {attempt.agent}: {attempt.reason}: {attempt.error} ({dollars(attempt.cost)})"
        for attempt in task.attempts
        if attempt.reason
    )
    poison = "\n- poison pill: it failed under several agents" if body["poison_pill"] else ""
    return (
        f"## {task.definition.title or task.type} ({task.id})\n\n"
        f"- decision: **{body['resolution']}** by {body['reviewed_by']} at {to_iso(_reviewed_at(record))}\n"
        f"- reason given: {body['note'] or 'none'}{poison}\n- cost in all: {dollars(task.cost)}\n{attempts}\n"
    )


def _reviewed_at(record: Record) -> Micros:
    return Micros(cast(int, record.body["reviewed_at"]))
