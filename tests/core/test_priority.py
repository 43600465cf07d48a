"""Ranks are stored once and order tasks as the formula does at every moment."""

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.priority import (
    RANK_UNIT,
    aged,
    boost_steps,
    critical_path_boost,
    deadline_boost,
    effective,
    rank,
    rescore_at,
    tier,
)
from taskyard.core.units import DAY, HOUR, MINUTE, SECOND, Micros, from_iso

NOW = from_iso("2026-11-15T02:37:00Z")

priorities = st.integers(0, 100)
boosts = st.integers(0, 10_000)
heights = st.integers(0, 10_000)
times = st.integers(0, from_iso("2139-12-31T23:59:59Z")).map(Micros)
deadlines = st.none() | st.integers(from_iso("0001-01-01T00:00:00Z"), from_iso("9999-12-31T00:00:00Z")).map(Micros)


def after(minutes: float) -> Micros:
    return Micros(NOW + round(minutes * MINUTE))


def plain(priority: int, *, boost: int = 0, created_at: Micros = NOW, now: Micros = NOW) -> int:
    return rank(priority=priority, boost=boost, created_at=created_at, height=0, deadline=None, now=now)


def formula(priority: int, boost: int, created_at: Micros, now: Micros) -> float:
    return priority - boost / 100 * (now - created_at) / MINUTE


@pytest.mark.parametrize(
    ("per_minute", "steps"),
    [(0, 0), (0.1, 10), ("0.01", 1), (0.29, 29), (Decimal("1.10"), 110), (100, 10_000), ("1e1", 1000)],
)
def test_a_boost_is_in_hundredths_per_minute(per_minute: float | str | Decimal, steps: int):
    assert boost_steps(per_minute) == steps


@pytest.mark.parametrize(
    ("per_minute", "rule"),
    [(-0.01, "from 0 to 100"), (100.01, "from 0 to 100"), (0.001, "at most 2 decimals"), ("0.015", "at most 2 dec"),
     (float("nan"), "a decimal number"), ("fast", "a decimal number"), (True, "a decimal number")],
)  # fmt: skip
def test_a_boost_out_of_range_or_between_the_steps_is_refused_with_the_rule(per_minute: float | str, rule: str):
    with pytest.raises(ValueError, match=rule):
        boost_steps(per_minute)


@given(boosts, times)
def test_ageing_is_the_boost_for_every_minute(boost: int, at: Micros):
    assert aged(boost, at) == boost * at // 6000


def test_a_minute_at_a_tenth_is_worth_a_tenth():
    assert aged(10, MINUTE) == RANK_UNIT // 10


def test_a_background_task_overtakes_a_fresh_one_of_65_between_minute_240_and_260():
    background = plain(90, boost=10)

    def overtakes(now: Micros) -> bool:
        fresh = plain(65, boost=10, created_at=now)
        return effective(background, 10, now) < effective(fresh, 10, now)

    assert 240 < next(minute for minute in range(600) if overtakes(after(minute))) < 260


def test_without_a_boost_nothing_ages():
    assert effective(plain(90), 0, after(100_000)) == 90 * RANK_UNIT


def test_tasks_of_different_boosts_are_ordered_by_the_formula_at_every_minute_of_a_day():
    ages = (0, 7, 600)
    tasks = [(p, boost, after(-age)) for p in (0, 35, 65, 90, 100) for boost in (0, 1, 10, 33, 250) for age in ages]
    ranks = {task: plain(task[0], boost=task[1], created_at=task[2]) for task in tasks}
    for minute in range(24 * 60):
        now = after(minute)
        by_rank = sorted(tasks, key=lambda task: effective(ranks[task], task[1], now))
        worth = [formula(*task, now) for task in by_rank]
        assert all(one <= other + 2e-6 for one, other in pairwise(worth))


@given(priorities, boosts, times, st.integers(0, 3650 * DAY))
def test_a_rank_is_worth_what_the_formula_says(priority: int, boost: int, created_at: Micros, age: int):
    now = Micros(created_at + age)
    worth = effective(plain(priority, boost=boost, created_at=created_at), boost, now)
    assert abs(worth - (priority * RANK_UNIT - Decimal(boost * age) / 6000)) <= 1


@given(st.lists(st.tuples(priorities, times), min_size=2, max_size=2), boosts, times, times)
def test_tasks_of_one_boost_never_change_places(
    tasks: list[tuple[int, Micros]], boost: int, early: Micros, late: Micros
):
    one, other = (plain(priority, boost=boost, created_at=created_at) for priority, created_at in tasks)
    before = effective(one, boost, early) - effective(other, boost, early)
    assert effective(one, boost, late) - effective(other, boost, late) == before == one - other


@given(priority=priorities, boost=boosts, created_at=times, height=heights, deadline=deadlines, now=times)
def test_every_rank_is_below_two_to_the_53rd(
    *, priority: int, boost: int, created_at: Micros, height: int, deadline: Micros | None, now: Micros
):
    stored = rank(priority=priority, boost=boost, created_at=created_at, height=height, deadline=deadline, now=now)
    assert abs(stored) < 2**53
    assert abs(effective(stored, boost, now)) < 2**53


def test_the_greatest_rank_there_can_be_is_below_two_to_the_53rd():
    last = from_iso("2139-12-31T23:59:59.999999Z")
    assert rank(priority=100, boost=10_000, created_at=last, height=0, deadline=None, now=last) < 2**53


@given(priorities, heights)
def test_every_level_of_dependents_is_worth_one_up_to_ten(priority: int, height: int):
    lifted = rank(priority=priority, boost=0, created_at=NOW, height=height, deadline=None, now=NOW)
    assert lifted == (priority - min(height, 10)) * RANK_UNIT
    assert critical_path_boost(height) <= 10


@pytest.mark.parametrize(
    ("minutes_left", "boost"),
    [(-10_000, 40), (-1, 40), (0, 40), (30, 20), (60, 10), (90, 5), (120, 2.5), (600, 40 / 2**20), (10**9, 0)],
)
def test_a_deadline_is_worth_forty_and_half_for_every_half_hour_before_it(minutes_left: int, boost: float):
    worth = deadline_boost(after(minutes_left), NOW)
    assert worth == int(boost * RANK_UNIT)
    ranked = rank(priority=50, boost=0, created_at=NOW, height=0, deadline=after(minutes_left), now=NOW)
    assert ranked == 50 * RANK_UNIT - worth


def test_a_task_without_a_deadline_has_no_boost_and_is_never_rescored():
    assert deadline_boost(None, NOW) == 0
    assert rescore_at(None, NOW) is None


@given(times, times, times)
def test_a_nearing_deadline_never_lowers_the_boost(deadline: Micros, one: Micros, other: Micros):
    early, late = sorted((one, other))
    assert 0 <= deadline_boost(deadline, early) <= deadline_boost(deadline, late) <= 40 * RANK_UNIT


@given(st.integers(1, 3650 * DAY))
def test_a_task_is_rescored_when_its_boost_has_moved_by_a_half(left: int):
    deadline = Micros(NOW + left)
    due = rescore_at(deadline, NOW)
    assert due is not None
    assert NOW < due <= deadline
    moved = deadline_boost(deadline, due) - deadline_boost(deadline, NOW)
    assert moved <= RANK_UNIT // 2 + 1
    assert due == deadline or moved >= RANK_UNIT // 2 - 1


@given(st.integers(-3650 * DAY, 0))
def test_a_missed_deadline_needs_no_more_rescoring(left: int):
    assert rescore_at(Micros(NOW + left), NOW) is None


def test_rescoring_ends_at_the_deadline_after_at_most_eighty_times():
    deadline, now, times_rescored = Micros(NOW + 30 * DAY), NOW, 0
    while (due := rescore_at(deadline, now)) is not None:
        now, times_rescored = due, times_rescored + 1
    assert now == deadline
    assert times_rescored <= 81


def test_a_far_deadline_is_first_rescored_about_three_hours_before_it():
    due = rescore_at(Micros(NOW + 30 * DAY), NOW)
    assert due is not None
    assert abs(NOW + 30 * DAY - due - 3 * HOUR - 9 * MINUTE - 39 * SECOND) < SECOND


@pytest.mark.parametrize(
    ("first", "last", "word"),
    [(0, 9, "critical"), (10, 29, "high"), (30, 59, "normal"), (60, 79, "low"), (80, 100, "background")],
)
def test_each_tier_has_its_word(first: int, last: int, word: str):
    assert {tier(priority) for priority in range(first, last + 1)} == {word}
