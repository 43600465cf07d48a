"""The yard's answers from the documents that crossed HTTP: the inverse of `documents`. Tasks are in `reading_tasks`."""

from __future__ import annotations

from taskyard.core.changes import Edge, Record
from taskyard.core.dag import DagStatus
from taskyard.core.json_value import Json
from taskyard.core.outcomes import dead_id
from taskyard.core.task import Status
from taskyard.core.units import from_iso, usd
from taskyard.features.approvals.views import Approval
from taskyard.features.dags.views import Dag, DagView
from taskyard.features.dead_letters.views import DeadLetter
from taskyard.wire.reading_tasks import Given, details, in_short, money, task, time


def submitted(document: Given) -> Dag:
    tasks = {name: task(each, created=True) for name, each in document["tasks"].items()}
    return Dag(id=document["dag_id"], tasks=tasks)


def dag(document: Given) -> DagView:
    return DagView(
        id=document["id"],
        title=document["title"],
        status=DagStatus(document["status"]),
        counts={Status(status): count for status, count in document["counts"].items()},
        tasks=tuple(in_short(each)._replace(dag_id=document["id"]) for each in document["tasks"]),
        edges=tuple(Edge(edge["parent"], edge["child"], edge["kind"]) for edge in document["edges"]),
        roots=tuple(document["roots"]),
        leaves=tuple(document["leaves"]),
        budget_ceiling=money(document["budget_ceiling_usd"]),
        spent=usd(document["spent_usd"]),
        reserved=usd(document["reserved_usd"]),
        created_by=document["created_by"],
        tags=tuple(document["tags"]),
    )


def dag_record(document: Given, workspace: str) -> Record:
    body: dict[str, Json] = {
        **{name: value for name, value in document.items() if name not in ("id", "spent_usd", "budget_ceiling_usd")},
        "created_at": time(document["created_at"]),
        "ended_at": time(document["ended_at"]),
    }
    return Record("dag", workspace, document["id"], 1, body)


def approval(document: Given) -> Approval:
    return Approval(task(document["task"]), document["signal"], from_iso(document["since"]), time(document["until"]))


def dead_letter(document: Given) -> DeadLetter:
    letter = details(document)
    assert letter.dead is not None, "a dead letter comes with the story of its death"
    return DeadLetter(letter, letter.dead)


def review(document: Given, workspace: str) -> Record:
    body: dict[str, Json] = {
        **{name: value for name, value in document.items() if name != "attempt"},
        "reviewed": True,
        "at": time(document["at"]),
        "reviewed_at": time(document["reviewed_at"]),
    }
    return Record("dead", workspace, dead_id(document["task_id"], document["attempt"]), 1, body)
