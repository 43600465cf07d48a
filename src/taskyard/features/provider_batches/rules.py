"""The cheap lane: which calls wait for which batch, until when, and what of them is remembered. Pure.

A call that waits is an item: a record beside the batch's task, with what its attempt had reserved. The item goes when
what the call cost is settled, whatever has become of its task by then, so nothing is settled twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple, TypedDict

from taskyard.core import transitions
from taskyard.core.cached_tokens import CachedTokens
from taskyard.core.changes import NewTask, Record, RecordChange, Spend
from taskyard.core.claiming import money_names
from taskyard.core.json_value import Json, compact, object_of
from taskyard.core.policy import Policy
from taskyard.core.record_kinds import RecordKind
from taskyard.core.task import (
    WAITING,
    AgentId,
    Attempt,
    DagId,
    Definition,
    Hot,
    LaneId,
    Status,
    TaskId,
    Trait,
)
from taskyard.core.units import DAY, MINUTE, SECOND, Micros, MicroUsd
from taskyard.definition.definition import Sizes, born, define
from taskyard.features.budgets.spend import Reported

TYPE = "provider-batch"  # of the tasks that send and collect batches
KIND = "batch_item"
OPEN = "open_batch"
BATCH = "provider_batch"
PROVIDER_TAKES = DAY  # the longest that providers keep a batch before it expires
MOST_ATTEMPTS = 1000
FIRST_DELAY, LONGEST_DELAY = SECOND, MINUTE  # after a failure to send: a deadline may be near
MOST_WAITING_SEC = 3600
_NOTHING = MicroUsd(0)
_RELEASED = -1


class CallBody(TypedDict):
    """A call that waits for its batch."""

    task_id: str
    custom_id: str
    name: str  # of the call, in its task
    attempt: int  # that the cost belongs to
    wait: int  # of the task, that the answer ends; -1: the call was made in the ordinary way
    type: str
    agent: str
    agent_type: str | None
    dag_id: str | None
    claimed_at: Micros
    reserved: MicroUsd
    cancel_at: Micros | None  # when a batch that is under way has to be cancelled for it
    model: str | None
    request: Json


class OpenBody(TypedDict):
    """The batch that calls of a group still join."""

    batch_id: str


class PartBody(TypedDict):
    """What of a batch was sent at once."""

    key: str
    provider_id: str
    calls: int
    sent_at: Micros
    expires_at: Micros | None


class BatchBody(TypedDict):
    workspace: str
    task_id: str
    provider: str
    group: str
    agent_type: str
    created_at: Micros
    parts: list[PartBody]


ITEM = RecordKind(KIND, CallBody)
OPEN_BATCH = RecordKind(OPEN, OpenBody)
PROVIDER_BATCH = RecordKind(BATCH, BatchBody)


class LaneTerms(NamedTuple):
    """How long before a deadline the cheap lane is given up."""

    gather: Micros  # that calls are gathered for
    cancel: Micros  # that a provider may take to cancel a batch
    ordinary: Micros  # that an ordinary call takes at most


class Times(NamedTuple):
    cancel_at: Micros | None
    wake_at: Micros | None  # the latest moment at which the call is made in the ordinary way
    is_hurried: bool  # a batch may have to be cancelled for it before the provider lets that expire


def times_of(deadline: Micros | None, terms: LaneTerms, now: Micros) -> Times | None:
    """Until when a call may wait for a batch; None where its deadline is too near for that."""
    if deadline is None:
        return Times(None, None, is_hurried=False)
    wake_at = Micros(deadline - terms.ordinary)
    cancel_at = Micros(wake_at - terms.cancel)
    if cancel_at <= now + terms.gather:
        return None
    return Times(cancel_at, wake_at, cancel_at < now + terms.gather + PROVIDER_TAKES)


def open_id(agent_type: str, provider: str, group: str, *, is_hurried: bool) -> str:
    """Calls of one group share a batch. Those that may cut a batch short are not in one with those that never do."""
    return compact([agent_type, provider, group, is_hurried])


def is_open(batch: Hot | None) -> bool:
    """Whether calls may still join: nobody has begun to send it."""
    return batch is not None and batch.status in WAITING and batch.attempt == 0


def custom_id(task_id: TaskId, name: str, number: int) -> str:
    """The name of a call with its provider: letters, digits and hyphens, at most 64."""
    return f"{task_id.removeprefix('task_')}-{sha256(name.encode()).hexdigest()[:12]}-{number}"


def item_id(batch: str, custom: str) -> str:
    return f"{batch}/{custom}"


def item_prefix(batch: str) -> str:
    return f"{batch}/"


def batch_record(workspace: str, batch: str) -> str:
    """The id of a batch's record, which stands among those of all workspaces until its task is pruned."""
    return f"{workspace}/{batch}"


def batch_of(item: Record) -> TaskId:
    return TaskId(item.id.partition("/")[0])


def over(record: Record) -> RecordChange:
    return RecordChange(record.kind, record.workspace, record.id, record.version, None)


def released(record: Record) -> RecordChange:
    """The item of a call that is made in the ordinary way: what it reserved is given back, its cost may still come."""
    body: dict[str, Json] = {**record.body, "reserved": _NOTHING, "wait": _RELEASED}
    return RecordChange(record.kind, record.workspace, record.id, record.version, body)


def waiting_on(record: Record, wait: int) -> RecordChange:
    """The item of a call whose task waits for its answer once more."""
    return RecordChange(record.kind, record.workspace, record.id, record.version, {**record.body, "wait": wait})


def settled(item: CallBody, workspace: str, dag_id: DagId | None, cost: MicroUsd) -> tuple[Spend, ...]:
    """What was reserved goes back where it was taken; what the call cost is charged where its attempt is."""
    agent, at = AgentId(item["agent"]), item["claimed_at"]
    held_under = None if item["dag_id"] is None else DagId(item["dag_id"])
    names = money_names(agent, item["agent_type"], held_under, at) if item["reserved"] else []
    back = [Spend(workspace, name, -item["reserved"]) for name in names]
    charged = money_names(agent, item["agent_type"], dag_id, at) if cost else []
    return (*back, *(Spend(workspace, name, 0, cost) for name in charged))


def with_cost(attempt: Attempt, cost: MicroUsd, spent: Reported) -> Attempt:
    """The attempt that waited in the batch, with what its call cost."""
    return attempt._replace(
        cost=MicroUsd(attempt.cost + cost),
        tokens_in=attempt.tokens_in + (spent.tokens_in or 0),
        tokens_out=attempt.tokens_out + (spent.tokens_out or 0),
        tokens_cached=CachedTokens.of(attempt.tokens_cached, spent.tokens_cached).text,
        model=attempt.model or spent.model,
    )


def waits_for(hot: Hot | None, item: CallBody) -> bool:
    """Whether the task still waits for this call's answer."""
    return hot is not None and hot.status is Status.PENDING and hot.wait == item["wait"]


def may_use(hot: Hot, item: CallBody) -> bool:
    """Whether an answer helps a task that was woken: it has not come back to the call, and would pay for another."""
    return not hot.status.is_final and item["wait"] != _RELEASED


def batch_task(
    definition: Definition,
    *,
    task_id: TaskId,
    agent_type: str,
    title: str,
    run_after: Micros,
    policy: Policy,
    now: Micros,
) -> Definition:
    """The task that sends a batch, for agents of the type whose calls it has. It costs nothing itself."""
    defined = define(
        {"type": TYPE},
        task_id=task_id,
        workspace=definition.workspace,
        dag_id=None,
        created_by=f"task:{definition.id}",
        now=now,
        policy=policy,
        sizes=Sizes(),
    )
    return defined._replace(
        title=title[:500],
        agent=agent_type,
        queue=definition.queue,
        priority=definition.priority,
        boost=definition.boost,
        run_after=run_after,
        max_cost=_NOTHING,
        max_attempts=MOST_ATTEMPTS,
        retry=replace(defined.retry, initial_delay=FIRST_DELAY, max_delay=LONGEST_DELAY),
        max_duration_sec=None,
        idempotency_key=None,
        concurrency_key=None,
    )


def gathers(definition: Definition, now: Micros) -> bool:
    """Whether a batch waits for more calls before it is sent."""
    return definition.run_after is not None and definition.run_after > now


def batch_born(definition: Definition, policy: Policy, *, lane: LaneId, now: Micros) -> NewTask:
    later = definition.run_after if gathers(definition, now) else None
    hot = born(definition, policy, lane=lane, blocked=later is not None, height=0, wake_at=later, now=now)
    hot = hot._replace(traits=int(hot.traits & Trait.RUNTIME_KEPT | Trait.GATHERS))
    return NewTask(hot, definition, transitions.created_event(hot, definition.created_by, definition.type))


# What a task remembers of a call, by the call's name: `NAME#1` that it waited in a batch, `NAME#1=` what came of it,
# `NAME#1!` which attempt failed with an error of the provider. A second try in a batch has 2 for 1.


class CallStanding(NamedTuple):
    number: int  # of the latest try; 0: none
    batch_id: str | None = None
    custom_id: str | None = None
    outcome: Mapping[str, Json] | None = None
    reported_in: int | None = None  # the attempt that got the error


def wait_note(name: str, number: int) -> str:
    return f"{name}#{number}"


def outcome_note(name: str, number: int) -> str:
    return f"{name}#{number}="


def reported_note(name: str, number: int) -> str:
    return f"{name}#{number}!"


def standing(notes: Mapping[str, Json], name: str) -> CallStanding:
    number = 0
    while wait_note(name, number + 1) in notes:
        number += 1
    if not number:
        return CallStanding(0)
    waited = object_of(notes[wait_note(name, number)])
    outcome = notes.get(outcome_note(name, number))
    reported = object_of(notes.get(reported_note(name, number)) or {}).get("attempt")
    return CallStanding(
        number,
        str(waited["batch_id"]),
        str(waited["custom_id"]),
        None if outcome is None else object_of(outcome),
        reported if isinstance(reported, int) else None,
    )
