"""Requests that must be refused, each for one reason, with the field and the words of the rule that it breaks.

Whatever takes tasks in, a function, a wire or a command, is held to the same rows: the same field, nothing stored.
"""

import json
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

NUL = "a\0b"
LONE = "a\ud800b"
MANY = [str(number) for number in range(1001)]
ID = "task_01J8K2M00000000000000000ZZ"


class Hostile(NamedTuple):
    name: str
    raw: Any
    field: str
    rule: str  # words that the rule contains
    preset: str = "standard"


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def circle() -> list[Any]:
    value: list[Any] = []
    value += [value, value, value]
    return value


def task(**more: Any) -> dict[str, Any]:
    return {"type": "code", **more}


def spec(**more: Any) -> dict[str, Any]:
    return task(spec=more)


def constrained(**more: Any) -> dict[str, Any]:
    return spec(constraints=more)


KEPT: dict[str, Any] = {
    "status": "ready",
    "attempts": 0,
    "claim": {"agent_id": "a"},
    "version": 1,
    "created_at": "2026-11-15T02:37:00Z",
    "cost_usd": 0,
    "tokens_used": {},
    "blocked_by": [],
    "retry_at": None,
    "failure": None,
    "dead": {},
    "cancelled": {},
    "started_at": None,
    "completed_at": None,
    "updated_at": None,
}

HOSTILE: list[Hostile] = [
    # What a request is made of
    Hostile("no object", ["type", "code"], "task", "must be an object"),
    Hostile("nothing", None, "task", "must be an object"),
    Hostile("a text", "type", "task", "must be an object"),
    Hostile("an unknown field", task(colour="red"), "colour", "is not a field of a task"),
    Hostile("a misspelt field", task(max_atempts=2), "max_atempts", "max_attempts is"),
    Hostile("an unknown field of a group", task(retry={"delay": 1}), "retry.delay", "is not a field"),
    Hostile("an unknown field two groups down", constrained(money=1), "spec.constraints.money", "is not a field"),
    Hostile("a field that is no text", {"type": "code", 7: 1}, "7", "is not a field"),
    Hostile("a field with NUL in its name", task(**{NUL: 1}), "a\\x00b", "is not a field"),
    Hostile("a field with a lone surrogate in its name", task(**{LONE: 1}), "a\\ud800b", "is not a field"),
    Hostile("a field with an endless name", task(**{"x" * 5000: 1}), "x" * 100, "is not a field"),
    Hostile("an empty name", task(**{"": 1}), "", "is not a field"),
    Hostile("a group that is none", task(retry="always"), "retry", "must be an object"),
    Hostile("a spec that is none", task(spec=[]), "spec", "must be an object"),
    Hostile("constraints that are none", spec(constraints=None), "spec.constraints", "must be an object"),
    Hostile("a prompt twice", task(prompt="a", spec={"prompt": "a"}), "spec.prompt", "twice"),
    Hostile("a field under two names", task(maxAttempts=2, max_attempts=2), "max_attempts", "twice", "loki"),
    Hostile("another preset's name", task(maxAttempts=2), "maxAttempts", "is not a field"),
    # What the system keeps
    *(Hostile(f"{name} given", task(**{name: value}), name, "is kept by the system") for name, value in KEPT.items()),
    Hostile("output given at creation", task(output={"data": 1}), "output.data", "is kept by the system"),
    Hostile("artifacts given at creation", task(output={"artifacts": []}), "output.artifacts", "is kept"),
    Hostile("a holder", task(claim={"agent_id": "a"}), "claim.agent_id", "is kept by the system", "factory"),
    Hostile("a Loki holder", task(claimedBy="a"), "claimedBy", "is kept by the system", "loki"),
    # Texts
    Hostile("no type", {}, "type", "must be given"),
    Hostile("an empty type", {"type": ""}, "type", "blank"),
    Hostile("a blank type", {"type": " \t\n"}, "type", "blank"),
    Hostile("a type that is null", {"type": None}, "type", "must be text"),
    Hostile("a type that is a number", {"type": 5}, "type", "must be text"),
    Hostile("a type with NUL", {"type": NUL}, "type", "NUL"),
    Hostile("a type with a lone surrogate", {"type": LONE}, "type", "surrogate"),
    Hostile("a long type", {"type": "x" * 256}, "type", "255"),
    Hostile("a long queue", task(queue="x" * 256), "queue", "255"),
    Hostile("a blank queue", task(queue=" "), "queue", "blank"),
    Hostile("a queue that is null", task(queue=None), "queue", "must be text"),
    Hostile("a long agent", task(agent="x" * 256), "agent", "255"),
    Hostile("an empty agent", task(agent=""), "agent", "blank"),
    Hostile("a long subject", task(subject="x" * 256), "subject", "255"),
    Hostile("a subject with NUL", task(subject=NUL), "subject", "NUL"),
    Hostile("a long title", task(title="x" * 1001), "title", "1000"),
    Hostile("a title with a lone surrogate", task(title=LONE), "title", "surrogate"),
    Hostile("bytes for text", task(title=b"title"), "title", "must be text"),
    Hostile("an empty key", task(idempotency_key=""), "idempotency_key", "blank"),
    Hostile("a long key", task(idempotency_key="k" * 256), "idempotency_key", "255"),
    Hostile("a key with NUL", task(idempotency_key=NUL), "idempotency_key", "NUL"),
    Hostile("a long concurrency key", task(concurrency_key="k" * 256), "concurrency_key", "255"),
    Hostile("a key that is a number", task(concurrency_key=1), "concurrency_key", "must be text"),
    Hostile("an unknown way to find duplicates", task(dedup="hash"), "dedup", "explicit, payload, subject"),
    # Content
    Hostile("a prompt with NUL", task(prompt=NUL), "prompt", "NUL"),
    Hostile("a prompt with a lone surrogate", spec(prompt=LONE), "spec.prompt", "surrogate"),
    Hostile("a prompt that is an object", task(prompt={}), "prompt", "must be text"),
    Hostile("a prompt too large", task(prompt="x" * 1_048_577), "prompt", "1048576"),
    Hostile("a prompt too large in UTF-8", task(prompt="€" * 349_526), "prompt", "1048576"),
    Hostile(
        "a prompt too large beside its payload", task(prompt="x" * 600_000, payload="y" * 500_000), "prompt", "together"
    ),
    Hostile("a payload too large", task(payload="x" * 1_048_575), "payload", "1048576 bytes"),
    Hostile("a payload too large in UTF-8", spec(payload=["€" * 349_526]), "spec.payload", "1048576 bytes"),
    Hostile("a payload with NUL", task(payload={"a": ["x", NUL]}), "payload", "NUL"),
    Hostile("a payload with NUL in a key", task(payload=[{NUL: 1}]), "payload", "NUL"),
    Hostile("a payload with a lone surrogate", task(payload={"a": LONE}), "payload", "surrogate"),
    Hostile("a payload with a lone surrogate in a key", task(payload={"\udfff": 1}), "payload", "surrogate"),
    Hostile("a payload with NaN", task(payload={"a": float("nan")}), "payload", "NaN"),
    Hostile("a payload with an infinity", task(payload=[float("-inf")]), "payload", "infinity"),
    Hostile("a payload with too many digits", task(payload=[10**5000]), "payload", "digits"),
    Hostile("a payload with a number for a key", task(payload={"a": [{1: 2}]}), "payload", "keys"),
    Hostile("a payload with null for a key", task(payload={None: 2}), "payload", "keys"),
    Hostile("a payload nested 65 deep", task(payload=nested(65)), "payload", "deeper than 64"),
    Hostile("a payload nested 65 objects deep", task(payload={"a": nested(64)}), "payload", "deeper than 64"),
    Hostile("a payload nested 100,000 deep", task(payload=nested(100_000)), "payload", "deeper than 64"),
    Hostile("a payload that contains itself", task(payload=circle()), "payload", "deeper than 64"),
    Hostile("a payload with a set", task(payload={"a": {1, 2}}), "payload", "JSON"),
    Hostile("a payload with bytes", task(payload=b"{}"), "payload", "JSON"),
    Hostile("a payload with money", task(payload=[Decimal(1)]), "payload", "Decimal"),
    Hostile("references that are a text", task(context_refs="artifact:1"), "context_refs", "must be a list"),
    Hostile("a reference with NUL", spec(context_refs=[NUL]), "spec.context_refs", "NUL"),
    Hostile("1001 references", spec(context_refs=MANY[:1001]), "spec.context_refs", "1000 entries"),
    Hostile("a long reference to an artifact", task(context_refs=["x" * 1001]), "context_refs", "1000 characters"),
    Hostile("a version beyond all", spec(version=2**31), "spec.version", "to 2147483647"),
    Hostile("a version of nought", spec(version=0), "spec.version", "from 1"),
    # Constraints
    Hostile("negative money", task(max_cost_usd=-0.01), "max_cost_usd", "from 0"),
    Hostile("seven decimals", constrained(max_cost_usd="0.0000001"), "spec.constraints.max_cost_usd", "6 decimals"),
    Hostile("money in words", task(max_cost_usd="ten"), "max_cost_usd", "decimal number"),
    Hostile("true money", task(max_cost_usd=True), "max_cost_usd", "decimal number"),
    Hostile("money without end", task(max_cost_usd=float("inf")), "max_cost_usd", "decimal number"),
    Hostile("all the money there is", task(max_cost_usd=10**5000), "max_cost_usd", "reasonable size"),
    Hostile("money in a list", task(max_cost_usd=[1]), "max_cost_usd", "decimal number"),
    Hostile("no time to run", task(max_duration_sec=0), "max_duration_sec", "from 1"),
    Hostile("half a second to run", task(max_duration_sec=0.5), "max_duration_sec", "whole number"),
    Hostile("51 capabilities", task(required_capabilities=MANY[:51]), "required_capabilities", "50"),
    Hostile("a capability that is a text", task(required_capabilities="git"), "required_capabilities", "list"),
    Hostile("a capability that is null", task(required_capabilities=[None]), "required_capabilities", "text"),
    Hostile("a blank model", task(model_preferences=[""]), "model_preferences", "blank"),
    Hostile("51 models", task(model_preferences=MANY[:51]), "model_preferences", "50"),
    Hostile("51 fallbacks", task(fallback_models=MANY[:51]), "fallback_models", "50"),
    Hostile("a long model", task(fallback_models=["x" * 256]), "fallback_models", "255"),
    Hostile("a long capability", task(required_capabilities=["x" * 256]), "required_capabilities", "255"),
    Hostile("a model with NUL", task(fallback_models=[NUL]), "fallback_models", "NUL"),
    # Priority and attempts
    Hostile("a priority below", task(priority=-1), "priority", "from 0 to 100"),
    Hostile("a priority above", task(priority=101), "priority", "from 0 to 100"),
    Hostile("a true priority", task(priority=True), "priority", "whole number"),
    Hostile("half a priority", task(priority=1.5), "priority", "whole number"),
    Hostile("a priority in words", task(priority="high"), "priority", "whole number"),
    Hostile("a priority that is null", task(priority=None), "priority", "whole number"),
    Hostile("Loki's priority 0", task(priority=0), "priority", "from 1 to 10", "loki"),
    Hostile("Loki's priority 11", task(priority=11), "priority", "from 1 to 10", "loki"),
    Hostile("Multica's priority 5", task(priority=5), "priority", "from 0 to 4", "multica"),
    Hostile("ADE's priority 10", task(priority=10), "priority", "from 0 to 9", "ade"),
    Hostile("AutoMechanica's priority 4", task(priority=4), "priority", "from 0 to 3", "automechanica"),
    Hostile("a negative boost", task(priority_boost_per_minute=-1), "priority_boost_per_minute", "from 0"),
    Hostile("a boost of thousandths", task(priority_boost_per_minute=0.001), "priority_boost_per_minute", "2 decimals"),
    Hostile("no attempts", task(max_attempts=0), "max_attempts", "from 1"),
    Hostile("fewer than no attempts", task(max_attempts=-3), "max_attempts", "from 1"),
    Hostile("1001 attempts", task(max_attempts=1001), "max_attempts", "1000"),
    Hostile("attempts in words", task(max_attempts="3"), "max_attempts", "whole number"),
    Hostile("true attempts", task(max_attempts=True), "max_attempts", "whole number"),
    # Times
    Hostile("a deadline in words", task(deadline="tomorrow"), "deadline", "ISO 8601"),
    Hostile("a deadline without offset", task(deadline="2026-11-15T02:37:00"), "deadline", "offset"),
    Hostile("a datetime without offset", task(deadline=datetime(2026, 11, 15)), "deadline", "offset"),  # noqa: DTZ001
    Hostile("a thirtieth of February", task(run_after="2026-02-30T00:00:00Z"), "run_after", "ISO 8601"),
    Hostile("a seventh decimal", task(run_after="2026-02-03T00:00:00.0000001Z"), "run_after", "ISO 8601"),
    Hostile("a time with NUL", task(run_after="2026-02-03T00:00:00Z\0"), "run_after", "ISO 8601"),
    Hostile("a deadline before 1970", task(deadline="1969-12-31T23:59:59Z"), "deadline", "1970 to 2255"),
    Hostile("an end after 2255", task(expires_at="9999-12-31T23:59:59Z"), "expires_at", "1970 to 2255"),
    Hostile("an end beyond all calendars", task(expires_at=10**30), "expires_at", "1970 to 2255"),
    Hostile("an end just too late", task(expires_at=2**53), "expires_at", "1970 to 2255"),
    Hostile("ADE's time just too late", task(runAfter=2**53 // 1000 + 1), "runAfter", "whole number", "ade"),
    Hostile("a negative time", task(run_after=-1), "run_after", "1970 to 2255"),
    Hostile("a true time", task(run_after=True), "run_after", "must be a time"),
    Hostile("a time in a list", task(run_after=[2026]), "run_after", "must be a time"),
    Hostile("a time in fractions", task(run_after=1.5), "run_after", "must be a time"),
    Hostile("an end before the beginning", task(run_after=2_000, expires_at=1_000), "expires_at", "after run_after"),
    Hostile("an end at the beginning", task(run_after=1_000, expires_at=1_000), "expires_at", "after run_after"),
    Hostile("ADE's time in words", task(runAfter="now"), "runAfter", "whole number", "ade"),
    # Other tasks
    Hostile("a bad id", task(id="task_1"), "id", "ULID"),
    Hostile("an id in small letters", task(id=ID.lower()), "id", "ULID"),
    Hostile("an id with an I", task(id=ID[:-1] + "I"), "id", "ULID"),
    Hostile("an id and a line end", task(id=ID + "\n"), "id", "ULID"),
    Hostile("an id that is null", task(id=None), "id", "ULID"),
    Hostile("a bad DAG", task(dag_id=ID), "dag_id", "ULID"),
    Hostile("a bad workflow", task(workflow_id="w"), "workflow_id", "ULID", "automechanica"),
    Hostile("a bad parent", task(parent_id="dag_01J8K2M00000000000000000ZZ"), "parent_id", "ULID"),
    Hostile("a bad rerun", task(rerun_of=5), "rerun_of", "ULID"),
    Hostile("a bad dependency", task(depends_on=[ID, "x"]), "depends_on", "ULID"),
    Hostile("dependencies that are a text", task(depends_on=ID), "depends_on", "list"),
    Hostile("10,001 dependencies", task(depends_on=[ID] * 10_001), "depends_on", "10000"),
    Hostile("51 tags", task(tags=MANY[:51]), "tags", "50"),
    Hostile("a long tag", task(tags=["x" * 101]), "tags", "100"),
    Hostile("a blank tag", task(tags=["a", " "]), "tags", "blank"),
    Hostile("a tag with NUL", task(tags=[NUL]), "tags", "NUL"),
    Hostile("tags in an object", task(tags={"a": 1}), "tags", "list"),
    Hostile("coalescable before there are batches", task(coalescable=True), "coalescable", "must be false"),
    Hostile("coalescable in words", task(coalescable="yes"), "coalescable", "true or false"),
    Hostile("coalescable as a number", task(coalescable=1), "coalescable", "true or false"),
    # Retries and timeouts
    Hostile("an unknown strategy", task(retry={"strategy": "linear"}), "retry.strategy", "exponential, fixed"),
    Hostile("a strategy in a list", task(retry={"strategy": ["fixed"]}), "retry.strategy", "must be one of"),
    Hostile("a negative delay", task(retry={"initial_delay_sec": -1}), "retry.initial_delay_sec", "from 0"),
    Hostile(
        "a delay that is no number", task(retry={"initial_delay_sec": float("nan")}), "retry.initial_delay_sec", ""
    ),
    Hostile("a negative cap", task(retry={"max_delay_sec": -0.5}), "retry.max_delay_sec", "from 0"),
    Hostile("a cap without end", task(retry={"max_delay_sec": float("inf")}), "retry.max_delay_sec", "from 0"),
    Hostile("a cap in words", task(retry={"max_delay_sec": "300"}), "retry.max_delay_sec", "must be a number"),
    Hostile("a shrinking delay", task(retry={"backoff_multiplier": 0.9}), "retry.backoff_multiplier", "from 1"),
    Hostile("an exploding delay", task(retry={"backoff_multiplier": 101}), "retry.backoff_multiplier", "to 100"),
    Hostile("a true multiplier", task(retry={"backoff_multiplier": True}), "retry.backoff_multiplier", "number"),
    Hostile("too much jitter", task(retry={"jitter": 1.01}), "retry.jitter", "from 0 to 1"),
    Hostile("negative jitter", task(retry={"jitter": -0.1}), "retry.jitter", "from 0 to 1"),
    Hostile("jitter in words", task(retry={"jitter": "yes"}), "retry.jitter", "number"),
    Hostile("a delay above ten years", task(retry={"initial_delay_sec": 315_360_001}), "retry.initial_delay_sec", ""),
    Hostile("ADE's cap above ten years", task(maxBackoffMs=315_360_000_001), "maxBackoffMs", "whole", "ade"),
    Hostile("51 reasons", task(retry={"retry_on": MANY[:51]}), "retry.retry_on", "50"),
    Hostile("a long reason", task(retry={"retry_on": ["x" * 256]}), "retry.retry_on", "255"),
    Hostile("reasons that are a text", task(retry={"retry_on": "timeout"}), "retry.retry_on", "list"),
    Hostile("a reason with NUL", task(retry={"no_retry_on": [NUL]}), "retry.no_retry_on", "NUL"),
    Hostile("a heartbeat as long as the lease", task(timeouts={"heartbeat_sec": 90}), "timeouts.heartbeat_sec", "half"),
    Hostile(
        "a heartbeat above half the lease",
        task(timeouts={"heartbeat_sec": 5, "lease_sec": 9}),
        "timeouts.heartbeat_sec",
        "half of lease_sec, which is 9",
    ),
    Hostile("no heartbeat", task(timeouts={"heartbeat_sec": 0}), "timeouts.heartbeat_sec", "from 1"),
    Hostile("no lease", task(timeouts={"lease_sec": 0}), "timeouts.lease_sec", "from 2"),
    Hostile("a lease in fractions", task(timeouts={"lease_sec": 10.5}), "timeouts.lease_sec", "whole number"),
    Hostile("a negative claim time", task(timeouts={"claim_ttl_sec": -1}), "timeouts.claim_ttl_sec", "from 0"),
    Hostile("a lease for ever", task(timeouts={"lease_sec": 2**63}), "timeouts.lease_sec", "to 31622400"),
    # Output, session, trigger
    Hostile("an unknown output", task(output={"type": "poem"}), "output.type", "json, code"),
    Hostile("an unknown validation", task(output={"validation": "magic"}), "output.validation", "none, json-schema"),
    Hostile(
        "a schema that is missing",
        task(output={"validation": "json-schema"}),
        "output.validation_schema",
        "must be a JSON schema",
    ),
    Hostile(
        "a schema as a text",
        task(output={"validation": "json-schema", "validation_schema": "{}"}),
        "output.validation_schema",
        "must be a JSON schema",
    ),
    Hostile(
        "a schema with NUL",
        task(output={"validation": "json-schema", "validation_schema": {"const": NUL}}),
        "output.validation_schema",
        "NUL",
    ),
    Hostile(
        "an expression that is missing",
        task(output={"validation": "regex"}),
        "output.validation_schema",
        "regular expression",
    ),
    Hostile(
        "an expression as an object",
        task(output={"validation": "regex", "validation_schema": {}}),
        "output.validation_schema",
        "regular expression",
    ),
    Hostile(
        "an expression with NUL",
        task(output={"validation": "regex", "validation_schema": NUL}),
        "output.validation_schema",
        "NUL",
    ),
    Hostile(
        "an expression of 10,001 characters",
        task(output={"validation": "regex", "validation_schema": "(" * 10_001}),
        "output.validation_schema",
        "10000",
    ),
    Hostile("a schema for nothing", task(output={"validation_schema": {}}), "output.validation_schema", "only"),
    Hostile(
        "a schema for a judge",
        task(output={"validation": "llm-judge", "validation_schema": {}}),
        "output.validation_schema",
        "must be text",
    ),
    Hostile("a session with NUL", task(session={"session_id": NUL}), "session.session_id", "NUL"),
    Hostile("a long working directory", task(session={"work_dir": "x" * 4097}), "session.work_dir", "4096"),
    Hostile("freshness in words", task(session={"fresh": "true"}), "session.fresh", "true or false"),
    Hostile("a trigger that is a number", task(trigger={"type": 1}), "trigger.type", "must be text"),
    Hostile("a trigger with a lone surrogate", task(trigger={"summary": LONE}), "trigger.summary", "surrogate"),
    Hostile("a long reference", task(trigger={"ref": "x" * 1001}), "trigger.ref", "1000"),
]


def _travels(raw: Any) -> bool:
    try:
        return json.loads(json.dumps(raw, allow_nan=False)) == raw
    except (TypeError, ValueError, RecursionError):
        return False


# Those that JSON can say, so that they can come over a wire.
HOSTILE_JSON = [row for row in HOSTILE if _travels(row.raw)]
