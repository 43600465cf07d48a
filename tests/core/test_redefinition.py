"""What a person may change about a dead letter, under the same rules, and what its row has of that afterwards."""

from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.policy import PRESETS
from taskyard.core.task import Definition, LaneId, Trait, Validation
from taskyard.core.units import HOUR, SECOND
from taskyard.definition.definition import Sizes, born, reborn, redefine, traits
from tests.core.defining import FULL, NOW, defined
from tests.core.hostile import task
from tests.core.rows import later

STANDARD = PRESETS["standard"]


def changed(definition: Definition, **fields: Any) -> Definition:
    return redefine(definition, fields, policy=PRESETS[definition.preset], sizes=Sizes(max_payload_bytes=1000))


def test_what_is_not_named_stays():
    definition = defined(FULL)

    assert changed(definition) == definition
    assert changed(definition, priority=1).priority == 1
    assert changed(definition, priority=definition.priority) == definition


@pytest.mark.parametrize(
    ("fields", "attribute", "value"),
    [
        ({"prompt": "Try harder"}, "prompt", "Try harder"),
        ({"spec": {"payload": {"a": 1}}}, "payload", '{"a":1}'),
        ({"max_attempts": 9}, "max_attempts", 9),
        ({"max_cost_usd": "1.5"}, "max_cost", 1_500_000),
        ({"model_preferences": ["small"]}, "model_preferences", ("small",)),
        ({"deadline": NOW + HOUR}, "deadline", NOW + HOUR),
        ({"concurrency_key": None}, "concurrency_key", None),
        ({"tags": []}, "tags", ()),
    ],
)
def test_what_is_named_is_changed(fields: dict[str, Any], attribute: str, value: object):
    assert getattr(changed(defined(FULL), **fields), attribute) == value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "task_01J8K2M00000000000000000AA"),
        ("workspace", "default"),
        ("dag_id", None),
        ("created_by", "human:eve"),
        ("depends_on", []),
        ("parent_id", None),
        ("rerun_of", None),
        ("idempotency_key", "mine"),
        ("dedup", "payload"),
        ("type", "code"),
        ("queue", "default"),
    ],
)
def test_who_and_whose_a_task_is_cannot_be_changed(field: str, value: Any):
    with pytest.raises(InvalidInput) as refused:
        changed(defined(FULL), **{field: value})

    assert refused.value.facts == {"field": field, "rule": "cannot be changed once the task is there"}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"priority": 101}, "priority"),
        ({"no_such_field": 1}, "no_such_field"),
        ({"expires_at": NOW}, "expires_at"),  # FULL has a run_after that is later
        ({"timeouts": {"heartbeat_sec": 21}}, "timeouts.heartbeat_sec"),  # of a lease of 40 s
        ({"timeouts": {"lease_sec": 30, "heartbeat_sec": 20}}, "timeouts.heartbeat_sec"),
        ({"output": {"validation": "regex"}}, "output.validation_schema"),
        ({"output": {"validation_schema": "a text"}}, "output.validation_schema"),
        ({"spec": {"payload": "x" * 1000}}, "spec.payload"),
    ],
)
def test_the_rules_are_those_of_a_new_task(fields: dict[str, Any], field: str):
    with pytest.raises(InvalidInput) as refused:
        changed(defined(FULL), **fields)

    assert refused.value.facts["field"] == field


@pytest.mark.parametrize(("lease", "heartbeat"), [(100, 20), (40, 20), (38, 19), (2, 1)])
def test_a_task_keeps_its_own_heartbeats_where_they_still_keep_the_lease(lease: int, heartbeat: int):
    after = changed(defined(FULL), timeouts={"lease_sec": lease})  # FULL has 20 of 40 s

    assert (after.lease_sec, after.heartbeat_sec) == (lease, heartbeat)


def test_a_retry_policy_is_changed_field_by_field():
    before = defined(FULL)

    after = changed(before, retry={"initial_delay_sec": 7})

    assert (after.retry.initial_delay, after.retry.strategy) == (7 * SECOND, before.retry.strategy)
    assert after.retry.retry_on == before.retry.retry_on


def test_a_task_that_is_no_longer_validated_has_no_rule_left():
    after = changed(defined(FULL), output={"validation": "none"})

    assert (after.validation, after.validation_schema) == (Validation.NONE, None)


def test_the_row_of_a_revived_task_has_the_terms_of_its_definition():
    before = defined(task())
    row = born(before, STANDARD, lane=LaneId(7), blocked=False, height=2, wake_at=None, now=NOW)._replace(
        seq=9, attempt=4
    )
    after = changed(
        before,
        priority=1,
        deadline=later(60),
        expires_at=later(90),
        concurrency_key="k",
        max_attempts=9,
        max_cost_usd=1,
        max_duration_sec=30,
        timeouts={"claim_ttl_sec": 5, "lease_sec": 10},
        output={"validation": "regex", "validation_schema": "^ok$"},
    )

    revived = reborn(row, after, STANDARD, now=NOW)

    fresh = born(after, STANDARD, lane=LaneId(7), blocked=False, height=2, wake_at=None, now=NOW)
    assert revived == fresh._replace(seq=9, attempt=4)
    assert revived.traits == int(traits(after, STANDARD)) == int(Trait.VALIDATED)
    assert revived.due_at == later(90)
