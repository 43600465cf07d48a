"""Figures are folded from events: the same in any order, each once, and never under more labels than are kept."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.changes import Event, StoredEvent
from taskyard.core.task import Status, TaskId
from taskyard.core.units import DAY, Micros, from_iso, utc_date
from taskyard.features.metrics.folding import fold
from taskyard.features.metrics.rules import MOST_LABELS, OTHER, CostLabels, MetricTotals, body_of, totals_of

MONDAY = from_iso("2026-11-16T12:00:00Z")
TYPES = {("default", "ada.1"): "ada"}
HERE = ("default", "2026-11-16")


def an_event(
    event: str, *, at: int = MONDAY, attempt: int = 1, status: Status = Status.READY, **facts: Any
) -> StoredEvent:
    told = Event(event, "default", TaskId("task_1"), None, Micros(at), 1, status, attempt, json.dumps(facts))
    return StoredEvent(1, told)


def completed(**facts: Any) -> StoredEvent:
    told: dict[str, Any] = {"agent": "ada.1", "type": "code", "age": 4_000_000, **facts}
    return an_event("task.completed", **told)


def failed(reason: str = "crash", **facts: Any) -> StoredEvent:
    told: dict[str, Any] = {"agent": "ada.1", "type": "code", "reason": reason, **facts}
    return an_event("task.retrying", **told)


def folded(*events: StoredEvent) -> MetricTotals:
    return fold(events, TYPES, utc_date)[HERE]


def test_a_day_says_what_came_what_went_and_how():
    totals = folded(
        an_event("task.created"),
        an_event("task.created"),
        an_event("task.running", agent="ada.1", waited=2_000_000),
        failed(silent=1_000_000, ran=1_000_000),
        completed(silent=3_000_000, ran=5_000_000, attempt=2),
    )

    assert totals.summary() == {
        "tasks_created": 2,
        "tasks_completed": 1,
        "tasks_failed": 1,
        "tasks_dead_lettered": 0,
        "average_latency": 4.0,
        "worker_heartbeat_delay": 2.0,
        "error_rates_per_agent": {"ada": 0.5},
    }
    assert (totals.waits.mean, totals.durations.mean, totals.attempts.mean) == (2, 3, 2)


def test_an_event_belongs_to_its_own_workspace_and_day():
    elsewhere = an_event("task.created")
    elsewhere = elsewhere._replace(event=elsewhere.event._replace(workspace="acme"))

    days = fold([an_event("task.created"), an_event("task.created", at=MONDAY + DAY), elsewhere], {}, utc_date)

    assert {day: totals.created for day, totals in days.items()} == {
        HERE: 1,
        ("default", "2026-11-17"): 1,
        ("acme", "2026-11-16"): 1,
    }


def test_a_death_is_a_failure_too_and_the_end_of_the_attempts():
    totals = folded(
        an_event("task.dead_lettered", status=Status.DEAD_LETTERED, attempt=3, agent="ada.1", reason="timeout")
    )

    assert (totals.dead_lettered, totals.failed, totals.attempts.sum) == (1, {"timeout": 1}, 3)


def test_a_lost_heartbeat_is_a_miss_of_its_agent():
    assert folded(failed("heartbeat_timeout"), failed("crash")).heartbeat_misses == {"ada": 1}


def test_money_is_counted_by_type_agent_and_model_however_the_attempt_ended():
    totals = folded(
        completed(cost=300_000, model="opus"),
        failed(cost=20_000, model="opus"),
        an_event("task.released", agent="gone", type="code", cost=1),
    )

    assert totals.costs == {CostLabels("code", "ada", "opus"): 320_000, CostLabels("code", OTHER, ""): 1}


def test_what_takes_no_part_is_not_counted():
    assert fold([an_event("task.parked"), an_event("agent.registered"), an_event("task.message")], {}, utc_date) == {}


def test_an_event_of_an_older_release_is_counted_as_far_as_it_tells():
    totals = folded(an_event("task.completed", agent="ada.1"), an_event("task.running", agent="ada.1"))

    assert (totals.completed, totals.average_latency, totals.worker_heartbeat_delay) == ({OTHER: 1}, 0, None)


def test_labels_beyond_those_that_are_kept_are_counted_together():
    many = [failed(f"reason {number}") for number in range(MOST_LABELS + 50)]
    dear = [completed(type=f"type {number}", cost=1) for number in range(MOST_LABELS + 50)]

    totals = folded(*many, *dear)
    twice = totals_of(body_of(totals))
    twice.add(totals)

    for counts in (totals.failed, totals.completed, totals.costs):
        assert len(counts) == MOST_LABELS + 1
        assert counts.total() == MOST_LABELS + 50
    assert totals.failed[OTHER] == totals.costs[CostLabels(OTHER, OTHER, OTHER)] == 50
    assert len(twice.failed) == MOST_LABELS + 1
    assert twice.failed.total() == 2 * totals.failed.total()


def test_a_histogram_puts_a_value_under_the_first_bound_it_does_not_exceed():
    totals = folded(*(an_event("task.running", waited=waited) for waited in (0, 10_000, 10_001, 86_400_000_001)))

    assert totals.waits.counts == [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]


_EVENTS = st.lists(
    st.builds(completed, cost=st.integers(1, 10**9), ran=st.integers(0, 10**12), age=st.integers(0, 10**12))
    | st.builds(failed, reason=st.sampled_from(["crash", "timeout", "heartbeat_timeout"]))
    | st.builds(an_event, event=st.just("task.running"), waited=st.integers(-5, 10**12)),
    min_size=1,
    max_size=20,
)


@given(_EVENTS, st.data())
def test_pages_add_up_to_the_whole_however_they_are_cut(events: Sequence[StoredEvent], data: st.DataObject):
    cut = data.draw(st.integers(0, len(events)))
    parts = MetricTotals()
    for page in (events[cut:], events[:cut]):
        for totals in fold(page, TYPES, utc_date).values():
            parts.add(totals)

    assert body_of(parts) == body_of(folded(*events))


@given(_EVENTS)
def test_what_is_stored_is_what_was_counted(events: Sequence[StoredEvent]):
    body = body_of(folded(*events))

    assert body_of(totals_of(json.loads(json.dumps(body)))) == body


def test_a_histogram_of_other_bounds_is_begun_again():
    body: Any = body_of(folded(completed(ran=1)))
    body["durations"]["bounds"] = [1, 2]

    assert sum(totals_of(body).durations.counts) == 0
