"""Graphs that grow: additions, late edges, spawned tasks, and what becomes of the ranks above them."""

import asyncio

import pytest

from taskyard.core.dag import DagStatus
from taskyard.core.errors import CycleFound, InvalidInput, LeaseLost, NotFound
from taskyard.core.task import Status
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import (
    bury,
    claim_all,
    complete_at_once,
    dag_history,
    given_a_graph,
    several,
    states,
    status_of,
    task,
    work_off,
)
from tests.interference import while_deciding
from tests.yards import OpenYard, claim_that, events_of, given_a_running_task, given_an_agent

NOBODY = "task_01ARZ3NDEKTSV4RRFFQ69G5FAV"


async def test_an_addition_waits_for_what_it_depends_on(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"))

    added = await yard.dags.add(dag.id, [task("b", dag.tasks["a"].id), task("c", "b")])

    assert await states(yard, added) == {"b": Status.PENDING, "c": Status.PENDING}
    assert await work_off(yard) == [dag.tasks["a"].id, added.tasks["b"].id, added.tasks["c"].id]
    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED


async def test_roots_and_leaves_are_kept_current(yard: Yard):
    dag = await given_a_graph(yard, task("a"))
    added = await yard.dags.add(dag.id, [task("below", dag.tasks["a"].id), task("beside")])

    view = await yard.dags.get(dag.id)

    assert set(view.roots) == {dag.tasks["a"].id, added.tasks["beside"].id}
    assert set(view.leaves) == {added.tasks["below"].id, added.tasks["beside"].id}


async def test_a_finished_graph_is_reopened_by_an_addition(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"))
    await work_off(yard)

    await yard.dags.add(dag.id, [task("b", dag.tasks["a"].id)])
    assert (await yard.dags.get(dag.id)).status is DagStatus.RUNNING
    await work_off(yard)

    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED
    assert await dag_history(yard, dag.id) == ["dag.created", "dag.completed", "dag.reopened", "dag.completed"]


async def test_an_addition_that_cannot_be_worked_off_adds_nothing(yard: Yard):
    dag = await given_a_graph(yard, task("a"))
    before = await yard.events()

    with pytest.raises(CycleFound):
        await yard.dags.add(dag.id, [task("b", "c"), task("c", "b")])
    with pytest.raises(InvalidInput, match="unknown"):
        await yard.dags.add(dag.id, [task("b"), task("c", NOBODY)])
    with pytest.raises(NotFound):
        await yard.dags.add("dag_01ARZ3NDEKTSV4RRFFQ69G5FAV", [task("b")])

    assert await yard.events() == before
    assert len((await yard.dags.get(dag.id)).tasks) == 1


async def test_nothing_may_depend_on_what_is_cancelled(yard: Yard):
    dag = await given_a_graph(yard, task("a"), task("b"))
    lone = await yard.enqueue("code")
    await yard.cancel(dag.tasks["a"].id)
    await yard.cancel(lone.id)

    with pytest.raises(InvalidInput, match="wait for ever"):
        await yard.dags.add(dag.id, [task("c", dag.tasks["a"].id)])
    with pytest.raises(InvalidInput, match="wait for ever"):
        await yard.enqueue("code", depends_on=[lone.id])


async def test_what_depends_on_a_dead_letter_runs_when_that_is_retried(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("doomed"))
    (doomed,) = await claim_all(yard, 1)
    await bury(yard, doomed)

    added = await yard.dags.add(dag.id, [task("after it", doomed.id)])
    await yard.dead_letters.resolve(doomed.id, "retry", by="human:ada")

    assert await work_off(yard) == [doomed.id, added.tasks["after it"].id]


# Late edges


async def test_a_late_edge_to_a_finished_task_does_not_strand(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("still open"))
    done = await claim_that(yard, dag.tasks["a"].id, start=True)
    await yard.complete(done.id, done.lease)

    added = await yard.dags.add(dag.id, [task("late", done.id)])

    assert await status_of(yard, added.tasks["late"].id) is Status.READY


async def test_a_late_edge_to_a_finished_lone_task_does_not_strand(yard: Yard):
    await given_an_agent(yard)
    lone = await yard.enqueue("code")
    await work_off(yard)

    late = await yard.enqueue("code", depends_on=[lone.id])

    assert late.status is Status.READY
    assert await work_off(yard) == [late.id]
    assert (await yard.dags.get(lone.dag_id)).status is DagStatus.COMPLETED


async def test_a_parent_that_finishes_while_an_edge_to_it_is_drawn_does_not_strand_the_child(yard: Yard):
    """The addition was decided on a parent that still runs, and is stored after it is done."""
    await given_an_agent(yard)
    # Something else of the graph goes on: were it the last, the end of the graph would tell of the completion too.
    dag = await given_a_graph(yard, task("a", priority=0), task("still open", priority=99))
    held = await claim_that(yard, dag.tasks["a"].id, start=True)
    slow = while_deciding(yard, lambda: yard.complete(held.id, held.lease))

    added = await slow.dags.add(dag.id, [task("late", held.id)])

    assert await events_of(yard, added.tasks["late"].id) == ["task.created"]
    assert await work_off(yard) == [added.tasks["late"].id, dag.tasks["still open"].id]
    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED


async def test_a_lone_parent_that_finishes_while_an_edge_to_it_is_drawn_does_not_strand_the_child(yard: Yard):
    held = await given_a_running_task(yard)
    slow = while_deciding(yard, lambda: yard.complete(held.id, held.lease))

    late = await slow.enqueue("code", depends_on=[held.id])

    assert await work_off(yard) == [late.id]


async def test_an_edge_that_is_drawn_while_its_parent_finishes_does_not_strand_the_child(yard: Yard):
    """The other way round: the completion was decided when nothing depended on the task."""
    held = await given_a_running_task(yard)
    slow = while_deciding(yard, lambda: yard.enqueue("code", depends_on=[held.id]))

    await slow.complete(held.id, held.lease, {"found": 1})

    (late,) = await yard.find(status="ready")
    assert late.depends_on == (held.id,)
    assert [each.data for each in await yard.tasks.inputs(late.id)] == [{"found": 1}]


async def test_edges_drawn_while_many_finish_strand_nobody(yard: Yard, open_yard: OpenYard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, *(task(f"parent {number}") for number in range(40)))
    parents = await claim_all(yard, 40)
    yards = await several(open_yard, 4)

    await asyncio.gather(
        complete_at_once(yards[:2], parents),
        *(yards[2 + number % 2].dags.add(dag.id, [task("late", each.id)]) for number, each in enumerate(parents)),
    )

    assert len(await work_off(yard)) == 40
    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED


async def test_a_graph_that_grows_while_its_last_task_finishes_does_not_end(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"))
    (held,) = await claim_all(yard, 1)
    slow = while_deciding(yard, lambda: yard.dags.add(dag.id, [task("b")]))

    await slow.complete(held.id, held.lease)

    assert (await yard.dags.get(dag.id)).status is DagStatus.RUNNING
    await work_off(yard)
    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED


# Spawning


async def test_a_spawned_task_belongs_to_the_graph_of_its_parent(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"))
    (held,) = await claim_all(yard, 1)

    (child,) = await yard.tasks.spawn(held.id, held.lease, [{"type": "research"}], name="look")

    spawned = await yard.get(child)
    assert (spawned.dag_id, spawned.parent_id, spawned.status) == (dag.id, held.id, Status.READY)
    await yard.complete(held.id, held.lease)
    assert (await yard.dags.get(dag.id)).status is DagStatus.RUNNING
    await work_off(yard)
    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED


async def test_a_lone_task_that_spawns_becomes_a_graph(yard: Yard):
    held = await given_a_running_task(yard)
    (child,) = await yard.tasks.spawn(held.id, held.lease, [{"type": "research"}], name="look")

    await yard.complete(held.id, held.lease)
    await work_off(yard)

    view = await yard.dags.get(held.dag_id)
    assert {hot.id for hot in view.tasks} == {held.id, child}
    assert view.status is DagStatus.COMPLETED


async def test_spawned_tasks_may_depend_on_each_other_and_on_the_graph(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a", priority=0), task("b"))
    held = await claim_that(yard, dag.tasks["a"].id, start=True)

    first, second = await yard.tasks.spawn(
        held.id, held.lease, [task("first", dag.tasks["b"].id), task("second", "first")], name="more"
    )
    await yard.complete(held.id, held.lease)

    assert await work_off(yard) == [dag.tasks["b"].id, first, second]


async def test_a_child_that_depends_on_the_parent_that_waits_for_it_is_refused(yard: Yard):
    held = await given_a_running_task(yard)

    with pytest.raises(CycleFound):
        await yard.tasks.spawn(held.id, held.lease, [task("child", held.id)], name="wait for me", wait=True)

    assert await status_of(yard, held.id) is Status.RUNNING
    assert await yard.attempts.checkpoints(held.id) == {}


async def test_only_the_holder_of_a_task_may_spawn_from_it(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    clock.advance(seconds=91)
    await yard.sweep()

    with pytest.raises(LeaseLost):
        await yard.tasks.spawn(held.id, held.lease, [{"type": "research"}], name="too late")

    assert len(await yard.find()) == 1
