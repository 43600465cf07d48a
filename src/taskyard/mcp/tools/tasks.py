"""Tools for tasks: putting them in, looking at them, steering them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from taskyard.api import calls, openapi
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.core.errors import TaskyardError
from taskyard.core.task import Status
from taskyard.features.attempts.views import Receipt
from taskyard.features.events.views import EventView, event_view
from taskyard.features.tasks.answers import Cancelled, Why
from taskyard.mcp.desk import Desk
from taskyard.mcp.short_answers import (
    LONGEST_VALUE,
    MOST_EVENTS,
    AddedTask,
    ShortAttempt,
    ShortTask,
    ShownTask,
    added,
    attempts_of,
    cut,
    short_row,
    shown_task,
    task_uri,
)
from taskyard.mcp.toolbox import ADDS, OPERATOR, PRODUCER, REMOVES, SETS, WORKER, Answer, Toolbox

box = Toolbox()
LONGEST_WAIT = 50.0  # seconds: clients give a call up after a minute
MOST_ROWS = 50

TaskId = Annotated[str, Field(description="The id of the task: task_…", max_length=255)]
Wait = Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="Seconds to wait, at most 50.")]
Usd = str | float | int
Type = Annotated[str, Field(description="What kind of work it is; agents choose tasks by it.", max_length=255)]
Prompt = Annotated[str, Field(description="What is to be done, in words.")]
Payload = Annotated[Any, Field(description="Any JSON value that goes with the prompt.")]
Priority = Annotated[int | None, Field(description="0 is critical, 100 is background.")]
For = Annotated[str | None, Field(description="Only this agent, by id or by type.")]
Subject = Annotated[str | None, Field(description="What it is about, such as issue:42.")]
DependsOn = Annotated[list[str] | None, Field(description="Ids of tasks that must be completed first.")]
Moment = Annotated[str | None, Field(description="ISO 8601 with a zone.")]
MaxCost = Annotated[Usd | None, Field(description="The most that one attempt may cost, in dollars.")]
Key = Annotated[str | None, Field(description="While a task with this key is live, no second one is made.")]

FOUND = openapi.answer("FoundTasks", tasks=list[ShortTask], cursor=int | None)
SHOWN = openapi.answer(
    "ShownTaskAnswer",
    task=ShownTask,
    attempts=openapi.optional(list[ShortAttempt]),
    events=openapi.optional(list[EventView]),
    checkpoints=openapi.optional(dict[str, Any]),
)
ENDED = openapi.answer(
    "EndedTask",
    task_id=str,
    status=str,
    ended=bool,
    output=Any,
    error=str | None,
    why=str | None,
)


@box.add(calls.ENQUEUE, model(AddedTask), PRODUCER, hints=ADDS)
async def enqueue_task(
    desk: Desk,
    *,
    type: Type,
    prompt: Prompt = "",
    payload: Payload = None,
    title: str | None = None,
    priority: Priority = None,
    agent: For = None,
    subject: Subject = None,
    depends_on: DependsOn = None,
    deadline: Moment = None,
    run_after: Moment = None,
    max_cost_usd: MaxCost = None,
    required_capabilities: list[str] | None = None,
    idempotency_key: Key = None,
    tags: list[str] | None = None,
    queue: str | None = None,
) -> Answer:
    """Put one task into the yard, for an agent to do. It is stored before the answer comes. Use run_task to also get
    its result, submit_dag for several tasks that depend on each other."""
    given = {name: value for name, value in locals().items() if name not in ("desk", "type") and value is not None}
    task = await desk.yard.enqueue(type, created_by=desk.by, **given)
    return write(added(task, created=task.created))


@box.add(calls.ENQUEUE, ENDED, PRODUCER, hints=ADDS, also=enqueue_task)
async def run_task(desk: Desk, wait_sec: Wait = LONGEST_WAIT, **task: Any) -> Answer:
    """Put one task in and get its result. A client with the Tasks extension follows it for as long as it takes; for any
    other it is waited for up to wait_sec, and then the answer is its id and why it is not done: call wait_for_task."""
    put_in = await enqueue_task(desk, **task)
    return await ending(desk, str(put_in["id"]), wait_sec)


@box.add(calls.GET, SHOWN, PRODUCER, WORKER, OPERATOR)
async def get_task(
    desk: Desk,
    *,
    task_id: TaskId,
    include: Annotated[
        list[Literal["attempts", "events", "checkpoints"]], Field(description="What else to show, at most the latest.")
    ] = [],  # noqa: B006 - it is read, and never changed
) -> Answer:
    """Show one task: what was asked, where it stands, what it handed in. Long values are cut and name a resource."""
    details = await desk.yard.get(task_id)
    shown: Answer = {"task": write(shown_task(details))}
    if "attempts" in include:
        shown["attempts"] = write(attempts_of(details))
    if "events" in include:
        events = await desk.yard.events(task_id=task_id, limit=10_000)
        shown["events"] = [
            {**write(event_view(each)), "payload": cut(event_view(each).payload, task_uri(task_id), 2_000)}
            for each in events[-MOST_EVENTS:]
        ]
    if "checkpoints" in include:
        stored = await desk.yard.attempts.checkpoints(task_id)
        most = LONGEST_VALUE // max(len(stored), 1)
        shown["checkpoints"] = {name: cut(value, task_uri(task_id), most) for name, value in stored.items()}
    return shown


@box.add(calls.FIND, FOUND, PRODUCER, OPERATOR)
async def find_tasks(
    desk: Desk,
    *,
    status: Annotated[list[Status] | Status | None, Field(description="One status, or several.")] = None,
    type: Annotated[list[str] | str | None, Field(description="One type, or several.")] = None,
    agent: str | None = None,
    subject: str | None = None,
    dag_id: str | None = None,
    queue: str | None = None,
    tag: str | None = None,
    text: Annotated[str | None, Field(description="Words in the title or the prompt.")] = None,
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 20,
    cursor: Annotated[int, Field(ge=0, description="The cursor of the page before; 0: from the newest on.")] = 0,
) -> Answer:
    """List tasks that match, newest first, each as one short row."""
    given = {name: value for name, value in locals().items() if name != "desk" and value is not None}
    rows = await desk.yard.tasks.rows(**given)
    return {
        "tasks": write([short_row(each) for each in rows]),
        "cursor": rows[-1].seq if len(rows) == limit else None,
    }


@box.add(calls.WHY, model(Why), PRODUCER, WORKER, OPERATOR)
async def why_waiting(desk: Desk, task_id: TaskId) -> Answer:
    """Say why a task is not running: what it waits for, in words and in data."""
    return write(await desk.yard.why(task_id))


@box.add(calls.GET, ENDED, PRODUCER)
async def wait_for_task(desk: Desk, task_id: TaskId, timeout_sec: Wait = 30.0) -> Answer:
    """Wait until a task has ended and get its output. Not ended in time: `ended` is false and `why` says what it waits
    for; call again."""
    return await ending(desk, task_id, timeout_sec)


@box.add(calls.CANCEL, model(Cancelled), PRODUCER, OPERATOR, hints=REMOVES)
async def cancel_task(
    desk: Desk,
    *,
    task_id: TaskId,
    reason: Annotated[str, Field(description="For those who look later.")],
    cascade: Annotated[bool | None, Field(description="Also what depends on it and what it spawned.")] = None,
    dry_run: Annotated[bool, Field(description="Only say which tasks it would cancel.")] = False,
) -> Answer:
    """Cancel a task for good. Its agent is stopped by its next heartbeat."""
    return write(await desk.yard.cancel(task_id, reason, cascade=cascade, by=desk.by, dry_run=dry_run))


@box.add(calls.RERUN, model(AddedTask), PRODUCER, OPERATOR, hints=ADDS)
async def rerun_task(desk: Desk, task_id: TaskId) -> Answer:
    """Do a task that has ended again, as a new task. The old one stays as it is."""
    return write(added(await desk.yard.rerun(task_id, created_by=desk.by), created=True))


@box.add(calls.PRIORITY, model(Receipt), PRODUCER, OPERATOR, hints=SETS)
async def set_priority(desk: Desk, task_id: TaskId, priority: Annotated[int, Field(ge=0, le=100)]) -> Answer:
    """Move a task that waits: 0 is critical, 100 is background."""
    return write(await desk.yard.tasks.set_priority(task_id, priority, by=desk.by))


async def ending(desk: Desk, task_id: str, wait_sec: float) -> Answer:
    """How a task has ended; or why it has not, when the time is over."""
    error = why = output = None
    try:
        output = cut(await desk.yard.result(task_id, timeout=wait_sec), task_uri(task_id), LONGEST_VALUE * 4)
        status = Status.COMPLETED
    except TimeoutError:
        explained = await desk.yard.why(task_id)
        status, why = explained.status, explained.words
    except TaskyardError as refusal:
        if refusal.code not in ("task_failed", "task_cancelled"):
            raise
        status, error = _ended_badly(refusal)
    return {
        "task_id": task_id,
        "status": status.value,
        "ended": why is None,
        "output": output,
        "error": error,
        "why": why,
    }


def _ended_badly(refusal: TaskyardError) -> tuple[Status, str]:
    return Status.CANCELLED if refusal.code == "task_cancelled" else Status.DEAD_LETTERED, str(refusal)
