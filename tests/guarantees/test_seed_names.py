"""The names that other systems have for the fields of a task, at every door."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.task import Status
from tests.graphs import given_a_graph, task
from tests.yards import OpenYard, given_an_agent


@pytest.mark.parametrize(
    ("preset", "name"), [("automechanica", "task_type"), ("ade", "kind")], ids=["automechanica", "ade"]
)
async def test_a_type_is_taken_under_the_presets_name_for_it(open_yard: OpenYard, preset: str, name: str):
    yard = await open_yard(preset=preset)

    (made,) = await yard.enqueue_many([{name: "embed"}])

    assert made.type == "embed"
    with pytest.raises(InvalidInput, match="type"):
        await yard.enqueue_many([{"title": "nothing is said of its type"}])


async def test_a_task_is_put_into_the_workflow_that_it_names(open_yard: OpenYard):
    yard = await open_yard(preset="automechanica")
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"))
    first = dag.tasks["a"].id

    one, two, lone = await yard.enqueue_many(
        [
            {"task_type": "code", "workflow_id": dag.id},
            {"task_type": "code", "workflow_id": dag.id, "depends_on": [first]},
            {"task_type": "code"},
        ]
    )
    (three,) = await yard.enqueue_many([{"type": "code", "workflow_id": dag.id}])

    assert {one.dag_id, two.dag_id, three.dag_id} == {dag.id}
    assert lone.dag_id != dag.id
    assert [one.status, two.status] == [Status.READY, Status.PENDING]
    assert {each.id for each in (await yard.dags.get(dag.id)).tasks} == {first, one.id, two.id, three.id}


async def test_a_workflow_that_there_is_none_of_is_refused_and_nothing_is_stored(open_yard: OpenYard):
    yard = await open_yard()

    with pytest.raises(InvalidInput, match="dag_01J8K2M00000000000000000DD is unknown"):
        await yard.enqueue_many([{"type": "code"}, {"type": "code", "dag_id": "dag_01J8K2M00000000000000000DD"}])
    assert await yard.find() == []


async def test_what_is_to_be_handed_out_in_batches_is_refused_until_there_are_batches(open_yard: OpenYard):
    yard = await open_yard()

    with pytest.raises(InvalidInput, match="not handed out in batches yet"):
        await yard.enqueue("code", coalescable=True)
    assert not (await yard.enqueue("code", coalescable=False)).coalescable
