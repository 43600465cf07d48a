"""The yard's answers as the documents that cross HTTP. Tasks write themselves: see `features.tasks.views`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from taskyard.core.changes import Limit, Record
from taskyard.core.json_value import Json
from taskyard.core.task import TaskId
from taskyard.core.units import Micros, MicroUsd, to_iso, to_usd
from taskyard.features.approvals.views import Approval
from taskyard.features.dags.views import DagView
from taskyard.features.tasks.views import Task

Document = dict[str, Json]


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


def approval(answer: Approval) -> Document:
    return {
        "task": answer.task.to_dict(),
        "signal": answer.signal,
        "since": to_iso(answer.since),
        "until": _time(answer.until),
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


def _time(at: Micros | None) -> str | None:
    return None if at is None else to_iso(at)


def _stored_time(at: Json) -> str | None:
    return to_iso(Micros(at)) if isinstance(at, int) else None


def money(amount: MicroUsd | None) -> str | None:
    return None if amount is None else to_usd(amount)
