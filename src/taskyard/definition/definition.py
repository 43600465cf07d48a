"""From what a caller asks for to the two records a new task begins with: its definition and its first row.

A request that breaks a rule is refused whole, with the field and the rule named. What needs a third party to judge,
whether a schema or an expression is sound, and what needs a store, whether a dependency exists, is not judged here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, cast

from taskyard.core.claiming import cost_class
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import DEEPEST, Json, compact, encode, payload_key, size_of
from taskyard.core.policy import Dedup, Policy, policy_of
from taskyard.core.priority import rank, rescore_at
from taskyard.core.retry import RetryPolicy
from taskyard.core.task import (
    BLANK,
    OWN,
    DagId,
    Definition,
    Hot,
    Lane,
    LaneId,
    Status,
    TaskId,
    Trait,
    Validation,
    next_due,
)
from taskyard.core.units import Micros
from taskyard.definition import names as aliases
from taskyard.definition.fields import PlacedValue, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much a caller may hand in at once."""

    max_payload_bytes: int = 1 << 20  # payload and prompt together
    max_output_bytes: int = 1 << 20
    max_depth: int = DEEPEST


class ChosenIds(NamedTuple):
    """The ids that a caller chose, where it did."""

    task_id: TaskId | None
    dag_id: DagId | None


_IDS = frozenset({"id", "dag_id"})
_RETRY = frozenset(each.name for each in fields(RetryPolicy))
_TIMES = frozenset({"run_after", "expires_at"})
_LEASE = frozenset({"heartbeat_sec", "lease_sec"})
_VALIDATION = frozenset({"validation", "validation_schema"})
_DECIDED = frozenset({"id", "workspace", "dag_id", "created_by"})
_RELATIVES = frozenset({"depends_on", "parent_id", "rerun_of"})
_DEDUP = frozenset({"dedup", "idempotency_key"})


def minted(raw: Mapping[str, object], policy: Policy) -> ChosenIds:
    """The ids in a request, to be handed to `define`: under whichever name the preset takes them."""
    found: dict[str, Any] = {}
    if _names_of_ids(policy).isdisjoint(raw):
        return _NONE_MINTED
    names = _names(policy).names
    for name, value in raw.items():
        match names.get(name):
            case aliases.Leaf(path, ("id" | "dag_id") as attribute, read):
                found[attribute] = read(value, path)
            case _:
                pass
    return ChosenIds(found.get("id"), found.get("dag_id"))


_NONE_MINTED = ChosenIds(None, None)


@lru_cache(maxsize=64)
def _names_of_ids(policy: Policy) -> frozenset[str]:
    names = _names(policy).names.items()
    return frozenset(name for name, node in names if isinstance(node, aliases.Leaf) and node.attribute in _IDS)


def define(
    raw: Mapping[str, object],
    *,
    task_id: TaskId,
    workspace: str,
    dag_id: DagId | None,
    created_by: str,
    now: Micros,
    policy: Policy,
    sizes: Sizes,
) -> Definition:
    """What is asked for, with the preset's values where the caller gave none."""
    decided: dict[str, Any] = {"id": task_id, "workspace": workspace, "dag_id": dag_id, "created_by": created_by}
    asked: dict[str, Any] = {}
    _names(policy).gather(raw, asked)
    if "type" not in asked:
        raise InvalidInput("type", "must be given")
    # Most tasks say little: each rule is looked at only where a field that it is about was given.
    if not _DECIDED.isdisjoint(asked):
        _check_decided(asked, decided)
    if not _RELATIVES.isdisjoint(asked):
        _check_relatives(asked, task_id)
    if not _TIMES.isdisjoint(asked):
        _check_times(asked)
    if not _LEASE.isdisjoint(asked):
        _settle_lease(asked, policy)
    if not _VALIDATION.isdisjoint(asked):
        _settle_validation(asked, sizes)
    if not _RETRY.isdisjoint(asked):
        asked["retry"] = replace(policy.retry, **{name: asked.pop(name) for name in _RETRY & asked.keys()})
    content = _settle_content(asked, sizes)
    if policy.dedup is not Dedup.EXPLICIT or not _DEDUP.isdisjoint(asked):
        _settle_keys(asked, content, policy)
    return Definition(created_at=now, **{**_defaults(policy), **asked, **decided})


def fields_given(raw: Mapping[str, object], policy: Policy) -> frozenset[str]:
    """The attributes of a definition that a sound request says something about."""
    asked: dict[str, Any] = {}
    _names(policy).gather(raw, asked)
    return frozenset(asked)


def own_fields(policy: Policy) -> tuple[aliases.Leaf, ...]:
    """How the preset reads what requests that are otherwise alike may each say for themselves."""
    leaves = (_names(policy).names[name] for name in OWN if name not in {"id", "created_at"})
    return tuple(leaf for leaf in leaves if isinstance(leaf, aliases.Leaf))


def define_like(
    pattern: Definition,
    own: Iterable[aliases.Leaf],
    raw: Mapping[str, object],
    *,
    task_id: TaskId,
    now: Micros,
    sizes: Sizes,
) -> Definition:
    """What a request comes to that differs from the pattern's only in these fields."""
    asked: dict[str, Any] = {}
    for path, attribute, read in own:
        if path in raw:
            asked[attribute] = read(raw[path], path)
    if "depends_on" in asked:
        _check_relatives(asked, task_id)
    _settle_content(asked, sizes)
    given = asked.get
    values = (task_id, now, given("prompt", ""), given("payload", "{}"), given("depends_on", ()), given("trace"))
    return Definition._make(_like((*pattern, *values)))


_own = {name: len(Definition._fields) + place for place, name in enumerate(OWN)}
_like = itemgetter(*(_own.get(name, place) for place, name in enumerate(Definition._fields)))


@lru_cache(maxsize=64)
def _names(policy: Policy) -> aliases.Group:
    return aliases.tree(policy)


@lru_cache(maxsize=64)
def _defaults(policy: Policy) -> dict[str, Any]:
    """What a task of this preset has where the caller says nothing and a Definition would have something else."""
    values = {
        "preset": policy.name,
        "priority": policy.priority.inward(policy.default_priority),
        "boost": policy.boost,
        "max_attempts": policy.max_attempts,
        "max_duration_sec": policy.run_sec,
        "retry": policy.retry,
        "claim_ttl_sec": policy.claim_ttl_sec,
        "heartbeat_sec": policy.heartbeat_sec,
        "lease_sec": policy.lease_sec,
    }
    defaults = Definition._field_defaults
    return {name: value for name, value in values.items() if defaults[name] != value}


def _check_decided(asked: dict[str, Any], decided: Mapping[str, object]) -> None:
    """Who asks, for whom and under which id is decided before; a request may repeat it, not change it."""
    for name in _DECIDED & asked.keys():
        if asked.pop(name) not in (None, decided[name]):
            raise InvalidInput(name, "must be left out, or be the one that this call is made for")


def _check_relatives(asked: Mapping[str, Any], task_id: TaskId) -> None:
    for name in ("depends_on", "parent_id", "rerun_of"):
        related = asked.get(name)
        if related == task_id or (isinstance(related, tuple) and task_id in related):
            raise InvalidInput(name, "must not name the task itself")


def _check_times(asked: Mapping[str, Any]) -> None:
    run_after, expires_at = asked.get("run_after"), asked.get("expires_at")
    if run_after is not None and expires_at is not None and expires_at <= run_after:
        raise InvalidInput("expires_at", "must be after run_after")


def _settle_lease(asked: dict[str, Any], usual: Policy | Definition) -> None:
    lease = asked.get("lease_sec", usual.lease_sec)
    # Who asks for a short lease and says nothing of heartbeats gets those that keep it.
    if asked.setdefault("heartbeat_sec", min(usual.heartbeat_sec, lease // 2)) > lease / 2:
        raise InvalidInput("timeouts.heartbeat_sec", f"must be at most half of lease_sec, which is {lease}")


def _settle_validation(asked: dict[str, Any], sizes: Sizes) -> None:
    schema, path = asked.pop("validation_schema", PlacedValue(None, "output.validation_schema"))
    match asked.get("validation", Validation.NONE):
        case Validation.JSON_SCHEMA:
            if not issubclass(schema.__class__, dict | bool):
                raise InvalidInput(path, "must be a JSON schema, an object, where validation is json-schema")
            size, depth = sizes.max_payload_bytes, sizes.max_depth
            asked["validation_schema"] = encode(schema, field=path, max_bytes=size, max_depth=depth)
        case Validation.REGEX:
            if not isinstance(schema, str):
                raise InvalidInput(path, "must be a regular expression, a text, where validation is regex")
            asked["validation_schema"] = text(schema, path, most=10_000)
        case Validation.TEST_PASS:
            asked["validation_schema"] = text("test" if schema is None else schema, path, most=100)
        case Validation.LLM_JUDGE:
            asked["validation_schema"] = None if schema is None else text(schema, path, most=10_000)
        case _:
            if schema is not None:
                raise InvalidInput(path, "must only be given where there is a validation to use it")
            asked["validation_schema"] = None


def _settle_content(asked: dict[str, Any], sizes: Sizes) -> Json:
    """Turn payload and prompt into texts; what the payload was is given back."""
    most = sizes.max_payload_bytes
    payload: PlacedValue | None = asked.get("payload")
    encoded = "{}"
    if payload is not None:
        encoded = encode(payload.value, field=payload.path, max_bytes=most, max_depth=sizes.max_depth)
        asked["payload"] = encoded
    if "prompt" in asked:
        given, path = cast("PlacedValue", asked["prompt"])
        asked["prompt"] = prompt = text(given, path, most=most, blank=True)
        if size_of(prompt, path) + size_of(encoded, path) > most:
            raise InvalidInput(path, f"must be at most {most} bytes together with the payload")
    return {} if payload is None else payload.value


def _settle_keys(asked: dict[str, Any], content: Json, policy: Policy) -> None:
    """What makes the task a duplicate of another, and what it may not run beside."""
    dedup = asked.pop("dedup", None) or policy.dedup
    pair = subject_pair(asked.get("subject"), asked.get("agent"))
    if asked.get("idempotency_key") is None:
        if dedup is Dedup.PAYLOAD:
            asked["idempotency_key"] = payload_key(content, prompt=asked.get("prompt", ""), type=asked["type"])
        elif dedup is Dedup.SUBJECT:
            asked["idempotency_key"] = pair
    # Also where the caller wants a duplicate: in such a preset it waits behind the other.
    if Dedup.SUBJECT in (dedup, policy.dedup) and asked.get("concurrency_key") is None:
        asked["concurrency_key"] = pair


def subject_pair(subject: str | None, agent: str | None) -> str | None:
    """The two in one; those that have a bar in them cannot be mistaken for another two."""
    if subject is None or agent is None:
        return None
    return "|".join(part.replace("%", "%25").replace("|", "%7C") for part in (subject, agent))


def traits(definition: Definition, policy: Policy) -> Trait:
    key, pair = definition.idempotency_key, subject_pair(definition.subject, definition.agent)
    return _traits(
        policy,
        validation=definition.validation,
        keyed_while_waiting=key is not None and key == pair,
        resumes=pair is not None and policy.resumes_subject,
        coalescable=definition.coalescable,
        calls_back=definition.callback is not None,
    )


# Few of them are in use at a time, and joining flags takes longer than all the rest of a row.
@lru_cache(maxsize=256)
def _traits(
    policy: Policy,
    *,
    validation: Validation,
    keyed_while_waiting: bool,
    resumes: bool,
    coalescable: bool,
    calls_back: bool,
) -> Trait:
    found = {
        Trait.VALIDATED: validation is not Validation.NONE,
        Trait.JUDGED: validation in (Validation.TEST_PASS, Validation.LLM_JUDGE),
        Trait.REPORTED: policy.report_required,
        Trait.KEY_WHILE_WAITING: keyed_while_waiting,
        Trait.RUNTIME_KEPT: policy.runtime_keeps_lease,
        Trait.COALESCABLE: coalescable,
        Trait.CALLS_BACK: calls_back,
        Trait.RESUMES: resumes,
    }
    return Trait(sum(trait.value for trait, holds in found.items() if holds))


def models_for(definition: Definition, failures: int) -> tuple[str, ...]:
    """The models to try, best first: from the second counted failure on, the fallbacks."""
    return definition.fallback_models if failures >= 2 and definition.fallback_models else definition.model_preferences


def lane_of(definition: Definition, *, failures: int) -> Lane:
    models = models_for(definition, failures)
    required = {*definition.required_capabilities}
    if policy_of(definition).types_are_capabilities:
        required.add(definition.type)
    return Lane(
        workspace=definition.workspace,
        queue=definition.queue,
        type=definition.type,
        agent=definition.agent,
        capabilities=tuple(sorted(required)),
        boost=definition.boost,
        cost_class=cost_class(definition.max_cost),
        model=models[0] if models else None,
        barred=definition.barred,
    )


def born(
    definition: Definition,
    policy: Policy,
    *,
    lane: LaneId,
    blocked: bool,
    height: int,
    wake_at: Micros | None,
    now: Micros,
) -> Hot:
    """The first row. Its blockers, where it has any, belong to wait 0."""
    hot = BLANK.altered(
        {
            "id": definition.id,
            "workspace": definition.workspace,
            "dag_id": definition.dag_id,
            "lane": lane,
            "rank": _rank(definition, height, now),
            "height": height,
            "status": Status.PENDING if blocked else Status.READY,
            "version": 1,
            "wake_at": wake_at if blocked else None,
            "rescore_at": rescore_at(definition.deadline, now),
            "session": _session(definition),
            "updated_at": now,
            "idempotency_key": definition.idempotency_key,
            "key": definition.concurrency_key,
            "reserve": definition.max_cost,
            "claim_ttl": definition.claim_ttl_sec,
            "lease_sec": definition.lease_sec,
            "run_sec": definition.max_duration_sec,
            "max_attempts": definition.max_attempts,
            "expires_at": definition.expires_at,
            "created_at": definition.created_at,
            "traits": int(traits(definition, policy)),
        }
    )
    due = next_due(hot)
    return hot if due is None else hot._replace(due_at=due)


def _rank(definition: Definition, height: int, now: Micros) -> int:
    return rank(
        priority=definition.priority,
        boost=definition.boost,
        created_at=definition.created_at,
        height=height,
        deadline=definition.deadline,
        now=now,
    )


def born_like(first: Hot, definition: Definition, *, now: Micros) -> Hot:
    """The first row of a task that differs from another's only in the fields of `OWN`."""
    if definition.created_at == first.created_at:
        return Hot._make((definition.id, *first[1:]))
    placed = _rank(definition, first.height, now)
    return first.altered({"id": definition.id, "rank": placed, "created_at": definition.created_at})


# What the definition says nothing of.
_KEPT = Trait.FILED | Trait.WATCHED | Trait.REPORTED | Trait.NEEDED | Trait.ASKED | Trait.GATHERS


def reborn(hot: Hot, definition: Definition, policy: Policy, *, now: Micros) -> Hot:
    """The row of a task that is given another set of attempts, as its definition has it by now."""
    after = hot._replace(
        rank=_rank(definition, hot.height, now),
        rescore_at=rescore_at(definition.deadline, now),
        key=definition.concurrency_key,
        reserve=definition.max_cost,
        claim_ttl=definition.claim_ttl_sec,
        lease_sec=definition.lease_sec,
        run_sec=definition.max_duration_sec,
        max_attempts=definition.max_attempts,
        expires_at=definition.expires_at,
        traits=int(traits(definition, policy) | hot.traits & _KEPT),
    )
    return after._replace(due_at=next_due(after))


def _session(definition: Definition) -> str | None:
    if definition.fresh or (definition.session_id is None and definition.work_dir is None):
        return None
    return compact({"session_id": definition.session_id, "work_dir": definition.work_dir})


_SPEC = frozenset({"version", "constraints"})  # what a task shows under spec and takes nowhere else
_FIXED = _DECIDED | _RELATIVES | _DEDUP | {"type", "queue", "trace"}


def redefine(definition: Definition, raw: Mapping[str, object], *, policy: Policy, sizes: Sizes) -> Definition:
    """The definition with what a person changed about it, under the same rules. Its id and its author stay.

    The fields of `spec` may stand without their group, as a task shows them under that name.
    """
    asked: dict[str, Any] = {}
    if not _SPEC.isdisjoint(raw) and "spec" not in raw:
        grouped = {name: value for name, value in raw.items() if name in _SPEC}
        raw = {**{name: value for name, value in raw.items() if name not in _SPEC}, "spec": grouped}
    _names(policy).gather(raw, asked)
    for name in sorted(_FIXED & asked.keys()):
        raise InvalidInput(name, "cannot be changed once the task is there")
    _check_times({"run_after": definition.run_after, "expires_at": definition.expires_at, **asked})
    if not _LEASE.isdisjoint(asked):
        _settle_lease(asked, definition)
    if not _VALIDATION.isdisjoint(asked):
        asked.setdefault("validation", definition.validation)
        _settle_validation(asked, sizes)
    if not _RETRY.isdisjoint(asked):
        asked["retry"] = replace(definition.retry, **{name: asked.pop(name) for name in _RETRY & asked.keys()})
    _settle_content(asked, sizes)
    return definition._replace(**asked)
