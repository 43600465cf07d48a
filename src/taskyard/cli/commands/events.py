"""Events: what happened, one line each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Group

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion, invocation
from taskyard.cli.invocation import AsJson, find_task, in_yard, show
from taskyard.cli.terminal import COLOURS, Text, one_line, seconds, short
from taskyard.core.changes import StoredEvent
from taskyard.core.json_value import Json, object_of
from taskyard.core.task import TaskId
from taskyard.core.units import SECOND, MicroUsd, to_usd
from taskyard.features.events.rules import Wanted
from taskyard.features.events.views import event_view

AT_ONCE = 200
EVENT_WORDS = {
    "task.created": "",
    "task.ready": "is ready",
    "task.running": "is begun by",
    "task.suspended": "waits, and holds nothing meanwhile",
    "task.retrying": "failed:",
    "task.dead_lettered": "is dead:",
    "task.completed": "is completed by",
    "task.cancelled": "is cancelled:",
    "task.parked": "is put aside until there is room",
    "task.signalled": "gets the signal",
    "task.rerun": "is done again as",
}
_FACTS_SHOWN: dict[str, tuple[str, ...]] = {
    "task.running": ("agent",),
    "task.completed": ("agent",),
    "task.retrying": ("reason", "error"),
    "task.dead_lettered": ("reason", "error"),
    "task.cancelled": ("reason",),
    "task.signalled": ("signal",),
    "task.rerun": ("task",),
}


def events(
    context: typer.Context,
    task: Annotated[
        str | None, typer.Argument(metavar="[TASK]", help="Only this task's.", autocompletion=completion.tasks)
    ] = None,
    after: Annotated[int, typer.Option(help="From this sequence number on.")] = 0,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 100,
    event: Annotated[str | None, typer.Option(help="Only these: task.ready, task.*")] = None,
    type_: Annotated[
        str | None, typer.Option("--type", help="Only of tasks of this type.", autocompletion=completion.types)
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            help="Only of this agent: who held the task, or else its addressee.", autocompletion=completion.agents
        ),
    ] = None,
    subject: Annotated[str | None, typer.Option(help="Only of tasks on this subject.")] = None,
    dag: Annotated[str | None, typer.Option(help="Only of this DAG.", autocompletion=completion.dags)] = None,
    as_json: AsJson = False,
) -> None:
    """What happened, one event a line."""

    async def use(yard: Yard) -> None:
        task_id = None if task is None else await find_task(yard, task)
        wanted = Wanted(task_id=task_id, dag_id=dag, event=event, task_type=type_, agent=agent, subject=subject)
        seen = after
        for stored in await yard.events(after=after, limit=limit, **wanted):
            _print_event(write(event_view(stored)), as_json)
            seen = stored.seq
        if follow:
            async for stored in yard.tail(after=seen, **wanted):
                _print_event(write(event_view(stored)), as_json)

    in_yard(context, use)


def event_line(stored: StoredEvent, names: Mapping[TaskId, str]) -> Text | None:
    """An event as one sentence; None where it is not worth one."""
    event = stored.event
    if event.task_id is None or not EVENT_WORDS.get(event.event):
        return None
    facts: dict[str, Any] = json.loads(event.data) if event.data else {}
    facts_shown = [str(facts[name]) for name in _FACTS_SHOWN.get(event.event, ()) if facts.get(name)]
    style = COLOURS.get(event.status, "") if event.status else ""
    name = names.get(event.task_id, "a subtask")
    line = Text.assemble((f"{name:<10}", "bold"), (EVENT_WORDS[event.event], style))
    return line.append(f" {one_line(': '.join(facts_shown))}") if facts_shown else line


async def events_of(yard: Yard, task_id: str) -> list[dict[str, Json]]:
    """Every event of a task."""
    found: list[StoredEvent] = []
    while page := await yard.events(after=found[-1].seq if found else 0, limit=AT_ONCE, task_id=task_id):
        found += page
    return [write(event_view(stored)) for stored in found]


def _print_event(event: Mapping[str, Json], as_json: bool) -> None:
    show(as_json, event, event_text(event))


def event_text(event: Mapping[str, Json]) -> Group:
    """An event as one line, with all that it says."""
    payload = object_of(event["payload"]).items()
    facts = " ".join(f"{name}={_fact(name, value)}" for name, value in payload if value not in (None, "", []))
    at, who = str(event["at"])[11:23], short(str(event["task_id"] or ""))
    words = f"{event['seq']:>6}  {at}  {event['event']:<20} {who}  {facts}"
    return Group(invocation.one_line(words))  # in a group, or rich would join it to the next


def _fact(name: str, value: Json) -> str:
    """A part of an event's data. Lengths of time are stored in microseconds, and money in micro-dollars."""
    if name in ("waited", "ran", "silent") and isinstance(value, int):
        return seconds(value / SECOND).replace(" ", "")
    if name == "cost" and isinstance(value, int):
        return f"${to_usd(MicroUsd(value))}"
    return str(value)
