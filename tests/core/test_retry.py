"""Delays come from the base each time, within their jitter, never above the cap."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.errors import InvalidInput
from taskyard.core.retry import LONGEST_DELAY, RetryPolicy, Strategy, delay, may_retry, rate_limit_wait
from taskyard.core.units import DAY, HOUR, MINUTE, SECOND, Micros

MIDDLE = 0.5  # the throw of the dice that jitter leaves alone

STANDARD = RetryPolicy(
    strategy=Strategy.EXPONENTIAL,
    initial_delay=Micros(10 * SECOND),
    multiplier=2.0,
    max_delay=Micros(300 * SECOND),
    jitter=0.5,
    retry_on=frozenset(),
    no_retry_on=frozenset({"auth_failure", "budget_exceeded", "cancelled"}),
)
LOKI = replace(STANDARD, initial_delay=Micros(60 * SECOND), max_delay=None, jitter=0.0)
ADE = replace(STANDARD, initial_delay=SECOND, jitter=0.1)
AUTOMECHANICA = replace(LOKI, strategy=Strategy.QUADRATIC, initial_delay=Micros(5 * SECOND))
FIXED = replace(STANDARD, strategy=Strategy.FIXED)
IMMEDIATE = replace(STANDARD, strategy=Strategy.IMMEDIATE)

dices = st.floats(0, 1, exclude_max=True)
failure_counts = st.integers(1, 10**9)
lengths = st.integers(0, LONGEST_DELAY).map(Micros)
policies = st.builds(
    RetryPolicy,
    strategy=st.sampled_from(Strategy),
    initial_delay=lengths,
    multiplier=st.floats(1, 1000),
    max_delay=st.none() | lengths,
    jitter=st.floats(0, 1),
    retry_on=st.just(frozenset[str]()),
    no_retry_on=st.just(frozenset[str]()),
)


@pytest.mark.parametrize(
    ("policy", "in_seconds"),
    [
        (STANDARD, [10, 20, 40, 80, 160, 300, 300]),
        (LOKI, [60, 120, 240, 480, 960]),
        (ADE, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]),
        (AUTOMECHANICA, [5, 20, 45, 80, 125]),
        (FIXED, [10, 10, 10]),
        (IMMEDIATE, [0, 0, 0]),
        (replace(LOKI, multiplier=1.5), [60, 90, 135]),
    ],
)
def test_each_delay_comes_from_the_base(policy: RetryPolicy, in_seconds: list[int]):
    delays = [delay(policy, failures, MIDDLE) for failures in range(1, len(in_seconds) + 1)]
    assert delays == [each * SECOND for each in in_seconds]


@pytest.mark.parametrize(("dice", "in_seconds"), [(0.0, 10), (0.25, 15), (0.5, 20), (0.75, 25)])
def test_jitter_spreads_a_delay_to_both_sides(dice: float, in_seconds: int):
    assert delay(STANDARD, 2, dice) == in_seconds * SECOND


@given(policies, failure_counts, dices)
def test_a_delay_stays_within_its_jitter(policy: RetryPolicy, failures: int, dice: float):
    middle = delay(policy, failures, MIDDLE)
    assert abs(delay(policy, failures, dice) - middle) <= middle * policy.jitter + 1


@given(policies, failure_counts, dices)
def test_no_delay_is_negative_or_above_the_cap(policy: RetryPolicy, failures: int, dice: float):
    cap = LONGEST_DELAY if policy.max_delay is None else policy.max_delay
    assert 0 <= delay(policy, failures, dice) <= cap


@pytest.mark.parametrize("dice", [0.5, 0.75, 0.999999])
def test_jitter_does_not_lift_a_delay_over_the_cap(dice: float):
    assert delay(STANDARD, 9, dice) == 300 * SECOND


def test_delays_at_the_cap_are_still_spread():
    assert delay(STANDARD, 40, 0.0) == 150 * SECOND


@given(policies, failure_counts, failure_counts)
def test_more_failures_never_wait_less(policy: RetryPolicy, one: int, other: int):
    fewer, more = sorted((one, other))
    assert delay(policy, fewer, MIDDLE) <= delay(policy, more, MIDDLE)


@pytest.mark.parametrize("failures", [64, 1024, 1025, 10**6, 10**9, 10**30])
@pytest.mark.parametrize("multiplier", [1.0, 1.0001, 2.0, 1000.0])
def test_any_number_of_failures_is_safe_without_a_cap(failures: int, multiplier: float):
    for strategy in Strategy:
        policy = replace(LOKI, strategy=strategy, multiplier=multiplier, jitter=1.0)
        assert 0 <= delay(policy, failures, 0.999999) <= LONGEST_DELAY == 3650 * DAY


def test_without_a_cap_the_doubling_goes_on_to_ten_years():
    assert delay(LOKI, 22, MIDDLE) == 60 * 2**21 * SECOND
    assert delay(LOKI, 40, MIDDLE) == LONGEST_DELAY
    assert delay(LOKI, 10**9, MIDDLE) == LONGEST_DELAY
    assert delay(replace(LOKI, initial_delay=Micros(1)), 10**9, MIDDLE) == LONGEST_DELAY


def test_a_policy_that_says_nothing_is_that_of_the_preset_standard():
    assert RetryPolicy() == STANDARD


@pytest.mark.parametrize("failures", [0, -1])
def test_a_count_below_one_is_the_first_failure(failures: int):
    assert delay(STANDARD, failures, MIDDLE) == 10 * SECOND


@pytest.mark.parametrize(
    ("retry_on", "no_retry_on", "reason", "retried"),
    [
        ((), (), "timeout", True),
        ((), (), "the agent's own word", True),
        ((), ("cancelled",), "cancelled", False),
        ((), ("cancelled",), "timeout", True),
        (("timeout",), (), "timeout", True),
        (("timeout",), (), "crash", False),
        (("timeout",), ("timeout",), "timeout", False),
    ],
)
def test_no_retry_on_wins_and_retry_on_limits_where_it_is_given(
    retry_on: tuple[str, ...], no_retry_on: tuple[str, ...], reason: str, retried: bool
):
    policy = replace(STANDARD, retry_on=frozenset(retry_on), no_retry_on=frozenset(no_retry_on))
    assert may_retry(policy, reason) is retried


@pytest.mark.parametrize(
    ("field", "policy"),
    [
        ("initial_delay_sec", lambda: replace(STANDARD, initial_delay=Micros(-1))),
        ("initial_delay_sec", lambda: replace(STANDARD, initial_delay=Micros(LONGEST_DELAY + 1))),
        ("backoff_multiplier", lambda: replace(STANDARD, multiplier=0.99)),
        ("backoff_multiplier", lambda: replace(STANDARD, multiplier=float("nan"))),
        ("backoff_multiplier", lambda: replace(STANDARD, multiplier=float("inf"))),
        ("max_delay_sec", lambda: replace(STANDARD, max_delay=Micros(-1))),
        ("max_delay_sec", lambda: replace(STANDARD, max_delay=Micros(LONGEST_DELAY + 1))),
        ("jitter", lambda: replace(STANDARD, jitter=-0.1)),
        ("jitter", lambda: replace(STANDARD, jitter=1.1)),
        ("jitter", lambda: replace(STANDARD, jitter=float("nan"))),
    ],
)
def test_a_policy_out_of_range_is_refused_with_its_field(field: str, policy: Callable[[], RetryPolicy]):
    with pytest.raises(InvalidInput, match=field) as refused:
        policy()
    assert refused.value.facts["field"] == f"retry.{field}"


def test_a_provider_that_does_not_say_is_left_alone_for_a_minute_doubling_up_to_an_hour():
    minutes = [rate_limit_wait(parks, 0.0) / MINUTE for parks in range(1, 10)]
    assert minutes == [1, 2, 4, 8, 16, 32, 60, 60, 60]


@given(st.integers(-5, 10**12), dices)
def test_the_jitter_of_a_rate_limit_only_adds_and_at_most_a_tenth(parks: int, dice: float):
    shortest = rate_limit_wait(parks, 0.0)
    assert MINUTE <= shortest <= rate_limit_wait(parks, dice) <= shortest * 1.1 <= HOUR * 1.1


def test_the_jitter_of_a_rate_limit_spreads_over_the_whole_tenth():
    assert rate_limit_wait(1, 0.5) == 63 * SECOND
