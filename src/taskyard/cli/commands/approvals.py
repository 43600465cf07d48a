"""Approvals: what waits for a person, answering it, and signals."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli.answer_prompts import Prompts
from taskyard.cli.invocation import AsJson, By, TaskArgument, find_task, in_yard, json_given, show
from taskyard.cli.terminal import Text, age, approval_cells, table
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.json_value import Json
from taskyard.core.units import Micros
from taskyard.features.approvals.views import Approval
from taskyard.visible_text import visible

app = typer.Typer(help="What waits for a person: look at it and answer.", no_args_is_help=True)
NameOption = Annotated[
    str | None, typer.Option("--name", help="Which question of the task; needed where it waits for several.")
]


@app.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """What waits for a person's word, longest first."""

    async def use(yard: Yard) -> tuple[list[Approval], Micros]:
        return await yard.approvals.list(), yard.now()

    found, now = in_yard(context, use)
    rows = [approval_cells(each, now) for each in found]
    shown = table("task", "type", "name", "question", "for", "waits", right=("waits",), rows=rows)
    show(as_json, write(found), shown if found else Text("nobody waits for you", style="green"))


@app.command("show")
def show_question(context: typer.Context, task: TaskArgument, name: NameOption = None, as_json: AsJson = False) -> None:
    """What a task asks: the question, what is shown beside it, and the schema of the answer."""

    async def use(yard: Yard) -> tuple[Approval, Micros]:
        return await _wanted(yard, await find_task(yard, task), name), yard.now()

    found, now = in_yard(context, use)
    show(as_json, write(found), *_described(found, now))


@app.command()
def answer(
    context: typer.Context,
    task: TaskArgument,
    name: NameOption = None,
    data: Annotated[
        str | None, typer.Option(help="The answer: JSON, @FILE or -. Without it, a terminal is asked field by field.")
    ] = None,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Answer what a task asks. Of two answers the first counts."""
    given = None if data is None else (json_given("--data", data),)

    async def look(yard: Yard) -> tuple[Approval, Micros]:
        return await _wanted(yard, await find_task(yard, task), name), yard.now()

    found, now = in_yard(context, look)
    (chosen,) = _prompted(found, now, as_json=as_json) if given is None else given

    async def use(yard: Yard) -> None:
        if found.question is None:
            await yard.signal(found.task.id, found.signal, chosen, sent_by=by, wait=found.wait)
        else:
            await yard.approvals.answer(found.task.id, found.signal, chosen, wait=found.wait, by=by)

    in_yard(context, use)
    show(as_json, {"id": found.task.id, "name": found.signal, "data": chosen}, Text(f"{found.signal} is answered"))


def _prompted(approval: Approval, now: Micros, *, as_json: bool) -> tuple[Json]:
    if as_json or not sys.stdin.isatty():
        raise InvalidInput("--data", "must be given where no terminal can be asked")
    for line in _described(approval, now):
        typer.echo(line)
    schema = True if approval.question is None else approval.question.answer_schema
    return (Prompts().value(schema, "answer"),)


async def _wanted(yard: Yard, task_id: str, name: str | None) -> Approval:
    """What a task waits for, or how a question of it stands."""
    waits = await yard.approvals.list(task_id=task_id)
    mine = [each for each in waits if name in (None, each.signal)]
    if mine:
        return mine[0]
    if name is None:
        raise NotFound("question", f"that {task_id} waits for")
    return await yard.approvals.get(task_id, name)


def _described(approval: Approval, now: Micros) -> list[str]:
    question = approval.question
    lines = [visible(question.text if question is not None else f"It waits for the signal {approval.signal}.")]
    if question is not None and question.context is not None:
        lines.append(visible(_indented(question.context)))
    asked = f" by {question.asked_by}" if question is not None else ""
    until = "" if approval.until is None else f", until {age(now, approval.until)} from now"
    lines.append(
        visible(f"{approval.signal} of {approval.task.id}: asked{asked} {age(approval.since, now)} ago{until}")
    )
    if question is not None:
        lines += [f"for {visible(', '.join(question.who))}"] if question.who else []
        lines += [f"default: {visible(_indented(question.default))}"] if question.has_default else []
        if (given := question.answered) is not None:
            lines.append(visible(f"answered by {given.by} {age(given.at, now)} ago: {_indented(given.data)}"))
        else:
            lines.append(visible(f"schema: {_indented(question.answer_schema)}"))
    return lines


def _indented(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def signal(
    context: typer.Context,
    task: TaskArgument,
    name: Annotated[str, typer.Argument(help="What the task waits for, e.g. approve.")],
    data: Annotated[str, typer.Option(help="JSON, @FILE or -.")] = "true",
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Send a task a signal it waits for: an approval, an answer."""

    async def use(yard: Yard) -> str:
        task_id = await find_task(yard, task)
        await yard.signal(task_id, name, json_given("--data", data), sent_by=by)
        return task_id

    task_id = in_yard(context, use)
    show(as_json, {"id": task_id, "signal": name}, Text(f"{name} sent to {task_id}"))
