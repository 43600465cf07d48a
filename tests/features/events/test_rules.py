"""The words that a client of preset multica knows events by; what events are labelled and filtered by."""

import pytest

from taskyard.core.changes import Event, Labels, StoredEvent
from taskyard.core.json_value import Json, compact
from taskyard.core.task import DagId, Status, TaskId
from taskyard.core.transitions import EVENTS
from taskyard.features.events.rules import EventFilter, Wanted, named_agent, own_labels, wire_type
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


READY = StoredEvent(
    1,
    Event("task.ready", "here", TaskId("task_a"), DagId("dag_a"), NOW, 1, Status.READY, 1, None),
    Labels("code", "issue:7", "ada"),
)


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        ({}, True),
        ({"task_id": "task_a", "dag_id": "dag_a", "event": "task.ready"}, True),
        ({"task_type": "code", "agent": "ada", "subject": "issue:7"}, True),
        ({"event": "task.*"}, True),
        ({"event": "*"}, True),
        ({"task_id": "task_b"}, False),
        ({"dag_id": "dag_b"}, False),
        ({"event": "task.read"}, False),
        ({"event": "dag.*"}, False),
        ({"task_type": "test"}, False),
        ({"agent": "bob"}, False),
        ({"subject": "issue:70"}, False),
        ({"agent": "ada", "subject": "issue:8"}, False),
    ],
)
def test_everything_that_a_filter_names_must_match(wanted: Wanted, matches: bool):
    assert EventFilter(**wanted).matches(READY) is matches


@pytest.mark.parametrize("wanted", [{"task_type": "code"}, {"agent": "ada"}, {"subject": "issue:7"}])
def test_what_has_no_labels_matches_no_filter_by_them(wanted: Wanted):
    assert not EventFilter(**wanted).matches(READY._replace(labels=Labels()))


@pytest.mark.parametrize(
    ("name", "data", "agent"),
    [
        ("task.completed", '{"from":"running","agent":"ada"}', "ada"),
        ("task.message", '{"agent":"somebody else"}', None),
        ("task.progress", '{"agent":"somebody else"}', None),
        ("task.retrying", '{"error":"no \\"agent\\" here"}', None),
        ("task.running", '{"agent":null}', None),
        ("task.ready", None, None),
    ],
)
def test_only_the_yard_names_the_agent_of_an_event(name: str, data: str | None, agent: str | None):
    assert named_agent(an_event(name)._replace(data=data)) == agent


def test_a_breaker_has_its_type_and_an_inbox_its_agent():
    assert own_labels(an_event("breaker.opened")._replace(data='{"type":"code"}')) == Labels(type="code")
    registered = an_event("agent.registered")._replace(data='{"agent":"ada","type":"coder"}')
    assert own_labels(registered) == Labels(agent="ada")
    assert own_labels(an_event("inbox.enqueued")._replace(data='{"agent":"ada"}')) == Labels(agent="ada")


@pytest.mark.parametrize(
    ("data", "agent"),
    [
        ({"from": "running", "agent": "ada"}, "ada"),
        ({"agent": 'a\\d"a'}, 'a\\d"a'),
        ({'not the "agent': "eve", "agent": "ada"}, "ada"),
        ({"asked": {"agent": "eve"}, "agent": "ada"}, "ada"),
        ({"asked": {"agent": "eve"}}, None),
        ({"said": '"agent":"eve"'}, None),
        ({"said": "{", "agent": "ada"}, "ada"),
        ({"of": "agent", "agent": "ada"}, "ada"),
        ({"agent": None}, None),
        ({}, None),
    ],
)
def test_the_agent_is_the_one_that_the_object_itself_names(data: dict[str, Json], agent: str | None):
    assert named_agent(an_event("task.claimed")._replace(data=compact(data))) == agent
