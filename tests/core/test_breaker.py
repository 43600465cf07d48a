"""A breaker opens at its threshold, lets one probe through, and hears only of attempts claimed since it last moved."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core import breaker
from taskyard.core.breaker import Breaker, BreakerChange, BreakerState
from taskyard.core.changes import Count, Record
from taskyard.core.identifiers import breaker_counter, probe_ceiling
from taskyard.core.policy import BreakerPolicy
from taskyard.core.units import MINUTE, Micros
from tests.core.defining import NOW
from tests.core.rows import later

POLICY = BreakerPolicy(failure_threshold=5, half_open_after=MINUTE, thresholds={"ops-security": 3})
generations = st.integers(0, 10**6)


def a_breaker(
    generation: int = 0, *, type_: str = "code", opened_at: Micros | None = None, version: int = 0
) -> Breaker:
    return Breaker("here", type_, generation, opened_at, version)


def after(move: BreakerChange) -> Breaker:
    """The breaker as it is read once the move has landed."""
    kind, workspace, type_, version, body = move.record
    return breaker.breaker_of(workspace, type_, Record(kind, workspace, type_, version + 1, body or {}))


def test_a_type_of_which_nothing_is_stored_has_a_closed_breaker():
    assert breaker.breaker_of("here", "code", None) == a_breaker()
    assert a_breaker().state(POLICY, NOW) is BreakerState.CLOSED


@pytest.mark.parametrize(
    ("type_", "failures", "trips"),
    [("code", 4, False), ("code", 5, True), ("code", 6, True), ("ops-security", 2, False), ("ops-security", 3, True)],
)
def test_it_trips_at_the_threshold_of_its_type(type_: str, failures: int, trips: bool):
    assert breaker.trips(a_breaker(type_=type_), POLICY, failures, circuit=0) is trips


@pytest.mark.parametrize(("generation", "circuit"), [(2, 0), (1, 0), (1, 1), (3, 1)])
def test_failures_from_before_it_moved_and_those_of_probes_do_not_trip_it(generation: int, circuit: int):
    assert not breaker.trips(a_breaker(generation), POLICY, 1000, circuit)


@pytest.mark.parametrize(
    ("seconds", "state"), [(0, "open"), (59.999999, "open"), (60, "half_open"), (86_400, "half_open")]
)
def test_an_open_breaker_is_half_open_after_its_time_by_itself(seconds: float, state: str):
    assert a_breaker(1, opened_at=NOW).state(POLICY, later(seconds)) == state
    assert a_breaker(1, opened_at=NOW).half_open_at(POLICY) == later(60)


def test_opening_and_closing_are_kept_and_reported():
    move = breaker.opened(a_breaker(4, version=9), why="5 failures in a row", now=NOW)

    assert move.record[:4] == ("breaker", "here", "code", 9)
    assert after(move) == a_breaker(5, opened_at=NOW, version=10)
    assert (move.event.event, move.event.workspace, move.event.at) == ("breaker.opened", "here", NOW)
    assert json.loads(move.event.data or "") == {"type": "code", "why": "5 failures in a row", "generation": 5}

    closing = breaker.closed(after(move), why="probe passed", now=later(60))
    assert after(closing) == a_breaker(6, version=11)
    assert (closing.event.event, closing.event.at) == ("breaker.closed", later(60))


def test_a_probe_that_fails_opens_it_for_another_whole_time():
    again = after(breaker.opened(a_breaker(1, opened_at=NOW), why="probe failed", now=later(70)))

    assert (again.generation, again.opened_at) == (3, later(70))
    assert again.state(POLICY, later(129)) is BreakerState.OPEN
    assert again.state(POLICY, later(130)) is BreakerState.HALF_OPEN


@given(generations)
def test_every_move_begins_a_new_generation_odd_when_open_and_even_when_closed(generation: int):
    before = a_breaker(generation, opened_at=NOW)
    opened, closed = (after(move(before, why="", now=NOW)) for move in (breaker.opened, breaker.closed))

    assert opened.generation > generation < closed.generation
    assert opened.state(POLICY, NOW) is BreakerState.OPEN
    assert closed.state(POLICY, NOW) is BreakerState.CLOSED


@given(generations)
def test_a_move_clears_what_was_counted_in_the_generation_that_it_ends(generation: int):
    for move in (breaker.opened, breaker.closed):
        counts = move(a_breaker(generation), why="", now=NOW).counts
        assert counts == (Count("here", breaker_counter("code", generation), 0, clear=True),)


@given(generations, generations)
def test_a_failure_is_counted_only_in_the_closed_generation_it_was_claimed_under(generation: int, circuit: int):
    count = breaker.failed(a_breaker(generation), circuit)

    if generation == circuit and generation % 2 == 0:
        assert count == Count("here", f"breaker:code:{generation}", 1)
    else:
        assert count is None


@pytest.mark.parametrize(
    ("generation", "circuit", "awaited"), [(3, 3, True), (5, 3, False), (4, 3, False), (4, 4, False), (3, 2, False)]
)
def test_only_the_probe_of_its_own_generation_moves_it(generation: int, circuit: int, awaited: bool):
    assert breaker.awaits(a_breaker(generation), circuit) is awaited


def test_a_success_breaks_the_row_of_failures_of_its_own_generation_only():
    assert breaker.succeeded("here", "code", 4) == Count("here", "breaker:code:4", 0, clear=True)


def test_each_generation_and_each_type_has_its_own_counter_and_probe():
    names = {
        name(type_, generation) for name in (breaker_counter, probe_ceiling) for type_ in "ab" for generation in (1, 3)
    }

    assert len(names) == 8
