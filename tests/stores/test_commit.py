"""A set lands whole on the rows it was decided on, or leaves no trace."""

from taskyard.core import transitions
from taskyard.core.changes import (
    Blocker,
    Ceiling,
    Checkpoint,
    Committed,
    Conflict,
    Count,
    Edge,
    Event,
    Expect,
    Lift,
    Outbox,
    Output,
    RecordChange,
    Rescore,
    Signal,
    Spend,
    expected,
)
from taskyard.core.task import Status, TaskId
from taskyard.core.units import SECOND, Micros
from taskyard.stores.contract import Store
from tests.stores.given import (
    HERE,
    Parts,
    a_new_task,
    a_set,
    an_attempt,
    an_id,
    at_once,
    burying,
    cancelling,
    claiming,
    commit,
    committed,
    completing,
    given_a_pending_task,
    given_a_retrying_task,
    given_a_running_task,
    given_a_task,
    history,
    picture,
    row_of,
    signalling,
    step,
)


async def test_a_change_leaves_the_row_as_the_core_decided(store: Store):
    task = await given_a_task(store)
    claim = claiming(task, now=store.now())

    await committed(store, changes=(claim,))

    assert await row_of(store, task.id) == claim.after


async def test_a_change_decided_on_an_old_version_is_a_conflict(store: Store):
    read = await given_a_task(store)
    signalled = await step(store, signalling(store, read))

    result = await commit(store, changes=(cancelling(store, read),))

    assert isinstance(result, Conflict)
    assert await row_of(store, read.id) == signalled


async def test_a_change_of_a_task_that_is_not_there_is_a_conflict(store: Store):
    absent = await a_new_task(store)

    assert isinstance(await commit(store, changes=(cancelling(store, absent.hot),)), Conflict)
    assert await store.load([absent.hot.id]) == {}


async def test_one_bad_change_spoils_the_whole_set(store: Store):
    read, sound = await given_a_task(store), await given_a_task(store)
    await step(store, signalling(store, read))

    result = await commit(store, changes=(cancelling(store, sound), cancelling(store, read)))

    assert isinstance(result, Conflict)
    assert await row_of(store, sound.id) == sound


async def test_one_bad_set_spoils_none_of_its_neighbours(store: Store):
    first, read, last = [await given_a_task(store) for _ in range(3)]
    await step(store, signalling(store, read))

    results = await store.commit([a_set(store, changes=(cancelling(store, task),)) for task in (first, read, last)])

    assert [type(result) for result in results] == [Committed, Conflict, Committed]
    rows = await store.load([first.id, read.id, last.id])
    assert [rows[task.id].status for task in (first, read, last)] == [Status.CANCELLED, Status.READY, Status.CANCELLED]


async def test_no_sets_are_committed_without_ado(store: Store):
    assert await store.commit([]) == []


async def test_an_empty_set_is_committed(store: Store):
    assert await committed(store) == Committed({}, ())


async def test_of_two_sets_of_one_batch_that_decide_on_one_row_only_the_first_is_committed(store: Store):
    task = await given_a_task(store)
    cancelled, signalled = cancelling(store, task), signalling(store, task)

    results = await store.commit([a_set(store, changes=(change,)) for change in (cancelled, signalled)])

    assert [type(result) for result in results] == [Committed, Conflict]
    assert await row_of(store, task.id) == cancelled.after
    assert await history(store, task.id) == ["task.created", "task.cancelled"]


async def test_of_many_processes_that_decide_on_one_row_exactly_one_is_committed(store: Store, other: Store):
    task = await given_a_task(store)

    results = await at_once(*(commit(each, changes=(signalling(store, task),)) for each in (store, other) * 10))

    assert sum(isinstance(result, Committed) for result in results) == 1
    assert await history(store, task.id) == ["task.created", "task.signalled"]


async def test_a_row_that_was_read_and_not_written_is_guarded_too(store: Store):
    read, task = await given_a_task(store), await given_a_task(store)
    await step(store, signalling(store, read))

    result = await commit(store, changes=(cancelling(store, task),), expects=(expected(read),))

    assert isinstance(result, Conflict)
    assert await row_of(store, task.id) == task


async def test_a_row_that_is_still_as_it_was_read_lets_the_set_pass(store: Store):
    read = await given_a_task(store)

    await committed(store, expects=(expected(read),))

    assert await row_of(store, read.id) == read


async def test_a_row_that_was_read_and_is_gone_is_a_conflict(store: Store):
    assert isinstance(await commit(store, expects=(Expect(an_id(), 1, Status.READY),)), Conflict)


async def test_a_refused_set_leaves_no_trace(store: Store):
    running, moved = await given_a_running_task(store), await given_a_task(store)
    waiting = await given_a_pending_task(store, f"task:{running.id}")
    await step(store, signalling(store, moved))
    fresh = await a_new_task(store, idempotency_key="fresh")
    task_ids = [running.id, moved.id, waiting.id, fresh.hot.id]
    names = ["slots:ada", "key:k"]
    await committed(store, spends=(Spend(HERE, "slots:ada", 1),), counts=(Count(HERE, "seen", 3),))
    everything: Parts = {
        "changes": (completing(store, running),),
        "expects": (expected(moved),),
        "tasks": (fresh,),
        "edges": (Edge(running.id, fresh.hot.id, "depends"),),
        "blockers": (Blocker(waiting.id, 0, "signal:go"),),
        "lifts": (Lift(f"task:{running.id}"),),
        "attempts": (an_attempt(running, store.now()),),
        "outputs": (Output(running.id, 1, "{}", (), None),),
        "checkpoints": (Checkpoint(running.id, "half way", 1, "{}"),),
        "signals": (Signal(waiting.id, "go", "{}", "a person", store.now()),),
        "records": (RecordChange("note", HERE, "n", 0, {"text": "x"}),),
        "spends": (Spend(HERE, "slots:ada", -1), Spend(HERE, "key:k", 1)),
        "ceilings": (Ceiling(HERE, "slots:ada", 9),),
        "counts": (Count(HERE, "seen", 1, clear=True), Count(HERE, "new", 1)),
        "outbox": (Outbox(HERE, "notify", running.id, "{}", store.now()),),
        "rescores": (Rescore(waiting.id, 7, 7, None),),
        "events": (Event("dag.completed", HERE, None, None, store.now(), None, None, None, None),),
    }
    before = await picture(store, task_ids, limits=names, counts=["seen", "new"])

    assert isinstance(await commit(store, **everything), Conflict)

    assert await picture(store, task_ids, limits=names, counts=["seen", "new"]) == before
    assert await store.by_key(HERE, ["fresh"]) == {}
    everything["expects"] = ()
    await committed(store, **everything)
    after = await picture(store, task_ids, limits=names, counts=["seen", "new"])
    assert {part for part in before if after[part] == before[part]} == set()


async def test_what_became_claimable_is_reported(store: Store):
    fresh, waiting = await a_new_task(store), await a_new_task(store, status=Status.PENDING)
    running = await given_a_running_task(store)
    retried = await given_a_retrying_task(store, until=Micros(store.now() + SECOND))
    child = await given_a_pending_task(store, "signal:go")

    result = await committed(
        store,
        changes=(
            transitions.release(running, now=store.now()),
            transitions.promote(retried, now=store.now()),
        ),
        tasks=(fresh, waiting),
        blockers=(Blocker(waiting.hot.id, 0, "signal:go"),),
        lifts=(Lift("signal:go", child.id),),
    )

    assert sorted(result.readied) == sorted([fresh.hot.id, running.id, retried.id, child.id])


async def test_a_task_that_was_ready_before_has_not_become_so(store: Store):
    task = await given_a_task(store)

    result = await committed(
        store, changes=(transitions.reprioritise(task, priority=1, rank=1, by="a person", now=store.now()),)
    )

    assert result.readied == ()
    assert (await row_of(store, task.id)).rank == 1


async def test_burying_and_completing_at_once_one_wins(store: Store, other: Store):
    running = await given_a_running_task(store)

    results = await at_once(
        commit(store, changes=(completing(store, running),)), commit(other, changes=(burying(store, running),))
    )

    assert sorted(type(result).__name__ for result in results) == ["Committed", "Conflict"]
    assert len(await history(store, TaskId(running.id))) == 3
