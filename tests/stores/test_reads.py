"""What was written can be read, by those who ask for it."""

from collections.abc import Awaitable, Callable

import pytest

from taskyard.core import transitions
from taskyard.core.changes import Checkpoint, Conflict, Edge, Outbox, Output, Signal
from taskyard.core.lease import sealed_stem
from taskyard.core.task import DagId, Hot, RuntimeId
from taskyard.core.units import SECOND, Micros
from taskyard.stores.contract import Store
from tests.stores.given import (
    ADA,
    BOB,
    ELSEWHERE,
    HERE,
    a_dag_id,
    a_lane,
    an_attempt,
    an_id,
    at_once,
    cancelling,
    claiming,
    commit,
    committed,
    completing,
    given_a_claimed_task,
    given_a_completed_task,
    given_a_dead_letter,
    given_a_parked_task,
    given_a_pending_task,
    given_a_retrying_task,
    given_a_running_task,
    given_a_task,
    given_tasks,
    ids,
    lane_of,
    step,
)


async def test_only_what_exists_is_loaded(store: Store):
    task = await given_a_task(store)

    assert await store.load([task.id, an_id(), task.id]) == {task.id: task}
    assert await store.load([]) == {}


async def test_many_tasks_are_loaded_at_once(store: Store):
    tasks = await given_tasks(store, 1500)

    assert await store.load(ids(tasks)) == {task.id: task for task in tasks}
    assert len(await store.definitions(ids(tasks))) == 1500
    assert await store.blockers(ids(tasks)) == []


async def test_an_output_is_the_one_of_the_latest_attempt(store: Store):
    task = await given_a_running_task(store)
    attempts = [an_attempt(task, store.now())._replace(number=number) for number in (1, 2, 3)]
    first = Output(task.id, 1, '{"n":1}', ("artifact:a",), None)
    second = Output(task.id, 2, '"ü"', (), '{"why":"because"}')

    await committed(store, attempts=(attempts[0],), outputs=(first,))
    assert await store.outputs([task.id, an_id()]) == {task.id: first}

    await committed(store, attempts=(attempts[1],), outputs=(second,))
    await committed(store, attempts=(attempts[2],))
    assert await store.outputs([task.id]) == {task.id: second}


async def test_an_attempt_that_is_written_again_keeps_its_output(store: Store):
    task = await given_a_running_task(store)
    attempt, output = an_attempt(task, store.now()), Output(task.id, 1, "1", ("artifact:a",), "{}")
    await committed(store, attempts=(attempt,), outputs=(output,))

    decided = attempt._replace(version=9)
    await committed(store, attempts=(decided,))

    assert await store.outputs([task.id]) == {task.id: output}
    assert await store.attempts(task.id) == [decided]


async def test_attempts_are_read_in_the_order_they_were_made(store: Store):
    running = await given_a_running_task(store)
    attempts = [an_attempt(running, store.now())._replace(number=number) for number in (1, 2, 10)]

    await committed(store, attempts=(attempts[1], attempts[0]))
    await committed(store, attempts=(attempts[2],))

    assert await store.attempts(running.id) == attempts
    assert await store.attempts(an_id()) == []


async def test_checkpoints_are_written_once(store: Store):
    running = await given_a_running_task(store)
    first = Checkpoint(running.id, "fetched", 1, '{"n":1}')
    await committed(store, checkpoints=(first, Checkpoint(running.id, "parsed", 1, "2")))

    again = await commit(store, checkpoints=(first._replace(data="3", attempt=2),))

    assert isinstance(again, Conflict)
    assert sorted(await store.checkpoints(running.id)) == [first, Checkpoint(running.id, "parsed", 1, "2")]
    assert await store.checkpoints(an_id()) == []


async def test_of_two_who_write_one_checkpoint_at_once_one_does(store: Store, other: Store):
    running = await given_a_running_task(store)
    mine, theirs = [Checkpoint(running.id, "fetched", 1, data) for data in ("1", "2")]

    results = await at_once(commit(store, checkpoints=(mine,)), commit(other, checkpoints=(theirs,)))

    [stored] = await store.checkpoints(running.id)
    winner = 0 if stored == mine else 1
    assert isinstance(results[1 - winner], Conflict)


async def test_signals_are_read_in_the_order_they_came(store: Store):
    task, another = await given_a_task(store), await given_a_task(store)
    signals = [Signal(task.id, name, '{"x":null}', "a person", store.now()) for name in ("go", "stop", "go")]

    await committed(store, signals=tuple(signals[:2]))
    await committed(store, signals=(signals[2], Signal(another.id, "go", "1", "", store.now())))

    assert await store.signals(task.id) == signals


async def test_edges_are_those_that_leave_a_task(store: Store):
    a, b, c = await given_tasks(store, 3)
    edges = [Edge(a.id, b.id, "depends"), Edge(a.id, c.id, "spawned"), Edge(b.id, c.id, "depends")]

    await committed(store, edges=tuple(edges))

    assert sorted(await store.edges([a.id])) == sorted(edges[:2])
    assert sorted(await store.edges([a.id, b.id, c.id])) == sorted(edges)
    assert await store.edges([]) == []


async def test_a_graph_is_the_tasks_of_a_dag_and_what_joins_them(store: Store):
    dag_id = a_dag_id()
    parent, child = await given_tasks(store, 2, dag_id=dag_id)
    stranger = await given_a_task(store, dag_id=a_dag_id())
    await committed(store, edges=(Edge(parent.id, child.id, "depends"),))

    graph = await store.graph(dag_id)

    assert sorted(graph.tasks) == sorted([parent, child])
    assert graph.edges == (Edge(parent.id, child.id, "depends"),)
    assert stranger not in graph.tasks
    assert (await store.graph(a_dag_id())).tasks == ()


async def test_an_adopted_task_belongs_to_its_new_dag(store: Store):
    dag_id, lone = a_dag_id(), await given_a_running_task(store)

    adopted = await step(store, transitions.adopt(lone, dag_id=dag_id, now=store.now()))

    assert (await store.graph(dag_id)).tasks == (adopted,)


async def test_a_dag_has_begun_once_a_task_of_it_was_claimed(store: Store):
    fresh, claimed, given_back, ended = dags = [a_dag_id() for _ in range(4)]
    for dag_id in dags:
        await given_a_task(store, dag_id=dag_id)
    await given_a_claimed_task(store, dag_id=claimed)
    await given_a_retrying_task(store, until=Micros(store.now() + SECOND), dag_id=given_back)
    await given_a_completed_task(store, dag_id=ended)

    assert await store.begun([*dags, a_dag_id()]) == {claimed, given_back, ended}
    assert await store.begun([fresh]) == set()


async def test_a_dag_is_stuck_when_nothing_in_it_can_proceed(store: Store):
    dag_id = a_dag_id()
    dead = await given_a_dead_letter(store, dag_id=dag_id)
    await given_a_pending_task(store, f"task:{dead.id}", dag_id=dag_id)
    await given_a_completed_task(store, dag_id=dag_id)
    await given_a_task(store, dag_id=a_dag_id())

    assert await store.stuck(dag_id)


async def test_what_waits_for_a_dead_task_cannot_proceed_whatever_else_it_waits_for(store: Store):
    dag_id = a_dag_id()
    dead = await given_a_dead_letter(store, dag_id=dag_id)
    await given_a_pending_task(store, f"task:{dead.id}", "signal:go", dag_id=dag_id)

    assert await store.stuck(dag_id)


async def given_a_validating_task(store: Store, dag_id: DagId) -> Hot:
    running = await given_a_running_task(store, dag_id=dag_id)
    return await step(store, transitions.submit(running, now=store.now()))


CAN_PROCEED: list[Callable[[Store, DagId], Awaitable[Hot]]] = [
    lambda store, dag_id: given_a_task(store, dag_id=dag_id),
    lambda store, dag_id: given_a_claimed_task(store, dag_id=dag_id),
    lambda store, dag_id: given_a_running_task(store, dag_id=dag_id),
    lambda store, dag_id: given_a_retrying_task(store, until=Micros(store.now() + SECOND), dag_id=dag_id),
    given_a_validating_task,
    lambda store, dag_id: given_a_pending_task(store, "signal:go", dag_id=dag_id),
    lambda store, dag_id: given_a_pending_task(store, "time", dag_id=dag_id),
    lambda store, dag_id: given_a_parked_task(store, "key:k", dag_id=dag_id),
]


@pytest.mark.parametrize("something", CAN_PROCEED)
async def test_a_dag_is_not_stuck_while_something_in_it_can_proceed(
    store: Store, something: Callable[[Store, DagId], Awaitable[Hot]]
):
    dag_id = a_dag_id()
    dead = await given_a_dead_letter(store, dag_id=dag_id)
    await given_a_pending_task(store, f"task:{dead.id}", dag_id=dag_id)
    assert await store.stuck(dag_id)

    await something(store, dag_id)

    assert not await store.stuck(dag_id)


async def test_held_tasks_are_found_by_agent_and_by_runtime(store: Store):
    laptop, server = RuntimeId("laptop"), RuntimeId("server")
    first = await given_a_running_task(store, runtime=laptop)
    claimed = await given_a_claimed_task(store, lease="0af9")
    by_bob = await given_a_running_task(store, agent=BOB, runtime=server, workspace=ELSEWHERE)
    running = await given_a_running_task(store, runtime=laptop)
    await step(store, completing(store, running))
    await step(store, transitions.release(await given_a_running_task(store, agent=BOB), now=store.now()))
    await step(store, transitions.submit(await given_a_running_task(store, agent=BOB), now=store.now()))

    assert sorted(await store.held(agent=ADA)) == sorted([first, claimed])
    assert sorted(await store.held(agent=BOB)) == [by_bob]
    assert sorted(await store.held(runtime=laptop)) == [first]
    assert await store.held(agent=BOB, runtime=laptop) == []
    assert sorted(await store.held()) == sorted([first, claimed, by_bob])
    stems = [sealed_stem(str(hot.lease)) for hot in (first, claimed, by_bob)]
    assert sorted(await store.held_under(ADA, stems)) == sorted([first, claimed])
    assert await store.held_under(ADA, [stems[1], "0" * 32]) == [claimed]


async def test_what_is_due_is_listed_earliest_first(store: Store):
    times = [Micros(store.now() + offset * SECOND) for offset in (3, 1, 2, 4)]
    tasks = [await given_a_task(store, expires_at=at) for at in times]
    await given_a_task(store)

    assert await store.due(Micros(store.now()), 10) == []
    assert await store.due(times[0], 10) == [tasks[1], tasks[2], tasks[0]]
    assert await store.due(times[0], 2) == [tasks[1], tasks[2]]


async def test_what_ended_is_not_due(store: Store):
    task = await given_a_task(store, expires_at=Micros(store.now() + SECOND))
    await step(store, cancelling(store, task))

    assert await store.due(Micros(store.now() + 10 * SECOND), 10) == []


async def test_a_lease_is_due_when_it_ends(store: Store):
    running = await given_a_running_task(store)

    assert await store.due(Micros(store.now() + 89 * SECOND), 10) == []
    assert await store.due(Micros(store.now() + 90 * SECOND), 10) == [running]


async def test_waiting_tasks_whose_rank_is_to_be_computed_again_are_drifting(store: Store):
    soon, later = [Micros(store.now() + offset * SECOND) for offset in (1, 2)]
    ready, pending = await given_a_task(store, rescore_at=soon), await given_a_pending_task(store, "x", rescore_at=soon)
    await given_a_task(store, rescore_at=later)
    await given_a_task(store)
    running = await given_a_task(store, rescore_at=soon)
    await step(store, claiming(running, now=store.now()))
    ended = await given_a_task(store, rescore_at=soon)
    await step(store, cancelling(store, ended))

    assert await store.drifting(Micros(soon - 1), 10) == []
    assert sorted(await store.drifting(soon, 10)) == sorted([ready, pending])
    assert len(await store.drifting(soon, 1)) == 1


async def test_the_tasks_ahead_are_the_ready_ones_of_its_lane_that_come_first(store: Store):
    first, twin, last = [await given_a_task(store, rank=rank) for rank in (1, 5, 5)]
    later = await given_a_task(store, rank=9)
    await given_a_task(store, rank=0, lane=await lane_of(store, a_lane(type="review")))
    await given_a_pending_task(store, "signal:go", rank=0)

    counted = [await store.ahead(task.lane, task.rank, task.seq, 10) for task in (first, twin, last, later)]

    assert counted == [0, 1, 2, 3]
    assert await store.ahead(later.lane, later.rank, later.seq, 2) == 2


async def test_the_first_ready_tasks_of_each_lane_come_in_the_order_of_their_claims(store: Store):
    late, first, twin, last = [await given_a_task(store, rank=rank) for rank in (9, 1, 5, 5)]
    review = await given_a_task(store, rank=7, lane=await lane_of(store, a_lane(type="review")))
    await given_a_pending_task(store, "signal:go", rank=0)
    await given_a_running_task(store, rank=0)

    assert await store.first_ready([first.lane], 10) == [first, twin, last, late]
    assert await store.first_ready([review.lane, first.lane], 2) == [review, first, twin]
    assert await store.first_ready([], 2) == []


async def test_outbox_rows_are_read_by_topic_until_they_are_settled(store: Store):
    rows = [Outbox(HERE, topic, None, f'"{n}"', store.now()) for n, topic in enumerate(["notify", "embed", "notify"])]
    for row in rows:
        await committed(store, outbox=(row,))

    unsettled = await store.outbox("notify", 10)
    assert [row for _, row in unsettled] == [rows[0], rows[2]]
    assert await store.outbox("notify", 1) == unsettled[:1]

    await store.settle([unsettled[0][0], 10**9])
    assert await store.outbox("notify", 10) == unsettled[1:]
    await store.settle([])
    assert [row for _, row in await store.outbox("embed", 10)] == [rows[1]]


async def test_an_outbox_number_is_not_given_twice(store: Store):
    row = Outbox(HERE, "notify", None, "1", store.now())
    await committed(store, outbox=(row,))
    [(first, _)] = await store.outbox("notify", 10)
    await store.settle([first])

    await committed(store, outbox=(row,))

    [(second, _)] = await store.outbox("notify", 10)
    assert second > first


async def test_a_sound_yard_has_nothing_wrong_with_it(store: Store):
    await given_a_completed_task(store)

    assert await store.checks() == []
