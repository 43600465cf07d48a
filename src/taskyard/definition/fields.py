"""What each field of a new task may hold, one by one.

Every reader takes what a caller gave and where it stood, and gives what a `Definition` holds, or says which rule is
broken. Rules about two fields together are in `definition`. A rule never repeats what was given: it may be hostile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from taskyard.core import units
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import check_text
from taskyard.core.policy import Dedup, Policy
from taskyard.core.priority import boost_steps
from taskyard.core.retry import LONGEST_DELAY, Strategy
from taskyard.core.task import ServiceTier, Validation
from taskyard.core.units import SECOND, Micros
from taskyard.definition import traceparent

Read = Callable[[Any, str], Any]
_Choice = TypeVar("_Choice", bound=StrEnum)

LONGEST_SEC = 366 * 24 * 3600
LATEST = Micros(2**53 - 1)  # in June 2255: what comes later, not every store holds to the microsecond
MOST_DEPENDENCIES = 10_000
MOST_ATTEMPTS = 1000
SEEDS_JITTER = 0.5  # what "jitter: true" means
_LISTS = (list, tuple, set, frozenset)

_TASK_ID = re.compile(r"task_[0-9A-HJKMNP-TV-Z]{26}", re.ASCII)
_DAG_ID = re.compile(r"dag_[0-9A-HJKMNP-TV-Z]{26}", re.ASCII)


class OutputType(StrEnum):
    JSON = "json"
    CODE = "code"
    MARKDOWN = "markdown"
    ARTIFACT = "artifact"


class PlacedValue(NamedTuple):
    """Something that can only be judged together with other fields, and the place it was found at."""

    value: Any
    path: str


class Field(NamedTuple):
    attribute: str  # of Definition or of RetryPolicy, which have no name in common
    read: Read


def text(value: Any, path: str, *, most: int, blank: bool = False) -> str:
    if not isinstance(value, str):
        raise InvalidInput(path, "must be text")
    if len(value) > most:
        raise InvalidInput(path, f"must be at most {most} characters")
    if not blank and not value.strip():
        raise InvalidInput(path, "must not be blank")
    check_text(value, path)
    return str.__str__(value)  # a subclass, such as an enumeration, is no value for a store


def name(value: Any, path: str, *, most: int = 255) -> str:
    """What something is called by. Blanks around it are no part of it."""
    return text(value, path, most=most).strip()


def task_id(value: Any, path: str) -> str:
    return _id(value, path, _TASK_ID, "task_")


def dag_id(value: Any, path: str) -> str:
    return _id(value, path, _DAG_ID, "dag_")


def _id(value: Any, path: str, shape: re.Pattern[str], prefix: str) -> str:
    if not isinstance(value, str) or not shape.fullmatch(value):
        raise InvalidInput(path, f"must be {prefix} and a ULID: 26 digits and capital letters without I, L, O and U")
    return value


def whole(value: Any, path: str, *, least: int, most: int) -> int:
    # A bool is an int to Python, but not in JSON.
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidInput(path, f"must be a whole number from {least} to {most}")
    return int(value)


def number(value: Any, path: str, *, least: float, most: float) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidInput(path, f"must be a number from {least} to {most}")
    return float(value)


def truth(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(path, "must be true or false")
    return value


def _not_yet(value: Any, path: str) -> bool:
    if truth(value, path):
        raise InvalidInput(path, "must be false: tasks are not handed out in batches yet")
    return False


def moment(value: Any, path: str) -> Micros:
    """A time as ISO 8601, as an aware datetime, or in microseconds since 1970."""
    at = _moment(value, path)
    if not 0 <= at <= LATEST:
        raise InvalidInput(path, "must be a time from 1970 to 2255")
    return at


def _moment(value: Any, path: str) -> Micros:
    if isinstance(value, str):
        try:
            return units.from_iso(value)
        except ValueError as broken:
            raise InvalidInput(path, str(broken)) from None
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidInput(path, "must have an offset from UTC")
        return units.micros(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return Micros(value)
    raise InvalidInput(path, "must be a time: ISO 8601 with an offset or Z, or whole microseconds since 1970")


def milliseconds(value: Any, path: str) -> Micros:
    return Micros(1000 * whole(value, path, least=0, most=LATEST // 1000))


def delay(value: Any, path: str) -> Micros:
    return units.seconds(number(value, path, least=0, most=LONGEST_DELAY // SECOND))


def delay_in_milliseconds(value: Any, path: str) -> Micros:
    return Micros(1000 * whole(value, path, least=0, most=LONGEST_DELAY // 1000))


def decimal(value: Any, path: str, *, convert: Callable[[Any], int]) -> int:
    # A whole number of many digits would take long to print before it is found too large.
    if not isinstance(value, str | int | float | Decimal) or (isinstance(value, int) and value.bit_length() > 128):
        raise InvalidInput(path, "must be a decimal number of reasonable size")
    try:
        return convert(value)
    except ValueError as broken:
        raise InvalidInput(path, str(broken)) from None


def names(value: Any, path: str, *, most: int, longest: int) -> tuple[str, ...]:
    """A list of texts, each kept once. A set, which has no order of its own, is sorted."""
    found = dict.fromkeys(name(each, path, most=longest) for each in _listed(value, path, most))
    return tuple(sorted(found) if isinstance(value, set | frozenset) else found)


def models(value: Any, path: str) -> tuple[str, ...]:
    """Names of models. They become words of command lines, where a hyphen would make an option of them."""
    found = names(value, path, most=50, longest=255)
    if any(name.startswith("-") for name in found):
        raise InvalidInput(path, "must name models, none of which begins with -")
    return found


def words(value: Any, path: str) -> frozenset[str]:
    return frozenset(names(value, path, most=50, longest=255))


def dependencies(value: Any, path: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task_id(each, path) for each in _listed(value, path, MOST_DEPENDENCIES)))


def _listed(value: Any, path: str, most: int) -> Any:
    if not issubclass(value.__class__, _LISTS):
        raise InvalidInput(path, "must be a list")
    if len(value) > most:
        raise InvalidInput(path, f"must have at most {most} entries")
    return value


def choice(of: type[_Choice]) -> Read:
    by_value = {each.value: each for each in of}

    def read(value: Any, path: str) -> _Choice:
        if not isinstance(value, str) or value not in by_value:
            raise InvalidInput(path, f"must be one of {', '.join(by_value)}")
        return by_value[value]

    return read


def optional(read: Read) -> Read:
    """`null` says the same as leaving the field out, where leaving it out means that there is none."""
    return lambda value, path: None if value is None else read(value, path)


def _short(most: int, *, blank: bool = False) -> Read:
    return lambda value, path: text(value, path, most=most, blank=blank)


def _names(most: int, longest: int) -> Read:
    return lambda value, path: names(value, path, most=most, longest=longest)


def _whole(least: int, most: int) -> Read:
    return lambda value, path: whole(value, path, least=least, most=most)


def _number(least: float, most: float) -> Read:
    return lambda value, path: number(value, path, least=least, most=most)


def _decimal(convert: Callable[[Any], int]) -> Read:
    return lambda value, path: decimal(value, path, convert=convert)


def _priority(policy: Policy) -> Read:
    scale = policy.priority

    def read(value: Any, path: str) -> int:
        return scale.inward(whole(value, path, least=scale.lowest, most=scale.highest))

    return read


def _duration(policy: Policy) -> Read:
    def read(value: Any, path: str) -> int | None:
        return policy.run_sec if value is None else whole(value, path, least=1, most=LONGEST_SEC)

    return read


def _jitter(policy: Policy) -> Read:
    switched_on = policy.retry.jitter or SEEDS_JITTER

    def read(value: Any, path: str) -> float:
        if isinstance(value, bool):
            return switched_on if value else 0.0
        return number(value, path, least=0, most=1)

    return read


def fields(policy: Policy) -> Mapping[str, Field]:
    """Every field that a caller may give, by its place in a task."""
    return {
        "id": Field("id", task_id),
        "workspace": Field("workspace", name),
        "dag_id": Field("dag_id", optional(dag_id)),
        "created_by": Field("created_by", name),
        "parent_id": Field("parent_id", optional(task_id)),
        "rerun_of": Field("rerun_of", optional(task_id)),
        "idempotency_key": Field("idempotency_key", optional(name)),
        "dedup": Field("dedup", optional(choice(Dedup))),
        "queue": Field("queue", name),
        "type": Field("type", name),
        "title": Field("title", _short(1000, blank=True)),
        "agent": Field("agent", optional(name)),
        "subject": Field("subject", optional(name)),
        "spec.prompt": Field("prompt", PlacedValue),
        "spec.payload": Field("payload", PlacedValue),
        "spec.context_refs": Field("context_refs", _names(1000, 1000)),
        "spec.version": Field("spec_version", _whole(1, 2**31 - 1)),
        "spec.constraints.max_cost_usd": Field("max_cost", optional(_decimal(units.usd))),
        "spec.constraints.max_duration_sec": Field("max_duration_sec", _duration(policy)),
        "spec.constraints.required_capabilities": Field("required_capabilities", _names(50, 255)),
        "spec.constraints.model_preferences": Field("model_preferences", models),
        "spec.constraints.fallback_models": Field("fallback_models", models),
        "priority": Field("priority", _priority(policy)),
        "priority_boost_per_minute": Field("boost", _decimal(boost_steps)),
        "deadline": Field("deadline", optional(moment)),
        "run_after": Field("run_after", optional(moment)),
        "expires_at": Field("expires_at", optional(moment)),
        "depends_on": Field("depends_on", dependencies),
        "concurrency_key": Field("concurrency_key", optional(name)),
        "coalescable": Field("coalescable", _not_yet),
        "max_attempts": Field("max_attempts", _whole(1, MOST_ATTEMPTS)),
        "retry.strategy": Field("strategy", choice(Strategy)),
        "retry.initial_delay_sec": Field("initial_delay", delay),
        "retry.backoff_multiplier": Field("multiplier", _number(1, 100)),
        "retry.max_delay_sec": Field("max_delay", optional(delay)),
        "retry.jitter": Field("jitter", _jitter(policy)),
        "retry.retry_on": Field("retry_on", words),
        "retry.no_retry_on": Field("no_retry_on", words),
        "timeouts.claim_ttl_sec": Field("claim_ttl_sec", _whole(0, LONGEST_SEC)),
        "timeouts.heartbeat_sec": Field("heartbeat_sec", _whole(1, LONGEST_SEC)),
        "timeouts.lease_sec": Field("lease_sec", _whole(2, LONGEST_SEC)),
        "output.type": Field("output_type", choice(OutputType)),
        "output.validation": Field("validation", choice(Validation)),
        "output.validation_schema": Field("validation_schema", PlacedValue),
        "session.session_id": Field("session_id", optional(_short(255))),
        "session.work_dir": Field("work_dir", optional(_short(4096))),
        "session.fresh": Field("fresh", truth),
        "trigger.type": Field("trigger_type", optional(name)),
        "trigger.ref": Field("trigger_ref", optional(_short(1000))),
        "trigger.summary": Field("trigger_summary", optional(_short(1000, blank=True))),
        "tags": Field("tags", _names(50, 100)),
        "remember": Field("remember", optional(truth)),
        "trace": Field("trace", traceparent.read),
        "callback": Field("callback", optional(_short(2000))),
        "variant": Field("variant", optional(_short(100))),
        "service": Field("service", choice(ServiceTier)),
    }
