"""What callers may ask for, under which names, and what becomes of it."""

import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from hashlib import sha256
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.policy import PRESETS, Dedup
from taskyard.core.retry import RetryPolicy, Strategy
from taskyard.core.task import Definition, ServiceTier, TaskId, Validation
from taskyard.core.units import HOUR, MINUTE, SECOND, Micros, MicroUsd, from_iso
from taskyard.definition.definition import Sizes, minted
from taskyard.definition.names import ALIASES
from tests.core.defining import DAG, FULL, MINE, NOW, PAIR, defined
from tests.core.hostile import HOSTILE, HOSTILE_JSON, ID, MANY, Hostile, task


@pytest.mark.parametrize("row", HOSTILE, ids=[row.name for row in HOSTILE])
def test_a_hostile_request_is_refused_with_its_field_and_its_rule(row: Hostile):
    with pytest.raises(InvalidInput) as refused:
        defined(row.raw, row.preset)

    assert refused.value.facts["field"] == row.field
    assert row.rule in str(refused.value.facts["rule"])
    assert len(str(refused.value).encode()) < 500  # it can be sent, and does not repeat what was given


def test_the_hostile_table_is_long_and_says_each_thing_once():
    assert len(HOSTILE) >= 80
    assert len({row.name for row in HOSTILE}) == len(HOSTILE)
    assert 80 <= len(HOSTILE_JSON) < len(HOSTILE)


def test_everything_a_task_can_say_is_kept():
    assert defined(FULL, dag=DAG) == Definition(
        id=MINE,
        workspace="default",
        dag_id=DAG,
        type="code",
        created_at=NOW,
        created_by="human:adam",
        queue="fast",
        parent_id=TaskId("task_01J8K2M00000000000000000BB"),
        rerun_of=TaskId("task_01J8K2M00000000000000000CC"),
        idempotency_key="pr-123-lint",
        title="Fix auth middleware",
        agent="coder",
        subject="pr:9",
        prompt="Fix it",
        payload='{"b":1,"a":[null,"ü"]}',
        context_refs=("artifact:abc", "task:xyz:output"),
        max_cost=MicroUsd(500_000),
        max_duration_sec=300,
        required_capabilities=("web-search", "git"),
        model_preferences=("large", "middle"),
        fallback_models=("small",),
        priority=20,
        boost=25,
        deadline=from_iso("2026-11-15T10:00:00Z"),
        run_after=from_iso("2026-11-15T03:00:00Z"),
        expires_at=Micros(NOW + HOUR),
        depends_on=(TaskId(ID), TaskId("task_01J8K2M00000000000000000BB")),
        concurrency_key="repo:myapp",
        max_attempts=5,
        retry=RetryPolicy(
            strategy=Strategy.QUADRATIC,
            initial_delay=Micros(SECOND // 2),
            multiplier=3.0,
            max_delay=MINUTE,
            jitter=0.2,
            retry_on=frozenset({"timeout", "crash"}),
            no_retry_on=frozenset(),
        ),
        claim_ttl_sec=10,
        heartbeat_sec=20,
        lease_sec=40,
        output_type="markdown",
        validation=Validation.JSON_SCHEMA,
        validation_schema='{"type":"object"}',
        session_id="s1",
        work_dir="/srv/page",
        trigger_type="mention",
        trigger_ref="comment:5",
        trigger_summary="please",
        tags=("repo:myapp", "sprint:12"),
        remember=True,
        variant="b",
        callback="https://example.org/ended",
        service=ServiceTier.BATCH,
        spec_version=3,
    )


def test_the_full_request_leaves_no_attribute_at_its_default():
    plain = defined(task())._asdict()
    full = defined(FULL, dag=DAG)._asdict()
    decided = {
        "id",
        "workspace",
        "type",
        "created_at",
        "created_by",
        "preset",
        "fresh",
        "coalescable",
        "barred",
        "trace",
    }
    assert {name for name in plain if plain[name] == full[name]} == decided


def test_content_and_constraints_may_stand_at_the_top():
    flat = {**FULL, **FULL["spec"], **FULL["spec"]["constraints"]}
    del flat["spec"], flat["constraints"], flat["version"]  # a version at the top is the row's
    assert defined(flat) == defined(FULL)._replace(spec_version=1)


def test_null_says_the_same_as_leaving_out():
    nullable = ["parent_id", "rerun_of", "idempotency_key", "agent", "subject", "deadline", "run_after", "expires_at"]
    nullable += ["concurrency_key", "dedup", "max_cost_usd", "max_duration_sec", "dag_id"]
    raw = task(**dict.fromkeys(nullable), session={"session_id": None, "work_dir": None})
    raw |= {"trigger": {"type": None, "ref": None, "summary": None}, "output": {"validation_schema": None}}
    for preset in PRESETS:
        assert defined(raw, preset) == defined(task(), preset)


def test_no_cap_on_the_delay_can_be_asked_for():
    assert defined(task(retry={"max_delay_sec": None})).retry == replace(RetryPolicy(), max_delay=None)


def test_texts_may_be_empty_where_that_means_something():
    definition = defined(task(title="", prompt="", trigger={"summary": ""}))
    assert (definition.title, definition.prompt, definition.trigger_summary) == ("", "", "")


def test_a_payload_may_be_any_json():
    values: list[Any] = [None, 0, False, "", "text", [], [1, {"a": None}], {}, 1.5]
    for value in values:
        assert json.loads(defined(task(payload=value)).payload) == value


class Kind(StrEnum):
    CODE = "code"


def test_an_enumeration_or_a_set_from_python_is_stored_plainly():
    definition = defined({"type": Kind.CODE, "required_capabilities": {"b", "a", "c"}, "tags": (Kind.CODE,)})
    assert type(definition.type) is str
    assert definition.required_capabilities == ("a", "b", "c")
    assert type(definition.tags[0]) is str


@pytest.mark.parametrize("name", list(PRESETS))
def test_what_is_not_given_comes_from_the_preset(name: str):
    policy, definition = PRESETS[name], defined(task(), name)
    assert definition == Definition(
        id=MINE,
        workspace="default",
        dag_id=None,
        type="code",
        created_at=NOW,
        created_by="human:adam",
        preset=name,
        priority=policy.priority.inward(policy.default_priority),
        boost=policy.boost,
        max_attempts=policy.max_attempts,
        max_duration_sec=policy.run_sec,
        retry=policy.retry,
        claim_ttl_sec=policy.claim_ttl_sec,
        heartbeat_sec=policy.heartbeat_sec,
        lease_sec=policy.lease_sec,
        idempotency_key=definition.idempotency_key if name == "loki" else None,
    )


def test_a_policy_of_ones_own_is_not_mistaken_for_the_preset_of_its_name():
    mine = replace(PRESETS["standard"], max_attempts=9)
    assert defined(task(), policy=mine).max_attempts == 9
    assert defined(task()).max_attempts == 3


def test_part_of_a_retry_is_completed_by_the_preset():
    assert defined(task(retry={"jitter": 0}), "ade").retry == replace(PRESETS["ade"].retry, jitter=0.0)


@pytest.mark.parametrize(
    ("preset", "given", "jitter"),
    [("standard", True, 0.5), ("standard", False, 0.0), ("ade", True, 0.1), ("loki", True, 0.5), ("loki", False, 0.0)],
)
def test_jitter_may_be_switched_on_and_off(preset: str, given: bool, jitter: float):
    assert defined(task(retry={"jitter": given}), preset).retry.jitter == jitter


@pytest.mark.parametrize(
    ("timeouts", "heartbeat"),
    [({}, 30), ({"lease_sec": 60}, 30), ({"lease_sec": 31}, 15), ({"lease_sec": 2}, 1), ({"heartbeat_sec": 45}, 45)],
)
def test_heartbeats_follow_a_shorter_lease(timeouts: dict[str, int], heartbeat: int):
    assert defined(task(timeouts=timeouts)).heartbeat_sec == heartbeat


@pytest.mark.parametrize(
    "raw",
    [
        {"type": "x" * 255, "title": "x" * 1000, "queue": "q" * 255, "agent": "a" * 255, "subject": "s" * 255},
        {"type": "é" * 255, "tags": [f"{n:0100}" for n in range(50)]},
        task(priority=0, max_attempts=1),
        task(priority=100, max_attempts=1000),
        task(required_capabilities=MANY[:50], model_preferences=MANY[:50], fallback_models=["x" * 255, *MANY[:49]]),
        task(context_refs=["x" * 1000, *MANY[:999]], spec={"version": 2**31 - 1}),
        task(retry={"initial_delay_sec": 315_360_000, "retry_on": MANY[:50], "no_retry_on": ["x" * 255]}),
        task(depends_on=[ID] * 10_000),
        task(max_cost_usd="0.000001"),
        task(max_cost_usd=0),
        task(retry={"jitter": 1, "backoff_multiplier": 100, "initial_delay_sec": 0, "max_delay_sec": 0}),
        task(deadline=0, run_after=0, expires_at=1),
        task(deadline="2255-06-05T23:47:34.740991Z"),
        task(deadline="2020-01-01T00:00:00Z"),  # late already: that makes it urgent
        task(payload="x" * 1_048_574),
        task(prompt="x" * 1_048_574),
        task(prompt="x" * 500_000, payload="y" * 500_000),
        task(timeouts={"claim_ttl_sec": 0, "heartbeat_sec": 1, "lease_sec": 2}),
        task(
            output={"validation": "regex", "validation_schema": "(" * 10_000}
        ),  # whether it compiles is not judged here
        task(output={"validation": "json-schema", "validation_schema": True}),
        task(output={"validation": "test-pass"}),
        task(output={"validation": "llm-judge"}),
    ],
)
def test_what_is_just_within_the_rules_is_taken(raw: dict[str, Any]):
    defined(raw)


def test_a_mebibyte_is_the_most_unless_more_is_allowed():
    assert Sizes() == Sizes(max_payload_bytes=1_048_576, max_output_bytes=1_048_576, max_depth=64)


def test_sizes_can_be_set():
    assert defined(task(payload="12345678", prompt="x"), max_payload_bytes=11).prompt == "x"
    with pytest.raises(InvalidInput, match="11 bytes together"):
        defined(task(payload="12345678", prompt="xx"), max_payload_bytes=11)
    with pytest.raises(InvalidInput, match="deeper than 1"):
        defined(task(payload=[[]]), max_depth=1)
    with pytest.raises(InvalidInput, match="deeper than 1"):
        defined(task(output={"validation": "json-schema", "validation_schema": {"a": {}}}), max_depth=1)


@pytest.mark.parametrize("name", ["depends_on", "parent_id", "rerun_of"])
def test_a_task_is_not_its_own_relative(name: str):
    with pytest.raises(InvalidInput, match="itself") as refused:
        defined(task(**{name: [MINE] if name == "depends_on" else MINE}))
    assert refused.value.facts["field"] == name


def test_who_where_and_which_may_be_repeated_but_not_changed():
    same = {"id": MINE, "workspace": "default", "dag_id": DAG, "created_by": "human:adam"}
    assert defined(task(**same), dag=DAG) == defined(task(), dag=DAG)
    for name, other in {"id": ID, "workspace": "w", "dag_id": "dag_" + ID[5:], "created_by": "agent:x"}.items():
        with pytest.raises(InvalidInput, match="must be left out") as refused:
            defined(task(**{name: other}), dag=DAG)
        assert refused.value.facts["field"] == name


def test_ids_that_a_caller_minted_are_found_under_any_name():
    assert minted(task(), PRESETS["standard"]) == (None, None)
    assert minted(task(id=MINE, dag_id=DAG), PRESETS["standard"]) == (MINE, DAG)
    assert minted(task(workflow_id=DAG, payload={"id": 1}), PRESETS["automechanica"]) == (None, DAG)
    with pytest.raises(InvalidInput, match="ULID"):
        minted(task(id="1"), PRESETS["standard"])


@pytest.mark.parametrize(
    ("preset", "theirs", "ours"),
    [
        ("factory", {"heartbeat_interval_sec": 20}, {"timeouts": {"heartbeat_sec": 20}}),
        ("factory", {"claim": {"heartbeat_interval_sec": 20}}, {"timeouts": {"heartbeat_sec": 20}}),
        ("factory", {"timeouts": {"heartbeat_interval_sec": 20}}, {"timeouts": {"heartbeat_sec": 20}}),
        ("loki", {"idempotencyKey": "k"}, {"idempotency_key": "k"}),
        ("loki", {"dependencies": [ID]}, {"depends_on": [ID]}),
        ("loki", {"maxRetries": 4}, {"max_attempts": 4}),
        ("loki", {"maxAttempts": 4}, {"max_attempts": 4}),
        ("loki", {"backoffSeconds": 30}, {"retry": {"initial_delay_sec": 30}}),
        ("loki", {"timeout": 600}, {"timeouts": {"lease_sec": 600}}),
        ("loki", {"availableAt": "2026-11-15T03:00:00Z"}, {"run_after": "2026-11-15T03:00:00Z"}),
        ("loki", {"retry": {"maxDelaySec": 7}}, {"retry": {"max_delay_sec": 7}}),
        ("multica", {"agent_id": "a", "issue_id": "42"}, {"agent": "a", "subject": "issue:42"}),
        ("multica", {"issue_id": None}, {}),
        ("multica", {"workspace_id": "default"}, {}),
        (
            "multica",
            {"trigger_type": "chat", "trigger_comment_id": "5", "trigger_summary": "s"},
            {"trigger": {"type": "chat", "ref": "5", "summary": "s"}},
        ),
        (
            "multica",
            {"session_id": "s", "work_dir": "/w", "force_fresh_session": True},
            {"session": {"session_id": "s", "work_dir": "/w", "fresh": True}},
        ),
        ("ade", {"agentId": "a", "description": "d"}, {"agent": "a", "title": "d"}),
        ("ade", {"model": "m"}, {"model_preferences": ["m"]}),
        ("ade", {"model": None}, {}),
        ("ade", {"runAfter": 1_763_174_220_000}, {"run_after": 1_763_174_220_000_000}),
        ("ade", {"maxAttempts": 5, "backoffMultiplier": 3}, {"max_attempts": 5, "retry": {"backoff_multiplier": 3}}),
        ("ade", {"maxBackoffMs": 1500}, {"retry": {"max_delay_sec": 1.5}}),
        ("ade", {"isCoalescable": False, "parentTaskId": ID}, {"coalescable": False, "parent_id": ID}),
        ("automechanica", {"agent_name": "FitmentAgent"}, {"agent": "FitmentAgent"}),
        ("automechanica", {"available_at": NOW}, {"run_after": NOW}),
        ("automechanica", {"workflow_id": None}, {}),
    ],
)
def test_a_preset_takes_the_names_of_its_document(preset: str, theirs: dict[str, Any], ours: dict[str, Any]):
    assert defined(task(**theirs), preset) == defined(task(**ours), preset)


def test_a_type_may_have_the_name_of_its_document():
    assert defined({"kind": "message"}, "ade").type == "message"
    assert defined({"task_type": "generate_fitment"}, "automechanica").type == "generate_fitment"


@pytest.mark.parametrize(("preset", "alias"), [(preset, alias) for preset in ALIASES for alias in ALIASES[preset]])
def test_the_names_of_a_document_are_taken_only_where_it_is_the_preset(preset: str, alias: str):
    raw: Any = 1
    for part in reversed(alias.split(".")):
        raw = {part: raw}
    with pytest.raises(InvalidInput, match=r"is not a field|is kept by the system"):
        defined(raw | {"type": "code"})


def test_each_document_s_own_request_is_taken():
    loki = {
        "id": MINE,
        "idempotencyKey": "h",
        "type": "eng-backend",
        "priority": 8,
        "dependencies": [ID],
        "payload": {"action": "implement", "constraints": ["No third-party deps"]},
        "timeout": 3600,
        "maxRetries": 3,
        "backoffSeconds": 60,
    }
    workflow = {
        "workflow_id": DAG,
        "agent_name": "FitmentAgent",
        "task_type": "generate_fitment",
        "payload": {"sku": 1},
        "priority": 0,
        "max_attempts": 3,
    }
    assert defined(loki, "loki").priority == 22
    assert defined(workflow, "automechanica", dag=DAG).priority == 0


def sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("preset", "raw", "key"),
    [
        ("standard", {"payload": {"a": 1}}, None),
        ("standard", {"payload": {"b": 2, "a": 1}, "dedup": "payload"}, sha('{"a":1,"b":2}')),
        ("standard", {"dedup": "payload", "prompt": "p"}, sha('{"prompt":"p","type":"code"}')),
        ("standard", {"dedup": "payload", "payload": [], "prompt": "p"}, sha('{"prompt":"p","type":"code"}')),
        ("standard", {"dedup": "payload", "payload": 0}, sha("0")),
        ("standard", {"dedup": "payload", "idempotency_key": "mine"}, "mine"),
        ("standard", {"dedup": "none", "idempotency_key": "mine"}, "mine"),
        ("standard", {"dedup": "subject", **PAIR}, "issue:42|coder"),
        ("standard", PAIR, None),
        ("loki", {"payload": {"a": 1}}, sha('{"a":1}')),
        ("loki", {"payload": {"a": 1}, "dedup": "none"}, None),
        ("loki", {"payload": {"a": 1}, "dedup": "explicit"}, None),
        ("loki", {"payload": {"a": 1}, "idempotencyKey": "mine"}, "mine"),
        ("multica", PAIR, "issue:42|coder"),
        ("multica", {**PAIR, "idempotency_key": "mine"}, "mine"),
        ("multica", {**PAIR, "dedup": "none"}, None),
        ("multica", {"subject": "issue:42"}, None),
        ("multica", {"agent": "coder"}, None),
        ("multica", {"subject": "a|b", "agent": "c"}, "a%7Cb|c"),
        ("multica", {"subject": "a", "agent": "b|c"}, "a|b%7Cc"),
        ("multica", {"subject": "a%7Cb", "agent": "c"}, "a%257Cb|c"),
        ("ade", {"payload": {"a": 1}, **PAIR}, None),
        ("automechanica", {"payload": {"a": 1}, **PAIR}, None),
        ("automechanica", {"payload": {"a": 1}, "dedup": "payload"}, sha('{"a":1}')),
    ],
)
def test_what_makes_a_task_a_duplicate(preset: str, raw: dict[str, Any], key: str | None):
    assert defined(task(**raw), preset).idempotency_key == key


@pytest.mark.parametrize(
    ("preset", "raw", "key"),
    [
        ("multica", PAIR, "issue:42|coder"),
        ("multica", {**PAIR, "dedup": "none"}, "issue:42|coder"),  # a rerun waits behind the one that runs
        ("multica", {**PAIR, "idempotency_key": "mine"}, "issue:42|coder"),
        ("multica", {**PAIR, "concurrency_key": "mine"}, "mine"),
        ("multica", {"subject": "issue:42"}, None),
        ("standard", {**PAIR, "dedup": "subject"}, "issue:42|coder"),
        ("standard", PAIR, None),
        ("loki", PAIR, None),
    ],
)
def test_what_a_task_may_not_run_beside(preset: str, raw: dict[str, Any], key: str | None):
    assert defined(task(**raw), preset).concurrency_key == key


def test_definitions_and_retry_policies_share_no_name():
    # One table of attributes serves both.
    assert set(Definition._fields).isdisjoint(each.name for each in fields(RetryPolicy))


def test_an_offset_may_be_any():
    west = datetime(2026, 11, 14, 21, 37, tzinfo=timezone(timedelta(hours=-5)))
    assert defined(task(run_after=west)).run_after == NOW
    assert defined(task(run_after=west.astimezone(UTC))).run_after == NOW


def test_every_way_to_find_duplicates_can_be_asked_for():
    for dedup in Dedup:
        defined(task(dedup=dedup))
        defined(task(dedup=dedup.value))
