"""Bad input is refused with the field and the rule, on every store alike, and nothing is stored."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from taskyard.core.errors import CycleFound, InvalidInput, NotFound
from taskyard.core.policy import PRESETS
from taskyard.core.task import Status
from taskyard.features.tasks.views import Held
from taskyard.yard import Yard
from tests.core.hostile import HOSTILE, ID, LONE, NUL, Hostile, circle, nested
from tests.yards import OpenYard, given_a_running_task, row_of

FAR = "task_01J8K2M0000000000000000000"


async def refusal(asking: Awaitable[object]) -> tuple[str, str] | str:
    """The field and the rule of a refusal, or what happened instead."""
    try:
        answer = await asking
    except InvalidInput as refused:
        return str(refused.facts["field"]), str(refused.facts["rule"])
    except Exception as error:  # whatever else comes out is what the test is about
        return f"raised {error!r}"[:200]
    return f"was taken: {answer!r}"[:200]


def names(told: tuple[str, str] | str, field: str, rule: str) -> bool:
    return isinstance(told, tuple) and told[0] == field and rule in told[1]


async def assert_nothing_is_stored(yard: Yard) -> None:
    assert await yard.find() == []
    assert await yard.dags.list() == []
    assert await yard.events() == []


def of_preset(preset: str) -> list[Hostile]:
    return [row for row in HOSTILE if row.preset == preset]


def test_the_table_is_long_enough_to_mean_something():
    assert len(HOSTILE) >= 60
    assert {row.preset for row in HOSTILE} == set(PRESETS)


@pytest.mark.parametrize("preset", PRESETS)
async def test_every_hostile_task_is_refused_alone(open_yard: OpenYard, preset: str):
    yard = await open_yard(preset=preset)
    told = {row.name: await refusal(yard.enqueue_many([row.raw])) for row in of_preset(preset)}

    wrong = {row.name: told[row.name] for row in of_preset(preset) if not names(told[row.name], row.field, row.rule)}
    assert wrong == {}
    await assert_nothing_is_stored(yard)


@pytest.mark.parametrize("preset", PRESETS)
async def test_every_hostile_task_is_refused_with_the_whole_graph_it_is_in(open_yard: OpenYard, preset: str):
    yard = await open_yard(preset=preset)
    rows = of_preset(preset)
    told = {row.name: await refusal(yard.submit({"tasks": [{"type": "fine"}, row.raw]})) for row in rows}

    wrong = {row.name: told[row.name] for row in rows if not names(told[row.name], place_in_graph(row), row.rule)}
    assert wrong == {}
    await assert_nothing_is_stored(yard)


def place_in_graph(row: Hostile) -> str:
    return "tasks[1]" if row.field == "task" else f"tasks[1].{row.field}"


async def test_every_hostile_task_is_refused_when_it_is_added_or_spawned(yard: Yard):
    dag = await yard.submit({"tasks": [{"name": "a", "type": "code"}]})
    await yard.agents.register("worker")
    (held,) = await yard.claim("worker", start=True)
    before = await yard.events()
    for row in of_preset("standard"):
        place = place_in_graph(row).replace("tasks[1]", "tasks[0]")
        assert names(await refusal(yard.dags.add(dag.id, [row.raw])), place, row.rule), row.name
        if row.field != "parent_id":  # a spawned task has its parent from the call
            told = await refusal(yard.tasks.spawn(held.id, held.lease, [row.raw], name=row.name))
            assert names(told, place, row.rule), row.name

    assert await yard.events() == before


async def test_one_bad_task_refuses_the_whole_batch(yard: Yard):
    told = await refusal(yard.enqueue_many([{"type": "code"}, {"type": "code", "priority": 101}, {"type": "code"}]))

    assert names(told, "priority", "from 0 to 100")
    await assert_nothing_is_stored(yard)


# Graphs


def chain(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"tasks": [{"type": "code", **task} for task in tasks], **more}


GRAPHS: list[tuple[str, Any, str, str]] = [
    ("nothing", None, "dag", "must be an object"),
    ("a list", [], "dag", "must be an object"),
    ("an unknown field", chain({}, colour="red"), "colour", "is not a field of a DAG"),
    ("a field that is no text", {"tasks": [], 5: 1}, "5", "is not a field of a DAG"),
    ("a field with a lone surrogate", {LONE: 1}, "a\\ud800b", "is not a field of a DAG"),
    ("no tasks", {}, "tasks", "at least one"),
    ("tasks that are null", {"tasks": None}, "tasks", "at least one"),
    ("an empty list of tasks", {"tasks": []}, "tasks", "at least one"),
    ("tasks that are a text", {"tasks": "code"}, "tasks", "must be a list"),
    ("10,001 tasks", {"tasks": [{"type": "code"}] * 10_001}, "tasks", "at most 10000"),
    ("an id that is none", chain({}, id="dag_1"), "id", "ULID"),
    ("an id that is null", chain({}, id=None), "id", "ULID"),
    ("an id of a task", chain({}, id=ID), "id", "ULID"),
    ("a title with NUL", chain({}, title=NUL), "title", "NUL"),
    ("a title with a lone surrogate", chain({}, title=LONE), "title", "surrogate"),
    ("a title that is a number", chain({}, title=5), "title", "must be text"),
    ("a long title", chain({}, title="x" * 1001), "title", "1000"),
    ("tags that are a text", chain({}, tags="a"), "tags", "must be a list"),
    ("a tag with NUL", chain({}, tags=[NUL]), "tags", "NUL"),
    ("a long tag", chain({}, tags=["x" * 101]), "tags", "100"),
    ("51 tags", chain({}, tags=list(map(str, range(51)))), "tags", "50"),
    ("negative money", chain({}, budget_ceiling_usd=-1), "budget_ceiling_usd", "from 0"),
    ("money in a list", chain({}, budget_ceiling_usd=[1]), "budget_ceiling_usd", "decimal"),
    ("a name twice", chain({"name": "a"}, {"name": "a"}), "tasks[1].name", "twice"),
    ("a name that is a number", chain({"name": 5}), "tasks[0].name", "must be a text"),
    ("an empty name", chain({"name": ""}), "tasks[0].name", "not empty"),
    ("an unknown name", chain({"name": "a", "depends_on": ["b"]}), "tasks[0].depends_on", "ULID"),
    ("an unknown id", chain({"name": "a", "depends_on": [FAR]}), "depends_on", FAR),
    ("itself", chain({"name": "a", "depends_on": ["a"]}), "tasks[0].depends_on", "itself"),
]


@pytest.mark.parametrize(("dag", "field", "rule"), [row[1:] for row in GRAPHS], ids=[row[0] for row in GRAPHS])
async def test_a_hostile_graph_is_refused(yard: Yard, dag: Any, field: str, rule: str):
    told = await refusal(yard.submit(dag))

    assert names(told, field, rule), told
    await assert_nothing_is_stored(yard)


async def test_a_circle_is_refused_and_shown(yard: Yard):
    with pytest.raises(CycleFound) as refused:
        await yard.submit(
            chain(
                {"name": "a", "depends_on": ["c"]},
                {"name": "b", "depends_on": ["a"]},
                {"name": "c", "depends_on": ["b"]},
            )
        )

    assert len(refused.value.task_ids) == 4
    assert refused.value.task_ids[0] == refused.value.task_ids[-1]
    await assert_nothing_is_stored(yard)


async def test_a_dependency_of_another_workspace_is_unknown(yard: Yard, open_yard: OpenYard):
    other = await open_yard(workspace="other")
    theirs = await other.enqueue("code")

    told = await refusal(yard.enqueue("code", depends_on=[theirs.id]))
    assert names(told, "depends_on", "is unknown")
    await assert_nothing_is_stored(yard)


# What agents and people say


async def assert_refused_and_untouched(yard: Yard, held: Held, asking: Awaitable[object], field: str) -> None:
    before = await row_of(yard, held.id), await yard.events(), await yard.attempts.checkpoints(held.id)
    told = await refusal(asking)

    assert isinstance(told, tuple), told
    assert told[0] == field
    assert (await row_of(yard, held.id), await yard.events(), await yard.attempts.checkpoints(held.id)) == before


HOSTILE_JSON: dict[str, Any] = {
    "NUL": {"a": ["x", NUL]},
    "NUL in a key": {NUL: 1},
    "a lone surrogate": [LONE],
    "NaN": {"a": float("nan")},
    "an infinity": [float("inf")],
    "a number for a key": {"a": {1: 2}},
    "nested 65 deep": nested(65),
    "nested 100,000 deep": nested(100_000),
    "itself inside": circle(),
    "a set": {1, 2},
    "bytes": b"{}",
    "too large": "x" * 1_048_575,
    "too large in UTF-8": "€" * 349_526,
    "too many digits": [10**5000],
}
WITH_JSON: dict[str, tuple[str, Callable[[Yard, Held, Any], Awaitable[object]]]] = {
    "complete": ("output", lambda yard, held, value: yard.complete(held.id, held.lease, value)),
    "report": (
        "decision_report",
        lambda yard, held, value: yard.complete(held.id, held.lease, decision_report=value),
    ),
    "fail": ("details", lambda yard, held, value: yard.fail(held.id, held.lease, details=value)),
    "heartbeat": ("progress", lambda yard, held, value: yard.heartbeat(held.id, held.lease, progress=value)),
    "checkpoint": ("data", lambda yard, held, value: yard.attempts.checkpoint(held.id, held.lease, "step", value)),
    "message": ("message", lambda yard, held, value: yard.attempts.message(held.id, held.lease, value)),
    "signal": ("data", lambda yard, held, value: yard.signal(held.id, "go", value)),
}


@pytest.mark.parametrize("verb", WITH_JSON)
async def test_hostile_json_is_refused_by_every_verb_that_takes_some(yard: Yard, verb: str):
    held = await given_a_running_task(yard)
    field, ask = WITH_JSON[verb]
    for value in HOSTILE_JSON.values():
        await assert_refused_and_untouched(yard, held, ask(yard, held, value), field)

    assert (await yard.complete(held.id, held.lease, {"fine": True})).status is Status.COMPLETED


NO_NAME = ["", " ", NUL, LONE, "x" * 256, 5, None]
NO_TEXT = [NUL, LONE, "x" * 10_001, 5, None]
NO_COUNT = [-1, 2**53, 10**40, True, 1.5, "1"]
NO_MONEY = [-1, "ten", True, float("nan"), 10**40, [1]]
NO_TIME = [-1, float("nan"), float("inf"), 1e300, True, "5"]
NO_LIST = ["abc", [5], [""], [NUL], [LONE], ["x" * 1001], list(map(str, range(1001))), None, 5]

SAYINGS: dict[str, tuple[str, list[Any], Callable[[Yard, Held, Any], Awaitable[object]]]] = {
    "fail.reason": ("reason", NO_NAME, lambda yard, held, said: yard.fail(held.id, held.lease, said)),
    "fail.retry_after_sec": (
        "retry_after_sec",
        NO_TIME,
        lambda yard, held, said: yard.fail(held.id, held.lease, retry_after_sec=said),
    ),
    "fail.model": ("model", NO_NAME[:-1], lambda yard, held, said: yard.fail(held.id, held.lease, model=said)),
    "fail.cost_usd": ("cost_usd", NO_MONEY, lambda yard, held, said: yard.fail(held.id, held.lease, cost_usd=said)),
    "fail.tokens_input": (
        "tokens_input",
        NO_COUNT,
        lambda yard, held, said: yard.fail(held.id, held.lease, tokens_input=said),
    ),
    "complete.artifacts": (
        "artifacts",
        NO_LIST,
        lambda yard, held, said: yard.complete(held.id, held.lease, artifacts=said),
    ),
    "complete.model": (
        "model",
        NO_NAME[:-1],
        lambda yard, held, said: yard.complete(held.id, held.lease, model=said),
    ),
    "complete.cost_usd": (
        "cost_usd",
        NO_MONEY,
        lambda yard, held, said: yard.complete(held.id, held.lease, cost_usd=said),
    ),
    "complete.tokens_output": (
        "tokens_output",
        NO_COUNT,
        lambda yard, held, said: yard.complete(held.id, held.lease, tokens_output=said),
    ),
    "heartbeat.cost_usd": (
        "cost_usd",
        NO_MONEY,
        lambda yard, held, said: yard.heartbeat(held.id, held.lease, cost_usd=said),
    ),
    "heartbeat.tokens_input": (
        "tokens_input",
        NO_COUNT,
        lambda yard, held, said: yard.heartbeat(held.id, held.lease, tokens_input=said),
    ),
    "checkpoint.name": (
        "name",
        NO_NAME,
        lambda yard, held, said: yard.attempts.checkpoint(held.id, held.lease, said, 1),
    ),
    "session": (
        "session_id",
        NO_NAME,
        lambda yard, held, said: yard.attempts.pin_session(held.id, held.lease, session_id=said),
    ),
    "work_dir": (
        "work_dir",
        NO_TEXT[:-1],
        lambda yard, held, said: yard.attempts.pin_session(held.id, held.lease, session_id="s", work_dir=said),
    ),
    "sleep.name": ("name", NO_NAME, lambda yard, held, said: yard.attempts.sleep(held.id, held.lease, said, 5)),
    "sleep.duration_sec": (
        "duration_sec",
        NO_TIME,
        lambda yard, held, said: yard.attempts.sleep(held.id, held.lease, "nap", said),
    ),
    "snooze.duration_sec": (
        "duration_sec",
        NO_TIME,
        lambda yard, held, said: yard.attempts.snooze(held.id, held.lease, said),
    ),
    "wait.name": ("name", NO_NAME, lambda yard, held, said: yard.attempts.wait_for(held.id, held.lease, said, "go")),
    "wait.signal": (
        "signal",
        NO_NAME,
        lambda yard, held, said: yard.attempts.wait_for(held.id, held.lease, "wait", said),
    ),
    "wait.timeout_sec": (
        "timeout_sec",
        NO_TIME,
        lambda yard, held, said: yard.attempts.wait_for(held.id, held.lease, "wait", "go", timeout_sec=said),
    ),
    "signal.name": ("name", NO_NAME, lambda yard, held, said: yard.signal(held.id, said)),
    "signal.sent_by": ("sent_by", NO_NAME, lambda yard, held, said: yard.signal(held.id, "go", sent_by=said)),
    "spawn.name": (
        "name",
        NO_NAME,
        lambda yard, held, said: yard.tasks.spawn(held.id, held.lease, [{"type": "code"}], name=said),
    ),
    "cancel.reason": ("reason", NO_TEXT, lambda yard, held, said: yard.cancel(held.id, said)),
    "priority.by": ("by", NO_NAME, lambda yard, held, said: yard.tasks.set_priority(held.id, 5, by=said)),
    "resolve.by": ("by", NO_NAME, lambda yard, held, said: yard.dead_letters.resolve(held.id, "retry", by=said)),
    "resolve.note": (
        "note",
        NO_TEXT,
        lambda yard, held, said: yard.dead_letters.resolve(held.id, "retry", by="human:ada", note=said),
    ),
}


OTHER_SAYINGS: dict[str, tuple[str, list[Any], Callable[[Yard, Any], Awaitable[object]]]] = {
    "claim.request_id": (
        "request_id",
        NO_NAME[:-1],
        lambda yard, said: yard.claim("worker", request_id=said),
    ),
    "claim.agent_id": ("agent_id", NO_NAME, lambda yard, said: yard.claim(said)),
    "claim.count": ("count", [0, 1001, -1], lambda yard, said: yard.claim("worker", count=said)),
    "enqueue.created_by": (
        "created_by",
        NO_NAME,
        lambda yard, said: yard.enqueue("code", created_by=said),
    ),
    "submit.created_by": (
        "created_by",
        NO_NAME,
        lambda yard, said: yard.submit({"tasks": [{"type": "code"}]}, created_by=said),
    ),
    "breaker.type": ("type", NO_NAME, lambda yard, said: yard.breakers.open(said)),
    "queue": ("queue", NO_NAME, lambda yard, said: yard.queues.pause(said)),
    "runtime_id": ("runtime_id", NO_NAME, lambda yard, said: yard.runtimes.register(said)),
    "runtime.hostname": (
        "hostname",
        NO_TEXT,
        lambda yard, said: yard.runtimes.register("laptop", hostname=said),
    ),
    "runtime.pid": ("pid", NO_COUNT, lambda yard, said: yard.runtimes.register("laptop", pid=said)),
}


@pytest.mark.parametrize("saying", SAYINGS)
async def test_what_no_store_could_keep_is_refused_wherever_it_is_stated_of_a_task(yard: Yard, saying: str):
    held = await given_a_running_task(yard)
    field, hostile, say = SAYINGS[saying]
    for said in hostile:
        await assert_refused_and_untouched(yard, held, say(yard, held, said), field)


@pytest.mark.parametrize("saying", OTHER_SAYINGS)
async def test_and_wherever_else_it_is_stated(yard: Yard, saying: str):
    held = await given_a_running_task(yard)
    field, hostile, say = OTHER_SAYINGS[saying]
    for said in hostile:
        await assert_refused_and_untouched(yard, held, say(yard, said), field)


@pytest.mark.parametrize("task_id", ["", "task_1", NUL, LONE, "é", "task_" + "x" * 10_000])
async def test_what_is_no_id_is_not_found(yard: Yard, task_id: str):
    with pytest.raises(NotFound):
        await yard.get(task_id)
    with pytest.raises(NotFound):
        await yard.complete(task_id, "lease_x.1")
    with pytest.raises(NotFound):
        await yard.cancel(task_id)
