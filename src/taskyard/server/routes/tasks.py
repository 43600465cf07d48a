"""Tasks: putting them in, looking at them, steering them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Response
from pydantic import AfterValidator

from taskyard.api import calls, openapi, requests
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.core.json_value import Json, compact
from taskyard.core.units import to_iso
from taskyard.definition.task_fields import TaskFilter, TaskSelection
from taskyard.definition.view import About, Time
from taskyard.features.artifacts import views as files
from taskyard.features.attempts.views import Child, Input, Receipt
from taskyard.features.tasks import multica
from taskyard.features.tasks.answers import Acted, Cancelled, Counted, Relations, Why
from taskyard.features.tasks.lookup.queries import SORTS, SUGGESTED, cursor_after
from taskyard.features.tasks.multica import AttemptTask
from taskyard.features.tasks.result_views import Enqueued
from taskyard.features.tasks.task_rows import TaskRow
from taskyard.features.tasks.views import Details, Task
from taskyard.server.access.auth import check_own_lease
from taskyard.server.routing import Calling, Routes, answer, created
from taskyard.server.task_views import View, shown, shown_attempt, shown_attempts
from taskyard.stores.turns import in_turns, let_go

routes = Routes("tasks")
SHOWN_ATTEMPT: Any = model(AttemptTask)
SHOWN_TASK: Any = model(Task) | SHOWN_ATTEMPT
NEXT = Annotated[int | None, About("Of the next page; null on the last.")]
CREATED: Any = openapi.answer(
    "Created",
    task=SHOWN_TASK,
    created=Annotated[bool, About("False: a live task had the key or the id, and is the answer.")],
)
CREATED_MANY = openapi.answer("CreatedMany", tasks=list[CREATED])
TASK_PAGE = openapi.answer(
    "TaskPage",
    tasks=openapi.lists(Task, TaskRow, AttemptTask),
    cursor=NEXT,
    total=Annotated[int | None, About("How many tasks match, counted up to 1,000; null where `short` is asked for.")],
    more=Annotated[bool | None, About("Whether there are more than `total`; null where `short` is asked for.")],
)
SUGGESTIONS = openapi.answer("Suggestions", values=list[str])
INPUTS = openapi.answer("Inputs", inputs=list[Input])
CHILDREN = openapi.answer("Children", children=list[Child] | None)
# What is asked for by calls without a body.
CANCEL, RERUN_ISSUE = requests.CancelTask(), requests.RerunIssue()
AttemptAt = Annotated[str, Path(description="A task's id, or that of an attempt at it.", max_length=255)]
TaskAt = Annotated[AttemptAt, AfterValidator(multica.task_of)]
IssueAt = Annotated[str, Path(description="An issue's id.", max_length=249)]
Limit = Annotated[int, Query(ge=1, le=200)]
Reason = Annotated[str | None, Query(description="That an attempt at the task failed for.", max_length=255)]
Since = Annotated[str | None, Query(description="Put in at this time or later: ISO 8601 with a zone.", max_length=64)]
Until = Annotated[str | None, Query(description="Put in before this time.", max_length=64)]
Sort = Annotated[str, Query(description=f"One of {', '.join(SORTS)}.", max_length=20)]
Several = Annotated[list[str], Query()]
SHOWN_LEASE = Header(alias=files.LEASE, description="The lease that the claim gave.", max_length=255)
Lease = Annotated[str | None, SHOWN_LEASE]
SPAWNED = openapi.answer("Spawned", task_ids=list[str])
STATS = openapi.answer("Stats", at=Time, tasks=Annotated[dict[str, dict[str, int]], About("By status, then by type.")])


# Asynchronous although they wait for nothing: the framework would call a plain function in a thread.
async def _selection(
    *,
    type: Several = [],  # noqa: B006 - read, never written
    queue: str | None = None,
    agent: str | None = None,
    subject: str | None = None,
    dag: str | None = None,
    parent: str | None = None,
    tag: str | None = None,
    q: str | None = None,
    reason: Reason = None,
) -> TaskSelection:
    return {
        "type": type,
        "queue": queue,
        "agent": agent,
        "subject": subject,
        "dag_id": dag,
        "parent_id": parent,
        "tag": tag,
        "text": q,
        "reason": reason,
    }


Selection = Annotated[TaskSelection, Depends(_selection)]


async def _which(
    selection: Selection,
    *,
    status: Several = [],  # noqa: B006 - read, never written
    since: Since = None,
    until: Until = None,
) -> TaskFilter:
    return {**selection, "status": status, "since": since, "until": until}


Which = Annotated[TaskFilter, Depends(_which)]


@routes.add(calls.ENQUEUE, CREATED, status=201, more={200: {"model": CREATED}})
async def enqueue(caller: Calling, draft: requests.TaskDraft, view: View = None) -> Response:
    """Put one task in; 200 where a live task has its key or its id, and is the answer."""
    (task,) = await caller.yard.enqueue_many([draft.fields()], created_by=caller.by)
    document = await shown(caller, task, view)
    return answer({"task": document, "created": task.created}, 201 if task.created else 200)


@routes.add(calls.ENQUEUE_MANY, CREATED_MANY, status=201)
async def enqueue_many(caller: Calling, drafts: requests.EnqueueMany) -> Response:
    """Put up to 1,000 tasks in, all or none."""
    given = await in_turns(requests.TaskDraft.fields, drafts.tasks)
    tasks = await caller.yard.enqueue_many(given, created_by=caller.by)
    await let_go(given)
    return await created('{"tasks":[', _spelled, tasks, "]}")


def _spelled(task: Enqueued) -> str:
    return compact({"task": task.to_dict(), "created": task.created})


@routes.add(calls.FIND, TASK_PAGE)
async def find(
    caller: Calling,
    *,
    which: Which,
    issue: Annotated[str | None, Query(description="The same as subject issue:ID.")] = None,
    sort: Sort = "newest",
    limit: Limit = 50,
    cursor: Annotated[int, Query(ge=0, le=2**53)] = 0,
    short: Annotated[bool, Query(description="Each task as one line, without anything long.")] = False,
    view: View = None,
) -> Response:
    """Tasks, newest first. `cursor` is that of the page before; none comes after the last.

    By `updated`, `priority`, `failures`, `cost` or `took`, the newest 2,000 that match are sorted, most of it first.
    In a view, `status` has its words, and a page may show fewer or more than `limit`: it is a page of whole tasks.
    """
    words = which.get("status", ())
    if view is not None:
        which["status"] = multica.statuses_of(words)
    if issue is not None:
        which["subject"] = multica.subject_of(issue)
    if short and view is None:
        rows = await caller.yard.tasks.rows(**which, limit=limit, cursor=cursor, sort=sort)
        after = cursor_after(rows, limit, cursor, sort)
        return answer({"tasks": write(rows), "cursor": after, "total": None, "more": None})
    tasks = await caller.yard.find(**which, limit=limit, cursor=cursor, sort=sort)
    after = cursor_after(tasks, limit, cursor, sort)
    is_whole = not cursor and after is None
    total, more = (len(tasks), False) if is_whole else await caller.yard.tasks.total(**which)
    own: list[Json] = [task.to_dict() for task in tasks]
    shown = own if view is None else await shown_attempts(caller, tasks, words)
    return answer({"tasks": shown, "cursor": after, "total": total, "more": more})


@routes.add(calls.COUNT, model(Counted))
async def count(caller: Calling, which: Which) -> Response:
    """How many tasks match, by status: all of them, or the newest of too many."""
    return answer(write(await caller.yard.tasks.count(**which)))


@routes.add(calls.SUGGEST, SUGGESTIONS)
async def suggest(
    caller: Calling,
    field: Annotated[str, Query(description=f"One of {', '.join(SUGGESTED)}.", max_length=20)],
    begins: Annotated[str, Query(max_length=255)] = "",
) -> Response:
    """What a filter of the list may be set to, where it begins so: at most 20."""
    return answer({"values": [*await caller.yard.tasks.suggest(field, begins=begins)]})


@routes.add(calls.GET, model(Details) | SHOWN_ATTEMPT)
async def get(
    caller: Calling,
    task_id: AttemptAt,
    view: View = None,
    wait_sec: Annotated[float, Query(ge=0, le=60, description="Answer once it has ended, or after this time.")] = 0,
) -> Response:
    """A task with its attempts; in a view, the attempt of this id. With `wait_sec`, once it has ended."""
    task = await caller.yard.get(multica.task_of(task_id), wait_sec=wait_sec)
    return answer(task.to_dict() if view is None else await shown_attempt(caller, task_id))


@routes.add(calls.WHY, model(Why))
async def why(caller: Calling, task_id: TaskAt) -> Response:
    """What the task waits for, in words and in data."""
    return answer(write(await caller.yard.why(task_id)))


@routes.add(calls.INPUTS, INPUTS)
async def inputs(caller: Calling, task_id: TaskAt, lease: Lease = None) -> Response:
    """The outputs that the task builds on; under a validator's lease, also the files that it judges."""
    if lease is not None:
        await check_own_lease(caller, task_id, lease)
    found = await caller.yard.tasks.inputs(task_id, lease)
    return answer({"inputs": write(found)})


@routes.add(calls.CHILDREN, CHILDREN)
async def children(caller: Calling, task_id: TaskAt, name: Annotated[str, Query(max_length=255)]) -> Response:
    """How the tasks spawned under this name ended; null while one of them has not."""
    found = await caller.yard.tasks.children(task_id, name)
    return answer({"children": write(found)})


# Steering


@routes.add(calls.CANCEL, model(Cancelled))
async def cancel(caller: Calling, task_id: TaskAt, asked: requests.CancelTask = CANCEL) -> Response:
    """Take a task out of the yard, and what depends on it unless `cascade` is false; `dry_run` only says which."""
    done = await caller.yard.cancel(task_id, asked.reason, cascade=asked.cascade, by=caller.by, dry_run=asked.dry_run)
    return answer(write(done))


@routes.add(calls.RERUN, SHOWN_TASK, status=201)
async def rerun(caller: Calling, task_id: TaskAt, view: View = None) -> Response:
    """Do a finished task again, as a new one with a fresh session."""
    return answer(await shown(caller, await caller.yard.rerun(task_id, created_by=caller.by), view), 201)


@routes.add(calls.RERUN_ISSUE, SHOWN_TASK, status=201)
async def rerun_issue(
    caller: Calling, issue_id: IssueAt, asked: requests.RerunIssue = RERUN_ISSUE, view: View = None
) -> Response:
    """Do the issue's latest task again, or the one given: afresh, and behind one of its agent that is under way."""
    subject = multica.subject_of(issue_id)
    task = await caller.yard.tasks.rerun_subject(subject, task_id=asked.task_id, created_by=caller.by)
    return answer(await shown(caller, task, view), 201)


@routes.add(calls.PRIORITY, model(Receipt))
async def set_priority(caller: Calling, task_id: TaskAt, asked: requests.Priority) -> Response:
    """Move a waiting task."""
    return answer(write(await caller.yard.tasks.set_priority(task_id, asked.priority, by=caller.by)))


@routes.add(calls.BULK, model(Acted))
async def act_on_all(caller: Calling, asked: requests.BulkAction) -> Response:
    """Do something with everything that matches; `dry_run` only says with what."""
    which: dict[str, Any] = asked.filter.model_dump()
    done = await caller.yard.tasks.bulk(
        asked.action, by=caller.by, dry_run=asked.dry_run, priority=asked.priority, note=asked.note, **which
    )
    caller.charge(len(done.task_ids) + len(done.refused))
    return answer(write(done))


@routes.add(calls.SPAWN, SPAWNED)
async def spawn(caller: Calling, task_id: TaskAt, asked: requests.Spawn) -> Response:
    """Put tasks into the graph of the task at hand; with `wait`, suspend it until they are done."""
    drafts = await in_turns(requests.TaskDraft.fields, asked.tasks)
    ids = await caller.yard.tasks.spawn(task_id, asked.lease, drafts, name=asked.name, wait=asked.wait)
    return answer({"task_ids": [*ids]})


@routes.add(calls.STATS, STATS)
async def stats(caller: Calling) -> Response:
    """Tasks by status and type."""
    return answer({"at": to_iso(caller.yard.now()), "tasks": write(await caller.yard.tasks.stats())})


@routes.add(calls.RELATIONS, model(Relations))
async def relations(caller: Calling, task_id: TaskAt) -> Response:
    """What a task hangs together with, up to 200 of each kind."""
    return answer(write(await caller.yard.tasks.relations(task_id)))
