"""What lands when an attempt ends: its record, what it gives back and to whom, and what it frees. Nothing twice."""

import json
from collections import Counter
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core import outcomes, transitions
from taskyard.core.breaker import Breaker
from taskyard.core.changes import Blocker, ChangeSet, Count, Lift, Output, Spend
from taskyard.core.failure import Decision, FollowUp
from taskyard.core.outcomes import BY_THE_YARD, Report
from taskyard.core.task import DagId, Failure, Hot, LaneId, Outcome, RuntimeId, Status
from taskyard.core.units import DAY, Micros, MicroUsd
from tests.core.choosing import TODAY, Yard, a_lane, a_plan, ready
from tests.core.defining import NOW
from tests.core.rows import ADA, a_row, a_row_in, later, running

DAG = DagId("dag_1")
CLOSED = Breaker("default", "code", 0, None, 0)
RETRY = Decision(FollowUp.RETRY, "crash", later(10), counted=True, breaks=True)
BURY = Decision(FollowUp.BURY, "crash", NOW, counted=True, breaks=True)
PARK = Decision(FollowUp.PARK, "rate_limit", later(60), wait=Micros(60))


def report_of(verb: str = "complete", *, cost: int | None = None) -> Report:
    return Report(verb, "digest", None if cost is None else MicroUsd(cost), 30, None, None, "large")


def completed(hot: Hot, *, cost: int | None = None, now: Micros = NOW) -> ChangeSet:
    output = Output(hot.id, hot.attempt, "{}", (), None)
    return outcomes.completed(hot, type_="code", output=output, validated=False, report=report_of(cost=cost), now=now)


def failed(hot: Hot, verdict: Decision, *, cost: int | None = None) -> ChangeSet:
    failure = Failure(reason="agent_error", error="it broke", details={"line": 7})
    return outcomes.failed(hot, verdict, failure, report_of("fail", cost=cost), circuit=CLOSED, now=NOW)


def released(hot: Hot) -> ChangeSet:
    return outcomes.released(hot, report_of("release"), type_="code", now=NOW)


def suspended(hot: Hot) -> ChangeSet:
    return outcomes.suspended(
        hot, report_of("suspend"), type_="code", blockers=["signal:go", "child:c"], wake_at=later(60), now=NOW
    )


def cancelled(hot: Hot) -> ChangeSet:
    return outcomes.cancelled(hot, type_="code", reason="not wanted", now=NOW)


# Every way in which an attempt can end.
ENDINGS: dict[str, Callable[[Hot], ChangeSet]] = {
    "completed": completed,
    "retried": lambda hot: failed(hot, RETRY),
    "parked": lambda hot: failed(hot, PARK),
    "buried": lambda hot: failed(hot, BURY),
    "released": released,
    "suspended": suspended,
    "cancelled": cancelled,
}


def held(spends: Iterable[Spend]) -> Counter[str]:
    """What stands against each ceiling after these movements; nothing where they cancel out."""
    total: Counter[str] = Counter()
    for spend in spends:
        total[spend.name] += spend.held
    return Counter({name: amount for name, amount in total.items() if amount})


def spent(spends: Iterable[Spend]) -> dict[str, int]:
    return {spend.name: spend.spent for spend in spends if spend.spent}


def a_held_task(*, circuit: int = 0, **fields: object) -> Hot:
    return running(a_row(key="k", dag_id=DAG, **fields), reserved=50, circuit=circuit)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_attempt_that_ends_gives_back_all_that_it_held(ending: str):
    spends = ENDINGS[ending](a_held_task(circuit=3)).spends

    assert held(spends) == {
        "slots:ada": -1,
        "key:k": -1,
        "probe:code:3": -1,
        "agent:ada": -50,
        TODAY: -50,
        "dag:dag_1": -50,
    }
    assert len(spends) == len({spend.name for spend in spends})


@pytest.mark.parametrize("ending", ENDINGS)
@given(
    reserve=st.none() | st.integers(0, 50),
    key=st.sampled_from([None, "k"]),
    dag_id=st.sampled_from([None, DAG]),
    circuit=st.sampled_from([0, 2, 3]),
    limited=st.booleans(),
    start=st.booleans(),
)
def test_what_a_claim_takes_the_end_gives_back_to_the_last_bit(
    *,
    ending: str,
    reserve: int | None,
    key: str | None,
    dag_id: DagId | None,
    circuit: int,
    limited: bool,
    start: bool,
):
    lane = a_lane(circuit=circuit, probe="probe:code:3" if circuit == 3 else None)
    task = ready(lane=lane, key=key, dag_id=dag_id, reserve=reserve)
    choice = Yard([task]).choose(a_plan(lane, agent_money=100 if limited else None, default_reserve=7, start=start))
    [change] = choice.taken
    begun = transitions.start(change.after, now=NOW)

    ended = ENDINGS[ending](change.after if begun is None else begun.after)

    assert held([*choice.spends, *ended.spends]) == {}


@pytest.mark.parametrize("ending", ["retried", "parked", "buried", "released", "suspended"])
def test_nothing_is_given_back_a_second_time(ending: str):
    [change] = ENDINGS[ending](a_held_task(circuit=3)).changes

    again = cancelled(change.after)

    assert held(again.spends) == {}
    assert spent(again.spends) == {}
    assert again.attempts == ()


def test_what_was_reserved_on_one_day_is_given_back_to_that_day():
    tomorrow = Micros(NOW + DAY)
    hot = transitions.pin(a_held_task(), session="{}", now=tomorrow).after

    spends = completed(hot, cost=20, now=tomorrow).spends

    assert held(spends)[TODAY] == -50
    assert spent(spends) == {"agent:ada": 20, TODAY: 20, "dag:dag_1": 20}


@pytest.mark.parametrize(("reported", "cost"), [(None, 12), (0, 0), (31, 31)])
def test_what_an_attempt_cost_is_what_it_says_at_last_else_what_its_heartbeats_reported(
    reported: int | None, cost: int
):
    hot = a_held_task()._replace(spent=MicroUsd(12), tokens_in=4, tokens_out=5, tokens_cached="[3,0]")

    change_set = completed(hot, cost=reported)

    [attempt] = change_set.attempts
    assert (attempt.cost, attempt.tokens_in, attempt.tokens_out, attempt.model) == (cost, 30, 5, "large")
    assert attempt.tokens_cached == "[3,0]"
    assert set(spent(change_set.spends).values()) == ({cost} - {0})


def test_a_cost_is_recorded_also_where_nothing_was_reserved():
    spends = completed(running(a_row()), cost=20).spends

    assert spent(spends) == {"agent:ada": 20, TODAY: 20}
    assert held(spends) == {"slots:ada": -1}


def test_a_plain_task_gives_back_its_slot_and_nothing_else_moves():
    assert completed(running(a_row())).spends == (Spend("default", "slots:ada", -1),)


def test_while_a_task_is_validated_it_has_no_slot_but_its_key_its_money_and_its_probe():
    handed_in = transitions.submit(a_held_task(circuit=3), now=NOW).after
    owed = {"key:k": -1, "probe:code:3": -1, "agent:ada": -50, TODAY: -50, "dag:dag_1": -50}

    assert held(cancelled(handed_in).spends) == owed
    assert held(failed(handed_in, RETRY).spends) == owed


@pytest.mark.parametrize("status", [Status.PENDING, Status.READY, Status.RETRYING, Status.DEAD_LETTERED])
def test_cancelling_what_nobody_holds_gives_nothing_back_and_makes_no_attempt(status: Status):
    change_set = cancelled(a_row_in(status, key="k", dag_id=DAG))

    assert held(change_set.spends) == {}
    assert change_set.attempts == ()
    assert change_set.changes[0].after.status is Status.CANCELLED


def test_cancelling_what_is_held_is_the_end_of_an_attempt_that_does_not_count():
    [attempt] = cancelled(a_held_task()).attempts

    assert (attempt.outcome, attempt.counted, attempt.reason) == (Outcome.CANCELLED, False, "cancelled")
    assert (attempt.error, attempt.verb) == ("not wanted", "cancel")


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_record_of_an_attempt_says_whose_it_was_and_answers_a_repeated_call(ending: str):
    hot = a_held_task(runtime=RuntimeId("laptop"))._replace(runtime=RuntimeId("laptop"), session='{"session_id":"s"}')

    change_set = ENDINGS[ending](hot)

    [change], [attempt] = change_set.changes, change_set.attempts
    assert attempt[:6] == (hot.id, 1, ADA, "laptop", "stem.1", NOW)
    assert (attempt.started_at, attempt.ended_at, attempt.session) == (NOW, NOW, '{"session_id":"s"}')
    answer = (change.after.status, change.after.version, change.after.failures, change.after.wake_at)
    assert (attempt.status, attempt.version, attempt.failures, attempt.wake_at) == answer
    assert change_set.at == NOW


@pytest.mark.parametrize(
    ("ending", "outcome", "counted"),
    [
        ("completed", Outcome.COMPLETED, False),
        ("retried", Outcome.FAILED, True),
        ("parked", Outcome.FAILED, False),
        ("buried", Outcome.FAILED, True),
        ("released", Outcome.RELEASED, False),
        ("suspended", Outcome.SUSPENDED, False),
        ("cancelled", Outcome.CANCELLED, False),
    ],
)
def test_only_a_failure_that_counts_uses_up_an_attempt(ending: str, outcome: Outcome, counted: bool):
    change_set = ENDINGS[ending](a_held_task())

    [change], [attempt] = change_set.changes, change_set.attempts
    assert (attempt.outcome, attempt.counted, change.after.failures) == (outcome, counted, int(counted))


def test_a_failed_attempt_keeps_what_it_came_down_to_and_what_was_stated():
    [attempt] = failed(a_held_task(), PARK).attempts

    assert (attempt.reason, attempt.error, attempt.details) == ("rate_limit", "it broke", '{"line":7}')
    assert (attempt.verb, attempt.digest) == ("fail", "digest")


@pytest.mark.parametrize(
    ("ending", "lifts"),
    [
        ("completed", ["task", "child"]),
        ("buried", ["child"]),
        ("cancelled", ["child"]),
        ("retried", []),
        ("parked", []),
        ("released", []),
        ("suspended", []),
    ],
)
def test_what_depends_on_a_task_goes_when_it_completed_and_its_parent_however_it_ended(ending: str, lifts: list[str]):
    hot = a_held_task()

    assert ENDINGS[ending](hot).lifts == tuple(Lift(f"{kind}:{hot.id}") for kind in lifts)
    assert ENDINGS[ending](hot._replace(dag_id=None)).lifts == ()


@pytest.mark.parametrize(
    ("ending", "reached"),
    [("completed", "completed"), ("buried", "dead"), ("cancelled", "cancelled"), ("retried", None), ("released", None)],
)
def test_a_graph_counts_what_has_ended(ending: str, reached: str | None):
    counts = {count.name: count.add for count in ENDINGS[ending](a_held_task()).counts if count.name.startswith("dag:")}

    if reached is None:
        assert counts == {}
    else:
        assert (counts["dag:dag_1:live"], counts[f"dag:dag_1:{reached}"], sum(counts.values())) == (-1, 1, 0)


def test_a_success_ends_the_row_of_failures_and_a_failure_lengthens_it():
    hot = running(a_row())

    assert completed(hot).counts == (Count("default", "breaker:code:0", 0, clear=True),)
    assert failed(hot, RETRY).counts == (Count("default", "breaker:code:0", 1),)
    assert failed(hot, PARK).counts == ()
    assert failed(hot._replace(circuit=2), RETRY).counts == ()  # claimed under another generation


def test_a_dead_letter_is_recorded_for_review_and_people_are_notified():
    hot = a_held_task()._replace(attempt=4)

    change_set = failed(hot, BURY._replace(poison=True))

    [record], [notice] = change_set.records, change_set.outbox
    assert (record.kind, record.id, record.version) == ("dead", outcomes.dead_id(hot.id, 4), 0)
    body = record.body or {}
    assert (body["task_id"], body["at"], body["reason"]) == (hot.id, NOW, "crash")
    assert (body["poison_pill"], body["reviewed"]) == (True, False)
    assert (notice.topic, notice.task_id) == ("notify", hot.id)
    assert json.loads(notice.data) == {
        "kind": "dead_letter",
        "reason": "crash",
        "poison_pill": True,
        "error": "it broke",
    }
    assert (failed(hot, RETRY).records, failed(hot, RETRY).outbox) == ((), ())


def test_each_death_of_a_task_has_its_own_record():
    assert outcomes.dead_id(a_row().id, 3) != outcomes.dead_id(a_row().id, 6)


def test_a_failed_attempt_may_move_the_task_to_another_lane():
    failure = Failure(reason="crash")
    change_set = outcomes.failed(
        a_held_task(), RETRY, failure, BY_THE_YARD, circuit=CLOSED, lane=LaneId(9), facts={"models": ["s"]}, now=NOW
    )

    assert change_set.changes[0].after.lane == 9
    assert '"models":["s"]' in (change_set.changes[0].event.data or "")


@pytest.mark.parametrize("expiring", [True, False])
def test_a_lease_that_is_expired_is_looked_at_again_by_the_store(expiring: bool):
    change_set = outcomes.failed(
        a_held_task(), RETRY, Failure(reason="crash"), BY_THE_YARD, circuit=CLOSED, expiring=expiring, now=NOW
    )

    assert change_set.changes[0].expiring is expiring


def test_a_wait_is_for_all_its_blockers_under_its_own_number():
    hot = a_held_task(wait=4)

    change_set = suspended(hot)

    assert change_set.changes[0].after.wait == 5
    assert change_set.blockers == (Blocker(hot.id, 5, "signal:go"), Blocker(hot.id, 5, "child:c"))


def test_an_output_is_committed_with_its_completion():
    hot = a_held_task()

    assert completed(hot).outputs == (Output(hot.id, 1, "{}", (), None),)
    assert failed(hot, RETRY).outputs == ()


def test_a_lone_task_that_is_adopted_brings_what_it_costs_along_and_gives_it_back_there():
    lone = a_held_task()._replace(dag_id=None)

    adopted = outcomes.adopted(lone, dag_id=DAG, spent=MicroUsd(30), now=NOW)

    assert adopted.spends == (Spend("default", "dag:dag_1", 50, 30),)
    ended = completed(adopted.changes[0].after, cost=5)
    assert held([*adopted.spends, *ended.spends])["dag:dag_1"] == 0
    assert outcomes.adopted(a_row_in(Status.RUNNING), dag_id=DAG, spent=MicroUsd(0), now=NOW).spends == ()
