"""The yard's answers from the documents that crossed HTTP: the inverse of `documents`. Tasks are in `reading_tasks`."""

from __future__ import annotations

from taskyard.core.agent import Agent, AgentStatus, Budget, Period
from taskyard.core.breaker import BreakerState
from taskyard.core.changes import Edge, Event, Labels, Limit, Record, StoredEvent
from taskyard.core.dag import DagStatus
from taskyard.core.errors import ERRORS, StoreUnavailable, TaskyardError
from taskyard.core.json_value import Json, compact
from taskyard.core.outcomes import dead_id
from taskyard.core.planning import BreakerSettings, Settings
from taskyard.core.runtime import process_named
from taskyard.core.task import Status
from taskyard.core.units import MicroUsd, from_iso, usd
from taskyard.features.breakers.rules import breaker_settings as breakers_given
from taskyard.features.tasks.views import Receipt
from taskyard.features.tokens.rules import Role, Token
from taskyard.wire.answers import (
    Acted,
    AgentView,
    Approval,
    BreakerView,
    Cancelled,
    Cause,
    Child,
    Dag,
    DagView,
    DeadLetter,
    Input,
    QueueView,
    RuntimeView,
    ThrottleView,
    Told,
    Verified,
    Waited,
    Why,
)
from taskyard.wire.reading_tasks import Given, details, in_short, money, receipt, task, time

_OWN = ("status", "attempt", "version")  # what every event says beside its data


def error(document: Given) -> TaskyardError:
    """The same error as beyond the wire. One that this release does not know says what the server said."""
    kind = ERRORS.get(document["code"])
    try:
        facts: Given = document.get("facts") or {}
        return StoreUnavailable(document["detail"]) if kind is None else kind(**facts)
    except TypeError:  # made from other facts than this release knows
        return StoreUnavailable(document["detail"])


def outcome(document: Given) -> Receipt | TaskyardError:
    return error(document["error"]) if "error" in document else receipt(document)


def told(document: Given) -> Told:
    return Told(document["task_id"], tuple(document["words"]), time(document["lease_expires_at"]))


def waited(document: Given) -> Waited:
    return Waited(document["over"], document["data"], document["timed_out"])


def child(document: Given) -> Child:
    return Child(document["task_id"], Status(document["status"]), document["output"])


def cancelled(document: Given) -> Cancelled:
    return Cancelled(tuple(document["task_ids"]))


def given_input(document: Given) -> Input:
    return Input(document["ref"], document["data"], document["inlined"])


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


def why(document: Given) -> Why:
    causes = tuple(
        Cause(
            kind=each["kind"],
            words=each["words"],
            facts={name: value for name, value in each.items() if name not in ("kind", "words")},
        )
        for each in document["causes"]
    )
    return Why(task_id=document["task_id"], status=Status(document["status"]), causes=causes)


def event(document: Given) -> StoredEvent:
    payload = dict(document["payload"])
    # A change of a task has a version; what else an event calls status is a part of its data.
    is_change = payload["version"] is not None
    version, status, attempt = payload["version"], payload["status"], payload["attempt"]
    for name in _OWN:
        if is_change or payload[name] is None or (name == "attempt" and document["task_id"] is not None):
            del payload[name]
    return StoredEvent(
        document["seq"],
        Event(
            document["event"],
            document["workspace"],
            document["task_id"],
            document["dag_id"],
            from_iso(document["at"]),
            version,
            Status(status) if is_change and status is not None else None,
            attempt if document["task_id"] is not None else None,
            compact(payload) if payload else None,
        ),
        Labels(document["task_type"], document["subject"], document["agent"]),
    )


def agent(document: Given) -> AgentView:
    types = document["types"]
    known = Agent(
        id=document["id"],
        type=document["type"],
        runtime=process_named(document["runtime_id"], document["incarnation"]),
        capabilities=frozenset(document["capabilities"]),
        models=tuple(document["models_available"]),
        types=None if types is None else frozenset(types),
        max_concurrent_tasks=document["max_concurrent_tasks"],
        budget=money(document["own_budget_usd"]),
        status=AgentStatus(document["status"]),
        poll_interval_sec=document["poll_interval_sec"],
        claim_ttl_sec=document["claim_ttl_sec"],
        orchestrator=document["orchestrator"],
    )
    return AgentView(
        known,
        document["current_tasks"],
        _balance(document["budget_left_usd"]),
        time(document["last_heartbeat"]),
        Budget(money(document["budget_usd"]), Period(document["budget_per"])),
        document["budget_set_by"],
        document["silent"],
    )


def runtime(document: Given) -> RuntimeView:
    return RuntimeView(
        document["id"],
        document["hostname"],
        document["pid"],
        document["version"],
        from_iso(document["started_at"]),
        time(document["last_heartbeat"]),
        document["incarnation"],
    )


def queue(document: Given) -> QueueView:
    return QueueView(**document)


def breaker(document: Given) -> BreakerView:
    return BreakerView(**document)._replace(state=BreakerState(document["state"]))


def throttle(document: Given) -> ThrottleView:
    return ThrottleView(document["type"], document["model"], from_iso(document["until"]))


def approval(document: Given) -> Approval:
    return Approval(task(document["task"]), document["signal"], from_iso(document["since"]), time(document["until"]))


def spending(document: Given, workspace: str) -> Limit:
    return Limit(
        workspace,
        document["name"],
        money(document["ceiling_usd"]),
        usd(document["reserved_usd"]),
        usd(document["spent_usd"]),
    )


def settings(document: Given) -> Settings:
    return Settings(
        preset=document["preset"],
        daily_budget=money(document["daily_budget_usd"]),
        default_reserve=usd(document["default_reserve_usd"]),
        breakers=None if document["breakers"] is None else breaker_settings(document["breakers"]),
    )


def breaker_settings(document: Given) -> BreakerSettings:
    return breakers_given(document["failure_threshold"], document["half_open_after_sec"], document["overrides"])


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


def acted(document: Given) -> Acted:
    refused = {task_id: error(each) for task_id, each in document["refused"].items()}
    return Acted(tuple(document["task_ids"]), refused, document["more"])


def verified(document: Given) -> Verified:
    return Verified(
        tasks=document["tasks"],
        events=document["events"],
        attempts=document["attempts"],
        problems=tuple(document["problems"]),
    )


def token(document: Given) -> Token:
    """What is known of a token: not even the hash of its secret leaves the server."""
    return Token(
        id=document["id"],
        name=document["name"],
        role=Role(document["role"]),
        workspace=document["workspace"],
        sealed="",
        agent=document["agent"],
        agent_id=document["agent_id"],
        created_at=from_iso(document["created_at"]),
        created_by=document["created_by"],
        expires_at=time(document["expires_at"]),
        revoked_at=time(document["revoked_at"]),
    )


def _balance(text: str | None) -> MicroUsd | None:
    """Money that is left: less than nothing where too much was spent."""
    if text is None or not text.startswith("-"):
        return money(text)
    return MicroUsd(-usd(text[1:]))
