"""A request comes to the same, whatever was asked for before it."""

from enum import StrEnum
from typing import Any

import pytest

import taskyard
from taskyard.core.errors import InvalidInput
from taskyard.core.planning import Planning
from taskyard.core.policy import PRESETS
from taskyard.core.task import Status
from taskyard.definition.cache import Terms, pattern_of
from taskyard.features.tasks.views import stored_task
from taskyard.yard import Yard
from tests.core.defining import defined
from tests.core.hostile import HOSTILE, Hostile


class _Word(StrEnum):
    CODE = "code"


_LARGEST = 1 << 20  # bytes of prompt and payload together

# Any two of these are nearly alike, or are the same to Python and not to the yard.
REQUESTS: dict[str, dict[str, Any]] = {
    "plain": {"type": "code"},
    "with a payload": {"type": "code", "payload": {"number": 1}},
    "with another": {"type": "code", "payload": [True, None]},
    "with none": {"type": "code", "payload": None},
    "with one that is too large": {"type": "code", "payload": "x" * _LARGEST},
    "with one that is no JSON": {"type": "code", "payload": {1: 2}},
    "of another type": {"type": "review", "payload": {"number": 1}},
    "of no type": {"payload": {"number": 1}},
    "of a type that is an enumeration's": {"type": _Word.CODE, "payload": {"number": 1}},
    "urgent": {"type": "code", "priority": 1, "payload": {}},
    "urgent by a truth value": {"type": "code", "priority": True, "payload": {}},
    "urgent by a fraction": {"type": "code", "priority": 1.0, "payload": {}},
    "with a prompt": {"type": "code", "prompt": "x" * (_LARGEST - 20), "payload": {}},
    "with a prompt and too much": {
        "type": "code",
        "prompt": "x" * (_LARGEST - 20),
        "payload": {"number": 1_000_000_000},
    },
    "with a list": {"type": "code", "tags": ["a"], "payload": {}},
    "with another list": {"type": "code", "tags": ["b"], "payload": {}},
    "told apart by its payload": {"type": "code", "dedup": "payload", "payload": {"number": 1}},
    "told apart by another": {"type": "code", "dedup": "payload", "payload": {"number": 2}},
    "under an id of its own": {"type": "code", "id": f"task_{1:026}", "payload": {"number": 1}},
    "in a queue": {"type": "code", "queue": "fast", "payload": {"number": 1}},
    "with a field that there is not": {"type": "code", "tpye": "code", "payload": {}},
}


@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS)
async def test_a_request_comes_to_the_same_whatever_was_asked_for_before(asked: dict[str, Any]):
    async with taskyard.connect("memory://") as alone:
        answer = await _answer(alone, asked)
    for name, before in REQUESTS.items():
        async with taskyard.connect("memory://") as yard:
            await _answer(yard, before)

            assert await _answer(yard, asked) == answer, name


@pytest.mark.parametrize("row", HOSTILE, ids=[row.name for row in HOSTILE])
async def test_a_hostile_request_is_refused_after_a_sound_one_too(row: Hostile):
    async with taskyard.connect("memory://", preset=row.preset) as yard:
        await yard.enqueue("code", payload={"number": 1})

        with pytest.raises(InvalidInput) as refused:
            await yard.enqueue_many([row.raw])

    assert refused.value.facts["field"] == row.field
    assert row.rule in str(refused.value.facts["rule"])


async def test_tasks_of_a_graph_have_each_what_is_its_own():
    named = [{"name": f"n{place}", "type": "code", "prompt": f"do {place}", "payload": [place]} for place in range(4)]
    tasks = [{**task, "depends_on": [f"n{place - 1}"] if place else []} for place, task in enumerate(named)]
    async with taskyard.connect("memory://") as yard:
        first, second = [await yard.submit({"title": title, "tasks": tasks}) for title in ("one", "other")]

        for dag in (first, second):
            definitions = [stored_task(dag.tasks[f"n{place}"])[1] for place in range(4)]
            assert [(each.prompt, each.payload, each.dag_id) for each in definitions] == [
                (f"do {place}", f"[{place}]", dag.id) for place in range(4)
            ]
            assert [each.depends_on for each in definitions] == [(), *((each.id,) for each in definitions[:-1])]
            assert [dag.tasks[f"n{place}"].status for place in range(4)] == [Status.READY] + [Status.PENDING] * 3
        with pytest.raises(InvalidInput) as refused:
            await yard.submit({"tasks": [*tasks, {"name": "n4", "type": "code", "depends_on": ["nobody"]}]})

    assert refused.value.facts["field"] == "tasks[4].depends_on"


def test_what_was_stated_of_a_task_itself_by_another_name_is_no_pattern():
    raw = {"type": "code", "instructions": "Fix it"}
    fixing = defined({"type": "code", "prompt": "Fix it"})
    read_under = Planning(workspace="default", epoch=1), Terms("human:ann", None, False), PRESETS["standard"]

    assert pattern_of(raw, *read_under, fixing) is None
    assert pattern_of(raw, *read_under, fixing._replace(prompt="")) is not None


async def test_a_task_does_not_depend_on_itself_whatever_came_before():
    mine = f"task_{1:026}"
    async with taskyard.connect("memory://") as yard:
        await yard.enqueue("code")

        with pytest.raises(InvalidInput, match="must not name the task itself"):
            await yard.enqueue("code", id=mine, depends_on=[mine])


async def test_a_task_is_not_its_own_parent_whatever_came_before():
    mine = f"task_{1:026}"
    async with taskyard.connect("memory://") as yard:
        parent = await yard.enqueue("code", id=mine)
        await yard.enqueue("code", parent_id=parent.id)

        with pytest.raises(InvalidInput, match="must not name the task itself"):
            await yard.enqueue("code", id=mine, parent_id=mine)


@pytest.mark.parametrize("preset", PRESETS)
async def test_it_does_in_every_preset(preset: str):
    asked: dict[str, Any] = {"type": "code", "payload": {"number": 1}}
    async with taskyard.connect("memory://", preset=preset) as yard:
        first, again = [await yard.enqueue(**asked) for _ in range(2)]
        other = await yard.enqueue("code", payload={"number": 2})

        assert again.created == (first.idempotency_key is None)
        assert other.created
        assert other.payload == {"number": 2}
        assert other.idempotency_key != first.idempotency_key or other.idempotency_key is None


async def test_a_list_is_looked_at_again_each_time():
    tags = ["before"]
    async with taskyard.connect("memory://") as yard:
        await yard.enqueue("code", tags=tags)
        tags[0] = "after"

        assert (await yard.enqueue("code", tags=tags)).tags == ("after",)


async def test_the_preset_of_the_queue_counts_that_is_in_force():
    async with taskyard.connect("memory://") as yard:
        before = await yard.enqueue("code")
        await yard.queues.set_preset("default", "ade")

        assert (before.preset, (await yard.enqueue("code")).preset) == ("standard", "ade")


async def test_who_asks_learns_of_each():
    async with taskyard.connect("memory://") as yard:
        ann = await yard.enqueue("code", created_by="human:ann")
        ben = await yard.enqueue("code", created_by="human:ben")

        assert (ann.created_by, ben.created_by) == ("human:ann", "human:ben")


async def _answer(yard: Yard, request: dict[str, Any]) -> dict[str, Any]:
    """What the yard makes of a request, but for what no two tasks have in common; or the field and the rule."""
    try:
        (task,) = await yard.enqueue_many([request])
    except InvalidInput as refused:
        return dict(refused.facts)
    told = task.to_dict()
    own = {"id", "dag_id", "created_at", "updated_at", "seq"} - request.keys()
    return {name: told[name] for name in told.keys() - own}
