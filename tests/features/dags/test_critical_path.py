"""The chain of tasks that decides how long a graph takes."""

from taskyard.features.dags.outline import outline
from taskyard.features.dags.views import CriticalPath
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import given_an_agent

FORKED = [
    {"name": "plan", "type": "plan"},
    {"name": "long", "type": "code", "depends_on": ["plan"]},
    {"name": "short", "type": "test", "depends_on": ["plan"]},
    {"name": "ship", "type": "ship", "depends_on": ["long", "short"]},
]


async def begin(yard: Yard, type_: str) -> Held:
    (held,) = await yard.claim("worker", types=[type_], start=True)
    return held


async def work(yard: Yard, clock: ManualClock, type_: str, seconds: float, cost: str) -> None:
    held = await begin(yard, type_)
    clock.advance(seconds=seconds)
    await yard.complete(held.id, held.lease, {}, cost_usd=cost)


def named(path: CriticalPath, ids: dict[str, str]) -> list[str]:
    names = {task_id: name for name, task_id in ids.items()}
    return [names[each] for each in path.task_ids]


async def test_the_longest_chain_is_the_path_with_its_time_and_cost(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    dag = await yard.submit({"tasks": FORKED})
    ids = {name: str(task.id) for name, task in dag.tasks.items()}
    await work(yard, clock, "plan", 2, "0.10")
    await work(yard, clock, "test", 3, "9.00")
    await work(yard, clock, "code", 20, "0.20")

    path = (await yard.dags.get(dag.id)).critical_path

    assert named(path, ids) == ["plan", "long", "ship"]
    assert (path.worked, path.expected, path.cost) == (22_000_000, 23_000_000, 300_000)


async def test_what_is_not_done_counts_as_long_as_others_of_its_type_took(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    tasks = [
        {"name": "first", "type": "slow"},
        {"name": "a", "type": "quick"},
        {"name": "b", "type": "quick", "depends_on": ["a"]},
        {"name": "c", "type": "quick", "depends_on": ["b"]},
        {"name": "second", "type": "slow"},
    ]
    dag = await yard.submit({"tasks": tasks})
    ids = {name: str(task.id) for name, task in dag.tasks.items()}
    assert named((await yard.dags.get(dag.id)).critical_path, ids) == ["a", "b", "c"]  # nothing else is known

    await work(yard, clock, "slow", 30, "0")
    await work(yard, clock, "quick", 1, "0")
    held = await begin(yard, "slow")
    clock.advance(seconds=40)
    path = (await yard.dags.get(dag.id)).critical_path

    assert named(path, ids) == ["second"]
    assert (path.worked, path.expected) == (40_000_000, 40_000_000)
    await yard.complete(held.id, held.lease, {})


async def test_the_time_of_a_child_that_is_waited_for_counts_once(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    parent = await yard.enqueue("plan")
    held = await begin(yard, "plan")
    clock.advance(seconds=5)
    [child] = await yard.tasks.spawn(held.id, held.lease, [{"type": "research"}], name="ask", wait=True)
    await work(yard, clock, "research", 30, "0.05")
    await work(yard, clock, "plan", 4, "0.01")

    path = (await yard.dags.get((await yard.get(parent.id)).dag_id)).critical_path

    assert path.task_ids == (parent.id, child)
    assert path.worked == path.expected <= 39_000_000


async def test_a_long_chain_is_outlined_in_order(yard: Yard):
    number = 1000
    tasks = [{"name": f"t{n}", "type": "code", "depends_on": [f"t{n - 1}"] if n else []} for n in range(number)]
    dag = await yard.submit({"tasks": tasks})

    found = await yard.dags.get(dag.id)

    assert [each.task.id for each in outline(found)] == [dag.tasks[f"t{n}"].id for n in range(number)]
    assert len(found.critical_path.task_ids) == number
