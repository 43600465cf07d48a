"""Tools for agents: claiming a task, keeping it, and finishing it."""

from __future__ import annotations

from secrets import token_hex
from typing import Annotated, Any

from pydantic import Field

from taskyard.api import calls, openapi
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.api.requests import TaskDraft
from taskyard.core.json_value import Json
from taskyard.core.task import Reason
from taskyard.features.attempts.views import HeartbeatAnswer, Input, Receipt
from taskyard.features.tasks.views import Held
from taskyard.mcp.desk import Desk
from taskyard.mcp.lease_keeper import KEPT_FOR
from taskyard.mcp.short_answers import LONGEST_VALUE, ShortAttempt, attempts_of, cut, task_uri
from taskyard.mcp.toolbox import ADDS, REMOVES, SETS, WORKER, Answer, Toolbox
from taskyard.mcp.tools.tasks import LONGEST_WAIT, TaskId, Usd, Wait

box = Toolbox()
MOST_SPAWNED = 100
LONGEST_TASK = 160 << 10  # bytes of a prompt and a payload that are handed to an agent whole

Lease = Annotated[str, Field(description="The lease that claim_task gave. It is a secret.", max_length=255)]
Cost = Annotated[Usd | None, Field(description="What the attempt has cost so far, in dollars.")]
Tokens = Annotated[int | None, Field(ge=0, description="Of the attempt so far; cached ones are among the input.")]

CLAIMED = openapi.answer(
    "ClaimedTask",
    claimed=bool,
    agent=str,
    task_id=openapi.optional(str),
    lease=openapi.optional(str),
    lease_kept_sec=openapi.optional(float),
    attempt=openapi.optional(int),
    type=openapi.optional(str),
    title=openapi.optional(str),
    prompt=openapi.optional(str),
    payload=openapi.optional(Any),
    constraints=openapi.optional(dict[str, Any]),
    inputs=openapi.optional(list[Input]),
    previous_attempts=openapi.optional(list[ShortAttempt]),
    checkpoints=openapi.optional(dict[str, Any]),
)
STORED = openapi.answer("StoredCheckpoint", checkpoint=str, data=Any)
SPAWNED = openapi.answer("SpawnedTasks", task_ids=list[str], suspended=bool)


@box.add(calls.CLAIM, CLAIMED, WORKER, hints=ADDS)
async def claim_task(
    desk: Desk,
    *,
    capabilities: Annotated[list[str], Field(description="What this agent can do; tasks may require it.")] = [],  # noqa: B006
    agent: Annotated[
        str | None, Field(description="The id that claims. At first: that of this connection.", max_length=255)
    ] = None,
    types: Annotated[list[str] | None, Field(description="Only tasks of these types.")] = None,
    queues: Annotated[list[str] | None, Field(description="Only tasks of these queues.")] = None,
    wait_sec: Wait = 0.0,
    lease_sec: Annotated[
        float, Field(ge=1, le=KEPT_FOR, description="How long the task is kept for you after your last tool call.")
    ] = KEPT_FOR,
    request_id: Annotated[
        str | None, Field(description="The same request again gets the same task and lease.", max_length=255)
    ] = None,
) -> Answer:
    """Take the best task that is ready, and begin it. Answer it with complete_task or fail_task and its lease.
    `checkpoints` are results of earlier attempts, answers of people among them: do not do those steps again."""
    agent_id = await desk.seat.taken(desk.yard, capabilities, agent)
    held = await desk.yard.claim(
        agent_id, types=types, queues=queues, start=True, wait_sec=min(wait_sec, LONGEST_WAIT), request_id=request_id
    )
    if not held:
        return {"claimed": False, "agent": agent_id}
    (task,) = held
    desk.leases.keep(
        desk.yard,
        task.id,
        task.lease,
        lease_sec=task.timeouts.lease_sec,
        patience=lease_sec,
        max_duration_sec=task.spec.constraints.max_duration_sec,
    )
    return await _claimed(desk, task, agent_id, lease_sec)


async def _claimed(desk: Desk, task: Held, agent_id: str, lease_sec: float) -> Answer:
    where = task_uri(task.id)
    details = await desk.yard.get(task.id)
    stored = await desk.yard.attempts.checkpoints(task.id)
    inputs = await desk.yard.tasks.inputs(task.id, task.lease)
    share = LONGEST_VALUE // max(len(stored) + len(inputs), 1)
    constraints = write(task.spec.constraints)
    return {
        "claimed": True,
        "agent": agent_id,
        "task_id": task.id,
        "lease": task.lease,
        "lease_kept_sec": lease_sec,
        "attempt": task.attempt,
        "type": task.type,
        "title": task.title,
        "prompt": task.prompt if len(task.prompt.encode()) <= LONGEST_TASK // 2 else task.prompt[: LONGEST_TASK // 8],
        "payload": cut(task.payload, where, LONGEST_TASK // 2),
        "constraints": {name: value for name, value in constraints.items() if value},
        "inputs": [{**write(each), "data": cut(each.data, each.ref, share)} for each in inputs],
        "previous_attempts": write(attempts_of(details)),
        "checkpoints": {name: cut(value, where, share) for name, value in stored.items()},
    }


@box.add(calls.HEARTBEAT, model(HeartbeatAnswer), WORKER, hints=SETS)
async def heartbeat(
    desk: Desk,
    *,
    task_id: TaskId,
    lease: Lease,
    progress: Annotated[float | None, Field(ge=0, le=1, description="How much is done, from 0 to 1.")] = None,
    note: Annotated[str, Field(description="What is being done, for those who watch.", max_length=2_000)] = "",
    cost_usd: Cost = None,
    tokens_input: Tokens = None,
    tokens_output: Tokens = None,
    tokens_cache_read: Tokens = None,
    tokens_cache_write: Tokens = None,
    model: Annotated[str | None, Field(description="Where no cost is given, its price is looked up.")] = None,
) -> Answer:
    """Say that the work goes on, and hear what there is to know: stop at once where `words` has cancelled, lease_lost
    or budget_exceeded. The lease is kept for you between calls, so this is for progress and for long work."""
    desk.leases.called(lease)
    reported: Json = None if progress is None and not note else {"fraction": progress, "note": note}
    answer = await desk.yard.heartbeat(
        task_id,
        lease,
        progress=reported,
        cost_usd=cost_usd,
        tokens_input=tokens_input,
        tokens_output=tokens_output,
        tokens_cache_read=tokens_cache_read,
        tokens_cache_write=tokens_cache_write,
        model=model,
    )
    if answer.must_stop:
        desk.leases.let_go(lease)
    return write(answer)


@box.add(calls.COMPLETE, model(Receipt), WORKER, hints=SETS)
async def complete_task(
    desk: Desk,
    *,
    task_id: TaskId,
    lease: Lease,
    output: Annotated[Any, Field(description="The result, any JSON value: other tasks build on it.")] = None,
    artifacts: Annotated[list[str], Field(description="Ids or references that put_artifact gave.")] = [],  # noqa: B006
    decision_report: Annotated[Any, Field(description="What was decided and why, where the task requires it.")] = None,
    cost_usd: Cost = None,
    model: Annotated[str | None, Field(description="The model that did the work.")] = None,
) -> Answer:
    """Hand the result in. The task is done, unless its output fails its validation."""
    receipt = await desk.yard.complete(
        task_id,
        lease,
        output,
        artifacts=artifacts,
        decision_report=decision_report,
        cost_usd=cost_usd,
        model=model,
    )
    desk.leases.let_go(lease)
    return write(receipt)


@box.add(calls.FAIL, model(Receipt), WORKER, hints=SETS)
async def fail_task(
    desk: Desk,
    *,
    task_id: TaskId,
    lease: Lease,
    error: Annotated[str, Field(description="What went wrong, for the next attempt to read.")],
    reason: Annotated[str, Field(description=f"One of {', '.join(each.value for each in Reason)}.")] = "agent_error",
    retry_after_sec: Annotated[float | None, Field(ge=0)] = None,
    cost_usd: Cost = None,
) -> Answer:
    """Say that the attempt failed. The reason and the task's policy decide whether it is tried again."""
    receipt = await desk.yard.fail(task_id, lease, reason, error, retry_after_sec=retry_after_sec, cost_usd=cost_usd)
    desk.leases.let_go(lease)
    return write(receipt)


@box.add(calls.RELEASE, model(Receipt), WORKER, hints=REMOVES)
async def release_task(desk: Desk, task_id: TaskId, lease: Lease) -> Answer:
    """Give the task back unfinished, for another agent. No attempt is counted."""
    receipt = await desk.yard.release(task_id, lease)
    desk.leases.let_go(lease)
    return write(receipt)


@box.add(calls.CHECKPOINT, STORED, WORKER, hints=SETS)
async def save_checkpoint(
    desk: Desk,
    *,
    task_id: TaskId,
    lease: Lease,
    name: Annotated[str, Field(description="Of the step.", max_length=255)],
    data: Annotated[Any, Field(description="Its result, any JSON value.")] = None,
) -> Answer:
    """Store the result of a step once: a later attempt finds it among its checkpoints. A name that is stored already
    keeps its first result, which is the answer."""
    desk.leases.called(lease)
    return {
        "checkpoint": name,
        "data": cut(await desk.yard.attempts.checkpoint(task_id, lease, name, data), task_uri(task_id)),
    }


@box.add(calls.SPAWN, SPAWNED, WORKER, hints=ADDS)
async def spawn_tasks(
    desk: Desk,
    *,
    task_id: TaskId,
    lease: Lease,
    tasks: Annotated[list[TaskDraft], Field(min_length=1, max_length=MOST_SPAWNED)],
    name: Annotated[str | None, Field(description="Asked again under the same name, nothing is made twice.")] = None,
    wait: Annotated[
        bool, Field(description="Suspend this task until they are done. Its lease is gone then: claim another.")
    ] = False,
) -> Answer:
    """Put tasks into the graph of the task at hand."""
    desk.leases.called(lease)
    drafts = [each.fields() for each in tasks]
    made = await desk.yard.tasks.spawn(task_id, lease, drafts, name=name or f"spawn-{token_hex(4)}", wait=wait)
    if wait:
        desk.leases.let_go(lease)
    return {"task_ids": list(made), "suspended": wait}
