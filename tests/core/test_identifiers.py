"""Names of blockers, ceilings and counters: the text that stores keep, and what it is taken apart into."""

import re
from pathlib import Path

import pytest

from taskyard.core import identifiers as names
from taskyard.core.identifiers import BlockerKind, BlockerName, CeilingKind, CounterKind, CounterName

PACKAGE = Path(names.__file__).parents[1]
TEXTS = {
    names.task_blocker("task_1"): "task:task_1",
    names.child_blocker("task_1"): "child:task_1",
    names.signal_blocker("go"): "signal:go",
    names.TIME_BLOCKER: "time",
    names.DAY_BLOCKER: "budget:day",
    names.key_ceiling("repo"): "key:repo",
    names.probe_ceiling("code", 3): "probe:code:3",
    names.dag_ceiling("dag_1"): "dag:dag_1",
    names.day_ceiling("2026-11-15"): "day:2026-11-15",
    names.slots_ceiling("ada"): "slots:ada",
    names.type_slots_ceiling("coder"): "type-slots:coder",
    names.agent_ceiling("ada"): "agent:ada",
    names.type_ceiling("coder"): "type:coder",
    names.type_day_ceiling("coder", "2026-11-15"): "type-day:2026-11-15:coder",
    names.type_month_ceiling("coder", "2026-11-15"): "type-month:2026-11:coder",
    names.dag_counter("dag_1", "live"): "dag:dag_1:live",
    names.breaker_counter("code", 2): "breaker:code:2",
}


def test_every_name_has_the_text_that_is_stored():
    assert [(made, stored) for made, stored in TEXTS.items() if made != stored] == []


@pytest.mark.parametrize(
    ("text", "kind", "rest"),
    [
        ("task:task_1", BlockerKind.TASK, "task_1"),
        ("child:task_1", BlockerKind.CHILD, "task_1"),
        ("signal:a:b", BlockerKind.SIGNAL, "a:b"),
        ("time", BlockerKind.TIME, ""),
        ("key:a:b", BlockerKind.KEY, "a:b"),
        ("budget:day", BlockerKind.BUDGET, "day"),
        ("moon:full", None, "full"),  # of a newer release
    ],
)
def test_a_blocker_is_taken_apart(text: str, kind: BlockerKind | None, rest: str):
    assert names.blocker_name(text) == BlockerName(kind, rest)


def test_a_blocker_names_the_task_or_the_dag_it_is_about():
    assert names.blocker_name("child:task_1").task_id == "task_1"
    assert names.blocker_name("budget:dag:dag_1").dag_id == "dag_1"
    assert names.blocker_name("budget:day").dag_id is None
    assert names.blocker_name("key:dag:dag_1").dag_id is None


@pytest.mark.parametrize("kind", CeilingKind)
def test_every_ceiling_is_known_by_its_kind(kind: CeilingKind):
    (made,) = (text for text in TEXTS if text.startswith(f"{kind.value}:") and text != "dag:dag_1:live")

    assert names.ceiling_kind(made) is names.ceiling_name(made).kind is kind
    assert f"{kind.value}:{names.ceiling_name(made).rest}" == made


def test_tasks_wait_only_for_ceilings_that_more_than_one_agent_stands_under():
    waited = {name: names.blocker_for(name) for name in TEXTS if names.ceiling_kind(name) is not None}

    assert {name: blocker for name, blocker in waited.items() if blocker is not None and name != "dag:dag_1:live"} == {
        "key:repo": "key:repo",
        "day:2026-11-15": "budget:day",
        "dag:dag_1": "budget:dag:dag_1",
    }
    assert not any(names.is_own_ceiling(name) for name, blocker in waited.items() if blocker is not None)


def test_a_counter_is_taken_apart_though_a_type_may_have_a_colon():
    assert names.counter_name("breaker:a:b:4") == CounterName(CounterKind.BREAKER, "a:b", "4")
    assert names.counter_name("dag:dag_1:live") == CounterName(CounterKind.DAG, "dag_1", "live")


# Redis has such fields in a hash, and arrivals tell idempotency keys from ids by a prefix of their own.
ELSEWHERE = ("core/identifiers.py", "stores/redis/queries.py", "features/tasks/creation/arrivals.py")
SPELLED = re.compile(r"[\"'](?:slots|type-slots|type-day|type-month|probe|child|signal|day|budget|breaker|key):")


def test_no_other_module_spells_a_name_or_its_prefix():
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    spelled = [name for name, path in files.items() if SPELLED.search(path.read_text(encoding="utf-8"))]

    assert [name for name in spelled if not name.startswith(ELSEWHERE)] == []
