"""Graphs: whole ones in, additions, and how they stand."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Response

from taskyard.api import calls, requests
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.core.json_value import compact
from taskyard.features.dags.views import Dag, DagEstimate, DagPage, DagView
from taskyard.features.tasks.answers import Cancelled
from taskyard.features.tasks.views import Task
from taskyard.server.routes.tasks import Limit, Since, Until
from taskyard.server.routing import Calling, Routes, answer, created
from taskyard.stores.turns import in_turns

routes = Routes("dags")
CANCEL = requests.CancelDag()  # what is asked for without a body
DagAt = Annotated[str, Path(description="A DAG's id.", max_length=255)]


@routes.add(calls.SUBMIT, model(Dag), status=201)
async def submit(caller: Calling, draft: requests.DagDraft) -> Response:
    """Put a whole graph in, or nothing."""
    tasks = await in_turns(requests.TaskDraft.fields, draft.tasks)
    return await _submitted(await caller.yard.submit(draft.fields(tasks), created_by=caller.by))


@routes.add(calls.ESTIMATE, model(DagEstimate))
async def estimate(caller: Calling, draft: requests.DagDraft) -> Response:
    """What a graph would cost by the history of its types. It is checked as one that is put in, and not stored."""
    tasks = await in_turns(requests.TaskDraft.fields, draft.tasks)
    return answer(write(await caller.yard.dags.estimate(draft.fields(tasks), created_by=caller.by)))


@routes.add(calls.DAGS, model(DagPage))
async def dags(
    caller: Calling,
    *,
    status: Annotated[list[str], Query()] = [],  # noqa: B006 - read, never written
    q: Annotated[str | None, Query(description="Found in the title, or what the id begins with.")] = None,
    tag: str | None = None,
    created_by: str | None = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(max_length=255)] = None,
) -> Response:
    """Stored graphs, newest first. `cursor` is that of the page before; none comes after the last.

    Where a filter is given, at most 5,000 graphs are looked at for a page: it may have a cursor and not be full.
    """
    page = await caller.yard.dags.page(
        status=status, text=q, tag=tag, created_by=created_by, since=since, until=until, limit=limit, cursor=cursor
    )
    return answer(write(page))


@routes.add(calls.DAG, model(DagView))
async def dag(caller: Calling, dag_id: DagAt) -> Response:
    """A graph with its tasks in short, and its edges."""
    return answer(write(await caller.yard.dags.get(dag_id)))


@routes.add(calls.ADD, model(Dag), status=201)
async def add(caller: Calling, dag_id: DagAt, drafts: requests.AddTasks) -> Response:
    """Add tasks to a graph that exists; a finished one goes on."""
    tasks = await in_turns(requests.TaskDraft.fields, drafts.tasks)
    return await _submitted(await caller.yard.dags.add(dag_id, tasks, created_by=caller.by))


async def _submitted(made: Dag) -> Response:
    return await created(f'{{"dag_id":{compact(made.id)},"tasks":{{', _named, [*made.tasks.items()], "}}")


def _named(task: tuple[str, Task]) -> str:
    name, view = task
    return f"{compact(name)}:{compact(view.to_dict())}"


@routes.add(calls.CANCEL_DAG, model(Cancelled))
async def cancel_dag(caller: Calling, dag_id: DagAt, asked: requests.CancelDag = CANCEL) -> Response:
    """Cancel everything in a graph that has not ended; `dry_run` only says what."""
    done = await caller.yard.dags.cancel(dag_id, asked.reason, by=caller.by, dry_run=asked.dry_run)
    return answer(write(done))


@routes.add(calls.DAG_BUDGET, DONE)
async def set_dag_budget(caller: Calling, dag_id: DagAt, asked: requests.DagBudget) -> Response:
    """What the graph may spend in all; null: no limit."""
    await caller.yard.dags.set_budget(dag_id, asked.budget_ceiling_usd, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.DAG_LIMIT, DONE)
async def set_dag_limit(caller: Calling, dag_id: DagAt, asked: requests.DagLimit) -> Response:
    """How many tasks the graph may have in all; null: as many as any."""
    await caller.yard.dags.set_limit(dag_id, asked.max_tasks, by=caller.by)
    return answer({"ok": True})
