"""The yard's answers as the documents that cross HTTP. Tasks write themselves: see `features.tasks.views`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from taskyard.core.changes import Limit, Record
from taskyard.core.errors import TaskyardError
from taskyard.core.json_value import Json
from taskyard.core.planning import BreakerSettings, Settings
from taskyard.core.runtime import incarnation_of, runtime_of
from taskyard.core.task import TaskId
from taskyard.core.units import SECOND, Micros, MicroUsd, to_iso, to_usd
from taskyard.features.tasks.views import Receipt, Task
from taskyard.features.tokens.rules import Token
from taskyard.wire.answers import (
    Acted,
    AgentView,
    Approval,
    BreakerView,
    Cancelled,
    Child,
    DagView,
    Input,
    QueueView,
    RuntimeView,
    ThrottleView,
    Told,
    Verified,
    Waited,
)

Document = dict[str, Json]


def receipt(answer: Receipt) -> Document:
    return {
        "task_id": answer.task_id,
        "status": answer.status.value,
        "version": answer.version,
        "failures": answer.failures,
        "wake_at": _time(answer.wake_at),
    }


def outcome(answer: Receipt | TaskyardError) -> Document:
    """One answer of many: what was reached, or why not."""
    return {"error": error(answer)} if isinstance(answer, TaskyardError) else receipt(answer)


def error(refusal: TaskyardError) -> Document:
    return {
        "code": refusal.code,
        "detail": str(refusal),
        "retryable": refusal.retryable,
        "facts": {name: value for name, value in refusal.facts.items() if isinstance(value, str | int | float | list)},
    }


def told(answer: Told) -> Document:
    return {
        "task_id": answer.task_id,
        "words": list[Json](answer.words),
        "lease_expires_at": _time(answer.lease_expires_at),
    }


def waited(answer: Waited) -> Document:
    return {"over": answer.over, "data": answer.data, "timed_out": answer.timed_out}


def child(answer: Child) -> Document:
    return {"task_id": answer.task_id, "status": answer.status.value, "output": answer.output}


def cancelled(answer: Cancelled) -> Document:
    return {"task_ids": list[Json](answer.task_ids)}


def given_input(answer: Input) -> Document:
    return {"ref": answer.ref, "data": answer.data, "inlined": answer.inlined}


def dag(answer: DagView, tasks: Iterable[Task], costs: Mapping[TaskId, MicroUsd]) -> Document:
    """A graph with its tasks in short: their whole documents are a call each."""
    return {
        "id": answer.id,
        "title": answer.title,
        "status": answer.status.value,
        "counts": {status.value: count for status, count in answer.counts.items()},
        "tasks": [in_short(task, costs[task.id]) for task in tasks],
        "edges": [{"parent": edge.parent, "child": edge.child, "kind": edge.kind} for edge in answer.edges],
        "roots": list[Json](answer.roots),
        "leaves": list[Json](answer.leaves),
        "budget_ceiling_usd": money(answer.budget_ceiling),
        "spent_usd": to_usd(answer.spent),
        "reserved_usd": to_usd(answer.reserved),
        "created_by": answer.created_by,
        "tags": list[Json](answer.tags),
    }


def in_short(task: Task, cost: MicroUsd) -> Document:
    hot = task.hot
    return {
        "id": task.id,
        "type": task.type,
        "title": task.definition.title,
        "status": task.status.value,
        "state": task.policy.words[task.status],
        "agent": task.agent,
        "priority": task.policy.priority.outward(task.definition.priority),
        "attempt": hot.attempt,
        "attempts": hot.failures,
        "cost_usd": to_usd(cost),
        "created_at": to_iso(task.definition.created_at),
        "started_at": _time(hot.started_at),
        "ended_at": to_iso(hot.updated_at) if hot.status.is_final else None,
        "wake_at": _time(hot.wake_at),
        "updated_at": to_iso(hot.updated_at),
        "version": hot.version,
        "seq": hot.seq,
    }


def dag_record(record: Record, limit: Limit | None) -> Document:
    """A graph in a list: what is stored of it and of its money, without its tasks."""
    body = record.body
    ceiling = None if limit is None or limit.ceiling is None else MicroUsd(limit.ceiling)
    return {
        "id": record.id,
        "title": body["title"],
        "status": body["status"],
        "preset": body["preset"],
        "created_by": body["created_by"],
        "created_at": _stored_time(body["created_at"]),
        "ended_at": _stored_time(body["ended_at"]),
        "tags": body["tags"],
        "spent_usd": to_usd(MicroUsd(limit.spent if limit else 0)),
        "budget_ceiling_usd": money(ceiling),
        "inbox": body.get("inbox"),  # graphs of earlier releases have none
    }


def agent(answer: AgentView) -> Document:
    known = answer.agent
    return {
        "id": known.id,
        "type": known.type,
        "runtime_id": runtime_of(known.runtime),
        "incarnation": incarnation_of(known.runtime),
        "capabilities": list[Json](sorted(known.capabilities)),
        "models_available": list[Json](known.models),
        "types": None if known.types is None else list[Json](sorted(known.types)),
        "max_concurrent_tasks": known.max_concurrent_tasks,
        "current_tasks": answer.current_tasks,
        "budget_usd": money(answer.budget.amount),
        "budget_per": answer.budget.per.value,
        "budget_set_by": answer.budget_set_by,
        "own_budget_usd": money(known.budget),
        "budget_left_usd": money(answer.budget_left),
        "status": known.status.value,
        "last_heartbeat": _time(answer.last_heartbeat),
        "silent": answer.silent,
        "poll_interval_sec": known.poll_interval_sec,
        "claim_ttl_sec": known.claim_ttl_sec,
        "orchestrator": known.orchestrator,
    }


def runtime(answer: RuntimeView) -> Document:
    return {
        "id": answer.id,
        "incarnation": answer.incarnation,
        "hostname": answer.hostname,
        "pid": answer.pid,
        "version": answer.version,
        "started_at": to_iso(answer.started_at),
        "last_heartbeat": _time(answer.last_heartbeat),
    }


def queue(answer: QueueView) -> Document:
    return dict(answer._asdict())


def breaker(answer: BreakerView) -> Document:
    return {
        "type": answer.type,
        "state": answer.state.value,
        "open_until": answer.open_until,
        "why": answer.why,
        "opened_at": answer.opened_at,
        "failures": answer.failures,
        "failure_threshold": answer.failure_threshold,
    }


def throttle(answer: ThrottleView) -> Document:
    return {"type": answer.type, "model": answer.model, "until": to_iso(answer.until)}


def approval(answer: Approval) -> Document:
    return {
        "task": answer.task.to_dict(),
        "signal": answer.signal,
        "since": to_iso(answer.since),
        "until": _time(answer.until),
    }


def spending(answer: Limit) -> Document:
    """Money on one ceiling: an agent's, a graph's, a day's."""
    return {
        "name": answer.name,
        "ceiling_usd": None if answer.ceiling is None else to_usd(MicroUsd(answer.ceiling)),
        "reserved_usd": to_usd(MicroUsd(answer.held)),
        "spent_usd": to_usd(MicroUsd(answer.spent)),
    }


def settings(answer: Settings) -> Document:
    return {
        "preset": answer.preset,
        "daily_budget_usd": money(answer.daily_budget),
        "default_reserve_usd": to_usd(answer.default_reserve),
        "breakers": None if answer.breakers is None else breaker_settings(answer.breakers),
    }


def breaker_settings(answer: BreakerSettings) -> Document:
    wait = answer.half_open_after
    return {
        "failure_threshold": answer.failure_threshold,
        "half_open_after_sec": None if wait is None else wait / SECOND,
        "overrides": {
            type_: {
                "failure_threshold": answer.thresholds.get(type_),
                "half_open_after_sec": None if (own := answer.waits.get(type_)) is None else own / SECOND,
            }
            for type_ in sorted({*answer.thresholds, *answer.waits})
        },
    }


def review(record: Record) -> Document:
    """A decision on a dead letter."""
    body = record.body
    return {
        "task_id": record.id.rpartition(".")[0],
        "attempt": int(record.id.rpartition(".")[2]),
        "reason": body["reason"],
        "at": _stored_time(body["at"]),
        "poison_pill": body["poison_pill"],
        "resolution": body["resolution"],
        "reviewed_by": body["reviewed_by"],
        "reviewed_at": _stored_time(body["reviewed_at"]),
        "note": body["note"],
    }


def acted(answer: Acted) -> Document:
    return {
        "task_ids": list[Json](answer.task_ids),
        "refused": {task_id: error(refusal) for task_id, refusal in answer.refused.items()},
        "more": answer.more,
    }


def verified(answer: Verified) -> Document:
    return {
        "ok": answer.ok,
        "tasks": answer.tasks,
        "attempts": answer.attempts,
        "events": answer.events,
        "problems": list[Json](answer.problems),
    }


def token(answer: Token) -> Document:
    return {
        "id": answer.id,
        "name": answer.name,
        "role": answer.role.value,
        "workspace": answer.workspace,
        "agent": answer.agent,
        "agent_id": answer.agent_id,
        "created_at": to_iso(answer.created_at),
        "created_by": answer.created_by,
        "expires_at": _time(answer.expires_at),
        "revoked_at": _time(answer.revoked_at),
    }


def figures(by_status: Mapping[str, Mapping[str, int]]) -> Document:
    return {status: dict[str, Json](types) for status, types in by_status.items()}


def _time(at: Micros | None) -> str | None:
    return None if at is None else to_iso(at)


def _stored_time(at: Json) -> str | None:
    return to_iso(Micros(at)) if isinstance(at, int) else None


def money(amount: MicroUsd | None) -> str | None:
    return None if amount is None else to_usd(amount)
