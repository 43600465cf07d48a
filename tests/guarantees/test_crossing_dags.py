"""Dependencies between tasks of different DAGs: they block, hand outputs on, cascade and close no cycle."""

import asyncio
from collections.abc import Sequence

import pytest

from taskyard.core.dag import DagStatus
from taskyard.core.errors import CycleFound, InvalidInput, NotFound
from taskyard.core.task import Status
from taskyard.features.dags.views import Dag
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import bury, claim_all, dag_history, given_a_graph, reason_of, several, status_of, task, work_off
from tests.interference import ProcessDied, dying_after, while_deciding, while_pruning
from tests.yards import OpenYard, claim_that, elapse, events_of, given_a_running_task, given_an_agent

NOBODY = "task_01ARZ3NDEKTSV4RRFFQ69G5FAV"
WEEK = 7 * 24 * 3600


def minted(number: int) -> str:
    """The id that a caller gives a task of its own."""
    return f"task_01ARZ3NDEKTSV4RRFFQ69G5{number:03}"


async def dag_status(yard: Yard, dag_id: str) -> DagStatus:
    return (await yard.dags.get(dag_id)).status


async def given_a_chain_over(yard: Yard, parent_id: str) -> Dag:
    """A DAG whose first task depends on a task of another."""
    return await given_a_graph(yard, task("first", parent_id), task("second", "first"))


# Which DAG a task belongs to


async def test_a_task_that_depends_on_a_lone_task_has_a_dag_of_its_own(yard: Yard):
    await given_an_agent(yard)
    lone = await yard.enqueue("code")

    late = await yard.enqueue("code", depends_on=[lone.id], title="late")

    assert late.dag_id != lone.dag_id
    assert late.status is Status.PENDING
    assert [hot.id for hot in (await yard.dags.get(lone.dag_id)).tasks] == [lone.id]
    view = await yard.dags.get(late.dag_id)
    assert (view.title, view.roots, view.leaves) == ("late", (late.id,), (late.id,))
    assert await work_off(yard, outputs={lone.id: {"found": 1}}) == [lone.id, late.id]
    assert [each.data for each in await yard.tasks.inputs(late.id)] == [{"found": 1}]
    assert {await dag_status(yard, each.dag_id) for each in (lone, late)} == {DagStatus.COMPLETED}


async def test_a_task_that_depends_on_tasks_of_one_dag_is_put_into_it_and_else_into_its_own(yard: Yard):
    one, two = await given_a_graph(yard, task("a")), await given_a_graph(yard, task("a"))
    lone = await yard.enqueue("code")
    first, second = one.tasks["a"].id, two.tasks["a"].id

    joined = await yard.enqueue("code", depends_on=[first])
    between = await yard.enqueue("code", depends_on=[first, second])
    mixed = await yard.enqueue("code", depends_on=[first, lone.id])

    assert joined.dag_id == one.id
    assert len({one.id, two.id, lone.dag_id, between.dag_id, mixed.dag_id}) == 5
    assert [hot.id for hot in (await yard.dags.get(between.dag_id)).tasks] == [between.id]


async def test_tasks_of_a_batch_that_depend_on_each_other_are_one_new_dag(yard: Yard):
    await given_an_agent(yard)
    dag, lone = await given_a_graph(yard, task("a")), await yard.enqueue("code")
    a, b, c, d = (minted(number) for number in range(1, 5))

    first, second, added, alone, own = await yard.enqueue_many(
        [
            {"type": "code", "id": a, "depends_on": [lone.id]},
            {"type": "code", "id": b, "depends_on": [a, dag.tasks["a"].id]},
            {"type": "code", "id": c, "dag_id": dag.id, "depends_on": [b]},
            {"type": "code"},
            {"type": "code", "id": d, "depends_on": [lone.id]},
        ]
    )

    assert first.dag_id == second.dag_id
    assert added.dag_id == dag.id
    assert len({dag.id, lone.dag_id, first.dag_id, alone.dag_id, own.dag_id}) == 5
    done = await work_off(yard)
    assert done.index(lone.id) < done.index(a) < done.index(b) < done.index(c)
    assert len(done) == 7


async def test_what_depends_on_a_task_of_the_batch_whose_key_is_taken_depends_on_who_has_it(yard: Yard):
    owner = await yard.enqueue("code", idempotency_key="once")

    known, after = await yard.enqueue_many(
        [
            {"type": "code", "id": minted(1), "idempotency_key": "once"},
            {"type": "code", "depends_on": [minted(1)]},
        ]
    )

    assert (known.id, known.created) == (owner.id, False)
    assert after.depends_on == (owner.id,)
    assert await status_of(yard, after.id) is Status.PENDING


async def test_dependencies_that_cannot_come_are_refused_and_nothing_is_stored(yard: Yard, open_yard: OpenYard):
    elsewhere = await (await open_yard(workspace="elsewhere")).enqueue("code")
    dag, gone = await given_a_graph(yard, task("a")), await yard.enqueue("code")
    await yard.cancel(gone.id)
    before = await yard.events()

    for dependency, says in ((NOBODY, "is unknown"), (elsewhere.id, "is unknown"), (gone.id, "wait for ever")):
        with pytest.raises(InvalidInput, match=says):
            await yard.enqueue("code", depends_on=[dag.tasks["a"].id, dependency])
        with pytest.raises(InvalidInput, match=says):
            await yard.enqueue_many([{"type": "code"}, {"type": "code", "depends_on": [dependency]}])
        with pytest.raises(InvalidInput, match=says):
            await given_a_graph(yard, task("b"), task("c", "b", dependency))
        with pytest.raises(InvalidInput, match=says):
            await yard.dags.add(dag.id, [task("b", dependency)])
    loop = [{"type": "code", "id": minted(1), "depends_on": [minted(2)]}]
    with pytest.raises(CycleFound):
        await yard.enqueue_many([*loop, {"type": "code", "id": minted(2), "dag_id": dag.id, "depends_on": [minted(1)]}])

    assert await yard.events() == before
    assert len(await yard.find()) == 2


# Release


async def test_what_depends_on_several_dags_is_released_once_when_all_of_it_is_done(yard: Yard, open_yard: OpenYard):
    await given_an_agent(yard)
    one, two = await given_a_graph(yard, task("a"), task("b", "a")), await given_a_graph(yard, task("a"))
    lone = await yard.enqueue("code")
    late = await given_a_graph(yard, task("c", one.tasks["a"].id, two.tasks["a"].id, lone.id), task("d", "c"))
    yards, held = await several(open_yard, 3), await claim_all(yard, 3)

    await asyncio.gather(*(each.complete(mine.id, mine.lease) for each, mine in zip(yards, held, strict=True)))

    assert await events_of(yard, late.tasks["c"].id) == ["task.created", "task.ready"]
    assert await dag_status(yard, one.id) is DagStatus.RUNNING
    await work_off(yard)
    assert [await dag_status(yard, each.id) for each in (one, two, late)] == [DagStatus.COMPLETED] * 3


async def test_a_dependency_that_is_completed_does_not_block_and_keeps_its_time(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease, {"found": 1})
    before = (await yard.get(held.id)).updated_at
    clock.advance(seconds=5)

    late = await yard.enqueue("code", depends_on=[held.id])

    assert late.status is Status.READY
    assert [each.data for each in await yard.tasks.inputs(late.id)] == [{"found": 1}]
    assert (await yard.get(held.id)).updated_at == before


async def test_a_parent_that_finishes_while_an_edge_to_another_dag_is_drawn_strands_nobody(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("b", "a"))
    held = await claim_that(yard, dag.tasks["a"].id, start=True)
    slow = while_deciding(yard, lambda: yard.complete(held.id, held.lease))

    late = await given_a_graph(slow, task("c", held.id))

    assert late.tasks["c"].status is Status.READY
    assert len(await work_off(yard)) == 2


async def test_only_what_is_in_the_dag_counts_for_the_critical_path(yard: Yard):
    dag = await given_a_graph(yard, task("a"), task("b", "a"))
    await given_a_chain_over(yard, dag.tasks["a"].id)
    await yard.dags.add(dag.id, [task("c", "d"), task("d")])

    first = dag.tasks["a"].id
    assert (await yard.store.load([first]))[first].height == 1


async def test_a_dag_shows_its_own_edges_alone(yard: Yard):
    dag = await given_a_graph(yard, task("a"), task("b", "a"))
    late = await given_a_chain_over(yard, dag.tasks["b"].id)

    view, other = await yard.dags.get(dag.id), await yard.dags.get(late.id)

    assert (view.leaves, other.roots) == ((dag.tasks["b"].id,), (late.tasks["first"].id,))
    assert [(edge.parent, edge.child) for edge in view.edges] == [(dag.tasks["a"].id, dag.tasks["b"].id)]


# Failure, and another try


async def given_dags_in_a_row(yard: Yard) -> tuple[Held, Dag, Dag, Dag]:
    """Three DAGs, each of which waits for the one before; of the first a task is running."""
    await given_an_agent(yard)
    first = await given_a_graph(yard, task("doomed"), task("between", "doomed"))
    second = await given_a_chain_over(yard, first.tasks["between"].id)
    third = await given_a_chain_over(yard, second.tasks["second"].id)
    return await claim_that(yard, first.tasks["doomed"].id, start=True), first, second, third


async def test_dags_that_wait_for_a_dead_task_have_failed_and_go_on_when_it_is_retried(yard: Yard):
    doomed, *dags = await given_dags_in_a_row(yard)
    unconcerned = await given_a_chain_over(yard, (await yard.enqueue("code", run_after="2099-01-01T00:00:00Z")).id)

    await bury(yard, doomed)

    assert [await dag_status(yard, each.id) for each in dags] == [DagStatus.FAILED] * 3
    assert await dag_status(yard, unconcerned.id) is DagStatus.PENDING
    await yard.dead_letters.resolve(doomed.id, "retry", by="human:ada")
    assert [(await dag_history(yard, each.id))[-2:] for each in dags] == [["dag.failed", "dag.reopened"]] * 3
    assert len(await work_off(yard)) == 6
    assert [await dag_status(yard, each.id) for each in dags] == [DagStatus.COMPLETED] * 3


async def test_a_lone_task_that_dies_fails_what_waits_for_it_and_its_revival_reopens_it(yard: Yard):
    held = await given_a_running_task(yard, max_attempts=1)
    late = await given_a_chain_over(yard, held.id)

    await bury(yard, held)
    assert await dag_status(yard, late.id) is DagStatus.FAILED
    spec = {"prompt": "again"}
    await yard.dead_letters.resolve(held.id, "modify_and_retry", by="human:ada", spec=spec)

    assert await dag_status(yard, late.id) is DagStatus.PENDING
    assert await work_off(yard) == [held.id, late.tasks["first"].id, late.tasks["second"].id]


async def test_a_lone_task_that_others_wait_for_may_become_a_dag_by_spawning(yard: Yard):
    held = await given_a_running_task(yard, max_attempts=1)
    late = await given_a_chain_over(yard, held.id)
    await yard.tasks.spawn(held.id, held.lease, [task("more")], name="more")

    await bury(yard, held)

    assert await dag_status(yard, late.id) is DagStatus.FAILED


async def test_a_dag_that_also_waits_for_another_dead_task_is_not_left_as_running(yard: Yard):
    await given_an_agent(yard)
    first, second = await yard.enqueue("code"), await yard.enqueue("code")
    late = await yard.enqueue("code", depends_on=[first.id, second.id])
    for held in await claim_all(yard, 2):
        await bury(yard, held)

    await yard.dead_letters.resolve(first.id, "retry", by="human:ada")

    assert await dag_status(yard, late.dag_id) is DagStatus.FAILED
    await yard.dead_letters.resolve(second.id, "retry", by="human:ada")
    assert set(await work_off(yard)) == {first.id, second.id, late.id}


async def test_what_comes_to_depend_on_a_dead_task_has_failed_until_that_is_retried(yard: Yard):
    held = await given_a_running_task(yard, max_attempts=1)
    await bury(yard, held)

    for _ in range(2):
        late = await yard.enqueue("code", depends_on=[held.id])
        assert await dag_status(yard, late.dag_id) is DagStatus.FAILED

    await yard.dead_letters.resolve(held.id, "retry", by="human:ada")
    assert len(await work_off(yard)) == 3


async def test_a_dag_with_something_else_to_do_goes_on_beside_a_dead_dependency(yard: Yard):
    held = await given_a_running_task(yard, max_attempts=1)
    late = await given_a_graph(yard, task("waits", held.id), task("free"))

    await bury(yard, held)

    assert await dag_status(yard, late.id) is DagStatus.PENDING
    await work_off(yard)
    await yard.sweep()
    assert await dag_status(yard, late.id) is DagStatus.FAILED


async def test_a_process_that_dies_after_a_death_leaves_the_waiting_dag_to_the_sweep(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard, max_attempts=1)
    late = await given_a_chain_over(yard, held.id)
    await yard.sweep()  # every DAG is looked at once in an hour, which is not what is tried here

    with pytest.raises(ProcessDied):
        await dying_after(yard, 1).fail(held.id, held.lease, "auth_failure")
    assert await dag_status(yard, late.id) is DagStatus.PENDING
    await elapse(yard, clock, 10)

    assert await dag_status(yard, late.id) is DagStatus.FAILED


# Cancelling


async def test_a_cancel_cascades_from_dag_to_dag(yard: Yard):
    doomed, *dags = await given_dags_in_a_row(yard)
    beside = await given_a_graph(yard, task("waits", doomed.id), task("free"))
    would = await yard.cancel(doomed.id, dry_run=True)

    cancelled = await yard.cancel(doomed.id)

    assert cancelled.task_ids == would.task_ids
    assert len(cancelled.task_ids) == 7
    first = dags[1].tasks["first"].id
    assert await reason_of(yard, first) == f"parent {dags[0].tasks['between'].id} cancelled"
    assert [await dag_status(yard, each.id) for each in dags] == [DagStatus.CANCELLED] * 3
    assert [(await dag_history(yard, each.id))[1:] for each in dags] == [["dag.cancelled"]] * 3
    await work_off(yard)
    assert await dag_status(yard, beside.id) is DagStatus.COMPLETED


async def test_a_cancelled_lone_task_takes_what_depends_on_it_along(yard: Yard):
    lone = await yard.enqueue("code")
    late = await given_a_chain_over(yard, lone.id)

    cancelled = await yard.cancel(lone.id)

    assert set(cancelled.task_ids) == {lone.id, *(each.id for each in late.tasks.values())}
    assert await dag_status(yard, late.id) is DagStatus.CANCELLED


async def test_a_cancel_without_a_cascade_fails_the_dag_that_waits(yard: Yard):
    doomed, _, second, _ = await given_dags_in_a_row(yard)
    lone = await yard.enqueue("code")
    late = await given_a_chain_over(yard, lone.id)

    await yard.cancel(doomed.id, cascade=False)
    await yard.cancel(lone.id, cascade=False)

    assert await dag_status(yard, second.id) is DagStatus.FAILED
    assert await dag_status(yard, late.id) is DagStatus.FAILED


async def test_a_dag_that_is_cancelled_takes_what_depends_on_its_tasks_along(yard: Yard):
    _, first, second, third = await given_dags_in_a_row(yard)
    would = await yard.dags.cancel(first.id, dry_run=True)

    cancelled = await yard.dags.cancel(first.id)

    assert set(cancelled.task_ids) == set(would.task_ids)
    assert len(cancelled.task_ids) == 6
    assert [await dag_status(yard, each.id) for each in (first, second, third)] == [DagStatus.CANCELLED] * 3


@pytest.mark.parametrize("commits", [1, 2])
async def test_a_cascade_over_dags_that_was_interrupted_is_finished_by_the_sweep(
    yard: Yard, clock: ManualClock, commits: int
):
    lone = await yard.enqueue("code")
    late = await given_a_chain_over(yard, lone.id)

    with pytest.raises(ProcessDied):
        await dying_after(yard, commits).cancel(lone.id)
    await elapse(yard, clock, 20)

    assert await dag_history(yard, late.id) == ["dag.created", "dag.cancelled"]
    assert {each.status for each in await yard.find()} == {Status.CANCELLED}


# Retention


async def test_what_a_live_task_of_another_dag_depends_on_is_kept_for_it(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    lone, dag = await yard.enqueue("code"), await given_a_graph(yard, task("a"))
    needed = [lone.id, dag.tasks["a"].id]
    unneeded = await yard.enqueue("code")
    await work_off(yard)
    late = await yard.enqueue("code", depends_on=needed, run_after="2099-01-01T00:00:00Z")

    await elapse(yard, clock, 60)
    clock.advance(seconds=WEEK)
    await yard.sweep()

    assert {each.id for each in await yard.find()} == {*needed, late.id}
    with pytest.raises(NotFound):
        await yard.get(unneeded.id)
    await yard.cancel(late.id)
    await elapse(yard, clock, 60)
    clock.advance(seconds=WEEK + 61)
    await yard.sweep()
    assert await yard.find() == []


@pytest.mark.parametrize("is_needed_already", [False, True])
async def test_what_a_new_task_depends_on_is_not_removed_at_that_moment(
    yard: Yard, clock: ManualClock, is_needed_already: bool
):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease, {"found": 1})
    if is_needed_already:
        await yard.cancel((await yard.enqueue("code", depends_on=[held.id])).id)
    await elapse(yard, clock, 60)
    clock.advance(seconds=WEEK + 61)

    await while_pruning(yard, lambda: yard.enqueue("code", depends_on=[held.id])).sweep()

    (late,) = await yard.find(status="ready")
    assert [each.data for each in await yard.tasks.inputs(late.id)] == [{"found": 1}]


# Cycles


async def given_two_that_could_wait_for_each_other(yard: Yard) -> tuple[list[Held], list[str]]:
    """Two running tasks of two DAGs, and in each DAG one that depends on it."""
    for name in ("planner-0", "planner-1"):
        await given_an_agent(yard, name, type="planner", orchestrator=True)
    held: list[Held] = []
    after: list[str] = []
    for number in range(2):
        dag = await given_a_graph(yard, task("plans"), task("after", "plans"))
        held.append(await claim_that(yard, dag.tasks["plans"].id, by=f"planner-{number}", start=True))
        after.append(dag.tasks["after"].id)
    return held, after


async def waits_for(yard: Yard, held: Held, *depends_on: str) -> Sequence[str]:
    rows = [task("first", *depends_on), task("second", "first")]
    return await yard.tasks.spawn(held.id, held.lease, rows, name="plan", wait=True)


async def test_a_wait_that_would_close_a_cycle_over_dags_is_refused_and_nothing_is_stored(yard: Yard):
    (one, two), (after_one, after_two) = await given_two_that_could_wait_for_each_other(yard)
    lone = await yard.enqueue("code", depends_on=[after_one])
    children = await waits_for(yard, one, after_two)
    before = await yard.events()

    with pytest.raises(CycleFound) as refused:
        await waits_for(yard, two, lone.id)

    assert {one.id, two.id, after_one, after_two, lone.id, children[0]} <= set(refused.value.task_ids)
    assert await yard.events() == before
    assert await status_of(yard, two.id) is Status.RUNNING
    assert await yard.attempts.checkpoints(two.id) == {}
    await yard.complete(two.id, two.lease)
    assert len(await work_off(yard, by="planner-0")) == 6


async def test_waiting_for_what_was_spawned_before_closes_no_cycle_either(yard: Yard):
    (one, _), (after_one, _) = await given_two_that_could_wait_for_each_other(yard)
    rows = [task("child", after_one)]
    await yard.tasks.spawn(one.id, one.lease, rows, name="plan")

    with pytest.raises(CycleFound):
        await yard.tasks.spawn(one.id, one.lease, rows, name="plan", wait=True)

    assert await status_of(yard, one.id) is Status.RUNNING


async def test_of_two_waits_that_close_a_cycle_together_the_later_is_refused(yard: Yard):
    (one, two), (after_one, after_two) = await given_two_that_could_wait_for_each_other(yard)
    slow = while_deciding(yard, lambda: waits_for(yard, two, after_one))

    with pytest.raises(CycleFound):
        await waits_for(slow, one, after_two)

    assert [await status_of(yard, each.id) for each in (one, two)] == [Status.RUNNING, Status.PENDING]
    assert len(await yard.find()) == 6


async def test_of_waits_that_close_cycles_at_the_same_moment_exactly_one_is_refused(yard: Yard, open_yard: OpenYard):
    first, second = await several(open_yard, 2)
    for _ in range(10):
        (one, two), (after_one, after_two) = await given_two_that_could_wait_for_each_other(yard)
        stored = len(await yard.find(limit=200))

        ends = await asyncio.gather(
            waits_for(first, one, after_two), waits_for(second, two, after_one), return_exceptions=True
        )

        refused = [end for end in ends if isinstance(end, BaseException)]
        assert [type(each) for each in refused] == [CycleFound], ends
        assert len(await yard.find(limit=200)) == stored + 2
        loser = one if isinstance(ends[0], CycleFound) else two
        assert await yard.attempts.checkpoints(loser.id) == {}
        await yard.complete(loser.id, loser.lease)
        await work_off(yard, by="planner-0")


async def test_an_agent_waits_for_its_own_dag_alone_and_an_orchestrator_for_any(yard: Yard):
    held = await given_a_running_task(yard)
    elsewhere = await yard.enqueue("code", run_after="2099-01-01T00:00:00Z")

    for dependency in (elsewhere.id, NOBODY):
        with pytest.raises(InvalidInput, match="must name tasks of the DAG alone, unless an orchestrator spawns it"):
            await yard.tasks.spawn(held.id, held.lease, [task("child", dependency)], name="plan")
    await yard.complete(held.id, held.lease)

    planner = await given_a_running_task(yard, by="planner")
    await given_an_agent(yard, "planner", orchestrator=True)
    (child,) = await yard.tasks.spawn(planner.id, planner.lease, [task("child", elsewhere.id)], name="plan")
    assert await status_of(yard, child) is Status.PENDING
