"""A definition comes back from its text as it went in, and the text is small and always the same."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskyard.core.errors import SchemaTooNew, UnknownField
from taskyard.core.retry import RetryPolicy, Strategy
from taskyard.core.task import Definition, LaneId, TaskId, Validation
from taskyard.core.units import Micros
from taskyard.definition.codec import FORMAT, decode_definition, encode_definition
from tests.stores import values
from tests.stores.given import NO_RETRY

# A definition has over forty fields: on a busy machine it takes a while to make one up.
anything = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
rows = values.hots(TaskId("task_1"), "here", [LaneId(1)])
PLAIN = Definition(
    id=TaskId("task_1"),
    workspace="here",
    dag_id=None,
    type="code",
    created_at=Micros(1),
    created_by="a person",
    retry=NO_RETRY,
)


@anything
@given(rows.flatmap(values.definitions))
def test_any_definition_comes_back_as_it_went_in(definition: Definition):
    assert decode_definition(encode_definition(definition)) == definition


def test_a_field_of_a_newer_release_is_named():
    text = encode_definition(PLAIN).replace('"type":"code"', '"type":"code","flavour":7')

    with pytest.raises(UnknownField, match="the field flavour"):
        decode_definition(text)


@anything
@given(rows.flatmap(values.definitions), st.randoms())
def test_the_same_definition_always_gives_the_same_text(definition: Definition, chance: Any):
    reasons = list(definition.retry.retry_on)
    chance.shuffle(reasons)
    twin = definition._replace(retry=replace(definition.retry, retry_on=frozenset(reasons)))

    assert encode_definition(twin) == encode_definition(definition)
    assert encode_definition(decode_definition(encode_definition(definition))) == encode_definition(definition)


def test_what_is_as_usual_is_left_out():
    assert encode_definition(PLAIN) == (
        '{"v":1,"id":"task_1","workspace":"here","type":"code","created_at":1,"created_by":"a person",'
        '"retry":["immediate",0,1.0,null,0.0,[],[]]}'
    )


def test_the_usual_policy_is_left_out_and_read_where_an_older_release_wrote_it():
    usual = PLAIN._replace(retry=RetryPolicy(), payload='{"a":1,"retry":2}')
    policy = '["exponential",10000000,2.0,300000000,0.5,[],["auth_failure","budget_exceeded","cancelled"]]'
    text = encode_definition(usual)

    assert "exponential" not in text
    assert decode_definition(text) == decode_definition(f'{text[:-1]},"retry":{policy}}}') == usual


def test_a_payload_stays_text_to_the_last_blank():
    definition = PLAIN._replace(payload='{"b": 1.0,\n"a":  1e400, "ü": "\\ud83d\\udca9"}')

    assert decode_definition(encode_definition(definition)).payload == definition.payload


def test_members_of_closed_choices_come_back_as_such():
    definition = decode_definition(encode_definition(PLAIN._replace(validation=Validation.REGEX)))

    assert definition.validation is Validation.REGEX
    assert definition.retry.strategy is NO_RETRY.strategy


def test_a_text_of_a_later_format_is_refused():
    text = encode_definition(PLAIN).replace(f'"v":{FORMAT}', f'"v":{FORMAT + 1}')

    with pytest.raises(SchemaTooNew):
        decode_definition(text)


# What was left out of a stored text is read from these. To change one, give the format another number, and read the old
# one with the old values.
USUAL = {
    1: {
        "preset": "standard",
        "queue": "default",
        "parent_id": None,
        "rerun_of": None,
        "idempotency_key": None,
        "title": "",
        "agent": None,
        "subject": None,
        "prompt": "",
        "payload": "{}",
        "context_refs": (),
        "max_cost": None,
        "max_duration_sec": None,
        "required_capabilities": (),
        "model_preferences": (),
        "fallback_models": (),
        "priority": 50,
        "boost": 10,
        "deadline": None,
        "run_after": None,
        "expires_at": None,
        "depends_on": (),
        "concurrency_key": None,
        "coalescable": False,
        "max_attempts": 3,
        "claim_ttl_sec": 60,
        "heartbeat_sec": 30,
        "lease_sec": 90,
        "output_type": "json",
        "validation": "none",
        "validation_schema": None,
        "session_id": None,
        "work_dir": None,
        "fresh": False,
        "trigger_type": None,
        "trigger_ref": None,
        "trigger_summary": None,
        "tags": (),
        "remember": None,
        "spec_version": 1,
        "retry": RetryPolicy(
            strategy=Strategy.EXPONENTIAL,
            initial_delay=Micros(10_000_000),
            multiplier=2.0,
            max_delay=Micros(300_000_000),
            jitter=0.5,
            retry_on=frozenset(),
            no_retry_on=frozenset({"auth_failure", "budget_exceeded", "cancelled"}),
        ),
    }
}


def test_what_is_usual_is_what_the_format_says():
    defaults = Definition._field_defaults

    # A new field may be added without a new format: no stored text has it.
    assert {name: default for name, default in defaults.items() if name in USUAL[FORMAT]} == USUAL[FORMAT]


def test_the_text_is_json_that_anybody_can_read():
    assert json.loads(encode_definition(PLAIN._replace(title="Übung")))["title"] == "Übung"
