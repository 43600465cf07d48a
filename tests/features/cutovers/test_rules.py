"""What stands in the way of the next phase, and how figures are kept, as pure rules."""

from dataclasses import replace

import pytest

from taskyard.core.changes import Record
from taskyard.core.units import DAY, Micros
from taskyard.features.cutovers.rules import (
    KIND,
    LONGEST,
    MOST_KEPT,
    CallCounts,
    Cutover,
    Discrepancy,
    Phase,
    counted,
    cutover_of,
    moved,
    obstacles,
)

BEGUN = Cutover(name="q", phase=Phase.DUAL_WRITE, since=Micros(0), started_at=Micros(0), started_by="human:ann")
WEEK = Micros(7 * DAY)
ENOUGH = {
    Phase.DUAL_WRITE: CallCounts(calls=100),
    Phase.SHADOW: CallCounts(100, 100),
    Phase.CUTOVER: CallCounts(100, 100),
}


@pytest.mark.parametrize(
    ("phase", "to", "figures", "now", "said"),
    [
        (Phase.DUAL_WRITE, Phase.SHADOW, CallCounts(100), WEEK, ()),
        (Phase.DUAL_WRITE, Phase.SHADOW, CallCounts(99), WEEK, ("99 calls",)),
        (Phase.DUAL_WRITE, Phase.SHADOW, CallCounts(100), Micros(WEEK - 1), ("has lasted 7.0 days",)),
        (Phase.DUAL_WRITE, Phase.SHADOW, CallCounts(100, 5, 1), WEEK, ("disagreed 1 times",)),
        (Phase.DUAL_WRITE, Phase.CUTOVER, CallCounts(100), WEEK, ("shadow comes first",)),
        (Phase.SHADOW, Phase.CUTOVER, CallCounts(100, 100), WEEK, ()),
        (Phase.SHADOW, Phase.CUTOVER, CallCounts(100, 100, 2), Micros(0), ("disagreed 2 times", "has lasted 0.0 days")),
        (Phase.CUTOVER, Phase.FINISHED, CallCounts(100, 100), WEEK, ()),
        (Phase.CUTOVER, Phase.FINISHED, CallCounts(100, 100, 1), WEEK, ("disagreed",)),
        (Phase.CUTOVER, Phase.SHADOW, CallCounts(0, 0, 9), Micros(0), ()),
        (Phase.CUTOVER, Phase.DUAL_WRITE, CallCounts(), Micros(0), ()),
        (Phase.SHADOW, Phase.SHADOW, CallCounts(9, 9, 9), Micros(0), ()),
        (Phase.FINISHED, Phase.CUTOVER, CallCounts(), WEEK, ("it is finished",)),
    ],
)
def test_what_stands_in_the_way(phase: Phase, to: Phase, figures: CallCounts, now: Micros, said: tuple[str, ...]):
    found = obstacles(replace(BEGUN, phase=phase, figures={phase: figures}), to, now)

    assert len(found) == len(said)
    assert all(word in sentence for word, sentence in zip(said, found, strict=True))


def test_a_phase_that_begins_has_figures_of_its_own_and_the_others_stay():
    shadowed = moved(replace(BEGUN, figures=ENOUGH), Phase.SHADOW, Micros(5))

    assert (shadowed.phase, shadowed.since, shadowed.started_at) == (Phase.SHADOW, 5, 0)
    assert shadowed.figures == {phase: ENOUGH[phase] for phase in (Phase.DUAL_WRITE, Phase.CUTOVER)}


def test_what_was_counted_belongs_to_the_phase_that_it_was_counted_in():
    late = counted(moved(BEGUN, Phase.SHADOW, Micros(5)), Phase.DUAL_WRITE, CallCounts(2, 1), (), Micros(6))
    later = counted(late, Phase.DUAL_WRITE, CallCounts(3), (), Micros(7))

    assert later.figures == {Phase.DUAL_WRITE: CallCounts(5, 1, 0)}


def test_the_latest_differences_are_kept_and_long_answers_cut():
    many = tuple(Discrepancy(f"call {number}", "x" * 9_999, "") for number in range(MOST_KEPT + 5))
    kept = counted(BEGUN, Phase.SHADOW, CallCounts(differences=len(many)), many, Micros(1)).latest

    assert [each.what.call for each in kept] == [each.call for each in many[5:]]
    assert {len(each.what.old) for each in kept} == {LONGEST}


def test_what_is_stored_is_read_back():
    cutover = counted(BEGUN, Phase.SHADOW, CallCounts(1, 1, 1), (Discrepancy("peek", "[]", "['a']"),), Micros(1))

    assert cutover_of(Record(KIND, "default", "q", 1, cutover.body())) == cutover
