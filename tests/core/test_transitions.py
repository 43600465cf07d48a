"""Every pair of a state and a verb: what is allowed leads where it is written here, and all else is refused.

The table is written out, and not made from the graph that it checks.
"""

from collections.abc import Mapping
from itertools import product

import pytest

from taskyard.core import transitions
from taskyard.core.changes import Change
from taskyard.core.errors import IllegalTransition
from taskyard.core.task import MEANING, Hot, Status, TaskId
from tests.core.acts import ACTS, verb_of
from tests.core.rows import a_row_in

# (state, act) -> (state after it, event that tells of it)
ALLOWED: Mapping[tuple[str, str], tuple[str, str | None]] = {
    ("created", "create"): ("ready", "task.created"),
    ("created", "create, blocked"): ("pending", "task.created"),
    # pending
    ("pending", "ready"): ("ready", "task.ready"),
    ("pending", "cancel"): ("cancelled", "task.cancelled"),
    ("pending", "file"): ("pending", "task.artifact"),
    ("pending", "signal"): ("pending", "task.signalled"),
    ("pending", "need"): ("pending", "task.needed"),
    ("pending", "relane"): ("pending", "task.relaned"),
    ("pending", "reprioritise"): ("pending", "task.reprioritised"),
    # ready
    ("ready", "park"): ("pending", "task.parked"),
    ("ready", "claim"): ("claimed", "task.claimed"),
    ("ready", "claim, at once"): ("running", "task.running"),
    ("ready", "cancel"): ("cancelled", "task.cancelled"),
    ("ready", "file"): ("ready", "task.artifact"),
    ("ready", "signal"): ("ready", "task.signalled"),
    ("ready", "need"): ("ready", "task.needed"),
    ("ready", "relane"): ("ready", "task.relaned"),
    ("ready", "reprioritise"): ("ready", "task.reprioritised"),
    # claimed
    ("claimed", "start"): ("running", "task.running"),
    ("claimed", "beat"): ("claimed", None),
    ("claimed", "retry"): ("retrying", "task.retrying"),
    ("claimed", "retry, at once"): ("ready", "task.retrying"),
    ("claimed", "bury"): ("dead_lettered", "task.dead_lettered"),
    ("claimed", "release"): ("ready", "task.released"),
    ("claimed", "cancel"): ("cancelled", "task.cancelled"),
    ("claimed", "signal"): ("claimed", "task.signalled"),
    ("claimed", "adopt"): ("claimed", "task.adopted"),
    ("claimed", "need"): ("claimed", "task.needed"),
    ("claimed", "relane"): ("claimed", "task.relaned"),
    ("claimed", "pin"): ("claimed", "task.session"),
    ("claimed", "step"): ("claimed", "task.step"),
    ("claimed", "file"): ("claimed", "task.artifact"),
    # running
    ("running", "start"): ("running", None),
    ("running", "beat"): ("running", None),
    ("running", "complete"): ("completed", "task.completed"),
    ("running", "submit"): ("validating", "task.validating"),
    ("running", "retry"): ("retrying", "task.retrying"),
    ("running", "retry, at once"): ("ready", "task.retrying"),
    ("running", "bury"): ("dead_lettered", "task.dead_lettered"),
    ("running", "release"): ("ready", "task.released"),
    ("running", "suspend"): ("pending", "task.suspended"),
    ("running", "cancel"): ("cancelled", "task.cancelled"),
    ("running", "signal"): ("running", "task.signalled"),
    ("running", "adopt"): ("running", "task.adopted"),
    ("running", "need"): ("running", "task.needed"),
    ("running", "relane"): ("running", "task.relaned"),
    ("running", "pin"): ("running", "task.session"),
    ("running", "step"): ("running", "task.step"),
    ("running", "file"): ("running", "task.artifact"),
    # validating
    ("validating", "approve"): ("completed", "task.completed"),
    ("validating", "retry"): ("retrying", "task.retrying"),
    ("validating", "retry, at once"): ("ready", "task.retrying"),
    ("validating", "bury"): ("dead_lettered", "task.dead_lettered"),
    ("validating", "cancel"): ("cancelled", "task.cancelled"),
    ("validating", "file"): ("validating", "task.artifact"),
    ("validating", "need"): ("validating", "task.needed"),
    ("validating", "relane"): ("validating", "task.relaned"),
    # completed
    ("completed", "need"): ("completed", "task.needed"),
    # retrying
    ("retrying", "promote"): ("ready", "task.ready"),
    ("retrying", "cancel"): ("cancelled", "task.cancelled"),
    ("retrying", "file"): ("retrying", "task.artifact"),
    ("retrying", "signal"): ("retrying", "task.signalled"),
    ("retrying", "need"): ("retrying", "task.needed"),
    ("retrying", "relane"): ("retrying", "task.relaned"),
    ("retrying", "reprioritise"): ("retrying", "task.reprioritised"),
    # dead_lettered
    ("dead_lettered", "cancel"): ("cancelled", "task.cancelled"),
    ("dead_lettered", "revive"): ("ready", "task.revived"),
    ("dead_lettered", "revive, later"): ("retrying", "task.revived"),
    ("dead_lettered", "escalate"): ("dead_lettered", "task.escalated"),
    ("dead_lettered", "need"): ("dead_lettered", "task.needed"),
}

PAIRS = list(product(Status, ACTS))


@pytest.mark.parametrize(("state", "act"), [pair for pair in PAIRS if pair in ALLOWED])
def test_what_is_allowed_leads_where_the_table_says_and_tells_of_it(state: Status, act: str):
    before = a_row_in(state)
    reached, event = ALLOWED[state, act]

    match ACTS[act](before):
        case Change(before=decided_on, after=after, event=told):
            assert decided_on == before
            assert (after.status, after.version) == (reached, before.version + (verb_of(act) != "create"))
            assert (told.event, told.status, told.version, told.task_id) == (event, reached, after.version, before.id)
        case Hot() as row:
            assert (row.status, row.version, event) == (reached, before.version, None)
        case None:
            assert (before.status, event) == (reached, None)


@pytest.mark.parametrize(("state", "act"), [pair for pair in PAIRS if pair not in ALLOWED])
def test_all_else_is_refused_and_both_are_named(state: Status, act: str):
    with pytest.raises(IllegalTransition) as refused:
        ACTS[act](a_row_in(state, id=TaskId("task_1")))

    assert refused.value.facts == {"task_id": "task_1", "status": state.value, "verb": verb_of(act)}
    assert f"it is {state.value}, and {verb_of(act)} does not apply" in str(refused.value)


def test_the_table_is_about_every_state_and_every_verb():
    assert {state for state, _ in ALLOWED} == set(Status) - {Status.FAILED, Status.CANCELLED}
    assert {act for _, act in ALLOWED} == set(ACTS)
    assert len(PAIRS) == 11 * 29


def test_the_published_graph_is_this_table():
    graph: dict[str, dict[str, set[str]]] = {}
    for (state, act), (reached, _) in ALLOWED.items():
        graph.setdefault(verb_of(act), {}).setdefault(state, set()).add(reached)

    assert graph == transitions.GRAPH


def test_the_published_events_are_those_of_the_table():
    told: dict[str, set[str]] = {}
    for (_, act), (_, event) in ALLOWED.items():
        told.setdefault(verb_of(act), set()).update(() if event is None else {event})

    assert told.pop("beat") == set()
    # A claim that starts at once passes through claimed, and is told as what it came to.
    assert told.pop("claim") == {transitions.EVENTS["claim"], transitions.EVENTS["start"]}
    assert told == {verb: {event} for verb, event in transitions.EVENTS.items() if verb != "claim"}


def test_every_state_has_its_meaning():
    assert set(MEANING) == set(Status)
