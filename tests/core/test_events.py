"""The words that a client of seed 002 knows events by."""

import pytest

from taskyard.core.changes import Event
from taskyard.core.events import wire_type
from taskyard.core.task import Status
from taskyard.core.transitions import EVENTS
from tests.core.defining import NOW

SEED = {
    "task:queued",
    "task:dispatch",
    "task:running",
    "task:progress",
    "task:message",
    "task:completed",
    "task:failed",
    "task:cancelled",
}


def an_event(name: str, status: Status | None = Status.READY) -> Event:
    return Event(name, "here", None, None, NOW, 1, status, 1, None)


@pytest.mark.parametrize(
    ("event", "word"),
    [
        ("task.created", "task:queued"),
        ("task.ready", "task:queued"),
        ("task.released", "task:queued"),
        ("task.revived", "task:queued"),
        ("task.claimed", "task:dispatch"),
        ("task.running", "task:running"),
        ("task.validating", "task:running"),
        ("task.completed", "task:completed"),
        ("task.retrying", "task:failed"),
        ("task.dead_lettered", "task:failed"),
        ("task.cancelled", "task:cancelled"),
        ("task.session", "task:message"),
        ("task.step", "task:progress"),
    ],
)
def test_each_step_of_a_task_has_the_seeds_word(event: str, word: str):
    assert wire_type(an_event(event)) == word
    assert word in SEED


def test_a_task_that_comes_in_blocked_is_not_queued_yet():
    assert wire_type(an_event("task.created", Status.PENDING)) == "task:pending"
    assert wire_type(an_event("task.ready", Status.READY)) == "task:queued"


@pytest.mark.parametrize(
    ("event", "word"),
    [
        ("task.parked", "task:parked"),
        ("dag.completed", "dag:completed"),
        ("breaker.opened", "breaker:opened"),
        ("signal.slowdown", "signal:slowdown"),
        ("a.b.c", "a:b.c"),
    ],
)
def test_what_the_seed_has_no_word_for_keeps_the_yards_in_its_spelling(event: str, word: str):
    assert wire_type(an_event(event, None)) == word


def test_every_event_of_a_verb_has_a_word_that_begins_with_its_kind():
    assert {wire_type(an_event(event)).partition(":")[0] for event in EVENTS.values()} == {"task"}
