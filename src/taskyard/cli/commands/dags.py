"""DAGs: submit, schema, dags, tree."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.tree import Tree

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion, invocation
from taskyard.cli.dag_file import SCHEMA
from taskyard.cli.invocation import AsJson, By, find_task, in_yard, show
from taskyard.cli.terminal import Text, counted, cut, dollars, seconds, short, state, table, title_of
from taskyard.core.task import TaskId
from taskyard.core.units import SECOND
from taskyard.features.dags.outline import DEEPEST_DRAWN, outline
from taskyard.features.dags.views import DagEstimate, DagInShort, DagView
from taskyard.features.tasks.views import Details, Task


def submit(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="YAML, TOML or JSON; - reads YAML or JSON.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check it, and say what it would cost by the history of its types.")
    ] = False,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Put a whole DAG in, or nothing. `taskyard schema` prints the format."""
    from taskyard.cli.dag_text import dag_file  # noqa: PLC0415 - YAML is slow to import

    if dry_run:
        found = in_yard(context, lambda yard: yard.dags.estimate(dag_file(file), created_by=by))
        show(as_json, write(found), *_estimate(found))
        return
    dag = in_yard(context, lambda yard: yard.submit(dag_file(file), created_by=by))
    ids = {name: task.id for name, task in dag.tasks.items()}
    lines = Text.assemble(
        (dag.id, "bold"),
        f"  {counted(len(ids), 'task')}",
        *(f"\n  {short(each)}  {name}" for name, each in ids.items()),
    )
    show(as_json, {"dag_id": dag.id, "tasks": ids}, lines)


def _estimate(found: DagEstimate) -> list[RenderableType]:
    rows = [
        (
            each.type,
            str(each.tasks),
            str(each.seen),
            "" if each.cost is None else dollars(each.cost),
            "" if each.seconds is None else f"{each.seconds:.3g}",
        )
        for each in found.types
    ]
    columns = ("type", "tasks", "of the past", "each $", "each s")
    total = f"{counted(found.tasks, 'task')}, about {dollars(found.cost)}, at least {found.seconds:.3g} s"
    unknown = f"no history of {', '.join(found.unknown)}" if found.unknown else ""
    over = "that is above its budget ceiling" if found.is_over_ceiling else ""
    notes = [total, " → ".join(found.chain), unknown, over]
    return [table(*columns, rows=rows, right=columns[1:]), *(Text(each) for each in notes if each)]


def schema() -> None:
    """Print the JSON Schema of DAG files."""
    sys.stdout.write(json.dumps(SCHEMA, indent=2) + "\n")


def dags(
    context: typer.Context,
    status: Annotated[list[str] | None, typer.Option("--status", "-s", help="May be repeated.")] = None,
    text: Annotated[str | None, typer.Option("--text", "-q", help="Found in the title; or how the id begins.")] = None,
    tag: Annotated[str | None, typer.Option(help="DAGs with this tag.")] = None,
    created_by: Annotated[str | None, typer.Option(help="Who put them in, such as human:ada.")] = None,
    since: Annotated[str | None, typer.Option(help="Put in at this time or later (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Put in before this time.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The last DAG of the page before: from there on.")] = None,
    as_json: AsJson = False,
) -> None:
    """List DAGs, newest first."""

    async def use(yard: Yard) -> list[DagInShort]:
        return await yard.dags.list(
            limit=limit,
            cursor=cursor,
            status=status or (),
            text=text,
            tag=tag,
            created_by=created_by,
            since=since,
            until=until,
        )

    records = in_yard(context, use)
    value = [{"id": each.id, "title": each.title, "status": each.status.value} for each in records]
    rows = [(each.id, each.status.value, cut(each.title)) for each in records]
    empty = Text("no DAGs: put one in with `taskyard submit FILE`", style="dim")
    show(as_json, value, table("dag", "state", "title", rows=rows) if rows else empty)


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
        "critical_path": write(dag.critical_path),
        "tasks": [task.to_dict() for task in tasks.values()],
    }
    show(as_json, value, drawn(dag, tasks), path_line(dag))


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
    for task, parents in outline(dag):
        place = placed[parents[-1]] if parents else root
        level = levels[task.id] = levels[parents[-1]] + 1 if parents else 1
        is_beside = level > DEEPEST_DRAWN
        named = [title_of(tasks[each]) for each in (parents if is_beside else parents[:-1])]
        node = place.add(_node(tasks[task.id], named, "↳ " if is_beside else ""))
        placed[task.id] = node if level < DEEPEST_DRAWN else place
    return root


def path_line(dag: DagView) -> Text:
    """What decides how long the graph takes, and what that chain cost."""
    path = dag.critical_path
    left = path.expected - path.worked
    more = f", about {seconds(left / SECOND)} to go" if left > 0 and not dag.status.is_final else ""
    figures = f"{counted(len(path.task_ids), 'task')}, {seconds(path.worked / SECOND)}{more}, {dollars(path.cost)}"
    return Text(f"critical path  {figures}", style="dim")


def _node(task: Task, after: Sequence[str], mark: str) -> Text:
    """One line, whose end is left out where the screen is too narrow: what tells tasks apart comes first."""
    node = invocation.one_line(mark, state(task.status), (f"  {short(task.id)}", "dim"))
    if task.failures:
        node.append(f"  {task.failures} failed", style="yellow")
    if task.status.is_held:
        node.append(f"  {task.worker}", style="blue")
    node.append("  ").append(title_of(task), style="bold")
    return node.append(f"  (after {', '.join(after)})" if after else "", style="dim")
