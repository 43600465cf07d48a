"""After a rate limit others leave its scope alone for half of the wait."""

import json

import pytest

from taskyard.core.changes import Record
from taskyard.core.throttle import scope, throttled, until_of
from taskyard.core.units import MINUTE, Micros
from tests.core.defining import NOW
from tests.core.rows import later


def standing(until: Micros, version: int = 3) -> Record:
    return Record("throttle", "here", "code", version, {"until": until, "wait": 0})


def test_a_scope_is_a_type_and_the_model_where_it_is_known():
    assert scope("code", None) == "code"
    assert scope("code", "large") == "code|large"


def test_a_scope_is_left_alone_for_half_of_the_wait():
    slowed = throttled("here", "code|large", None, wait=MINUTE, now=NOW)

    assert slowed is not None
    record, event = slowed
    assert record[:4] == ("throttle", "here", "code|large", 0)
    assert until_of(Record("throttle", "here", "code|large", 1, record.body or {})) == later(30)
    assert (event.event, event.workspace, event.task_id, event.at) == ("signal.slowdown", "here", None, NOW)
    assert json.loads(event.data or "") == {
        "scope": "code|large",
        "until": "2026-11-15T02:37:30.000000Z",
        "wait_sec": 60,
    }


@pytest.mark.parametrize(("seconds", "moves"), [(-100, True), (29, True), (30, False), (31, False)])
def test_a_scope_that_is_slowed_down_for_as_long_already_is_left_as_it_is(seconds: int, moves: bool):
    assert (throttled("here", "code", standing(later(seconds)), wait=MINUTE, now=NOW) is not None) is moves


def test_a_longer_wait_takes_the_place_of_the_one_that_stands():
    slowed = throttled("here", "code", standing(later(10), version=3), wait=MINUTE, now=NOW)

    assert slowed is not None
    assert slowed[0].version == 3
