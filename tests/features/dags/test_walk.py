"""Walking along dependencies, up to what a task waits for and down to what waits for it."""

from taskyard.core.changes import Record
from taskyard.core.task import DagId, TaskId
from taskyard.features.dags import walk
from taskyard.yard import Yard

CHAIN = [
    {"name": "a", "type": "code"},
    {"name": "b", "type": "code", "depends_on": ["a"]},
    {"name": "c", "type": "code", "depends_on": ["b"]},
]


async def given_a_chain(yard: Yard) -> list[TaskId]:
    submitted = await yard.submit({"tasks": CHAIN})
    return [TaskId(submitted.tasks[name].id) for name in "abc"]


async def test_what_a_task_waits_for_is_found_up_to_the_first(yard: Yard):
    a, b, c = await given_a_chain(yard)

    found = await walk.above(yard.local.ledger.store, [c])

    assert set(found.tasks) == {a, b, c}
    assert found.waits == {b: {a}, c: {b}}
    assert [hot.id for hot in found.foremost()] == [a]
    assert found.failed() == set()


async def test_what_waits_for_a_cancelled_task_is_left_to_cancel(yard: Yard):
    a, b, c = await given_a_chain(yard)

    assert await walk.below(yard.local.ledger.store, [a]) == {b: f"parent {a} cancelled", c: f"parent {b} cancelled"}


async def test_what_is_final_is_not_cancelled_again(yard: Yard):
    a, _, c = await given_a_chain(yard)
    await yard.cancel(c)

    assert c not in await walk.below(yard.local.ledger.store, [a])


async def test_of_a_cancelled_dag_every_live_task_is_left(yard: Yard):
    a, b, c = await given_a_chain(yard)
    dag_id = (await yard.get(a)).dag_id
    intent = Record("cascade", yard.workspace, str(dag_id), 1, {"reason": "not wanted"})

    assert await walk.left(yard.local.ledger.store, intent) == dict.fromkeys((a, b, c), "not wanted")


async def test_the_dags_that_wait_for_a_task_of_another_are_found(yard: Yard):
    a, _, _ = await given_a_chain(yard)
    waiting = await yard.submit(
        {"tasks": [{"name": "d", "type": "code", "depends_on": [a]}, {"name": "e", "type": "code"}]}
    )
    rows = await yard.local.ledger.store.load([a])

    assert await walk.waiting_dags(yard.local.ledger.store, list(rows.values())) == {DagId(waiting.id)}
