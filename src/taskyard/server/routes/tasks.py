"""Tasks: putting them in, looking at them, steering them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Response

from taskyard.server.routing import Calling, Routes, answer
from taskyard.wire import calls, documents, requests, responses, shapes
from taskyard.wire.answers import event_view

routes = Routes("tasks")
TaskAt = Annotated[str, Path(description="A task's id.", max_length=255)]
Limit = Annotated[int, Query(ge=1, le=200)]


@routes.add(calls.ENQUEUE, responses.Created, status=201, more={200: {"model": responses.Created}})
async def enqueue(caller: Calling, draft: requests.TaskDraft) -> Response:
    """Put one task in; 200 where a live task has its key or its id, and is the answer."""
    (task,) = await caller.yard.enqueue_many([draft.fields()], created_by=caller.by)
    return answer({"task": task.to_dict(), "created": task.created}, 201 if task.created else 200)


@routes.add(calls.ENQUEUE_MANY, responses.CreatedMany, status=201)
async def enqueue_many(caller: Calling, drafts: requests.Drafts) -> Response:
    """Put many tasks in, all or none."""
    tasks = await caller.yard.enqueue_many([draft.fields() for draft in drafts.tasks], created_by=caller.by)
    return answer({"tasks": [{"task": task.to_dict(), "created": task.created} for task in tasks]}, 201)


@routes.add(calls.FIND, responses.TaskPage)
async def find(
    caller: Calling,
    *,
    status: Annotated[list[str], Query()] = [],  # noqa: B006 - read, never written
    type: Annotated[list[str], Query()] = [],  # noqa: B006
    queue: str | None = None,
    agent: str | None = None,
    subject: str | None = None,
    dag: str | None = None,
    parent: str | None = None,
    tag: str | None = None,
    q: str | None = None,
    limit: Limit = 50,
    cursor: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Response:
    """Tasks, newest first. `cursor` is that of the page before; none comes after the last."""
    tasks = await caller.yard.find(
        status=status,
        type=type,
        queue=queue,
        agent=agent,
        subject=subject,
        dag_id=dag,
        parent_id=parent,
        tag=tag,
        text=q,
        limit=limit,
        cursor=cursor,
    )
    after = tasks[-1].hot.seq if len(tasks) == limit else None
    return answer({"tasks": [task.to_dict() for task in tasks], "cursor": after})


@routes.add(calls.GET, shapes.TaskDetails)
async def get(caller: Calling, task_id: TaskAt) -> Response:
    """A task with its attempts."""
    return answer((await caller.yard.get(task_id)).to_dict())


@routes.add(calls.TASK_EVENTS, responses.EventPage)
async def task_events(
    caller: Calling, task_id: TaskAt, after: Annotated[int, Query(ge=0, le=2**53)] = 0, limit: Limit = 200
) -> Response:
    """What happened to a task, in order."""
    await caller.yard.holders(task_id)  # of another workspace's task there is nothing to tell
    events = await caller.yard.events(after=after, limit=limit, task_id=task_id)
    return answer({"events": [event_view(stored) for stored in events]})


@routes.add(calls.WHY, responses.Why)
async def why(caller: Calling, task_id: TaskAt) -> Response:
    """What the task waits for, in words and in data."""
    return answer((await caller.yard.why(task_id)).to_dict())


@routes.add(calls.INPUTS, responses.Inputs)
async def inputs(caller: Calling, task_id: TaskAt) -> Response:
    """The outputs that the task builds on."""
    found = await caller.yard.inputs(task_id)
    return answer({"inputs": [documents.given_input(each) for each in found]})


@routes.add(calls.CHECKPOINTS, responses.Checkpoints)
async def checkpoints(caller: Calling, task_id: TaskAt) -> Response:
    """The results of the task's steps, by their names."""
    return answer({"checkpoints": await caller.yard.checkpoints(task_id)})


@routes.add(calls.CHILDREN, responses.Children)
async def children(caller: Calling, task_id: TaskAt, name: Annotated[str, Query(max_length=255)]) -> Response:
    """How the tasks spawned under this name ended; null while one of them has not."""
    found = await caller.yard.children(task_id, name)
    return answer({"children": None if found is None else [documents.child(each) for each in found]})


# Steering


@routes.add(calls.CANCEL, responses.Cancelled)
async def cancel(caller: Calling, task_id: TaskAt, asked: requests.Cancel) -> Response:
    """Take a task out of the yard, and what depends on it unless `cascade` is false."""
    return answer(documents.cancelled(await caller.yard.cancel(task_id, asked.reason, cascade=asked.cascade)))


@routes.add(calls.RERUN, shapes.Task, status=201)
async def rerun(caller: Calling, task_id: TaskAt) -> Response:
    """Do a finished task again, as a new one with a fresh session."""
    return answer((await caller.yard.rerun(task_id, created_by=caller.by)).to_dict(), 201)


@routes.add(calls.SIGNAL, responses.Receipt)
async def signal(caller: Calling, task_id: TaskAt, asked: requests.SendSignal) -> Response:
    """Tell a task something it waits for, such as an approval."""
    return answer(documents.receipt(await caller.yard.signal(task_id, asked.name, asked.data, sent_by=caller.by)))


@routes.add(calls.PRIORITY, responses.Receipt)
async def set_priority(caller: Calling, task_id: TaskAt, asked: requests.Priority) -> Response:
    """Move a waiting task."""
    return answer(documents.receipt(await caller.yard.set_priority(task_id, asked.priority, by=caller.by)))


@routes.add(calls.BULK, responses.Acted)
async def act_on_all(caller: Calling, asked: requests.BulkAction) -> Response:
    """Do something with everything that matches; `dry_run` only says with what."""
    which: dict[str, Any] = asked.filter.model_dump()
    done = await caller.yard.act_on_all(
        asked.action, by=caller.by, dry_run=asked.dry_run, priority=asked.priority, note=asked.note, **which
    )
    return answer(documents.acted(done))


@routes.add(calls.DEAD_LETTERS, responses.DeadLetters)
async def dead_letters(caller: Calling, reviewed: bool | None = None, limit: Limit = 200) -> Response:
    """Tasks that wait for a person, newest first, with the whole story of their failures."""
    letters = await caller.yard.dead_letters(reviewed=reviewed, limit=limit)
    return answer({"tasks": [letter.task.to_dict() for letter in letters]})


@routes.add(calls.REVIEWS, responses.Reviews)
async def reviews(caller: Calling) -> Response:
    """Every decision on a dead letter, in the order they were made."""
    return answer({"reviews": [documents.review(record) for record in await caller.yard.reviews()]})


@routes.add(calls.RESOLVE, responses.Receipt)
async def resolve(caller: Calling, task_id: TaskAt, asked: requests.Resolve) -> Response:
    """Decide a dead letter."""
    done = await caller.yard.resolve(task_id, asked.resolution, by=caller.by, note=asked.reason, spec=asked.spec)
    return answer(documents.receipt(done))


@routes.add(calls.APPROVALS, responses.Approvals)
async def approvals(caller: Calling) -> Response:
    """Tasks that wait for a person's word, longest first."""
    return answer({"approvals": [documents.approval(each) for each in await caller.yard.approvals()]})
