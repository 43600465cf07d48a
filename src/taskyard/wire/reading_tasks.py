"""Tasks from the documents that crossed HTTP: the inverse of `features.tasks.views`.

What a document shows reads the same through the task that is made of it. What it does not show, because it is nobody's
business beyond the server, has a neutral value: rank, lane, the seal of a lease.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from taskyard.core.changes import Blocker, Output, Record
from taskyard.core.json_value import Json, compact
from taskyard.core.lease import Lease
from taskyard.core.outcomes import dead_id
from taskyard.core.policy import PRESETS
from taskyard.core.priority import boost_steps
from taskyard.core.retry import RetryPolicy, Strategy
from taskyard.core.runtime import process_named
from taskyard.core.task import BLANK, Attempt, DagId, Definition, Hot, Outcome, Status, TaskId, Validation, lone_dag
from taskyard.core.units import Micros, MicroUsd, from_iso, seconds, usd
from taskyard.features.tasks.views import Details, Held, Task

Given = Mapping[str, Any]  # a document, as the server sent it


def task(document: Given, *, created: bool = False) -> Task:
    return Task(_hot(document), _definition(document), created=created)


def held(document: Given) -> Held:
    return Held(_hot(document), _definition(document), Lease(document["lease"]))


def details(document: Given) -> Details:
    attempts = [_attempt(document["id"], each) for each in document["history"]]
    return Details(
        _under_way(_hot(document), document, attempts),
        _definition(document),
        attempts=_explained(attempts, document["failure"]),
        blockers=[Blocker(document["id"], 0, name) for name in document["blocked_by"]],
        output=_output(document),
        dead=None if document["dead"] is None else _dead(document),
    )


def in_short(document: Given) -> Hot:
    """The row of a task of which only the outlines were sent."""
    status = Status(document["status"])
    return BLANK._replace(
        id=document["id"],
        seq=document["seq"],
        status=status,
        version=document["version"],
        attempt=document["attempt"],
        failures=document["attempts"],
        agent=document["agent"] if status.is_held else None,
        started_at=time(document["started_at"]),
        wake_at=time(document["wake_at"]),
        updated_at=from_iso(document["updated_at"]),
    )


def time(text: str | None) -> Micros | None:
    return None if text is None else from_iso(text)


def money(text: str | None) -> MicroUsd | None:
    return None if text is None else usd(text)


def _hot(document: Given) -> Hot:
    claim: Given = document["claim"] or {}
    constraints, timeouts = document["spec"]["constraints"], document["timeouts"]
    progress = claim.get("progress")
    return BLANK._replace(
        id=document["id"],
        seq=document["seq"],
        workspace=document["workspace"],
        dag_id=_dag_id(document),
        status=Status(document["status"]),
        version=document["version"],
        attempt=document["attempt"],
        failures=document["attempts"],
        agent=claim.get("agent_id"),
        runtime=process_named(claim.get("runtime_id"), claim.get("incarnation")),
        claimed_at=time(claim.get("claimed_at")),
        started_at=time(document["started_at"]),
        heartbeat_at=time(claim.get("heartbeat_at")),
        lease_expires_at=time(claim.get("lease_expires_at")),
        limit_at=time(claim.get("limit_at")),
        wake_at=time(document["wake_at"]),
        reserved=usd(claim.get("reserved_usd", 0)),
        progress=None if progress is None else compact(progress),
        session=_session(document["session"]),
        why=None if document["cancelled"] is None else document["cancelled"]["reason"],
        updated_at=from_iso(document["updated_at"]),
        idempotency_key=document["idempotency_key"],
        key=document["concurrency_key"],
        reserve=money(constraints["max_cost_usd"]),
        claim_ttl=timeouts["claim_ttl_sec"],
        lease_sec=timeouts["lease_sec"],
        run_sec=constraints["max_duration_sec"],
        max_attempts=document["max_attempts"],
        expires_at=time(document["expires_at"]),
        created_at=from_iso(document["created_at"]),
    )


def _under_way(hot: Hot, document: Given, attempts: list[Attempt]) -> Hot:
    """With what the attempt at hand has cost so far: all that the ended ones have not."""
    if not hot.status.is_held:
        return hot
    tokens = document["tokens_used"]
    return hot._replace(
        spent=MicroUsd(usd(document["cost_usd"]) - sum(attempt.cost for attempt in attempts)),
        tokens_in=tokens["input"] - sum(attempt.tokens_in for attempt in attempts),
        tokens_out=tokens["output"] - sum(attempt.tokens_out for attempt in attempts),
    )


def _dag_id(document: Given) -> DagId | None:
    dag_id = DagId(document["dag_id"])
    return None if dag_id == lone_dag(document["id"]) else dag_id


def _session(document: Given) -> str | None:
    if document["session_id"] is None and document["work_dir"] is None:
        return None
    return compact({name: document[name] for name in ("session_id", "work_dir", "runtime")})


def _definition(document: Given) -> Definition:
    spec, timeouts, trigger = document["spec"], document["timeouts"], document["trigger"]
    constraints, output = spec["constraints"], document.get("output", _NO_OUTPUT)
    return Definition(
        id=document["id"],
        workspace=document["workspace"],
        dag_id=_dag_id(document),
        type=document["type"],
        created_at=from_iso(document["created_at"]),
        created_by=document["created_by"],
        preset=document["preset"],
        queue=document["queue"],
        parent_id=document["parent_id"],
        rerun_of=document["rerun_of"],
        idempotency_key=document["idempotency_key"],
        title=document["title"],
        agent=document["agent"],
        subject=document["subject"],
        prompt=spec["prompt"],
        payload=compact(spec["payload"]),
        context_refs=tuple(spec["context_refs"]),
        max_cost=money(constraints["max_cost_usd"]),
        max_duration_sec=constraints["max_duration_sec"],
        required_capabilities=tuple(constraints["required_capabilities"]),
        model_preferences=tuple(constraints["model_preferences"]),
        fallback_models=tuple(constraints["fallback_models"]),
        priority=PRESETS[document["preset"]].priority.inward(document["priority"]),
        boost=boost_steps(document["priority_boost_per_minute"]),
        deadline=time(document["deadline"]),
        run_after=time(document["run_after"]),
        expires_at=time(document["expires_at"]),
        depends_on=tuple(document["depends_on"]),
        concurrency_key=document["concurrency_key"],
        coalescable=document["coalescable"],
        max_attempts=document["max_attempts"],
        retry=_retry(document["retry"]),
        claim_ttl_sec=timeouts["claim_ttl_sec"],
        heartbeat_sec=timeouts["heartbeat_sec"],
        lease_sec=timeouts["lease_sec"],
        output_type=output["type"],
        validation=Validation(output["validation"]),
        validation_schema=output["validation_schema"],
        session_id=document["session"]["session_id"],
        work_dir=document["session"]["work_dir"],
        fresh=document["session"]["fresh"],
        trigger_type=trigger["type"],
        trigger_ref=trigger["ref"],
        trigger_summary=trigger["summary"],
        tags=tuple(document["tags"]),
        spec_version=spec["version"],
        trace=document["trace"],
    )


_NO_OUTPUT: Given = {"type": "json", "validation": "none", "validation_schema": None}


def _retry(document: Given) -> RetryPolicy:
    lists = frozenset(document["retry_on"]), frozenset(document["no_retry_on"])
    return _retry_policy(**{**document, "retry_on": lists[0], "no_retry_on": lists[1]})


@lru_cache(maxsize=256)  # nearly all tasks have it from their preset
def _retry_policy(
    *,
    strategy: str,
    initial_delay_sec: float,
    backoff_multiplier: float,
    max_delay_sec: float | None,
    **rest: Any,  # what is named as in a policy
) -> RetryPolicy:
    return RetryPolicy(
        strategy=Strategy(strategy),
        initial_delay=seconds(initial_delay_sec),
        multiplier=backoff_multiplier,
        max_delay=None if max_delay_sec is None else seconds(max_delay_sec),
        **rest,
    )


def _output(document: Given) -> Output | None:
    output = document["output"]
    if output["attempt"] is None:
        return None
    report = output["decision_report"]
    return Output(
        document["id"],
        output["attempt"],
        compact(output["data"]),
        tuple(output["artifacts"]),
        None if report is None else compact(report),
    )


def _attempt(task_id: TaskId, document: Given) -> Attempt:
    session = document["session"]
    return Attempt(
        task_id=task_id,
        number=document["attempt"],
        agent=document["agent"],
        runtime=process_named(document["runtime"], document["incarnation"]),
        lease="",
        claimed_at=from_iso(document["claimed_at"]),
        started_at=time(document["started_at"]),
        ended_at=from_iso(document["ended_at"]),
        outcome=Outcome(document["outcome"]),
        counted=document["counted"],
        reason=document["reason"],
        error=document["error"],
        details=None,
        model=document["model"],
        cost=usd(document["cost_usd"]),
        tokens_in=document["tokens"]["input"],
        tokens_out=document["tokens"]["output"],
        session=None if session is None else compact(session),
        verb="",
        digest="",
        status=Status.CREATED,
        version=0,
        failures=0,
        wake_at=None,
    )


def _explained(attempts: list[Attempt], failure: Given | None) -> list[Attempt]:
    """With the details of the last failure, which stand beside the history."""
    if failure is None or failure["details"] is None:
        return attempts
    last = max(index for index, attempt in enumerate(attempts) if attempt.outcome is Outcome.FAILED)
    explained = attempts[last]._replace(details=compact(failure["details"]))
    return [*attempts[:last], explained, *attempts[last + 1 :]]


def _dead(document: Given) -> Record:
    """A death, as it is stored."""
    dead = document["dead"]
    body: dict[str, Json] = {
        **dead,
        "task_id": document["id"],
        "at": from_iso(dead["at"]),
        "reviewed_at": time(dead["reviewed_at"]),
    }
    return Record("dead", document["workspace"], dead_id(document["id"], document["attempt"]), 1, body)
