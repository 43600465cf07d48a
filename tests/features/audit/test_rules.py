"""What of a change set the audit log records."""

from itertools import count

from taskyard.core.changes import ChangeSet, Event, Record
from taskyard.core.json_value import Json, compact
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.features.audit import rules
from taskyard.features.audit.rules import AUDIT, AuditFilter

AT = Micros(1_000_000)


def event(name: str, task_id: str | None = None, **facts: Json) -> Event:
    return Event(name, "main", None if task_id is None else TaskId(task_id), None, AT, None, None, None, compact(facts))


def recorded(*events: Event) -> list[tuple[str, str, str | None]]:
    change_set = ChangeSet(events=events, at=AT)
    made = rules.entries(change_set, map(str, count()))
    bodies = [AUDIT.body(each.body or {}) for each in made]
    assert rules.is_audited(change_set) or not made
    return [(body["by"], body["action"], body["object"]) for body in bodies]


def test_an_event_that_names_its_author_is_an_entry():
    assert recorded(event("queue.paused", queue="gpu", by="human:ada")) == [("human:ada", "queue.paused", "queue:gpu")]
    assert recorded(event("breaker.opened", type="code", by="human:ada")) == [
        ("human:ada", "breaker.opened", "breaker:code")
    ]
    assert recorded(event("agent.budget", type="coder", by="human:ada")) == [
        ("human:ada", "agent.budget", "agent:coder")
    ]
    assert recorded(event("workspace.preset", preset="loki", by="human:ada")) == [
        ("human:ada", "workspace.preset", None)
    ]


def test_what_the_yard_does_by_itself_is_none():
    assert recorded(event("breaker.opened", type="code"), event("budget.gone", agent="a", by="yard")) == []
    assert recorded(event("dag.cancelling", by="cron:nightly")) == []


def test_what_an_agent_does_as_a_worker_is_none_and_what_it_does_to_others_is_one():
    assert recorded(event("agent.registered", agent="a", by="agent:a")) == []
    assert recorded(event("agent.draining", agent="a", by="human:ada")) == [("human:ada", "agent.draining", "agent:a")]
    assert recorded(event("queue.paused", queue="q", by="agent:planner")) == [
        ("agent:planner", "queue.paused", "queue:q")
    ]


def test_the_words_of_an_agent_forge_no_entry():
    assert recorded(event("task.message", "task_1", text="x", by="human:ada")) == []
    assert recorded(event("task.answered", "task_1", question="ok", by="human:ada")) == [
        ("human:ada", "task.answered", "task:task_1")
    ]


def test_facts_are_bounded():
    change_set = ChangeSet(events=(event("queue.paused", queue="q", note="x" * 9_000, by="human:ada"),), at=AT)
    (made,) = rules.entries(change_set, ["a"])

    assert len(compact(AUDIT.body(made.body or {})["facts"])) < rules.LONGEST_FACTS + 100


def test_no_workspace_is_the_beginning_of_another():
    assert not rules.prefix("a/b").startswith(rules.prefix("a"))
    assert not rules.prefix('a","b').startswith(rules.prefix("a"))


def test_places_are_in_the_order_of_time():
    (made,) = rules.entries(ChangeSet(events=(event("queue.paused", by="human:a"),), at=AT), ["X" * 26])
    record = Record(made.kind, made.workspace, made.id, 1, made.body or {})

    assert rules.place_at("main", AT) < made.id < rules.place_at("main", Micros(AT + 1))
    assert rules.place_of("main", rules.cursor_of(record)) == made.id


def test_a_filter_takes_what_matches_all_of_it():
    (made,) = rules.entries(ChangeSet(events=(event("queue.paused", queue="q", by="human:a"),), at=AT), ["a"])
    body = AUDIT.body(made.body or {})

    assert AuditFilter(who="human:a", action="queue.*", object="queue:q").matches(body)
    assert AuditFilter(object="q").matches(body)
    assert not AuditFilter(who="human:a", action="queue").matches(body)
    assert not AuditFilter(who="human").matches(body)
    assert not AuditFilter(object="queue").matches(body)
