"""Tasks: enqueue, ls, show, why, cancel, rerun, priority."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.commands.attempts import steps_table
from taskyard.cli.commands.events import event_text, events_of
from taskyard.cli.commands.scores import scores_table
from taskyard.cli.invocation import (
    AsJson,
    By,
    TaskArgument,
    find_task,
    in_yard,
    json_given,
    show,
    text_given,
    with_option_groups,
)
from taskyard.cli.terminal import Terminal, Text, age, attempt_cells, counted, cut, facts_of, short, state, table
from taskyard.core.errors import Forbidden, InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.task import Status
from taskyard.core.units import Micros
from taskyard.definition.task_fields import TaskFilter, TaskSelection
from taskyard.features.tasks.answers import Counted, Why
from taskyard.features.tasks.lookup.queries import SORTS
from taskyard.features.tasks.task_rows import TaskRow
from taskyard.features.tasks.views import Details
from taskyard.visible_text import visible

TIMED_OUT = 124  # the exit status of timeout(1)
ParentOption = Annotated[str | None, typer.Option(help="Tasks that this task spawned.")]
ReasonOption = Annotated[str | None, typer.Option(help="Tasks at which an attempt failed for this reason.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionOptions:
    """Which tasks are meant, for each command that shows some of them."""

    type: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="May be repeated.", autocompletion=completion.types)
    ] = None
    agent: Annotated[
        str | None, typer.Option(help="Addressed to it, or held by it.", autocompletion=completion.agents)
    ] = None
    subject: Annotated[str | None, typer.Option(help="What they are about, such as issue:42.")] = None
    dag: Annotated[str | None, typer.Option(help="Tasks of this DAG.", autocompletion=completion.dags)] = None
    tag: Annotated[str | None, typer.Option(help="Tasks with this tag.")] = None
    text: Annotated[str | None, typer.Option("--text", "-q", help="Found in title, prompt or payload.")] = None
    queue: Annotated[str | None, typer.Option(help="Tasks of this queue.", autocompletion=completion.queues)] = None

    def selection(self) -> TaskSelection:
        return {
            "type": self.type or (),
            "agent": self.agent or None,
            "subject": self.subject or None,
            "dag_id": self.dag or None,
            "tag": self.tag or None,
            "text": self.text or None,
            "queue": self.queue or None,
        }


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
    service: Annotated[
        str | None, typer.Option(help="standard, or batch: its model calls wait for a batch of the provider.")
    ] = None,
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
        "service": service,
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


def _assigned(text: str) -> tuple[str, Json]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput("--set", "must be NAME=JSON")
    return name, json_given(f"--set {name}", value)


@with_option_groups
def listed(
    context: typer.Context,
    status: Annotated[list[str] | None, typer.Option("--status", "-s", help="May be repeated.")] = None,
    *,
    chosen: SelectionOptions,
    parent: ParentOption = None,
    reason: ReasonOption = None,
    since: Annotated[str | None, typer.Option(help="Put in at this time or later (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Put in before this time.")] = None,
    sort: Annotated[str, typer.Option(help=f"One of {', '.join(SORTS)}.")] = "newest",
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List tasks, newest first."""

    which: TaskFilter = {
        **chosen.selection(),
        "status": status or (),
        "parent_id": parent or None,
        "reason": reason or None,
        "since": since or None,
        "until": until or None,
    }

    async def use(yard: Yard) -> tuple[list[TaskRow], str, Micros]:
        rows = await yard.tasks.rows(**which, limit=limit, sort=sort)
        is_page = not as_json and len(rows) == limit  # only then there may be others, which are to be counted
        return rows, _how_many(len(rows), await yard.tasks.count(**which) if is_page else None), yard.now()

    rows, total, now = in_yard(context, use)
    value = [{name: getattr(row, name) for name in ("id", "type", "status", "agent", "dag_id")} for row in rows]
    empty = Text("no tasks: put one in with `taskyard enqueue TYPE --prompt …`", style="dim")
    show(as_json, value, *((_tasks(rows, now), Text(total, style="dim")) if rows else (empty,)))


def _how_many(shown: int, counted_: Counted | None) -> str:
    """The last line of a list: how many tasks there are, and how many of them it shows."""
    there = shown if counted_ is None else sum(counted_.counts.values())
    more = " or more" if counted_ is not None and counted_.more else ""
    if there == shown and not more:
        return counted(shown, "task")
    return f"the newest {shown:,} of {there:,}{more} tasks"


def _tasks(rows: Sequence[TaskRow], now: Micros) -> Table:
    return table(
        "task",
        "type",
        "state",
        "agent",
        "fails",
        "age",
        "title",
        right=("fails", "age"),
        rows=[
            (
                short(row.id),
                row.type,
                state(Status(row.status)),
                row.agent or "",
                str(row.failures or ""),
                age(row.created_at, now),
                cut(row.title or row.summary),
            )
            for row in rows
        ],
    )


def show_task(
    context: typer.Context,
    task: TaskArgument,
    with_steps: Annotated[
        bool, typer.Option("--steps", help="Also its steps: when, by which model, at what cost; results with --json.")
    ] = False,
    with_events: Annotated[bool, typer.Option("--events", help="Also what happened to it, event by event.")] = False,
    as_json: AsJson = False,
) -> None:
    """Everything about one task."""

    async def use(yard: Yard) -> tuple[Details, str, Micros, list[RenderableType], dict[str, Json]]:
        details = await yard.get(await find_task(yard, task))
        parts, more = list[RenderableType](), dict[str, Json]()
        with suppress(Forbidden):  # an agent's token reads its task, and not what others think of the result
            if scores := await yard.scores.list(details.id):
                more["scores"] = write(scores)
                parts += [Text(""), scores_table(scores, yard.now())]
        if with_steps:
            steps = await yard.attempts.steps(details.id)
            more |= {"steps": write(steps), "checkpoints": await yard.attempts.checkpoints(details.id)}
            parts += [Text(""), steps_table(steps) if steps else Text("no step is stored", style="dim")]
        if with_events:
            found = await events_of(yard, details.id)
            more["events"] = list[Json](found)
            parts += [Text(""), *map(event_text, found)]
        return details, (await yard.why(details.id)).words, yard.now(), parts, more

    details, because, now, parts, more = in_yard(context, use)
    show(as_json, {**details.to_dict(), **more}, *_details(details, because, now), *parts)


def _details(task: Details, because: str, now: Micros) -> list[RenderableType]:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts_of(task, because, now).items():
        grid.add_row(name, value)
    parts: list[RenderableType] = [Text(task.id, style="bold"), grid]
    if task.attempts:
        parts += [Text(""), _attempts(task)]
    return parts


def _attempts(task: Details) -> Table:
    return table(
        "attempt",
        "agent",
        "outcome",
        "took",
        "cost",
        "reason",
        right=("attempt", "took", "cost"),
        rows=[attempt_cells(attempt) for attempt in task.attempts],
    )


def why(context: typer.Context, task: TaskArgument, as_json: AsJson = False) -> None:
    """Why a task is not running."""

    async def use(yard: Yard) -> Why:
        return await yard.why(await find_task(yard, task))

    answer = in_yard(context, use)
    known = f"is {answer.status.value}"
    lines = Text.assemble((short(answer.task_id), "bold"), f" {known}")
    for cause in answer.causes:
        lines.append("" if cause.words == known else f"\n  {cause.words}")
    show(as_json, answer.to_dict(), lines)


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
