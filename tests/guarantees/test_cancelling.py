"""Cancelling: each task once, whole cascades even through a crash, and against a completion exactly one wins."""

import asyncio
import time
from collections.abc import Awaitable

import pytest

from taskyard.core.dag import DagStatus
from taskyard.core.errors import IllegalTransition, LeaseLost, NotFound
from taskyard.core.task import Status
from taskyard.features.tasks.cancellation import CHUNK
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import (
    bury,
    claim_all,
    dag_history,
    diamond,
    fan_out,
    given_a_graph,
    happened,
    reason_of,
    several,
    states,
    status_of,
    task,
    work_off,
)
from tests.interference import ProcessDied, dying_after, while_deciding
from tests.yards import (
    OpenYard,
    claim_that,
    elapse,
    events_of,
    given_a_claimed_task,
    given_a_running_task,
    given_an_agent,
)

WIDE = 600  # more than stores read or write at a time


async def test_a_wide_diamond_is_cancelled_in_under_a_second_each_task_once_and_for_its_parent(yard: Yard):
    dag = await given_a_graph(yard, *diamond(WIDE - 2))
    ids = {name: each.id for name, each in dag.tasks.items()}

    began = time.process_time()  # what this process did, not what its neighbours left it to do
    cancelled = await yard.cancel(ids["top"], "no longer wanted")
    took = time.process_time() - began

    assert sorted(cancelled.task_ids) == sorted(ids.values())
    assert cancelled.task_ids[0] == ids["top"]
    assert await happened(yard, "task.cancelled") == dict.fromkeys(ids.values(), 1)
    assert await reason_of(yard, ids["top"]) == "no longer wanted"
    assert await reason_of(yard, ids["middle 7"]) == f"parent {ids['top']} cancelled"
    middles = {f"parent {ids[f'middle {number}']} cancelled" for number in range(WIDE - 2)}
    assert await reason_of(yard, ids["bottom"]) in middles
    assert await dag_history(yard, dag.id) == ["dag.created", "dag.cancelled"]
    assert took < 1


async def test_a_cascade_takes_along_what_depends_on_the_task_and_nothing_else(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(
        yard, task("above"), task("it", "above"), task("below", "it"), task("lowest", "below"), task("beside", "above")
    )
    above = await claim_that(yard, dag.tasks["above"].id, start=True)
    await yard.complete(above.id, above.lease)

    await yard.cancel(dag.tasks["it"].id)

    assert await states(yard, dag) == {
        "above": Status.COMPLETED,
        "it": Status.CANCELLED,
        "below": Status.CANCELLED,
        "lowest": Status.CANCELLED,
        "beside": Status.READY,
    }


async def test_without_cascade_the_dependents_wait_where_all_can_see_it(yard: Yard):
    dag = await given_a_graph(yard, task("it"), task("below", "it"))

    cancelled = await yard.cancel(dag.tasks["it"].id, cascade=False)

    assert cancelled.task_ids == (dag.tasks["it"].id,)
    assert await status_of(yard, dag.tasks["below"].id) is Status.PENDING
    assert "is cancelled" in (await yard.why(dag.tasks["below"].id)).words
    assert (await yard.dags.get(dag.id)).status is DagStatus.FAILED


async def test_a_cascade_goes_from_a_parent_to_the_tasks_it_spawned(yard: Yard):
    held = await given_a_running_task(yard)
    children = await yard.tasks.spawn(held.id, held.lease, [task("a"), task("b", "a")], name="more")
    (awaited,) = await yard.tasks.spawn(held.id, held.lease, [task("c")], name="and wait", wait=True)

    cancelled = await yard.cancel(held.id)

    assert sorted(cancelled.task_ids) == sorted([held.id, *children, awaited])
    assert await reason_of(yard, awaited) == f"parent {held.id} cancelled"


async def test_a_cascade_never_goes_from_a_child_to_the_parent_that_waits_for_it(yard: Yard):
    held = await given_a_running_task(yard)
    (child,) = await yard.tasks.spawn(held.id, held.lease, [task("child")], name="wait", wait=True)

    cancelled = await yard.cancel(child)

    assert cancelled.task_ids == (child,)
    assert await status_of(yard, held.id) is Status.READY


async def test_a_dead_letter_that_a_person_cancels_takes_its_dependents_along(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("doomed"), task("after it", "doomed"))
    (doomed,) = await claim_all(yard, 1)
    await bury(yard, doomed)

    await yard.dead_letters.resolve(doomed.id, "cancel", by="human:ada", note="not worth it")

    assert await reason_of(yard, doomed.id) == "not worth it"
    assert await reason_of(yard, dag.tasks["after it"].id) == f"parent {doomed.id} cancelled"
    assert (await yard.dags.get(dag.id)).status is DagStatus.CANCELLED


async def test_cancelling_again_changes_nothing(yard: Yard):
    lone = await yard.enqueue("code")
    await yard.cancel(lone.id, "first")

    assert (await yard.cancel(lone.id, "second")).task_ids == ()

    assert await reason_of(yard, lone.id) == "first"
    assert await events_of(yard, lone.id) == ["task.created", "task.cancelled"]


async def test_what_is_completed_cannot_be_cancelled(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease)

    with pytest.raises(IllegalTransition) as refused:
        await yard.cancel(held.id)

    assert refused.value.facts == {"task_id": held.id, "status": "completed", "verb": "cancel"}


async def test_every_state_that_is_not_over_can_be_cancelled(yard: Yard, clock: ManualClock):
    pending = await yard.enqueue("code", run_after="2030-01-01T00:00:00Z")
    retrying = await given_a_running_task(yard)
    await yard.fail(retrying.id, retrying.lease, "crash")
    running = await given_a_running_task(yard)
    claimed = await given_a_claimed_task(yard)
    dead = await given_a_running_task(yard)
    await bury(yard, dead)
    ready = await yard.enqueue("code")

    for each in (pending, retrying, running, claimed, dead, ready):
        await yard.cancel(each.id)
        assert await status_of(yard, each.id) is Status.CANCELLED

    await elapse(yard, clock, 60)
    assert await yard.claim("worker", count=10) == []


async def test_the_agent_of_a_cancelled_task_hears_of_it_and_its_late_result_is_refused(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.cancel(held.id)

    told = await yard.heartbeat(held.id, held.lease)

    assert told.words == ("cancelled",)
    assert told.must_stop
    with pytest.raises(LeaseLost):
        await yard.complete(held.id, held.lease, {"late": True})
    with pytest.raises(LeaseLost):
        await yard.fail(held.id, held.lease, "crash")
    assert (await yard.get(held.id)).output.attempt is None


async def test_a_cancelled_task_lets_go_of_all_it_held(yard: Yard):
    await yard.budgets.set(daily_budget_usd="1.00")
    await given_an_agent(yard, max_concurrent_tasks=1, budget_usd="1.00")
    first = await yard.enqueue("code", concurrency_key="repository", max_cost_usd="1.00")
    await claim_that(yard, first.id, start=True)
    second = await yard.enqueue("code", concurrency_key="repository", max_cost_usd="1.00")

    await yard.cancel(first.id)

    await claim_that(yard, second.id)


async def test_a_cancelled_graph_has_nothing_left_to_do(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("done", priority=0), task("running"), task("waiting", "running"))
    done = await claim_that(yard, dag.tasks["done"].id, start=True)
    await yard.complete(done.id, done.lease)
    (running,) = await claim_all(yard, 1)

    cancelled = await yard.dags.cancel(dag.id, "wound up")

    assert set(cancelled.task_ids) == {running.id, dag.tasks["waiting"].id}
    assert await reason_of(yard, running.id) == "wound up"
    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED
    with pytest.raises(NotFound):
        await yard.dags.cancel("dag_01ARZ3NDEKTSV4RRFFQ69G5FAV")


async def test_the_graph_of_a_lone_task_is_cancelled_with_it(yard: Yard):
    lone = await yard.enqueue("code")

    assert (await yard.dags.cancel(lone.dag_id)).task_ids == (lone.id,)


# A crash in the middle


@pytest.mark.parametrize("stored", [1, 2, 3])
async def test_a_cascade_that_a_crash_interrupted_is_finished_by_the_sweep(yard: Yard, stored: int):
    """The process dies after the root alone is stored, after the first chunk, and before its intent is forgotten.

    The first chunk is just what depends on the root: all that is left then is below what is cancelled already.
    """
    lower = [task(f"lower {number}", f"middle {number}") for number in range(CHUNK)]
    dag = await given_a_graph(yard, *fan_out(CHUNK), *lower)
    top = dag.tasks["top"].id

    with pytest.raises(ProcessDied):
        await dying_after(yard, stored).cancel(top)
    left = [name for name, status in (await states(yard, dag)).items() if status is not Status.CANCELLED]
    assert len(left) == (3 - stored) * CHUNK
    await yard.sweep()

    assert await happened(yard, "task.cancelled") == {each.id: 1 for each in dag.tasks.values()}
    assert (await yard.dags.get(dag.id)).status is DagStatus.CANCELLED
    assert await yard.store.records("cascade") == []


async def test_a_graph_that_was_cancelled_half_when_its_process_died_is_cancelled_whole_by_the_sweep(yard: Yard):
    dag = await given_a_graph(yard, *(task(f"task {number}") for number in range(CHUNK + 1)))

    with pytest.raises(ProcessDied):
        await dying_after(yard, 2).dags.cancel(dag.id, "wound up")
    assert sorted((await states(yard, dag)).values()) == [*[Status.CANCELLED] * CHUNK, Status.READY]
    await yard.sweep()

    assert {await reason_of(yard, task.id) for task in (await yard.dags.get(dag.id)).tasks} == {"wound up"}
    assert (await yard.dags.get(dag.id)).status is DagStatus.CANCELLED


async def test_what_is_added_below_a_cascade_that_is_under_way_is_cancelled_too(yard: Yard):
    dag = await given_a_graph(yard, task("top"), task("middle", "top"))
    top, middle = dag.tasks["top"].id, dag.tasks["middle"].id
    with pytest.raises(ProcessDied):
        await dying_after(yard, 1).cancel(top)

    added = await yard.dags.add(dag.id, [task("late", middle)])
    await yard.sweep()

    assert await reason_of(yard, added.tasks["late"].id) == f"parent {middle} cancelled"


async def test_an_edge_that_is_drawn_while_its_parent_is_cancelled_is_part_of_the_cascade(yard: Yard):
    """When the cancel was decided nothing depended on the task, which was no part of any graph."""
    lone = await yard.enqueue("code")
    slow = while_deciding(yard, lambda: yard.enqueue("code", depends_on=[lone.id]))

    cancelled = await slow.cancel(lone.id)

    (late,) = [each.id for each in await yard.find(status="cancelled") if each.id != lone.id]
    assert cancelled.task_ids == (lone.id, late)


async def test_two_cascades_that_meet_cancel_each_task_once(yard: Yard, open_yard: OpenYard):
    dag = await given_a_graph(yard, task("a"), task("b"), *(task(f"below {n}", "a", "b") for n in range(300)))
    first, second = await several(open_yard, 2)

    both = await asyncio.gather(first.cancel(dag.tasks["a"].id), second.cancel(dag.tasks["b"].id))

    assert sorted(both[0].task_ids + both[1].task_ids) == sorted(each.id for each in dag.tasks.values())
    assert await happened(yard, "task.cancelled") == {each.id: 1 for each in dag.tasks.values()}


# Cancel against complete


async def test_a_cancel_that_comes_before_a_completion_is_stored_wins(yard: Yard):
    held = await given_a_running_task(yard)
    slow = while_deciding(yard, lambda: yard.cancel(held.id))

    with pytest.raises(LeaseLost):
        await slow.complete(held.id, held.lease)

    assert await status_of(yard, held.id) is Status.CANCELLED


async def test_a_completion_that_comes_before_a_cancel_is_stored_wins(yard: Yard):
    held = await given_a_running_task(yard)
    slow = while_deciding(yard, lambda: yard.complete(held.id, held.lease))

    with pytest.raises(IllegalTransition, match="is completed"):
        await slow.cancel(held.id)

    assert await status_of(yard, held.id) is Status.COMPLETED


async def attempted(call: Awaitable[object]) -> bool:
    try:
        await call
    except (LeaseLost, IllegalTransition):
        return False
    return True


async def test_of_a_cancel_and_a_completion_that_race_exactly_one_wins_and_both_are_notified(
    yard: Yard, open_yard: OpenYard
):
    await given_an_agent(yard)
    dag = await given_a_graph(
        yard,
        *(task(f"{n}") for n in range(50)),
        *(task(f"after {n}", f"{n}") for n in range(50)),
    )
    raced = await claim_all(yard, 50)
    agents, people = await several(open_yard, 2)

    told = await asyncio.gather(
        *(attempted(agents.complete(each.id, each.lease)) for each in raced),
        *(attempted(people.cancel(each.id)) for each in raced),
    )

    names = {each.id: name for name, each in dag.tasks.items()}
    now = await states(yard, dag)
    for each, completed, cancelled in zip(raced, told[:50], told[50:], strict=True):
        assert completed is not cancelled
        assert now[names[each.id]] is (Status.COMPLETED if completed else Status.CANCELLED)
        assert now[f"after {names[each.id]}"] is (Status.READY if completed else Status.CANCELLED)
    assert len(await work_off(yard)) == sum(told[:50])
