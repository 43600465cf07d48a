"""What an agent may put into its DAG, and where a DAG ends: nothing grows without bounds, or past its parent."""

from collections.abc import Sequence
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.task import TaskId
from taskyard.core.units import to_iso
from taskyard.features.tasks.creation import growth_limits
from taskyard.features.tasks.views import Held
from taskyard.yard import Yard
from tests.graphs import given_a_graph, task
from tests.yards import OpenYard, claim_that, definition_of, given_an_agent

PARENT: dict[str, Any] = {
    "queue": "slow",
    "priority": 60,
    "priority_boost_per_minute": "0.05",
    "max_cost_usd": 2,
    "required_capabilities": ["python"],
}


async def held_by(yard: Yard, agent_id: str = "coder-1", *, orchestrator: bool = False, **fields: Any) -> Held:
    await given_an_agent(yard, agent_id, capabilities=["python", "gpu"], orchestrator=orchestrator)
    return await claim_that(yard, (await yard.enqueue("code", **fields)).id, by=agent_id, start=True)


async def spawn(yard: Yard, held: Held, *rows: dict[str, Any], name: str = "more") -> Sequence[TaskId]:
    return await yard.tasks.spawn(held.id, held.lease, [{"type": "test", **row} for row in rows or ({},)], name=name)


async def refused(yard: Yard, held: Held, row: dict[str, Any]) -> Any:
    with pytest.raises(InvalidInput) as error:
        await spawn(yard, held, row)
    return error.value.facts["field"]


async def test_what_an_agent_spawns_is_no_better_than_its_own_task(yard: Yard):
    held = await held_by(yard, **PARENT)
    soon = to_iso(yard.now())
    better = {
        "tasks[0].queue": {"queue": "fast"},
        "tasks[0].priority": {"priority": 59},
        "tasks[0].priority_boost_per_minute": {"priority_boost_per_minute": "0.06"},
        "tasks[0].deadline": {"deadline": soon},
        "tasks[0].spec.constraints.max_cost_usd": {"max_cost_usd": "2.000001"},
    }

    assert {field: await refused(yard, held, row) for field, row in better.items()} == {each: each for each in better}
    assert len(await yard.find()) == 1


async def test_what_it_does_not_say_is_that_of_its_own_task(yard: Yard):
    held = await held_by(yard, **PARENT)

    plain, own = await spawn(yard, held, {}, {"priority": 70, "max_cost_usd": 1, "required_capabilities": ["gpu"]})

    made = await definition_of(yard, plain)
    assert (made.queue, made.priority, made.boost, made.max_cost) == ("slow", 60, 5, 2_000_000)
    assert made.required_capabilities == ("python",)
    made = await definition_of(yard, own)
    assert (made.priority, made.max_cost, made.required_capabilities) == (70, 1_000_000, ("python", "gpu"))


async def test_a_subagent_is_no_better_either(yard: Yard):
    held = await held_by(yard, **PARENT)

    with pytest.raises(InvalidInput, match="priority: must be no better"):
        await yard.subagents.spawn(held.id, held.lease, "look", "Look", name="n", fields={"priority": 0})

    begun = await yard.subagents.spawn(held.id, held.lease, "look", "Look", name="n")
    assert (await yard.get(begun.task_id)).queue == "slow"


async def test_an_orchestrators_tasks_may_be_better_than_its_own(yard: Yard):
    held = await held_by(yard, "planner", orchestrator=True, **PARENT)
    elsewhere = await yard.enqueue("other")
    row = {"queue": "fast", "priority": 0, "max_cost_usd": 9, "context_refs": [f"task:{elsewhere.id}:output"]}

    (child,) = await spawn(yard, held, row)

    made = await definition_of(yard, child)
    assert (made.queue, made.priority, made.max_cost, made.required_capabilities) == ("fast", 0, 9_000_000, ())


async def test_who_spawned_a_task_is_its_creator(yard: Yard):
    (child,) = await spawn(yard, held := await held_by(yard))

    spawned = await yard.get(child)
    assert (spawned.created_by, spawned.parent_id) == ("agent:coder-1", held.id)


async def test_an_agent_refers_to_nothing_outside_of_its_dag(open_yard: OpenYard, tmp_path: Any):
    yard = await open_yard(artifacts=tmp_path.as_uri())
    given, loose = await yard.artifacts.put("given.txt", "1"), await yard.artifacts.put("loose.txt", "2")
    held = await held_by(yard, context_refs=[given.reference])
    elsewhere = await yard.enqueue("other")
    outside = [f"task:{elsewhere.id}:output", f"task:{elsewhere.id}", loose.reference, "artifact:art_x-y"]

    for reference in outside:
        assert await refused(yard, held, {"context_refs": [reference]}) == "spec.context_refs"
    assert await refused(yard, held, {"depends_on": [elsewhere.id]}) == "depends_on"
    with pytest.raises(InvalidInput, match="artifacts: must be of the DAG alone"):
        await yard.complete(held.id, held.lease, {}, artifacts=[loose.reference])

    within = ["README.md", "memory:facts", f"task:{held.id}:output", given.reference]
    (child,) = await spawn(yard, held, {"context_refs": within})
    assert (await yard.get(child)).spec.context_refs == tuple(within)
    await yard.complete(held.id, held.lease, {}, artifacts=[given.reference, "https://example.org/log"])


async def test_a_dag_has_so_many_tasks_over_all_calls_and_an_operator_may_allow_more(yard: Yard):
    dag = await given_a_graph(yard, task("a"))
    await yard.dags.set_limit(dag.id, 3)

    await yard.dags.add(dag.id, [task("b"), task("c")])
    with pytest.raises(InvalidInput, match="with at most 3 tasks, and it has 3: an operator may raise that"):
        await yard.dags.add(dag.id, [task("d")])
    with pytest.raises(InvalidInput, match="at most 3 tasks"):
        await yard.enqueue("code", dag_id=dag.id)
    await given_an_agent(yard)
    held = await claim_that(yard, dag.tasks["a"].id, start=True)
    with pytest.raises(InvalidInput, match="at most 3 tasks"):
        await spawn(yard, held)

    await yard.dags.set_limit(dag.id, 4)
    await spawn(yard, held)
    assert len((await yard.dags.get(dag.id)).tasks) == 4
    for wrong in (0, -1, 10**7, True, "many"):
        with pytest.raises(InvalidInput, match="max_tasks"):
            await yard.dags.set_limit(dag.id, wrong)  # pyright: ignore[reportArgumentType]


async def test_an_attempt_has_so_many_children_over_all_calls(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(growth_limits, "MOST_CHILDREN", 3)
    held = await held_by(yard)
    await yard.attempts.checkpoint(held.id, held.lease, "a step", {"children": ["no", "tasks", "of", "mine"]})

    await spawn(yard, held, {}, {}, name="two")
    with pytest.raises(InvalidInput, match="at most 3 of one attempt over all calls, and this one has spawned 2"):
        await spawn(yard, held, {}, {}, name="two more")
    await spawn(yard, held, {}, {}, name="two")  # the same call again makes nothing
    await spawn(yard, held, name="the last")

    assert len(await yard.find()) == 4


async def test_spawned_tasks_go_so_deep_and_no_deeper(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(growth_limits, "DEEPEST", 3)
    held = await held_by(yard)
    for name in ("second", "third"):
        (child,) = await spawn(yard, held, name=name)
        held = await claim_that(yard, child, by="coder-1", start=True)

    with pytest.raises(InvalidInput, match="a task that is 3 deep"):
        await spawn(yard, held, name="fourth")


@pytest.mark.parametrize("said", ["code", " code", "code\n", "\u3000code\t"])
async def test_blanks_around_a_name_are_no_part_of_it(yard: Yard, said: str):
    await given_an_agent(yard, f" {said}", capabilities=[f"{said} "], types=[said])
    made = await yard.enqueue(said, queue=said, agent=said, required_capabilities=[said], tags=[said])

    held = await claim_that(yard, made.id, by="code", start=True)

    stored = await definition_of(yard, held.id)
    assert (stored.type, stored.queue, stored.agent, stored.tags) == ("code", "code", "code", ("code",))
    await yard.signal(held.id, f"{said} ")
    assert (await yard.attempts.wait_for(held.id, held.lease, "answer", "code")).over
