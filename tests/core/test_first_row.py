"""What a task begins with: its traits, its lane, its models and its row."""

import json
from typing import Any

import pytest

from taskyard.core.policy import PRESETS
from taskyard.core.priority import rank, rescore_at
from taskyard.core.task import Definition, Hot, Lane, LaneId, Status, TaskId, Trait
from taskyard.core.units import HOUR, MINUTE, Micros
from taskyard.definition.definition import born, born_like, lane_of, models_for, traits
from tests.core.defining import DAG, FULL, MINE, NOW, PAIR, defined
from tests.core.hostile import task

REGEX = {"validation": "regex", "validation_schema": "x"}


def started(definition: Definition, *, blocked: bool = False, wake_at: Micros | None = None, height: int = 0) -> Hot:
    policy = PRESETS[definition.preset]
    return born(definition, policy, lane=LaneId(7), blocked=blocked, height=height, wake_at=wake_at, now=NOW)


@pytest.mark.parametrize("height", [0, 3])
@pytest.mark.parametrize("seconds", [0, 1, -3600])
@pytest.mark.parametrize(
    "raw",
    [{}, {"deadline": NOW + HOUR, "expires_at": NOW + HOUR}, {**FULL}],
    ids=["plain", "pressing", "with everything"],
)
def test_a_row_that_is_made_like_another_is_as_if_it_were_made_by_itself(
    raw: dict[str, Any], seconds: int, height: int
):
    one = defined(task(**raw))
    other = one._replace(id=TaskId("task_other"), created_at=Micros(one.created_at + seconds * 1_000_000), payload="{}")

    assert born_like(started(one, height=height), other, now=NOW) == started(other, height=height)


@pytest.mark.parametrize(
    ("preset", "raw", "expected"),
    [
        ("standard", {}, Trait.NONE),
        ("standard", {"output": {"validation": "test-pass"}}, Trait.VALIDATED | Trait.JUDGED),
        ("standard", {**PAIR, "dedup": "subject"}, Trait.KEY_WHILE_WAITING),
        ("standard", {**PAIR, "idempotency_key": "mine"}, Trait.NONE),
        ("loki", {}, Trait.REPORTED),
        ("automechanica", {}, Trait.NONE),
        ("multica", {}, Trait.RUNTIME_KEPT),
        ("multica", PAIR, Trait.RUNTIME_KEPT | Trait.KEY_WHILE_WAITING | Trait.RESUMES),
        ("multica", {**PAIR, "idempotency_key": "mine"}, Trait.RUNTIME_KEPT | Trait.RESUMES),
        ("ade", {"output": {"validation": "llm-judge"}}, Trait.VALIDATED | Trait.JUDGED),
        ("ade", {"output": REGEX}, Trait.VALIDATED),
    ],
)
def test_what_makes_a_task_more_than_plain(preset: str, raw: dict[str, Any], expected: Trait):
    definition = defined(task(**raw), preset)
    assert traits(definition, PRESETS[preset]) is expected
    assert started(definition).traits == int(expected)


def test_fallback_models_come_after_two_counted_failures():
    definition = defined(task(model_preferences=["large", "middle"], fallback_models=["small"]))
    assert [models_for(definition, failures) for failures in range(4)] == [("large", "middle")] * 2 + [("small",)] * 2
    assert [lane_of(definition, failures=failures).model for failures in (1, 2)] == ["large", "small"]


def test_without_fallbacks_the_models_stay():
    assert models_for(defined(task(model_preferences=["large"])), 5) == ("large",)
    assert lane_of(defined(task()), failures=5).model is None


def test_a_lane_is_what_makes_tasks_alike_to_a_claimer():
    assert lane_of(defined(FULL), failures=0) == Lane(
        workspace="default",
        queue="fast",
        type="code",
        agent="coder",
        capabilities=("git", "web-search"),
        boost=25,
        cost_class=19,  # 2**18 < 500,000 < 2**19
        model="large",
    )


@pytest.mark.parametrize(
    ("cost", "cost_class"), [(None, 0), (0, 1), ("0.000001", 1), ("0.000002", 2), ("0.000003", 2), (1, 20)]
)
def test_the_cost_class_is_a_power_of_two(cost: Any, cost_class: int):
    assert lane_of(defined(task(max_cost_usd=cost)), failures=0).cost_class == cost_class


def test_a_task_begins_ready_with_nothing_behind_it():
    definition = defined(FULL, dag=DAG)
    hot = started(definition, height=3)
    assert (hot.id, hot.workspace, hot.dag_id, hot.lane, hot.seq) == (MINE, "default", DAG, 7, 0)
    assert (hot.status, hot.version, hot.height, hot.updated_at, hot.created_at) == (Status.READY, 1, 3, NOW, NOW)
    assert (hot.idempotency_key, hot.key, hot.reserve) == ("pr-123-lint", "repo:myapp", 500_000)
    assert (hot.claim_ttl, hot.lease_sec, hot.run_sec, hot.max_attempts) == (10, 40, 300, 5)
    assert (hot.expires_at, hot.due_at, hot.wake_at) == (NOW + HOUR, NOW + HOUR, None)
    assert json.loads(hot.session or "") == {"session_id": "s1", "work_dir": "/srv/page"}
    deadline = definition.deadline
    assert hot.rank == rank(priority=20, boost=25, created_at=NOW, height=3, deadline=deadline, now=NOW)
    assert hot.rescore_at == rescore_at(deadline, NOW) != None  # noqa: E711 - it has one
    nothing = {"attempt", "failures", "losses", "parks", "wait", "circuit", "reserved", "spent", "tokens_in"}
    nothing |= {"tokens_out", "ran", "agent", "runtime", "lease", "claimed_at", "started_at", "heartbeat_at"}
    nothing |= {"lease_expires_at", "limit_at", "tokens_cached", "progress", "why"}
    assert not any(getattr(hot, name) for name in nothing)


def test_a_blocked_task_begins_pending_and_wakes_at_its_time():
    soon = Micros(NOW + MINUTE)
    assert started(defined(task()), blocked=True).status is Status.PENDING
    hot = started(defined(task(run_after=soon, expires_at=NOW + HOUR)), blocked=True, wake_at=soon)
    assert (hot.status, hot.wake_at, hot.due_at, hot.expires_at) == (Status.PENDING, soon, soon, NOW + HOUR)


def test_a_plain_task_is_never_due():
    assert started(defined(task())).due_at is None
    assert started(defined(task())).rescore_at is None


@pytest.mark.parametrize(
    ("session", "stored"),
    [
        ({}, None),
        ({"session_id": "s"}, {"session_id": "s", "work_dir": None}),
        ({"work_dir": "/w"}, {"session_id": None, "work_dir": "/w"}),
        ({"session_id": "s", "work_dir": "/w", "fresh": True}, None),
    ],
)
def test_a_session_is_resumed_unless_a_fresh_one_is_asked_for(session: dict[str, Any], stored: Any):
    kept = started(defined(task(session=session))).session
    assert (kept and json.loads(kept)) == stored


def test_multicas_time_to_run_is_its_presets_unless_the_task_says_so():
    assert started(defined(task(), "multica")).run_sec == 9000
    assert started(defined(task(max_duration_sec=60), "multica")).run_sec == 60
