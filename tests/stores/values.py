"""Everything a stored value may be, for hypothesis: what one store cannot hold exactly, no store may be given."""

import json
from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar

from hypothesis import strategies as st

from taskyard.core.changes import Event
from taskyard.core.json_value import Json
from taskyard.core.retry import LONGEST_DELAY, RetryPolicy, Strategy
from taskyard.core.task import (
    KEY_HELD,
    LET_GO,
    AgentId,
    Attempt,
    DagId,
    Definition,
    Hot,
    LaneId,
    Outcome,
    RuntimeId,
    ServiceTier,
    Status,
    TaskId,
    Validation,
)
from taskyard.core.units import Micros, MicroUsd

T = TypeVar("T")

MOST = 2**53 - 1
FIRST = -62_135_596_800_000_000  # the year 1
LAST = 253_402_300_799_999_999  # the end of the year 9999

# NUL and lone surrogates are refused at the door.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12) | st.sampled_from(
    ["", " ", "null", "None", "0", "%_\\", "'\"", "é", "e\N{COMBINING ACUTE ACCENT}", "\N{PILE OF POO}", "\r\n\t"]
)
names = texts.filter(bool)
numbers = st.integers(0, MOST) | st.sampled_from([0, 1, MOST])
ranks = st.integers(-MOST, MOST) | st.sampled_from([-MOST, -1, 0, MOST])
times = st.builds(Micros, st.integers(FIRST, LAST) | st.sampled_from([FIRST, -1, 0, LAST]))
money = st.builds(MicroUsd, numbers)
small = st.integers(0, 2**31 - 1)
json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-MOST, MOST) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
json_texts = json_values.map(lambda value: json.dumps(value, ensure_ascii=False))
bodies = st.dictionaries(texts, json_values, max_size=4)
many = st.lists(texts, max_size=3).map(tuple)
task_ids = st.builds(TaskId, names)

policies = st.builds(
    RetryPolicy,
    strategy=st.sampled_from(Strategy),
    initial_delay=st.builds(Micros, st.integers(0, LONGEST_DELAY)),
    multiplier=st.floats(1, 1000),
    max_delay=st.none() | st.builds(Micros, st.integers(0, LONGEST_DELAY)),
    jitter=st.floats(0, 1),
    retry_on=st.frozensets(texts, max_size=3),
    no_retry_on=st.frozensets(texts, max_size=3),
)


def filled(kind: Callable[..., T], **values: st.SearchStrategy[Any]) -> st.SearchStrategy[T]:
    """Any value of `kind`. Every field must be named: hypothesis would guess values that no store need hold."""
    missing = set(signature(kind).parameters) - set(values)
    assert not missing, f"say what {', '.join(sorted(missing))} of {kind} may be"
    return st.builds(kind, **values)


def hots(task_id: TaskId, workspace: str, lanes: list[LaneId]) -> st.SearchStrategy[Hot]:
    """Any row at all, also one that no sequence of verbs leads to. Only a task that is held has what comes of that."""
    return filled(
        Hot,
        id=st.just(task_id),
        seq=st.just(0),
        workspace=st.just(workspace),
        dag_id=st.none() | st.builds(DagId, names),
        lane=st.sampled_from(lanes),
        rank=ranks,
        height=small,
        status=st.sampled_from(Status),
        version=st.integers(1, 2**31 - 2),  # a change counts it up
        attempt=small,
        failures=small,
        losses=small,
        parks=small,
        wait=small,
        agent=st.none() | st.builds(AgentId, texts),
        runtime=st.none() | st.builds(RuntimeId, texts),
        lease=st.none() | texts,
        claimed_at=st.none() | times,
        started_at=st.none() | times,
        heartbeat_at=st.none() | times,
        lease_expires_at=st.none() | times,
        limit_at=st.none() | times,
        wake_at=st.none() | times,
        due_at=st.none() | times,
        rescore_at=st.none() | times,
        circuit=small,
        reserved=money,
        spent=money,
        tokens_in=numbers,
        tokens_out=numbers,
        tokens_cached=st.none() | json_texts,
        progress=st.none() | json_texts,
        session=st.none() | json_texts,
        ran=st.builds(Micros, numbers),
        why=st.none() | texts,
        updated_at=times,
        idempotency_key=st.none() | texts,
        key=st.none() | texts,
        reserve=st.none() | money,
        claim_ttl=small,
        lease_sec=small,
        run_sec=st.none() | small,
        max_attempts=small,
        expires_at=st.none() | times,
        created_at=times,
        traits=st.integers(0, 63),
        agent_type=st.none() | texts,
        type_slot=st.integers(0, 1),
    ).map(_let_go_unless_held)


def _let_go_unless_held(hot: Hot) -> Hot:
    return hot if hot.status in KEY_HELD else hot._replace(**LET_GO)


# What a change may write. The rest of a row stays as it was put in.
MOVABLE = (
    *("dag_id", "lane", "rank", "height", "status", "attempt", "failures", "losses", "parks", "wait", "agent"),
    *("runtime", "lease", "claimed_at", "started_at", "heartbeat_at", "lease_expires_at", "limit_at", "wake_at"),
    *("due_at", "rescore_at", "circuit", "reserved", "spent", "tokens_in", "tokens_out", "progress", "session"),
    *("tokens_cached", "ran", "why", "updated_at", "idempotency_key", "agent_type", "type_slot"),
)


def definitions(hot: Hot) -> st.SearchStrategy[Definition]:
    return filled(
        Definition,
        id=st.just(hot.id),
        workspace=st.just(hot.workspace),
        dag_id=st.just(hot.dag_id),
        idempotency_key=st.just(hot.idempotency_key),
        type=texts,
        created_at=st.just(hot.created_at) | times,  # one that judges has the time of what it judges
        created_by=texts,
        preset=texts,
        queue=texts,
        parent_id=st.none() | task_ids,
        rerun_of=st.none() | task_ids,
        title=texts,
        agent=st.none() | texts,
        subject=st.none() | texts,
        prompt=texts,
        payload=json_texts,
        context_refs=many,
        max_cost=st.none() | money,
        max_duration_sec=st.none() | small,
        required_capabilities=many,
        model_preferences=many,
        fallback_models=many,
        priority=st.integers(0, 100),
        boost=st.integers(0, 10_000),
        deadline=st.none() | times,
        run_after=st.none() | times,
        expires_at=st.none() | times,
        depends_on=st.lists(task_ids, max_size=3).map(tuple),
        concurrency_key=st.none() | texts,
        coalescable=st.booleans(),
        max_attempts=small,
        retry=policies,
        claim_ttl_sec=small,
        heartbeat_sec=small,
        lease_sec=small,
        output_type=texts,
        validation=st.sampled_from(Validation),
        validation_schema=st.none() | texts,
        session_id=st.none() | texts,
        work_dir=st.none() | texts,
        fresh=st.booleans(),
        trigger_type=st.none() | texts,
        trigger_ref=st.none() | texts,
        trigger_summary=st.none() | texts,
        tags=many,
        remember=st.none() | st.booleans(),
        spec_version=small,
        barred=many,
        trace=st.none() | texts,
        callback=st.none() | texts,
        variant=st.none() | texts,
        service=st.sampled_from(ServiceTier),
    )


def attempts(task_id: TaskId) -> st.SearchStrategy[Attempt]:
    return filled(
        Attempt,
        task_id=st.just(task_id),
        number=small,
        agent=st.builds(AgentId, texts),
        runtime=st.none() | st.builds(RuntimeId, texts),
        lease=texts,
        claimed_at=times,
        started_at=st.none() | times,
        ended_at=times,
        outcome=st.sampled_from(Outcome),
        counted=st.booleans(),
        reason=st.none() | texts,
        error=st.none() | texts,
        details=st.none() | json_texts,
        model=st.none() | texts,
        cost=money,
        tokens_in=numbers,
        tokens_out=numbers,
        session=st.none() | json_texts,
        verb=texts,
        digest=texts,
        status=st.sampled_from(Status),
        version=small,
        failures=small,
        wake_at=st.none() | times,
        agent_type=st.none() | texts,
        tokens_cached=st.none() | json_texts,
    )


def events(hot: Hot) -> st.SearchStrategy[Event]:
    return filled(
        Event,
        event=names,
        workspace=st.just(hot.workspace),
        task_id=st.none() | st.just(hot.id),
        dag_id=st.none() | st.builds(DagId, texts),
        at=times,
        version=st.none() | small,
        status=st.none() | st.sampled_from(Status),
        attempt=st.none() | small,
        data=st.none() | json_texts,
    )
