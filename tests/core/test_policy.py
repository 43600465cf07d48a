"""Presets are the tables of the product paper, number by number and word by word."""

from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.errors import InvalidInput
from taskyard.core.policy import PRESETS, BreakerCounts, BreakerPolicy, Dedup, Policy, preset
from taskyard.core.rate_limit import Recognition
from taskyard.core.retry import PERMANENT, RetryPolicy, Strategy, delay, may_retry
from taskyard.core.task import Definition, Reason, Status, TaskId
from taskyard.core.units import MINUTE, SECOND, Micros

NAMES = ["standard", "factory", "loki", "multica", "ade", "automechanica"]


def table(**columns: object) -> list[tuple[str, object]]:
    assert list(columns) == NAMES
    return list(columns.items())


def row(
    standard: object, loki: object, multica: object, ade: object, automechanica: object
) -> list[tuple[str, object]]:
    return table(standard=standard, factory=standard, loki=loki, multica=multica, ade=ade, automechanica=automechanica)


def test_there_are_six_presets_under_their_own_names():
    assert list(PRESETS) == NAMES
    assert all(policy.name == name for name, policy in PRESETS.items())


@pytest.mark.parametrize(
    ("name", "ends"), row((0, 100, False), (1, 10, True), (0, 4, True), (0, 9, False), (0, 3, False))
)
def test_priorities_are_taken_in_the_range_of_the_preset(name: str, ends: object):
    scale = PRESETS[name].priority
    assert (scale.lowest, scale.highest, scale.high_first) == ends


@pytest.mark.parametrize(
    ("name", "own", "yards"),
    [
        ("standard", 0, 0),
        ("standard", 37, 37),
        ("standard", 100, 100),
        ("factory", 50, 50),
        ("loki", 10, 0),
        ("loki", 7, 33),
        ("loki", 1, 99),
        ("multica", 4, 0),
        ("multica", 3, 25),
        ("multica", 0, 100),
        ("ade", 0, 0),
        ("ade", 5, 55),
        ("ade", 9, 99),
        ("automechanica", 0, 0),
        ("automechanica", 2, 66),
        ("automechanica", 3, 99),
    ],
)
def test_a_priority_has_its_place_on_the_yards_scale(name: str, own: int, yards: int):
    assert PRESETS[name].priority.inward(own) == yards


@pytest.mark.parametrize("name", NAMES)
def test_a_priority_comes_back_as_it_was_given_and_order_is_kept(name: str):
    scale = PRESETS[name].priority
    owns = list(range(scale.lowest, scale.highest + 1))
    inward = [scale.inward(own) for own in owns]

    assert [scale.outward(value) for value in inward] == owns
    assert inward == sorted(set(inward), reverse=scale.high_first)
    assert all(0 <= value <= 100 for value in inward)


@given(st.sampled_from(NAMES), st.integers(-50, 150))
def test_any_priority_is_shown_as_the_nearest_of_the_presets_own(name: str, value: int):
    scale = PRESETS[name].priority
    distance = {own: abs(scale.inward(own) - value) for own in range(scale.lowest, scale.highest + 1)}
    assert distance[scale.outward(value)] == min(distance.values())


@pytest.mark.parametrize(("name", "value"), [("standard", -1), ("standard", 101), ("loki", 0), ("multica", 5)])
def test_a_priority_outside_the_range_is_refused(name: str, value: int):
    with pytest.raises(InvalidInput, match="whole number from") as refused:
        PRESETS[name].priority.inward(value)
    assert refused.value.facts["field"] == "priority"


@pytest.mark.parametrize(("name", "boost"), row(10, 0, 0, 0, 0))
def test_only_standard_and_factory_age_by_default(name: str, boost: object):
    assert PRESETS[name].boost == boost


@pytest.mark.parametrize(("name", "attempts"), row(3, 3, 2, 3, 3))
def test_attempts(name: str, attempts: object):
    assert PRESETS[name].max_attempts == attempts


@pytest.mark.parametrize(
    ("name", "seconds"),
    row(
        [10, 20, 40, 80, 160, 300],
        [60, 120, 240, 480, 960, 1920],
        [0, 0, 0, 0, 0, 0],
        [1, 2, 4, 8, 16, 32],
        [5, 20, 45, 80, 125, 180],
    ),
)
def test_delays_before_jitter(name: str, seconds: object):
    retry = replace(PRESETS[name].retry, jitter=0.0)
    assert [delay(retry, failures, 0.5) // SECOND for failures in range(1, 7)] == seconds


@pytest.mark.parametrize(("name", "cap"), row(300 * SECOND, None, None, 300 * SECOND, None))
def test_caps_on_delays(name: str, cap: object):
    assert PRESETS[name].retry.max_delay == cap


@pytest.mark.parametrize(("name", "jitter"), row(0.5, 0.0, 0.0, 0.1, 0.0))
def test_jitter(name: str, jitter: object):
    assert PRESETS[name].retry.jitter == jitter


@pytest.mark.parametrize(
    ("name", "refused"),
    row(
        {"auth_failure", "budget_exceeded", "cancelled", *PERMANENT},
        set(PERMANENT),
        set(Reason) - {"timeout", "runtime_offline", "runtime_recovery", "claim_expired", "heartbeat_timeout"},
        set(PERMANENT),
        set(PERMANENT),
    ),
)
def test_what_is_not_retried(name: str, refused: object):
    assert {reason for reason in Reason if not may_retry(PRESETS[name].retry, reason)} == refused


@pytest.mark.parametrize(
    ("name", "times"),
    row((60, 30, 90, None), (0, 60, 3600, None), (300, 15, 75, 9000), (0, 5, 30, 300), (0, 10, 30, None)),
)
def test_times_of_claim_heartbeat_lease_and_run(name: str, times: object):
    policy = PRESETS[name]
    assert (policy.claim_ttl_sec, policy.heartbeat_sec, policy.lease_sec, policy.run_sec) == times


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_keeps_the_rule_that_a_lease_outlives_two_heartbeats(name: str):
    assert PRESETS[name].heartbeat_sec * 2 <= PRESETS[name].lease_sec


@pytest.mark.parametrize(
    ("attribute", "columns"),
    [
        ("counts_lost_leases", row(True, False, True, True, True)),
        ("uncounted_losses", row(10, 10, 10, 10, 10)),
        ("parks_rate_limits", row(True, True, False, True, True)),
        ("rate_limit_parks", row(10, 10, 10, 10, 10)),
        (
            "recognition",
            row(Recognition.STRICT, Recognition.LITERAL, Recognition.STRICT, Recognition.STRICT, Recognition.STRICT),
        ),
        ("cascades", table(standard=True, factory=False, loki=True, multica=True, ade=True, automechanica=True)),
        ("dedup", row(Dedup.EXPLICIT, Dedup.PAYLOAD, Dedup.SUBJECT, Dedup.ID, Dedup.NONE)),
        ("types_are_capabilities", row(False, True, False, False, False)),
        ("report_required", row(False, True, False, False, False)),
        ("remembers", row(False, False, False, False, True)),
        ("never_retried_triggers", row(set[str](), set[str](), {"autopilot"}, set[str](), set[str]())),
        ("dag_fails_at_first_death", row(False, False, False, False, True)),
        ("prunes_dead", row(False, False, False, True, False)),
        ("runtime_keeps_lease", row(False, False, True, False, False)),
        ("default_priority", row(50, 5, 2, 5, 2)),
        ("shown_reasons", row({}, {}, {"claim_expired": "timeout", "heartbeat_timeout": "runtime_offline"}, {}, {})),
    ],
)
def test_what_else_presets_differ_in(attribute: str, columns: list[tuple[str, object]]):
    assert {name: getattr(PRESETS[name], attribute) for name in NAMES} == dict(columns)


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (["pending", "ready", "retrying"], ("pending", "queued", "pending", "pending")),
        (["claimed"], ("in-progress", "dispatched", "running", "leased")),
        (["running", "validating"], ("in-progress", "running", "running", "running")),
        (["completed"], ("completed",) * 4),
        (["dead_lettered"], ("dead-letter", "failed", "failed", "dead")),
        (["cancelled"], ("cancelled",) * 4),
    ],
)
def test_words_for_states(states: list[str], words: tuple[str, ...]):
    for state in states:
        spoken = tuple(PRESETS[name].words[Status(state)] for name in NAMES[2:])
        assert spoken == words
        assert PRESETS["standard"].words[Status(state)] == state
        assert PRESETS["factory"].words[Status(state)] == state


@pytest.mark.parametrize("name", NAMES)
def test_every_state_has_a_word_also_those_passed_through(name: str):
    assert PRESETS[name].words.keys() == set(Status)


def test_a_breaker_opens_after_five_failures_and_admits_a_probe_after_a_minute():
    breaker = PRESETS["standard"].breaker
    assert breaker == BreakerPolicy(
        failure_threshold=5, half_open_after=MINUTE, counts=BreakerCounts.ATTEMPT, thresholds={}
    )
    assert breaker.threshold("ops-security") == 5


def test_loki_counts_dead_letters_and_differs_by_type():
    breaker = PRESETS["loki"].breaker
    assert breaker.counts is BreakerCounts.DEAD_LETTER
    assert [breaker.threshold(type) for type in ("ops-security", "biz-marketing", "eng-backend")] == [3, 10, 5]


def test_a_bare_retry_policy_is_the_standard_one():
    assert PRESETS["standard"].retry == RetryPolicy()
    assert RetryPolicy() == RetryPolicy(
        strategy=Strategy.EXPONENTIAL,
        initial_delay=Micros(10 * SECOND),
        multiplier=2.0,
        max_delay=Micros(300 * SECOND),
        jitter=0.5,
        retry_on=frozenset(),
        no_retry_on=frozenset({"auth_failure", "budget_exceeded", "cancelled"}),
    )


def test_a_bare_definition_is_a_standard_one():
    policy = PRESETS["standard"]
    bare = Definition(
        id=TaskId("task_"), workspace="w", dag_id=None, type="code", created_at=Micros(0), created_by="human:a"
    )
    assert bare.preset == policy.name
    assert (bare.priority, bare.boost) == (policy.default_priority, policy.boost)
    assert (bare.max_attempts, bare.retry) == (policy.max_attempts, policy.retry)
    assert (bare.claim_ttl_sec, bare.heartbeat_sec, bare.lease_sec) == (60, 30, 90)


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_is_found_by_name(name: str):
    assert preset(name) is PRESETS[name]


@pytest.mark.parametrize("name", ["", "Loki", "nonsense", None, []])
def test_an_unknown_preset_is_refused_and_the_known_are_named(name: str):
    with pytest.raises(InvalidInput, match="one of standard, factory, loki") as refused:
        preset(name)
    assert refused.value.facts["field"] == "preset"


def test_presets_cannot_be_changed_by_accident():
    with pytest.raises(TypeError):
        cast(dict[str, int], PRESETS["loki"].breaker.thresholds)["x"] = 1
    with pytest.raises(TypeError):
        cast(dict[str, Policy], PRESETS)["mine"] = PRESETS["loki"]


def test_policies_are_distinguished_by_what_they_say():
    assert replace(PRESETS["loki"]) == PRESETS["loki"]
    assert len({PRESETS["loki"], replace(PRESETS["loki"]), replace(PRESETS["loki"], lease_sec=10)}) == 2
    assert Policy(name="standard") == PRESETS["standard"]
