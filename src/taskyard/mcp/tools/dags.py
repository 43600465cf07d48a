"""Tools for graphs of tasks."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from taskyard.api import calls, openapi
from taskyard.api.requests import TaskDraft
from taskyard.mcp.desk import Desk
from taskyard.mcp.toolbox import ADDS, PRODUCER, Answer, Toolbox

box = Toolbox()
MOST_TASKS = 200  # in one call of a model

Drafts = Annotated[
    list[TaskDraft],
    Field(
        min_length=1,
        max_length=MOST_TASKS,
        description="Each with a type, a prompt and a name; `depends_on` names others of this list, or ids of tasks.",
    ),
]
GROWN = openapi.answer("GrownDag", dag_id=str, tasks=dict[str, str])


@box.add(calls.SUBMIT, GROWN, PRODUCER, hints=ADDS)
async def submit_dag(
    desk: Desk,
    *,
    tasks: Drafts,
    title: str = "",
    budget_ceiling_usd: Annotated[str | float | int | None, Field(description="What all of it may cost.")] = None,
    tags: list[str] = [],  # noqa: B006 - it is read, and never changed
) -> Answer:
    """Put a whole graph of tasks in, or nothing: a task begins once all that it depends on are completed. The answer
    has the ids of the tasks by their names."""
    dag: dict[str, Any] = {"title": title, "tasks": [each.fields() for each in tasks], "tags": tags}
    if budget_ceiling_usd is not None:
        dag["budget_ceiling_usd"] = budget_ceiling_usd
    made = await desk.yard.submit(dag, created_by=desk.by)
    return {"dag_id": made.id, "tasks": {name: task.id for name, task in made.tasks.items()}}


@box.add(calls.ADD, GROWN, PRODUCER, hints=ADDS)
async def add_tasks(desk: Desk, dag_id: Annotated[str, Field(max_length=255)], tasks: Drafts) -> Answer:
    """Add tasks to a graph that exists. One that has ended goes on."""
    made = await desk.yard.dags.add(dag_id, [each.fields() for each in tasks], created_by=desk.by)
    return {"dag_id": made.id, "tasks": {name: task.id for name, task in made.tasks.items()}}
