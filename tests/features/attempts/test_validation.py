"""Outputs that are judged: what is put before a judge, what stays taken meanwhile, and what a verdict comes to."""

import json

import pytest

from taskyard.core import outcomes, transitions
from taskyard.core.changes import Count, Lift, Output, Spend
from taskyard.core.failure import decide
from taskyard.core.outcomes import Report
from taskyard.core.policy import PRESETS
from taskyard.core.task import DagId, Failure, Hot, LaneId, Outcome, Reason, Status, TaskId, Trait
from taskyard.core.units import MicroUsd, utc_date
from taskyard.features.attempts.validation import rules as validation_rules
from taskyard.features.metrics.folding import fold
from tests.core.choosing import TODAY
from tests.core.defining import NOW, defined
from tests.core.hostile import task
from tests.core.rows import ADA, a_row, later, running

STANDARD = PRESETS["standard"]
JUDGE = TaskId("task_01J8K2M00000000000000000AJ")
MONEY = [f"agent:{ADA}", TODAY, "dag:dag_1"]


def held(**fields: object) -> Hot:
    return running(a_row(dag_id=DagId("dag_1"), key="k", **fields), reserved=100, circuit=3)


def submitted(hot: Hot, cost: int):
    output = Output(hot.id, hot.attempt, '{"n":1}', ("a.txt",), '"why"')
    report = Report("complete", "digest", MicroUsd(cost), 30, 5, None, "large")
    return outcomes.submitted(hot, type_="code", output=output, validator=JUDGE, report=report, now=later(5))


@pytest.mark.parametrize(("cost", "left", "freed"), [(0, 100, None), (30, 70, -30), (100, 0, -100), (130, 0, -100)])
def test_handing_in_gives_the_slot_back_and_of_the_money_only_what_is_spent_by_now(
    cost: int, left: int, freed: int | None
):
    change_set = submitted(held(), cost)

    paid = [] if freed is None else [Spend("default", name, freed, cost) for name in MONEY]
    assert list(change_set.spends) == [Spend("default", f"slots:{ADA}", -1), *paid]
    (change,) = change_set.changes
    assert (change.after.status, change.after.reserved, change.after.circuit) == (Status.VALIDATING, left, 3)
    (attempt,) = change_set.attempts
    assert (attempt.outcome, attempt.cost, attempt.status) == (Outcome.SUBMITTED, cost, Status.VALIDATING)
    assert change_set.lifts == change_set.counts == ()


def test_a_good_verdict_gives_the_rest_back_and_frees_what_depends():
    handed_in = submitted(held(), 30)
    hot, (attempt,) = handed_in.changes[0].after, handed_in.attempts
    change_set = outcomes.approved(hot, attempt, type_="code", facts={"validator": JUDGE}, now=later(60))

    assert set(change_set.spends) == {
        Spend("default", "key:k", -1),
        Spend("default", "probe:code:3", -1),
        *(Spend("default", name, -70, 0) for name in MONEY),
    }
    assert Lift(f"task:{hot.id}") in change_set.lifts
    assert Count("default", "dag:dag_1:completed", 1) in change_set.counts
    assert change_set.attempts == (attempt._replace(outcome=Outcome.COMPLETED),)


def test_a_bad_verdict_is_written_into_the_attempt_and_its_call_is_answered_as_before():
    (handed_in,) = submitted(held(), 30).attempts
    failed = handed_in._replace(
        outcome=Outcome.FAILED, counted=True, reason="invalid_output", error="no", lease="", cost=MicroUsd(0)
    )
    judged = validation_rules.judged_attempt(handed_in, failed)

    assert (judged.outcome, judged.counted, judged.reason, judged.error) == ("failed", True, "invalid_output", "no")
    assert (judged.lease, judged.cost, judged.status) == (handed_in.lease, 30, Status.VALIDATING)


def test_the_attempt_is_counted_when_it_ends_and_the_task_when_the_verdict_comes():
    handed_in = submitted(held(), 30)
    hot, (attempt,) = handed_in.changes[0].after, handed_in.attempts
    approved = outcomes.approved(hot, attempt, type_="code", facts=None, now=later(60))
    events = [(1, handed_in.changes[0].event, None), (2, approved.changes[0].event, None)]

    (totals,) = fold(events, {}, utc_date).values()  # pyright: ignore[reportArgumentType]
    assert (totals.tasks_completed, sum(totals.durations.counts), sum(totals.costs.values())) == (1, 1, 30)


def test_what_is_judged_is_in_the_payload_just_as_it_was_given():
    definition = defined(
        task(prompt='say "x"', payload={"a": [1, {"b": "\n"}]}, output={"validation": "test-pass"}, title="t")
    )
    row = Output(definition.id, 2, '{"n":1}', ("a.txt",), None)
    hot = held()._replace(attempt=2, session='{"session_id":"s","work_dir":"/w"}')
    asked = validation_rules.validator(hot, definition, row, task_id=JUDGE, policy=STANDARD, now=NOW)

    assert json.loads(asked.payload) == {
        "task": {
            "id": hot.id,
            "type": "code",
            "title": "t",
            "work_dir": "/w",
            "prompt": 'say "x"',
            "payload": {"a": [1, {"b": "\n"}]},
        },
        "attempt": 2,
        "rule": "test",
        "artifacts": ["a.txt"],
        "output": {"n": 1},
        "decision_report": None,
    }
    assert (asked.dag_id, asked.depends_on, asked.subject) == (None, (), None)


@pytest.mark.parametrize("preset", PRESETS)
def test_no_preset_wants_of_a_judge_what_it_wants_of_others(preset: str):
    policy = PRESETS[preset]
    definition = defined(task(output={"validation": "llm-judge"}), preset)
    row = Output(definition.id, 1, "1", (), None)
    asked = validation_rules.validator(held(), definition, row, task_id=JUDGE, policy=policy, now=NOW)
    born = validation_rules.validator_born(asked, policy, lane=LaneId(7), height=2, now=later(9))

    assert not Trait(born.hot.traits) & ~(Trait.VALIDATED | Trait.RUNTIME_KEPT | Trait.JUDGES)
    assert (born.hot.idempotency_key, born.hot.key, born.hot.expires_at) == (None, None, None)
    assert born.hot.created_at == born.event.at == later(9)
    assert asked.created_at == definition.created_at
    assert asked.required_capabilities == (asked.type,) == ("llm-judge",)


@pytest.mark.parametrize("failure", [validation_rules.unavailable(JUDGE, "Error: 429 Too Many Requests")])
def test_the_words_of_a_judge_that_failed_are_not_taken_for_a_rate_limit_of_the_task(failure: Failure):
    hot = transitions.submit(held(), now=NOW).after
    verdict = decide(hot, defined(task()), STANDARD, failure, failed_by=[], dice=0.5, now=NOW)

    assert (verdict.reason, verdict.counted, verdict.breaks) == (Reason.VALIDATION_UNAVAILABLE, True, False)
