"""What a verb does to the row beside moving its state, and what its event says."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core import transitions
from taskyard.core.changes import Beat, Change
from taskyard.core.errors import IllegalTransition
from taskyard.core.json_value import Json
from taskyard.core.task import (
    BLANK,
    HELD,
    KEY_HELD,
    DagId,
    Hot,
    LaneId,
    Reason,
    RuntimeId,
    Status,
    TaskId,
    Trait,
    dag_of,
    next_due,
)
from taskyard.core.units import SECOND, Micros, MicroUsd
from taskyard.stores.shared.commits.places import HELD_ONLY
from tests.core.acts import ACTS
from tests.core.defining import NOW
from tests.core.rows import ADA, STEM, a_row, a_row_in, buried, claimed, later, retrying, running


def data_of(change: Change) -> dict[str, Any]:
    return json.loads(change.event.data or "{}")


def test_an_event_says_whose_it_is_and_when():
    hot = a_row(dag_id=DagId("dag_1"), attempt=3)

    event = transitions.park(hot, blocker="key:k", now=later(5)).event

    assert (event.workspace, event.task_id, event.dag_id) == (hot.workspace, hot.id, "dag_1")
    assert (event.at, event.version, event.status, event.attempt) == (later(5), 2, Status.PENDING, 3)


def test_a_lone_tasks_graph_is_called_like_the_task():
    hot = a_row(id=TaskId("task_01J8"), dag_id=None)

    assert dag_of(hot) == "dag_01J8"
    assert transitions.ready(a_row_in(Status.PENDING, id=TaskId("task_01J8")), now=NOW).event.dag_id == "dag_01J8"


def test_an_event_names_the_states_that_were_passed_through():
    ready, pending = a_row(), a_row_in(Status.PENDING)
    at_once = transitions.claim(
        ready, agent=ADA, runtime=None, lease=STEM, circuit=0, reserved=MicroUsd(0), start=True, now=NOW
    )
    checked = transitions.complete(running(ready), validated=True, now=NOW)
    unchecked = transitions.complete(running(ready), validated=False, now=NOW)

    assert json.loads(transitions.created_event(ready, "me", "code").data or "")["through"] == ["created", "pending"]
    assert json.loads(transitions.created_event(pending, "me", "code").data or "")["through"] == ["created"]
    assert data_of(at_once)["through"] == ["claimed"]
    assert data_of(checked)["through"] == ["validating"]
    assert "through" not in data_of(unchecked)
    assert data_of(retrying(running(ready), wake_at=later(1)))["through"] == ["failed"]
    assert data_of(retrying(running(ready), wake_at=NOW))["through"] == ["failed", "retrying"]


def test_the_event_of_an_output_that_is_refused_at_once_names_validating():
    handed_in, judged = running(a_row()), a_row_in(Status.VALIDATING)
    refused = Reason.INVALID_OUTPUT

    def through(hot: Hot, wake_at: Micros) -> Json:
        return data_of(transitions.retry(hot, reason=refused, error="no", counted=True, wake_at=wake_at, now=NOW))[
            "through"
        ]

    buried = transitions.bury(handed_in, reason=refused, error="no", counted=True, poison=False, now=NOW)
    assert through(handed_in, later(1)) == ["validating", "failed"]
    assert through(handed_in, NOW) == ["validating", "failed", "retrying"]
    assert data_of(buried)["through"] == ["validating", "failed"]
    # It was in that state already, and its event says so by `from`.
    assert through(judged, later(1)) == ["failed"]


def test_an_event_says_what_state_was_left_only_where_one_was():
    assert data_of(transitions.park(a_row(), blocker="key:k", now=NOW))["from"] == "ready"
    assert "from" not in data_of(transitions.signal(a_row(), name="go", by="me", now=NOW))


def test_a_claim_gives_a_lease_that_ends_when_its_claim_time_does():
    hot = claimed(a_row(claim_ttl=60, lease_sec=90, run_sec=300, attempt=4))

    assert (hot.attempt, hot.lease, hot.agent) == (5, f"{STEM}.5", ADA)
    assert (hot.claimed_at, hot.started_at, hot.limit_at) == (NOW, None, None)
    assert (hot.lease_expires_at, hot.due_at) == (later(60), later(60))


@pytest.mark.parametrize(("start", "claim_ttl"), [(True, 60), (True, 0), (False, 0)])
def test_a_claim_that_starts_at_once_has_the_whole_lease_and_its_time_to_run(start: bool, claim_ttl: int):
    hot = claimed(a_row(claim_ttl=claim_ttl, lease_sec=90, run_sec=300), start=start)

    assert (hot.status, hot.started_at) == (Status.RUNNING, NOW)
    assert (hot.lease_expires_at, hot.limit_at, hot.due_at) == (later(90), later(300), later(90))


def test_a_claim_begins_without_what_a_late_heartbeat_wrote():
    hot = claimed(a_row(spent=MicroUsd(5), tokens_in=1, tokens_out=2, tokens_cached="[1,1]", progress='"half"'))

    assert (hot.spent, hot.tokens_in, hot.tokens_out, hot.tokens_cached, hot.progress) == (0, 0, 0, None, None)


def test_a_claim_says_its_runtime_where_there_is_one():
    change = transitions.claim(
        a_row(),
        agent=ADA,
        runtime=RuntimeId("laptop"),
        lease=STEM,
        circuit=3,
        reserved=MicroUsd(7),
        start=False,
        now=NOW,
    )

    assert (change.after.runtime, change.after.circuit, change.after.reserved) == ("laptop", 3, 7)
    assert data_of(change)["runtime"] == "laptop"


def test_a_start_extends_the_lease_and_begins_the_time_to_run():
    change = transitions.start(claimed(a_row(lease_sec=90, run_sec=300)), now=later(20))

    assert change is not None
    assert (change.after.started_at, change.after.heartbeat_at) == (later(20), later(20))
    assert (change.after.lease_expires_at, change.after.limit_at) == (later(110), later(320))


@pytest.mark.parametrize("traits", [Trait.NONE, Trait.KEY_WHILE_WAITING])
def test_a_key_for_waiting_is_let_go_when_the_task_starts_and_not_before(traits: Trait):
    waiting = claimed(a_row(idempotency_key="k", traits=int(traits)))
    started = transitions.start(waiting, now=NOW)
    kept = None if traits else "k"

    assert started is not None
    assert (waiting.idempotency_key, started.after.idempotency_key) == ("k", kept)
    assert running(a_row(idempotency_key="k", traits=int(traits))).idempotency_key == kept


def test_a_heartbeat_extends_a_running_lease_and_says_how_it_goes():
    hot = running(a_row(lease_sec=90))._replace(tokens_in=1, tokens_out=2, tokens_cached="[1,0]")

    after = transitions.beat(hot, Beat(hot.id, "", '"half"', MicroUsd(30), 10, None), now=later(60))

    assert (after.heartbeat_at, after.lease_expires_at) == (later(60), later(150))
    assert (after.progress, after.spent, after.tokens_in, after.tokens_out) == ('"half"', 30, 10, 2)
    assert after.tokens_cached == "[1,0]"
    assert (after.version, after.updated_at, after.due_at) == (hot.version, hot.updated_at, hot.due_at)


def test_a_heartbeat_does_not_prolong_a_claim_that_was_not_started():
    hot = claimed(a_row(claim_ttl=60))

    after = transitions.beat(hot, Beat(hot.id, ""), now=later(59))

    assert (after.heartbeat_at, after.lease_expires_at) == (later(59), later(60))


def test_a_heartbeat_that_says_nothing_leaves_what_was_stated():
    hot = running(a_row())._replace(progress='"half"', spent=MicroUsd(3))

    later = Micros(NOW + SECOND)
    expires = Micros((hot.lease_expires_at or 0) + SECOND)

    said = transitions.beat(hot, Beat(hot.id, ""), now=later)

    assert said == hot._replace(heartbeat_at=later, lease_expires_at=expires)


@pytest.mark.parametrize("set_back", [0, 1, SECOND - 1])
def test_a_heartbeat_moves_the_end_of_its_lease_on_although_no_time_has_passed(set_back: int):
    hot = running(a_row())
    assert hot.lease_expires_at

    said = transitions.beat(hot, Beat(hot.id, ""), now=Micros(NOW - set_back))

    assert said.lease_expires_at == hot.lease_expires_at + 1


def test_the_end_that_a_wrong_clock_gave_a_lease_is_not_kept():
    hot = running(a_row())
    assert hot.lease_expires_at

    said = transitions.beat(hot, Beat(hot.id, ""), now=Micros(NOW - SECOND))

    assert said.lease_expires_at == hot.lease_expires_at - SECOND


@pytest.mark.parametrize("act", ["complete", "retry", "bury", "release", "suspend", "cancel"])
def test_an_attempt_that_ends_leaves_nothing_held_but_says_who_had_it(act: str):
    before = running(a_row(run_sec=60), reserved=7, circuit=3)._replace(
        spent=MicroUsd(5), tokens_in=1, tokens_out=2, progress='"half"'
    )

    change = ACTS[act](before)

    assert isinstance(change, Change)
    after = change.after
    assert (after.lease, after.lease_expires_at, after.limit_at) == (None, None, None)
    assert (after.reserved, after.circuit, after.spent) == (0, 0, 0)
    assert (after.tokens_in, after.tokens_out, after.progress) == (0, 0, None)
    assert {name: getattr(after, name) for name in HELD_ONLY} == {name: getattr(BLANK, name) for name in HELD_ONLY}
    assert (after.agent, after.attempt, after.started_at) == (ADA, before.attempt, before.started_at)


def test_handing_in_ends_the_lease_and_keeps_what_the_verdict_gives_back():
    handed_in = transitions.submit(running(a_row(key="k"), reserved=7, circuit=3), now=NOW).after

    assert (handed_in.lease, handed_in.lease_expires_at, handed_in.due_at) == (None, None, None)
    assert (handed_in.reserved, handed_in.circuit, handed_in.key) == (7, 3, "k")
    assert (handed_in.claimed_at, handed_in.heartbeat_at) == (NOW, None)

    approved = transitions.approve(handed_in, now=NOW).after
    assert (approved.reserved, approved.circuit, approved.claimed_at) == (0, 0, None)


@pytest.mark.parametrize(
    ("counted", "parked", "counters"),
    [(True, False, (1, 0, 0)), (False, False, (0, 1, 0)), (False, True, (0, 0, 1))],
)
def test_a_failure_is_counted_as_what_it_was(counted: bool, parked: bool, counters: tuple[int, int, int]):
    after = transitions.retry(
        running(a_row()), reason="crash", error="", counted=counted, parked=parked, wake_at=NOW, now=NOW
    ).after

    assert (after.failures, after.losses, after.parks) == counters


def test_a_task_that_is_retried_later_wakes_when_its_delay_is_over():
    waiting = retrying(running(a_row()), wake_at=later(10)).after

    assert (waiting.status, waiting.wake_at, waiting.due_at) == (Status.RETRYING, later(10), later(10))
    promoted = transitions.promote(waiting, now=later(10)).after
    assert (promoted.status, promoted.wake_at, promoted.due_at) == (Status.READY, None, None)


def test_a_retry_may_go_to_another_lane_and_says_what_it_is_given():
    change = transitions.retry(
        running(a_row()),
        reason="crash",
        error="",
        counted=True,
        wake_at=NOW,
        now=NOW,
        lane=LaneId(9),
        facts={"models": ["small"]},
    )

    assert change.after.lane == 9
    assert data_of(change)["models"] == ["small"]


def test_a_long_error_is_cut_in_the_event():
    change = transitions.retry(running(a_row()), reason="crash", error="x" * 9999, counted=True, wake_at=NOW, now=NOW)

    assert data_of(change)["error"] == "x" * 500


@pytest.mark.parametrize(("reason", "kept"), [("crash", '{"session_id":"s"}'), ("poisoned_session", None)])
def test_a_session_outlives_a_failed_attempt_unless_it_is_what_failed(reason: str, kept: str | None):
    hot = running(a_row(session='{"session_id":"s"}'))

    retried = transitions.retry(hot, reason=reason, error="", counted=True, wake_at=NOW, now=NOW).after
    dead = transitions.bury(hot, reason=reason, error="", counted=True, poison=False, now=NOW).after

    assert (retried.session, dead.session) == (kept, kept)


def test_the_time_before_a_wait_counts_against_the_time_to_run_and_the_wait_does_not():
    first = running(a_row(run_sec=300))
    waiting = transitions.suspend(first, blockers=["signal:go"], wake_at=None, now=later(100)).after
    ready = transitions.ready(waiting, now=later(5000)).after
    again = claimed(ready._replace(claim_ttl=0))

    assert (waiting.ran, waiting.wait, waiting.wake_at) == (100 * SECOND, first.wait + 1, None)
    assert again.limit_at == later(300 - 100)
    assert retrying(again, wake_at=NOW).after.ran == 0


def test_a_wait_with_a_time_is_due_then_or_when_the_task_expires():
    hot = running(a_row(expires_at=later(500)))

    assert transitions.suspend(hot, blockers=["time"], wake_at=later(100), now=NOW).after.due_at == later(100)
    assert transitions.suspend(hot, blockers=["time"], wake_at=later(900), now=NOW).after.due_at == later(500)


def test_each_wait_has_its_own_number():
    once = transitions.park(a_row(wait=2), blocker="key:k", now=NOW).after
    twice = transitions.park(transitions.ready(once, now=NOW).after, blocker="key:k", now=NOW).after

    assert (once.wait, twice.wait) == (3, 4)


def test_a_cancelled_task_says_why():
    after = transitions.cancel(a_row_in(Status.RETRYING), reason="parent task_1 cancelled", now=NOW).after

    assert (after.why, after.wake_at, after.due_at) == ("parent task_1 cancelled", None, None)


def test_a_revived_task_begins_a_new_set_of_attempts_but_keeps_their_numbers():
    dead = buried(running(a_row(failures=2, losses=4, parks=5, attempt=11)))

    after = transitions.revive(dead, resolution="retry", by="human:adam", lane=LaneId(9), now=NOW).after

    assert (after.failures, after.losses, after.parks) == (0, 0, 0)
    assert (after.attempt, after.lane) == (12, 9)


def test_a_held_task_is_due_when_its_lease_or_its_time_ends_first():
    assert running(a_row(lease_sec=90, run_sec=60)).due_at == later(60)
    assert running(a_row(lease_sec=90, run_sec=None, expires_at=later(10))).due_at == later(90)


def test_a_final_task_is_never_due():
    for status in (Status.COMPLETED, Status.CANCELLED, Status.DEAD_LETTERED, Status.VALIDATING):
        assert a_row_in(status, expires_at=later(10)).due_at is None


def test_the_rank_of_a_final_task_is_never_computed_again():
    for status in Status:
        assert (a_row_in(status, rescore_at=later(10)).rescore_at is None) == status.is_final
    approved = transitions.approve(a_row_in(Status.VALIDATING, rescore_at=later(10)), now=NOW).after
    assert approved.rescore_at is None


@given(st.lists(st.sampled_from([act for act in ACTS if not act.startswith("create")]), max_size=40))
def test_whatever_is_done_to_a_task_its_row_holds_together(acts: list[str]):
    hot = a_row(run_sec=300)
    for act in acts:
        try:
            result = ACTS[act](hot)
        except IllegalTransition:
            continue
        if isinstance(result, Change):
            assert result.after.attempt == hot.attempt + act.startswith("claim")
            assert not hot.status.is_final or result.after.status.is_final or act.startswith("revive")
            hot = result.after
            assert hot.due_at == next_due(hot)
        elif isinstance(result, Hot):
            hot = result

        assert (hot.lease is not None) == (hot.lease_expires_at is not None) == (hot.status in HELD)
        assert hot.limit_at is None or hot.status is Status.RUNNING
        assert (hot.wake_at is not None) == (hot.status is Status.RETRYING)
        assert hot.status in KEY_HELD or all(getattr(hot, name) == getattr(BLANK, name) for name in HELD_ONLY)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_no_time_is_lost_or_won_by_waiting(first: int, second: int):
    hot = running(a_row(run_sec=10**7))
    for ran in (first, second):
        waiting = transitions.suspend(hot, blockers=["time"], wake_at=None, now=Micros(NOW + ran)).after
        hot = running(transitions.ready(waiting, now=NOW).after)

    assert hot.limit_at == NOW + 10**7 * SECOND - first - second
