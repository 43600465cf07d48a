"""A rule sees each attempt once, looks at the last ones only, and begins anew when it has fired."""

import json

import pytest

from taskyard.core.changes import Event, Record, StoredEvent
from taskyard.core.units import HOUR, Micros
from taskyard.features.triggers.figures import FigureRule, RuleState, is_bad, quiet_until, rule_of, seen_in, watched
from taskyard.features.triggers.rules import Measure, SourceName, settings

RULE = FigureRule(measure=Measure.FAILURE_RATE, type="code", above=0.4, over=5, window=HOUR)


def ended(seq: int, event: str = "task.completed", **facts: object) -> StoredEvent:
    told = json.dumps({"type": "code", **facts})
    return StoredEvent(seq, Event(event, "default", None, None, Micros(seq), None, None, None, told))


def attempts(outcomes: str, first: int = 1) -> list[StoredEvent]:
    names = {".": "task.completed", "x": "task.retrying", "d": "task.dead_lettered"}
    return [ended(first + number, names[each], reason="crash") for number, each in enumerate(outcomes)]


@pytest.mark.parametrize(
    ("outcomes", "mean", "bad"),
    [
        ("....", 0.0, False),
        ("xxxx", 1.0, False),  # too few
        ("...xx", 0.4, False),  # at the limit is not above it
        ("..xxd", 0.6, True),
        ("xxxxx.....", 0.0, False),  # the last five count
    ],
)
def test_the_share_of_the_last_attempts_that_failed_decides(outcomes: str, mean: float, bad: bool):
    seen = watched(RULE, RuleState(), attempts(outcomes))

    assert (seen.mean, is_bad(RULE, seen)) == (mean, bad)


def test_events_that_are_handed_over_again_are_seen_once():
    events = attempts("x.x")
    once = watched(RULE, RuleState(), events)

    assert watched(RULE, once, events) == once
    assert watched(RULE, once, [*events, *attempts(".", first=4)]).values == (*once.values, 0)


def test_others_work_and_what_is_no_end_is_not_seen():
    others = [ended(1, type="research"), ended(2, "task.running"), ended(3, "task.retrying", reason="rate_limit")]

    assert watched(RULE, RuleState(), others) == RuleState()


@pytest.mark.parametrize(
    ("measure", "facts", "mean"),
    [(Measure.COST_USD, {"cost": 250_000}, 0.25), (Measure.DURATION_SEC, {"ran": 3_000_000}, 3.0)],
)
def test_cost_and_duration_are_means_too(measure: Measure, facts: dict[str, int], mean: float):
    rule = FigureRule(measure=measure, type=None, above=0, over=2, window=HOUR)

    assert watched(rule, RuleState(), [ended(number, "task.completed", **facts) for number in (1, 2)]).mean == mean


def test_it_is_quiet_for_a_window_after_it_fired():
    assert quiet_until(RULE, RuleState()) is None
    assert quiet_until(RULE, RuleState(fired_at=Micros(7))) == 7 + HOUR


def test_what_was_seen_is_stored_whole():
    seen = RuleState(seq=9, values=(0, 1_000_000), fired_at=Micros(3))

    assert seen_in(Record("listening", "default", "r", 1, seen.body())) == seen
    assert seen_in(None) == RuleState()
    assert rule_of(settings(SourceName.RULE, {"above": 0.4, "type": "code", "over": 5, "window_sec": 3600})) == RULE
