"""Putting work in: enqueue, submit, and what becomes of it by a person's hand."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.dag_file import SCHEMA
from taskyard.cli.session import AsJson, By, TaskArgument, find_task, in_yard, json_given, show, text_given
from taskyard.cli.tables import Terminal, Text, counted, short
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.visible_text import visible

TIMED_OUT = 124  # the exit status of timeout(1)


def add_to(app: typer.Typer) -> None:
    for command in (enqueue, submit, schema, cancel, rerun, signal, priority):
        app.command()(command)


def enqueue(
    context: typer.Context,
    type: Annotated[
        str,
        typer.Argument(
            metavar="TYPE", help="What kind of work: code, research, review, …", autocompletion=completion.types
        ),
    ],
    prompt: Annotated[str, typer.Option("--prompt", "-p", help="What to do; @FILE or - to read it.")] = "",
    payload: Annotated[str | None, typer.Option(help="JSON, @FILE or -.")] = None,
    title: Annotated[str, typer.Option(help="One line for people.")] = "",
    priority: Annotated[int | None, typer.Option(help="0 critical … 100 background.")] = None,
    queue: Annotated[
        str | None, typer.Option(help="The queue to put it in. Default: default.", autocompletion=completion.queues)
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Address it to one agent, by id or type.", autocompletion=completion.agents)
    ] = None,
    subject: Annotated[str | None, typer.Option(help="What it is about: issue:42, pr:9.")] = None,
    needs: Annotated[list[str] | None, typer.Option("--needs", help="A required capability; may be repeated.")] = None,
    after: Annotated[list[str] | None, typer.Option("--after", help="A task it depends on; may be repeated.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="May be repeated.")] = None,
    key: Annotated[str | None, typer.Option(help="Idempotency key: the same key makes the task once.")] = None,
    max_cost: Annotated[str | None, typer.Option(help="In dollars.")] = None,
    max_duration: Annotated[int | None, typer.Option(help="In seconds.")] = None,
    run_after: Annotated[str | None, typer.Option(help="Not before this time (ISO 8601).")] = None,
    deadline: Annotated[str | None, typer.Option(help="Climbs in the queue towards this time.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option("--set", help='Any other field as NAME=JSON, e.g. --set \'retry={"strategy":"fixed"}\'.'),
    ] = None,
    by: By = "human:local",
    wait: Annotated[
        float | None,
        typer.Option("--wait", help="Wait up to so many seconds for its end, and print its output.", min=0),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put one task in."""
    fields: dict[str, Any] = {
        "prompt": text_given("--prompt", prompt) or None,
        "payload": json_given("--payload", payload),
        "title": title or None,
        "priority": priority,
        "queue": queue,
        "agent": agent,
        "subject": subject,
        "required_capabilities": needs,
        "depends_on": after,
        "tags": tag,
        "idempotency_key": key,
        "max_cost_usd": max_cost,
        "max_duration_sec": max_duration,
        "run_after": run_after,
        "deadline": deadline,
        **dict(_assigned(each) for each in field or []),
    }
    given = {name: value for name, value in fields.items() if value is not None}
    if wait is not None:
        _show_result(in_yard(context, lambda yard: _result(yard, wait, type, created_by=by, **given)), as_json)
        return
    task = in_yard(context, lambda yard: yard.enqueue(type, created_by=by, **given))
    word = "enqueued" if task.created else "exists already"
    shown = Text.assemble((task.id, "bold"), f"  {task.type}  {task.status.value}  ({word})")
    show(as_json, {"id": task.id, "status": task.status.value, "created": task.created}, shown)


async def _result(yard: Yard, wait: float, type: str, **given: Any) -> tuple[str, Any]:
    task = await yard.enqueue(type, **given)
    try:
        return task.id, await task.result(timeout=wait)
    except TimeoutError as error:
        Terminal(stderr=True, soft_wrap=True).print(Text(f"not within {wait:g} s: {error}"))
        raise typer.Exit(TIMED_OUT) from None


def _show_result(ended: tuple[str, Any], as_json: bool) -> None:
    task_id, output = ended
    text = output if isinstance(output, str) else json.dumps(output, indent=2, ensure_ascii=False)
    show(as_json, {"id": task_id, "status": "completed", "output": output}, Text(visible(text)))


def submit(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="YAML, TOML or JSON; - reads YAML or JSON.")],
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Put a whole DAG in, or nothing. `taskyard schema` prints the format."""
    from taskyard.cli.dag_text import dag_file  # noqa: PLC0415 - YAML is slow to import

    dag = in_yard(context, lambda yard: yard.submit(dag_file(file), created_by=by))
    ids = {name: task.id for name, task in dag.tasks.items()}
    lines = Text.assemble(
        (dag.id, "bold"),
        f"  {counted(len(ids), 'task')}",
        *(f"\n  {short(each)}  {name}" for name, each in ids.items()),
    )
    show(as_json, {"dag_id": dag.id, "tasks": ids}, lines)


def schema() -> None:
    """Print the JSON Schema of DAG files."""
    sys.stdout.write(json.dumps(SCHEMA, indent=2) + "\n")


def cancel(
    context: typer.Context,
    task: TaskArgument,
    reason: Annotated[str, typer.Option(help="Kept with the task.")] = "cancelled",
    cascade: Annotated[
        bool | None, typer.Option("--cascade/--alone", help="Also what depends on it. Default: as the preset says.")
    ] = None,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Take a task out of the yard, and what depends on it; or everything of a DAG, by its id."""

    async def use(yard: Yard) -> list[str]:
        if task.startswith("dag_"):
            return list((await yard.dags.cancel(task, reason, by=by)).task_ids)
        return list((await yard.cancel(await find_task(yard, task), reason, cascade=cascade, by=by)).task_ids)

    cancelled = in_yard(context, use)
    shown = (
        "was cancelled already" if not cancelled else f"cancelled {len(cancelled)}: {', '.join(map(short, cancelled))}"
    )
    show(as_json, {"cancelled": cancelled}, Text(shown))


def rerun(context: typer.Context, task: TaskArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """Do a finished task again, as a new one with a fresh session."""

    async def use(yard: Yard) -> str:
        return (await yard.rerun(await find_task(yard, task), created_by=by)).id

    made = in_yard(context, use)
    show(as_json, {"id": made}, Text(made))


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

    told = in_yard(context, use)
    show(as_json, {"id": told, "signal": name}, Text(f"{name} sent to {told}"))


def priority(
    context: typer.Context,
    task: TaskArgument,
    value: Annotated[int, typer.Argument(help="In the preset's own scale.")],
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Move a waiting task forward or back."""

    async def use(yard: Yard) -> str:
        return (await yard.tasks.set_priority(await find_task(yard, task), value, by=by)).task_id

    moved = in_yard(context, use)
    show(as_json, {"id": moved, "priority": value}, Text(f"{moved} has priority {value}"))


def _assigned(text: str) -> tuple[str, Json]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput("--set", "must be NAME=JSON")
    return name, json_given(f"--set {name}", value)
