"""Graphs: stored whole or not at all, and each dependent is released exactly once."""

import asyncio

import pytest

from taskyard.core.dag import DagStatus
from taskyard.core.errors import CycleFound, InvalidInput
from taskyard.core.task import DagId, Status
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import (
    Row,
    bury,
    claim_all,
    complete_at_once,
    dag_history,
    diamond,
    fan_in,
    fan_out,
    given_a_graph,
    happened,
    several,
    states,
    task,
    work_off,
)
from tests.interference import ProcessDied, dying_after
from tests.yards import OpenYard, claim_that, elapse, events_of, given_an_agent, pass_unswept, states_of

WIDE = 600  # more than stores read or write at a time
LARGE = 2_500  # several times as many
COMPLETERS = 8


async def count_of_tasks(yard: Yard) -> int:
    return sum(sum(by_type.values()) for by_type in (await yard.tasks.stats()).values())


async def test_a_graph_of_thousands_of_tasks_appears_at_once_to_every_reader(yard: Yard, open_yard: OpenYard):
    reader = await open_yard()
    rows = [task(f"task {number}", *([f"task {number // 2}"] if number else [])) for number in range(LARGE)]
    submitted = asyncio.create_task(given_a_graph(yard, *rows))

    mark = await reader.mark()
    while not (seen := await count_of_tasks(reader)):
        mark = await reader.changed(mark, 10)

    assert seen == LARGE
    dag = await reader.dags.get((await submitted).id)
    assert dag.counts == {Status.READY: 1, Status.PENDING: LARGE - 1}
    assert (len(dag.roots), len(dag.leaves)) == (1, LARGE // 2)


async def test_a_graph_is_stored_whole_or_not_at_all(yard: Yard):
    taken = await yard.enqueue("code")
    before = await yard.events()

    with pytest.raises(InvalidInput, match=taken.id):
        await given_a_graph(yard, *fan_out(WIDE), task("the last of them", "top", id=taken.id))

    assert await count_of_tasks(yard) == 1
    assert await yard.events() == before
    assert await yard.dags.list() == []


@pytest.mark.parametrize(
    ("rows", "error", "says"),
    [
        ([task("a", "b"), task("b", "a")], CycleFound, "cycle"),
        ([task("root"), task("a", "root", "c"), task("b", "a"), task("c", "b")], CycleFound, "cycle"),
        ([task("a", "a")], InvalidInput, "depends_on"),
        ([task("a"), task("b", "nobody")], InvalidInput, "depends_on"),
        ([task("a"), task("b", "task_01ARZ3NDEKTSV4RRFFQ69G5FAV")], InvalidInput, "is unknown"),
        ([task("a"), task("a")], InvalidInput, "used twice"),
        ([task("a"), task("b", priority=101)], InvalidInput, r"tasks\[1\].priority"),
        ([], InvalidInput, "at least one"),
    ],
)
async def test_a_graph_that_cannot_be_worked_off_is_refused_and_nothing_is_stored(
    yard: Yard, rows: list[Row], error: type[Exception], says: str
):
    with pytest.raises(error, match=says):
        await given_a_graph(yard, *rows)

    assert await states_of(yard) == {}
    assert await yard.events() == []
    assert await yard.dags.list() == []


async def test_a_cycle_is_named_by_its_tasks(yard: Yard):
    ids = ["task_01ARZ3NDEKTSV4RRFFQ69G5FA1", "task_01ARZ3NDEKTSV4RRFFQ69G5FA2", "task_01ARZ3NDEKTSV4RRFFQ69G5FA3"]

    with pytest.raises(CycleFound) as refused:
        await given_a_graph(
            yard, task("a", "c", id=ids[0]), task("b", "a", id=ids[1]), task("c", "b", id=ids[2]), task("d")
        )

    assert set(refused.value.task_ids) == set(ids)


async def test_a_graph_of_more_tasks_than_are_taken_in_one_call_is_refused(yard: Yard):
    with pytest.raises(InvalidInput, match="10000"):
        await given_a_graph(yard, *(task(str(number)) for number in range(10_001)))

    assert await states_of(yard) == {}


async def test_a_task_becomes_ready_when_the_last_that_it_depends_on_is_completed(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("b"), task("both", "a", "b"))
    first, second = await claim_all(yard, 2)

    await yard.complete(first.id, first.lease)
    assert (await states(yard, dag))["both"] is Status.PENDING
    await yard.complete(second.id, second.lease)

    assert await events_of(yard, dag.tasks["both"].id) == ["task.created", "task.ready"]


async def test_what_many_finish_at_once_frees_their_child_once(yard: Yard, open_yard: OpenYard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, *fan_in(WIDE))

    await complete_at_once(await several(open_yard, COMPLETERS), await claim_all(yard, WIDE))

    assert await events_of(yard, dag.tasks["bottom"].id) == ["task.created", "task.ready"]
    await claim_that(yard, dag.tasks["bottom"].id)


async def test_what_many_finish_by_one_call_repeated_frees_each_child_once(yard: Yard, open_yard: OpenYard):
    """Eight processes complete the same task under the same lease: one does it, the others hear of it."""
    await given_an_agent(yard)
    await given_a_graph(yard, *fan_out(WIDE))
    (top,) = await claim_all(yard, 1)

    receipts = await complete_at_once(await several(open_yard, COMPLETERS), [top] * COMPLETERS)

    assert len(set(receipts)) == 1
    assert set((await happened(yard, "task.ready")).values()) == {1}
    assert len(await claim_all(yard, WIDE)) == WIDE


async def test_a_diamond_releases_every_task_once_whoever_finishes_it(yard: Yard, open_yard: OpenYard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, *diamond(WIDE - 2))
    yards = await several(open_yard, COMPLETERS)
    (top,) = await claim_all(yard, 1)

    await complete_at_once(yards, [top] * COMPLETERS)
    await complete_at_once(yards, await claim_all(yard, WIDE - 2))
    await complete_at_once(yards, await claim_all(yard, 1))

    readied = await happened(yard, "task.ready")
    assert readied == {each.id: 1 for name, each in dag.tasks.items() if name != "top"}
    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED
    assert (await dag_history(yard, dag.id)) == ["dag.created", "dag.completed"]


async def test_a_task_reads_the_outputs_of_what_it_depends_on(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("b"), task("both", "a", "b"), task("other"))
    ids = {name: each.id for name, each in dag.tasks.items()}
    await work_off(yard, outputs={ids["a"]: {"found": 1}, ids["b"]: [2], ids["other"]: "not for it"})

    found = await yard.tasks.inputs(ids["both"])

    assert {each.ref: each.data for each in found} == {
        f"task:{ids['a']}:output": {"found": 1},
        f"task:{ids['b']}:output": [2],
    }


async def test_a_graph_is_pending_until_its_first_claim_and_completed_after_its_last(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("b", "a"))
    seen = [await _states_by_both_calls(yard, dag.id)]
    while held := await yard.claim("worker", start=True):
        seen.append(await _states_by_both_calls(yard, dag.id))
        await yard.complete(held[0].id, held[0].lease)
    seen.append(await _states_by_both_calls(yard, dag.id))

    expected = [DagStatus.PENDING, DagStatus.RUNNING, DagStatus.RUNNING, DagStatus.COMPLETED]
    assert seen == [(status, status) for status in expected]


async def _states_by_both_calls(yard: Yard, dag_id: DagId) -> tuple[DagStatus, DagStatus]:
    (listed,) = await yard.dags.list()
    return (await yard.dags.get(dag_id)).status, listed.status


async def test_a_graph_that_was_given_back_unfinished_has_begun(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"))
    (held,) = await yard.claim("worker", start=True)
    await yard.release(held.id, held.lease)

    assert await _states_by_both_calls(yard, dag.id) == (DagStatus.RUNNING, DagStatus.RUNNING)


async def test_a_graph_knows_where_it_begins_and_ends(yard: Yard):
    dag = await given_a_graph(yard, *diamond(3), task("alone"))
    ids = {name: each.id for name, each in dag.tasks.items()}

    view = await yard.dags.get(dag.id)

    assert set(view.roots) == {ids["top"], ids["alone"]}
    assert set(view.leaves) == {ids["bottom"], ids["alone"]}


async def test_a_lone_task_is_a_graph_of_its_own(yard: Yard):
    await given_an_agent(yard)
    lone = await yard.enqueue("code", title="alone")
    assert (await yard.dags.get(lone.dag_id)).status is DagStatus.PENDING

    await work_off(yard)

    view = await yard.dags.get(lone.dag_id)
    assert (view.status, view.title, view.roots, view.leaves) == (DagStatus.COMPLETED, "alone", (lone.id,), (lone.id,))


# How a graph ends otherwise than well


async def test_a_dead_task_fails_its_graph_only_when_nothing_else_can_proceed(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("doomed", priority=0), task("after it", "doomed"), task("a"), task("b", "a"))
    doomed = await claim_that(yard, dag.tasks["doomed"].id, start=True)

    await bury(yard, doomed)
    assert (await yard.dags.get(dag.id)).status is DagStatus.RUNNING
    (a,) = await claim_all(yard, 1)
    await yard.complete(a.id, a.lease)
    assert (await yard.dags.get(dag.id)).status is DagStatus.RUNNING
    (b,) = await claim_all(yard, 1)
    await yard.complete(b.id, b.lease)

    assert (await yard.dags.get(dag.id)).status is DagStatus.FAILED
    assert (await states(yard, dag))["after it"] is Status.PENDING


async def test_a_retried_dead_letter_makes_its_graph_run_again_to_the_end(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("doomed"), task("after it", "doomed"))
    (doomed,) = await claim_all(yard, 1)
    await bury(yard, doomed)
    assert (await yard.dags.get(dag.id)).status is DagStatus.FAILED

    await yard.dead_letters.resolve(doomed.id, "retry", by="human:ada")
    assert (await yard.dags.get(dag.id)).status is DagStatus.RUNNING
    await work_off(yard)

    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED
    assert await dag_history(yard, dag.id) == ["dag.created", "dag.failed", "dag.reopened", "dag.completed"]


async def test_a_task_that_waits_for_its_delay_keeps_its_graph_going(yard: Yard, clock: ManualClock):
    """A dead task and one that will be tried again: the graph has not failed yet."""
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("doomed", priority=0), task("unlucky"))
    doomed, unlucky = await claim_all(yard, 2)
    await yard.fail(unlucky.id, unlucky.lease, "crash")

    await bury(yard, doomed)
    assert (await yard.dags.get(dag.id)).status is DagStatus.RUNNING

    await elapse(yard, clock, 30)
    await work_off(yard)
    assert (await yard.dags.get(dag.id)).status is DagStatus.FAILED


async def test_the_workflow_of_automechanica_fails_at_its_first_dead_task(open_yard: OpenYard):
    yard = await open_yard(preset="automechanica")
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("doomed", priority=0, max_attempts=1), task("other"))
    doomed = await claim_that(yard, dag.tasks["doomed"].id)

    await yard.fail(doomed.id, doomed.lease, "crash")

    assert (await yard.dags.get(dag.id)).status is DagStatus.FAILED
    assert (await states(yard, dag))["other"] is Status.READY


async def test_a_graph_with_nothing_but_cancelled_tasks_is_cancelled(yard: Yard):
    dag = await given_a_graph(yard, *diamond(3))

    await yard.cancel(dag.tasks["top"].id)

    assert (await yard.dags.get(dag.id)).status is DagStatus.CANCELLED


async def test_a_graph_of_completed_and_cancelled_tasks_is_completed(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("b"))
    await yard.cancel(dag.tasks["b"].id)

    await work_off(yard)

    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED


async def test_a_dependent_of_a_cancelled_task_that_was_left_behind_fails_the_graph(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("left behind", "a"), task("other"))

    await yard.cancel(dag.tasks["a"].id, cascade=False)
    assert (await yard.dags.get(dag.id)).status is DagStatus.PENDING
    await work_off(yard)

    assert (await yard.dags.get(dag.id)).status is DagStatus.FAILED


async def test_a_graph_whose_last_completer_died_is_ended_by_the_sweep(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"))
    (held,) = await claim_all(yard, 1)
    await yard.sweep()

    with pytest.raises(ProcessDied):
        await dying_after(yard, 1).complete(held.id, held.lease)
    assert (await yard.dags.get(dag.id)).status is DagStatus.RUNNING
    clock.advance(seconds=6)
    assert (await yard.sweep()).finished == 1

    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED


async def test_a_graph_that_is_stuck_since_somebody_died_is_ended_by_the_sweep(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("never", "a"), task("b"))
    first, last = await claim_all(yard, 2)
    await bury(yard, first)
    await yard.sweep()

    with pytest.raises(ProcessDied):
        await dying_after(yard, 1).complete(last.id, last.lease)
    assert (await yard.dags.get(dag.id)).status is DagStatus.RUNNING
    clock.advance(seconds=6)
    await yard.sweep()

    assert (await yard.dags.get(dag.id)).status is DagStatus.FAILED


async def test_a_graph_whose_end_nobody_followed_is_found_within_the_hour(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    held = await claim_that(yard, (await yard.enqueue("code")).id, start=True)
    (spawned,) = await yard.tasks.spawn(held.id, held.lease, [{"type": "code"}], name="more")
    await yard.cancel(spawned)
    await yard.sweep()
    with pytest.raises(ProcessDied):
        await dying_after(yard, 1).complete(held.id, held.lease)

    await pass_unswept(yard, clock, 3600)

    assert (await yard.dags.get(held.dag_id)).status is DagStatus.COMPLETED
