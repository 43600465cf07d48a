"""Looking at the yard: ls, dags, show, why, tree, watch, events, stats."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.tree import Tree

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion, session
from taskyard.cli.session import AsJson, TaskArgument, console_for_people, find_task, in_yard, show
from taskyard.cli.tables import COLOURS, Text, age, counted, dollars, seconds, short, state, table
from taskyard.core.changes import StoredEvent
from taskyard.core.json_value import Json, compact
from taskyard.core.task import Status, TaskId
from taskyard.core.units import SECOND, Micros, MicroUsd, to_iso, to_usd
from taskyard.features.dags.views import DagInShort, DagView
from taskyard.features.events.rules import Wanted
from taskyard.features.events.views import event_view
from taskyard.features.metrics.rules import Metrics, Totals
from taskyard.features.tasks.answers import Counted
from taskyard.features.tasks.rows import TaskRow
from taskyard.features.tasks.views import Details, Task

DEEPEST_DRAWN = 6  # levels of a tree, each four columns wide
REFRESH = 0.5  # seconds between looks of `watch`, at most


def add_to(app: typer.Typer) -> None:
    app.command("ls")(listed)
    for command in (dags, show_task, why, tree, watch, events, stats):
        app.command(command.__name__.removesuffix("_task"))(command)


def listed(
    context: typer.Context,
    status: Annotated[list[str] | None, typer.Option("--status", "-s", help="May be repeated.")] = None,
    type: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="May be repeated.", autocompletion=completion.types)
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Addressed to it, or held by it.", autocompletion=completion.agents)
    ] = None,
    subject: Annotated[str | None, typer.Option(help="What they are about, such as issue:42.")] = None,
    dag: Annotated[str | None, typer.Option(help="Tasks of this DAG.", autocompletion=completion.dags)] = None,
    tag: Annotated[str | None, typer.Option(help="Tasks with this tag.")] = None,
    text: Annotated[str | None, typer.Option("--text", "-q", help="Found in title, prompt or payload.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List tasks, newest first."""

    filters: dict[str, Any] = {"agent": agent, "subject": subject, "dag_id": dag, "tag": tag, "text": text}
    which = {"status": status or (), "type": type or (), **{name: value for name, value in filters.items() if value}}

    async def use(yard: Yard) -> tuple[list[TaskRow], str, Micros]:
        rows = await yard.tasks.rows(**which, limit=limit)
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


def dags(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The last DAG of the page before: from there on.")] = None,
    as_json: AsJson = False,
) -> None:
    """List DAGs, newest first."""

    async def use(yard: Yard) -> list[DagInShort]:
        return await yard.dags.list(limit=limit, cursor=cursor)

    records = in_yard(context, use)
    value = [{"id": each.id, "title": each.title, "status": each.status.value} for each in records]
    rows = [(each.id, each.status.value, cut(each.title)) for each in records]
    empty = Text("no DAGs: put one in with `taskyard submit FILE`", style="dim")
    show(as_json, value, table("dag", "state", "title", rows=rows) if rows else empty)


def show_task(context: typer.Context, task: TaskArgument, as_json: AsJson = False) -> None:
    """Everything about one task."""

    async def use(yard: Yard) -> tuple[Details, str, Micros]:
        details = await yard.get(await find_task(yard, task))
        return details, (await yard.why(details.id)).words, yard.now()

    details, because, now = in_yard(context, use)
    show(as_json, details.to_dict(), *_details(details, because, now))


def _details(task: Details, because: str, now: Micros) -> list[RenderableType]:
    constraints = task.spec.constraints
    facts = {
        "type": task.type,
        "state": state(task.status),
        "": "" if because == f"is {task.status.value}" else because,
        "title": task.title,
        "dag": task.dag_id,
        "queue": task.queue if task.queue != "default" else "",
        "priority": str(task.priority),
        "agent": task.addressed_to or "",
        "needs": ", ".join(constraints.required_capabilities),
        "created": f"{age(task.created_at, now)} ago by {task.created_by}",
        "deadline": to_iso(task.deadline) if task.deadline else "",
        "cost": f"{dollars(task.cost)} of {dollars(constraints.max_cost)}"
        if constraints.max_cost
        else dollars(task.cost),
        "attempts": f"{task.failures} of {task.max_attempts} used up",
        "tags": ", ".join(task.tags),
        "prompt": task.prompt,
        "payload": compact(task.payload) if task.payload != {} else "",
        "output": json.dumps(task.result, ensure_ascii=False) if task.output.attempt is not None else "",
    }
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        if value:
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
        rows=[
            (
                str(attempt.number),
                attempt.agent,
                attempt.outcome.value,
                seconds((attempt.ended_at - (attempt.started_at or attempt.claimed_at)) / 1_000_000),
                dollars(attempt.cost),
                one_line(f"{attempt.reason}: {attempt.error}" if attempt.reason else ""),
            )
            for attempt in task.attempts
        ],
    )


def why(context: typer.Context, task: TaskArgument, as_json: AsJson = False) -> None:
    """Why a task is not running."""

    async def use(yard: Yard) -> dict[str, Json]:
        return (await yard.why(await find_task(yard, task))).to_dict()

    answer = in_yard(context, use)
    known = f"is {answer['status']}"
    lines = Text.assemble((short(str(answer["task_id"])), "bold"), f" {known}")
    for cause in cast(list[Mapping[str, Any]], answer["causes"]):
        lines.append("" if cause["words"] == known else f"\n  {cause['words']}")
    show(as_json, answer, lines)


def tree(
    context: typer.Context,
    identifier: Annotated[
        str,
        typer.Argument(metavar="DAG|TASK", help="A DAG, or a task of it.", autocompletion=completion.dags_and_tasks),
    ],
    as_json: AsJson = False,
) -> None:
    """Draw a DAG with the states of its tasks."""

    async def use(yard: Yard) -> tuple[DagView, dict[TaskId, Details]]:
        dag = await _dag(yard, identifier)
        return dag, {hot.id: await yard.get(hot.id) for hot in dag.tasks}

    dag, tasks = in_yard(context, use)
    value = {
        "dag_id": dag.id,
        "title": dag.title,
        "status": dag.status.value,
        "tasks": [task.to_dict() for task in tasks.values()],
    }
    show(as_json, value, drawn(dag, tasks))


async def _dag(yard: Yard, identifier: str) -> DagView:
    if identifier.startswith("dag_"):
        return await yard.dags.get(identifier)
    task = await yard.get(await find_task(yard, identifier))
    return await yard.dags.get(task.dag_id)


def drawn(dag: DagView, tasks: Mapping[TaskId, Task]) -> Tree:
    """Each task under the last it depends on, or under the task that spawned it; other dependencies by name.

    Below the deepest level, a task stands beside the one that it comes after, with an arrow and that one's name: a
    long chain would else be pushed out of the screen.
    """
    spent = f"  {dollars(dag.spent)}" + (f" of {dollars(dag.budget_ceiling)}" if dag.budget_ceiling else "")
    label = Text.assemble((dag.title or dag.id, "bold"), f"  {dag.status.value}", spent if dag.spent else "")
    root = Tree(label, guide_style="dim")
    placed: dict[TaskId, Tree] = {}  # where what comes after a task is put
    levels: dict[TaskId, int] = {}
    above: dict[TaskId, list[TaskId]] = {}
    waiting = sorted(dag.tasks, key=lambda hot: hot.seq)
    places = {hot.id: place for place, hot in enumerate(waiting)}
    for edge in sorted(dag.edges, key=lambda edge: places.get(edge.parent, -1)):
        above.setdefault(edge.child, []).append(edge.parent)
    while waiting:
        ready = [hot for hot in waiting if all(parent in placed for parent in above.get(hot.id, []) if parent in tasks)]
        for hot in ready or waiting[:1]:
            parents = [parent for parent in above.get(hot.id, []) if parent in placed]
            place = placed[parents[-1]] if parents else root
            level = levels[hot.id] = levels[parents[-1]] + 1 if parents else 1
            is_beside = level > DEEPEST_DRAWN
            named = [_label(tasks[each]) for each in (parents if is_beside else parents[:-1])]
            node = place.add(_node(tasks[hot.id], named, "↳ " if is_beside else ""))
            placed[hot.id] = node if level < DEEPEST_DRAWN else place
            waiting.remove(hot)
    return root


def _node(task: Task, after: Sequence[str], mark: str) -> Text:
    """One line, whose end is left out where the screen is too narrow: what tells tasks apart comes first."""
    node = session.one_line(mark, state(task.status), (f"  {short(task.id)}", "dim"))
    if task.failures:
        node.append(f"  {task.failures} failed", style="yellow")
    if task.status.is_held:
        node.append(f"  {task.worker}", style="blue")
    node.append("  ").append(_label(task), style="bold")
    return node.append(f"  (after {', '.join(after)})" if after else "", style="dim")


def _label(task: Task) -> str:
    return one_line(task.title) or task.type


def watch(
    context: typer.Context,
    for_sec: Annotated[float, typer.Option("--for", help="Stop after so many seconds.")] = 0.0,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Tasks shown.")] = 20,
) -> None:
    """Watch the yard live: what runs, how far it is, what waits. Ctrl-C ends it."""

    async def use(yard: Yard) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + for_sec
        with Live(await picture(yard, limit), console=console_for_people(), auto_refresh=False) as live:
            while not for_sec or loop.time() < until:
                mark = await yard.mark()
                live.update(await picture(yard, limit), refresh=True)
                await yard.changed(mark, REFRESH)
                await asyncio.sleep(0.1)  # a busy yard is drawn ten times a second, not a thousand

    in_yard(context, use)


async def picture(yard: Yard, limit: int) -> RenderableType:
    """The yard at a glance."""
    figures = {status: sum(types.values()) for status, types in (await yard.tasks.stats()).items()}
    counts = Text("  ").join(
        Text.assemble(state(Status(word)), f" {figures[word]}") for word in Status if figures.get(word)
    )
    held = await yard.find(status=["claimed", "running", "validating"], limit=limit)
    waiting = await yard.find(status=["ready", "pending", "retrying"], limit=max(limit - len(held), 1))
    rows = [
        (short(task.id), task.type, state(task.status), *_progress(task), _label(task)) for task in [*held, *waiting]
    ]
    if not rows:
        return Group(counts, Text("nothing runs, and nothing waits", style="dim")) if counts else _EMPTY
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("task", "type", "state", "progress", "", "title"):
        grid.add_column(column)
    for row in rows:
        grid.add_row(*row)
    return Group(counts, Text(""), grid)


_EMPTY = Text("the yard is empty", style="dim")


def _progress(task: Task) -> tuple[RenderableType, str]:
    if task.claim is None or not task.claim.progress:
        return "", ""
    said = task.claim.progress
    told = cast(dict[str, Any], said) if isinstance(said, dict) else {"note": said}
    fraction, note = told.get("fraction"), str(told.get("note", ""))
    bar = ProgressBar(total=1, completed=float(fraction), width=16) if isinstance(fraction, int | float) else ""
    return bar, one_line(note)


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


SAID = {
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
}


def event_line(stored: StoredEvent, names: Mapping[TaskId, str]) -> Text | None:
    """An event as one sentence; None where it is not worth one."""
    event = stored.event
    if event.task_id is None or not SAID.get(event.event):
        return None
    facts: dict[str, Any] = json.loads(event.data) if event.data else {}
    told = [str(facts[name]) for name in _TOLD.get(event.event, ()) if facts.get(name)]
    style = COLOURS.get(event.status, "") if event.status else ""
    name = names.get(event.task_id, "a subtask")
    line = Text.assemble((f"{name:<10}", "bold"), (SAID[event.event], style))
    return line.append(f" {one_line(': '.join(told))}") if told else line


_TOLD: dict[str, tuple[str, ...]] = {
    "task.running": ("agent",),
    "task.completed": ("agent",),
    "task.retrying": ("reason", "error"),
    "task.dead_lettered": ("reason", "error"),
    "task.cancelled": ("reason",),
    "task.signalled": ("signal",),
}


def _print_event(event: Mapping[str, Json], as_json: bool) -> None:
    payload = cast(dict[str, Json], event["payload"])
    facts = " ".join(f"{name}={_fact(name, value)}" for name, value in payload.items() if value not in (None, "", []))
    at, who = str(event["at"])[11:23], short(str(event["task_id"] or ""))
    words = f"{event['seq']:>6}  {at}  {event['event']:<20} {who}  {facts}"
    show(as_json, event, Group(session.one_line(words)))  # in a group, or rich would join it to the next


def _fact(name: str, value: Json) -> str:
    """A part of an event's data. Lengths of time are stored in microseconds, and money in micro-dollars."""
    if name in ("waited", "ran", "silent") and isinstance(value, int):
        return seconds(value / SECOND).replace(" ", "")
    if name == "cost" and isinstance(value, int):
        return f"${to_usd(MicroUsd(value))}"
    return str(value)


def stats(
    context: typer.Context,
    days: Annotated[int | None, typer.Option("--days", "-d", help="The figures of so many days instead.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tasks by state and type; or what came, went and failed, day by day."""
    if days is not None:
        metrics = in_yard(context, lambda yard: yard.local.metrics.read(days=days))
        show(as_json, metrics.to_dict(), _days(metrics))
        return
    figures = in_yard(context, lambda yard: yard.tasks.stats())
    types = sorted({type_ for counts in figures.values() for type_ in counts})
    words = [status for status in Status if figures[status.value]]
    rows = [(type_, *(str(figures[word].get(type_, "")) for word in words)) for type_ in types]
    shown = table("type", *words, rows=rows, right=words) if rows else Text("the yard is empty", style="dim")
    show(as_json, figures, shown)


def _days(metrics: Metrics) -> Table:
    columns = ("created", "completed", "failed", "dead", "latency", "heartbeat", "error rates")
    rows = [(day.date, *_figures(day.totals)) for day in metrics.days]
    rows.append(("in all", *_figures(metrics.total)))
    return table("day", *columns, rows=rows, right=columns[:-1])


def _figures(totals: Totals) -> tuple[str, ...]:
    counts = (totals.created, totals.tasks_completed, totals.tasks_failed, totals.dead_lettered)
    times = (totals.average_latency, totals.worker_heartbeat_delay)
    return (
        *map(str, counts),
        *("" if time is None else seconds(time) for time in times),
        ", ".join(f"{agent} {rate:.0%}" for agent, rate in totals.error_rates_per_agent.items()),
    )


def cut(text: str) -> Text:
    """On one line of a table; where the screen is too narrow, without its end."""
    return Text(one_line(text), no_wrap=True, overflow="ellipsis")


def one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"
