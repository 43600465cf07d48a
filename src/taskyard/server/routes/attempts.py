"""Attempts: claims, and everything that carries a lease."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

from fastapi import Body, Response

from taskyard.api import calls, openapi, requests
from taskyard.api.codec import outcome, write
from taskyard.api.openapi import DONE, model
from taskyard.core.errors import InvalidInput, TaskyardError
from taskyard.core.task import TaskId
from taskyard.definition.error_view import ErrorView
from taskyard.definition.view import About
from taskyard.features.attempts.views import Heartbeat, HeartbeatAnswer, Receipt, StepView, SuspendedView, Waited
from taskyard.features.tasks.multica import HeldAttemptTask
from taskyard.features.tasks.views import Held, MarkedClaim
from taskyard.features.tokens.rules import Role
from taskyard.server.access.auth import Caller, lease_refusals
from taskyard.server.routes.tasks import TaskAt
from taskyard.server.routing import Calling, Routes, answer
from taskyard.server.task_views import View, shown_held

routes = Routes("attempts")
CLAIMED = openapi.answer(
    "Claimed",
    tasks=openapi.lists(Held, HeldAttemptTask),
    mark=Annotated[str, About("Where the yard stood before: to wait by `/api/changed` for what came since.")],
    took_all=Annotated[bool, About("Nothing was left that more room under the agent's own limits would let it take.")],
)
REFUSAL: Any = openapi.answer("Refusal", error=ErrorView)
OUTCOMES = openapi.answer(
    "Outcomes",
    results=list[model(Receipt) | REFUSAL],
    tasks=Annotated[list[Held], About("What the claim in the same call took.")],
)
HEARTBEAT_ANSWERS = openapi.answer("HeartbeatAnswers", told=list[HeartbeatAnswer])
STORED = openapi.answer("Stored", data=Any)
OneOfMany = requests.HeartbeatOf | requests.LeaseOf | requests.CompleteOf | requests.FailOf
Finish = Callable[[Sequence[Mapping[str, Any]]], Awaitable[list[Receipt | TaskyardError]]]
CHECKPOINTS = openapi.answer("Checkpoints", checkpoints=dict[str, Any])
STEPS = openapi.answer("Steps", steps=list[StepView])


@routes.add(calls.CLAIM, CLAIMED)
async def claim(caller: Calling, asked: requests.ClaimTasks, view: View = None) -> Response:
    """Lease tasks, best first; with `wait_sec`, wait for some. None is an empty list."""
    held, mark, took_all = await claimed(caller, asked)
    return answer({"tasks": await shown_held(caller, held, view), "mark": mark, "took_all": took_all})


async def claimed(caller: Caller, asked: requests.ClaimTasks) -> MarkedClaim:
    if (asked.agent_id is None) == (asked.runtime_id is None):
        raise InvalidInput("agent_id", "or runtime_id must be given, and not both")
    taken = await (_claimed_by_agent if asked.agent_id is not None else _claimed_by_runtime)(caller, asked)
    caller.charge(len(taken.tasks))
    return taken


async def _claimed_by_agent(caller: Caller, asked: requests.ClaimTasks) -> MarkedClaim:
    agent_id = asked.agent_id or ""
    await caller.must_work_as(agent_id)
    return await caller.yard.attempts.claim_marked(
        agent_id,
        count=asked.count,
        queues=asked.queues,
        types=asked.types,
        start=asked.start,
        wait_sec=asked.wait_sec,
        request_id=asked.request_id,
    )


async def _claimed_by_runtime(caller: Caller, asked: requests.ClaimTasks) -> MarkedClaim:
    mark = await caller.yard.mark()
    held = await caller.yard.attempts.claim_for_runtime(
        asked.runtime_id or "",
        count=asked.count,
        queues=asked.queues,
        types=asked.types,
        start=asked.start,
        wait_sec=asked.wait_sec,
        request_id=asked.request_id,
        only_for=caller.token.agent if caller.token.role is Role.AGENT else None,
    )
    return MarkedClaim(held, mark, took_all=False)


@routes.add(calls.START, model(Receipt))
async def start(caller: Calling, task_id: TaskAt, asked: requests.Leased) -> Response:
    """Say that work has begun."""
    return answer(write(await caller.yard.start(task_id, asked.lease)))


@routes.add(calls.HEARTBEAT, model(HeartbeatAnswer))
async def heartbeat(caller: Calling, task_id: TaskAt, asked: requests.SendHeartbeat) -> Response:
    """Keep the lease, say how it goes, and hear what there is to know."""
    return answer(write(await caller.yard.heartbeat(task_id, asked.lease, **_rest(asked))))


@routes.add(calls.HEARTBEAT_MANY, HEARTBEAT_ANSWERS)
async def heartbeat_many(caller: Calling, asked: requests.Heartbeats) -> Response:
    """The same for many tasks."""
    beats = [Heartbeat(**each.model_dump()) for each in asked.heartbeats]
    refusals = await lease_refusals(caller, _leases(asked.heartbeats))
    mine = [beat for beat, refusal in zip(beats, refusals, strict=True) if refusal is None]
    return _heartbeat_answers(_leases(asked.heartbeats), refusals, await caller.yard.attempts.heartbeat_many(mine))


@routes.add(calls.CHECK_LEASES, HEARTBEAT_ANSWERS)
async def check_leases(caller: Calling, asked: requests.Leases) -> Response:
    """Which of these attempts are over: cancelled, or their lease lost. Keeps no lease, and writes nothing.

    For who listens to `/api/changed` or `/api/events`, and wants to know at once what a heartbeat would say later.
    """
    leases = _leases(asked.leases)
    refusals = await lease_refusals(caller, leases)
    mine = [lease for lease, refusal in zip(leases, refusals, strict=True) if refusal is None]
    return _heartbeat_answers(leases, refusals, await caller.yard.attempts.check_leases(mine))


def _heartbeat_answers(
    leases: Sequence[tuple[str, str]], refusals: Sequence[TaskyardError | None], own: Sequence[HeartbeatAnswer]
) -> Response:
    """The answer to each; a lease that is not the caller's own is lost to it."""
    mine = iter(own)
    lost = [HeartbeatAnswer(TaskId(task_id), ("lease_lost",), None) for task_id, _ in leases]
    answers = [next(mine) if refusal is None else gone for gone, refusal in zip(lost, refusals, strict=True)]
    return answer({"told": write(answers)})


@routes.add(calls.PROGRESS, model(HeartbeatAnswer))
async def progress(caller: Calling, task_id: TaskAt, asked: requests.Progress) -> Response:
    """Say how far it is."""
    told = await caller.yard.progress(task_id, asked.lease, asked.progress, request_id=asked.request_id)
    return answer(write(told))


@routes.add(calls.MESSAGE, DONE)
async def message(caller: Calling, task_id: TaskAt, asked: requests.AddMessage) -> Response:
    """Something the agent said or did, for those who watch."""
    await caller.yard.attempts.message(task_id, asked.lease, asked.message, request_id=asked.request_id)
    return answer({"ok": True})


@routes.add(calls.SESSION, model(Receipt))
async def pin_session(caller: Calling, task_id: TaskAt, asked: requests.PinSession) -> Response:
    """Remember where the agent's conversation can be resumed."""
    done = await caller.yard.attempts.pin_session(
        task_id, asked.lease, session_id=asked.session_id, work_dir=asked.work_dir
    )
    return answer(write(done))


@routes.add(calls.COMPLETE, model(Receipt))
async def complete(caller: Calling, task_id: TaskAt, asked: requests.Complete) -> Response:
    """Hand the output in."""
    return answer(write(await caller.yard.complete(task_id, asked.lease, **_rest(asked))))


@routes.add(calls.COMPLETE_MANY, OUTCOMES)
async def complete_many(caller: Calling, asked: requests.CompleteMany) -> Response:
    """Hand many outputs in, each for itself; with `claim`, take the next tasks in the same call."""
    done = await _each_own(caller, asked.results, caller.yard.attempts.complete_many)
    tasks = [] if asked.claim is None else (await claimed(caller, asked.claim)).tasks
    return answer({"results": [outcome(each) for each in done], "tasks": [task.to_dict() for task in tasks]})


@routes.add(calls.FAIL, model(Receipt))
async def fail(caller: Calling, task_id: TaskAt, asked: requests.FailAttempt) -> Response:
    """Say that the attempt failed, and why."""
    return answer(write(await caller.yard.fail(task_id, asked.lease, **_rest(asked))))


@routes.add(calls.FAIL_MANY, OUTCOMES)
async def fail_many(caller: Calling, asked: requests.FailMany) -> Response:
    """Report many failures, each for itself."""
    done = await _each_own(caller, asked.results, caller.yard.attempts.fail_many)
    return answer({"results": [outcome(each) for each in done], "tasks": []})


@routes.add(calls.RELEASE, model(Receipt))
async def release(caller: Calling, task_id: TaskAt, asked: requests.Leased) -> Response:
    """Give the task back unfinished; no attempt is counted."""
    return answer(write(await caller.yard.release(task_id, asked.lease)))


@routes.add(calls.CHECKPOINT, STORED)
async def checkpoint(caller: Calling, task_id: TaskAt, asked: requests.SaveCheckpoint) -> Response:
    """Store a step's result and the cost so far, once: the answer is what is stored under that name."""
    given: dict[str, Any] = _rest(asked)
    if asked.step is not None:
        given["step"] = asked.step.model_dump(exclude_none=True)
    return answer({"data": await caller.yard.attempts.checkpoint(task_id, asked.lease, **given)})


@routes.add(calls.SUSPEND, model(SuspendedView))
async def suspend(caller: Calling, task_id: TaskAt, asked: Annotated[requests.Suspend, Body()]) -> Response:
    """Wait without holding anything: for a time, a signal, or a person's answer. Not over: the lease is gone."""
    match asked:
        case requests.Sleep():
            waited = await caller.yard.attempts.sleep(task_id, asked.lease, asked.name, asked.duration_sec)
        case requests.WaitFor():
            waited = await caller.yard.attempts.wait_for(
                task_id, asked.lease, asked.name, asked.signal, timeout_sec=asked.timeout_sec
            )
        case requests.AskPerson():
            question = asked.model_dump(exclude={"lease", "kind", "name", "question"}, exclude_unset=True)
            waited = await caller.yard.attempts.ask(
                task_id, asked.lease, asked.name, asked.question, token=caller.token_id, **question
            )
        case requests.SnoozeTask():
            done = await caller.yard.attempts.snooze(task_id, asked.lease, asked.duration_sec)
            return answer(write(SuspendedView(Waited(over=False), done)))
    return answer(write(SuspendedView(waited, None)))


def _rest(asked: requests.Leased) -> dict[str, Any]:
    return asked.model_dump(exclude={"lease"})


def _leases(asked: Sequence[OneOfMany]) -> list[tuple[str, str]]:
    return [(each.task_id, each.lease) for each in asked]


async def _each_own(caller: Caller, results: Sequence[OneOfMany], finish: Finish) -> list[Receipt | TaskyardError]:
    """Finish what the caller may; the others are refused, each for itself."""
    refusals = await lease_refusals(caller, _leases(results))
    mine = [each.model_dump() for each, refusal in zip(results, refusals, strict=True) if refusal is None]
    done = iter(await finish(mine) if mine else ())
    return [next(done) if refusal is None else refusal for refusal in refusals]


@routes.add(calls.CHECKPOINTS, CHECKPOINTS)
async def checkpoints(caller: Calling, task_id: TaskAt) -> Response:
    """The results of the task's steps, by their names."""
    return answer({"checkpoints": await caller.yard.attempts.checkpoints(task_id)})


@routes.add(calls.STEPS, STEPS)
async def steps(caller: Calling, task_id: TaskAt) -> Response:
    """The task's steps in the order in which they were stored: when each began and ended, and what it cost."""
    return answer({"steps": write(await caller.yard.attempts.steps(task_id))})
