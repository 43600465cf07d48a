"""The end of an attempt: what most sets are, so that a store may have a short way for it, to the same place."""

from typing import Any

from taskyard.core.changes import ChangeSet, Committed, Conflict, Count, Event, Lift, Output, Spend, merged
from taskyard.core.task import Hot, Status
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from tests.stores.given import (
    HERE,
    a_beat,
    a_set,
    an_attempt,
    completing,
    given_a_pending_task,
    given_a_running_task,
    history,
    picture,
    signalling,
    step,
)


def an_end(store: Store, running: Hot, *, lease_unchanged: bool = False) -> ChangeSet:
    """With all that an end may have, and a short way has to write."""
    return a_set(
        store,
        changes=(completing(store, running)._replace(lease_unchanged=lease_unchanged),),
        attempts=(an_attempt(running, store.now()),),
        outputs=(Output(running.id, 1, '{"ok":true}', ("a file",), None),),
        spends=(Spend(HERE, "slots:ada", -1), Spend(HERE, "agent:ada", -5, 3)),
        counts=(Count(HERE, "breaker:code:0", 2), Count(HERE, "breaker:code:0", 1)),
    )


async def all_of(store: Store, *tasks: Hot) -> dict[str, object]:
    ids = [task.id for task in tasks]
    return await picture(store, ids, limits=["slots:ada", "agent:ada"], counts=["breaker:code:0"])


async def test_an_end_is_committed_whole(store: Store):
    running = await given_a_running_task(store)
    end = an_end(store, running)

    assert await store.commit([end]) == [Committed({"breaker:code:0": 3}, ())]

    assert await store.load([running.id]) == {running.id: end.changes[0].after}
    assert await store.attempts(running.id) == [*end.attempts]
    assert await store.outputs([running.id]) == {running.id: end.outputs[0]}
    limits = await store.limits(HERE, ["slots:ada", "agent:ada"])
    assert {name: (limit.held, limit.spent) for name, limit in limits.items()} == {
        "slots:ada": (-1, 0),
        "agent:ada": (-5, 3),
    }
    assert await history(store, running.id) == ["task.created", "task.running", "task.completed"]


async def test_an_end_is_the_same_whatever_is_committed_with_it(store: Store):
    alone, among = await given_a_running_task(store), await given_a_running_task(store)
    news = Event("yard.swept", HERE, None, None, store.now(), None, None, None, None)

    await store.commit([an_end(store, alone), an_end(store, among)._replace(events=(news,))])

    rows = await store.load([alone.id, among.id])
    assert rows[among.id]._replace(id=alone.id, seq=alone.seq) == rows[alone.id]
    assert [each[1:] for each in await store.attempts(among.id)] == [
        each[1:] for each in await store.attempts(alone.id)
    ]
    assert await history(store, among.id) == await history(store, alone.id)
    assert (await store.outputs([among.id]))[among.id][1:] == (await store.outputs([alone.id]))[alone.id][1:]


async def test_an_end_decided_on_an_old_version_leaves_no_trace(store: Store):
    running = await given_a_running_task(store)
    end = an_end(store, running)
    await step(store, signalling(store, running))
    before = await all_of(store, running)

    assert await store.commit([end]) == [Conflict(running.id)]

    assert await all_of(store, running) == before


async def test_an_end_decided_without_looking_is_not_committed_on_a_heartbeat(store: Store, clock: ManualClock):
    running = await given_a_running_task(store)
    end = an_end(store, running, lease_unchanged=True)
    clock.advance(seconds=1)
    await store.extend([a_beat(running, '"half"')])
    before = await all_of(store, running)

    assert await store.commit([end]) == [Conflict(running.id)]
    assert await all_of(store, running) == before

    (seen,) = (await store.load([running.id])).values()
    assert isinstance((await store.commit([an_end(store, seen, lease_unchanged=True)]))[0], Committed)


async def test_an_end_is_committed_although_a_heartbeat_came_since(store: Store, clock: ManualClock):
    running = await given_a_running_task(store)
    end = an_end(store, running)
    clock.advance(seconds=1)
    await store.extend([a_beat(running, '"half"')])

    await store.commit([end])

    (ended,) = (await store.load([running.id])).values()
    assert (ended.status, ended.heartbeat_at) == (Status.COMPLETED, None)


async def test_of_two_ends_in_one_batch_the_first_is_committed(store: Store):
    running = await given_a_running_task(store)
    end = an_end(store, running)

    assert await store.commit([end, end]) == [Committed({"breaker:code:0": 3}, ()), Conflict(running.id)]
    assert await history(store, running.id) == ["task.created", "task.running", "task.completed"]


async def test_ends_of_one_batch_have_each_what_is_its_own(store: Store, clock: ManualClock):
    """Some alike, some not, one refused among them, and times that differ."""
    running = [await given_a_running_task(store) for _ in range(5)]
    ends: list[ChangeSet] = []
    for number, task in enumerate(running):
        if number % 2:
            clock.advance(seconds=1)
        end = an_end(store, task)
        (output,), (attempt,) = end.outputs, end.attempts
        named = attempt._replace(digest=f"digest {number}", lease=f"lease {number}")
        ends.append(end._replace(outputs=(output._replace(data=f'"output {number}"'),), attempts=(named,)))
    ends[1] = ends[1]._replace(outputs=(), spends=(Spend(HERE, "slots:bob", -1),), counts=())
    stale = ends[2]
    await step(store, signalling(store, running[2]))

    answers = await store.commit(ends)

    assert [isinstance(answer, Committed) for answer in answers] == [True, True, False, True, True]
    landed = [end for end in ends if end is not stale]
    rows = await store.load([task.id for task in running])
    for end in landed:
        (change,) = end.changes
        assert rows[change.before.id] == change.after
        assert await store.attempts(change.before.id) == [*end.attempts]
        assert (await store.outputs([change.before.id])).get(change.before.id) == next(iter(end.outputs), None)
        told = await store.events(after=0, limit=100, task_id=change.before.id)
        assert told[-1].event == change.event
    limits = await store.limits(HERE, ["slots:ada", "slots:bob"])
    assert {name: limit.held for name, limit in limits.items()} == {"slots:ada": -3, "slots:bob": -1}


def together(store: Store, *tasks: Hot) -> ChangeSet:
    ends = merged([an_end(store, task) for task in tasks])
    return ends._replace(spends=(Spend(HERE, "slots:ada", -len(tasks)),), counts=(Count(HERE, "breaker:code:0", 2),))


async def test_ends_of_one_set_are_committed_together(store: Store):
    running = [await given_a_running_task(store) for _ in range(3)]
    ends = together(store, *running)

    assert await store.commit([ends]) == [Committed({"breaker:code:0": 2}, ())]

    rows = await store.load([task.id for task in running])
    assert [rows[task.id] for task in running] == [change.after for change in ends.changes]
    for task, attempt, output, change in zip(running, ends.attempts, ends.outputs, ends.changes, strict=True):
        assert await store.attempts(task.id) == [attempt]
        assert await store.outputs([task.id]) == {task.id: output}
        told = await store.events(after=0, limit=100, task_id=task.id)
        assert told[-1].event == change.event
    assert (await store.limits(HERE, ["slots:ada"]))["slots:ada"].held == -3


async def test_of_ends_of_one_set_none_is_committed_where_one_has_moved(store: Store):
    running = [await given_a_running_task(store) for _ in range(3)]
    ends = together(store, *running)
    await step(store, signalling(store, running[1]))
    before = await all_of(store, *running)

    assert await store.commit([ends]) == [Conflict(running[1].id)]

    assert await all_of(store, *running) == before


async def test_ends_of_one_set_let_go_what_waits_for_all_of_them(store: Store):
    running = [await given_a_running_task(store) for _ in range(2)]
    waiting = await given_a_pending_task(store, *(f"task:{task.id}" for task in running))
    ends = together(store, *running)
    lifts = tuple(Lift(f"task:{task.id}") for task in running)

    (answer,) = await store.commit([ends._replace(lifts=lifts)])

    assert answer == Committed({"breaker:code:0": 2}, (waiting.id,))
    assert await history(store, waiting.id) == ["task.created", "task.ready"]


async def test_the_event_of_an_end_is_reported_as_it_is(store: Store):
    others: list[dict[str, Any]] = [{"version": None, "status": None}, {"data": None}, {"dag_id": None}, {"attempt": 7}]
    for other in others:
        running = await given_a_running_task(store)
        change = completing(store, running)
        said = change.event._replace(**other)

        await store.commit([an_end(store, running)._replace(changes=(change._replace(event=said),))])

        told = await store.events(after=0, limit=100, task_id=running.id)
        assert told[-1].event == said


async def test_what_comes_with_an_end_goes_where_it_belongs(store: Store):
    one, other = await given_a_running_task(store), await given_a_running_task(store)
    attempt, output = an_attempt(other, store.now()), Output(other.id, 1, "1", (), None)

    await store.commit([an_end(store, one)._replace(attempts=(attempt,), outputs=(output,))])

    assert (await store.attempts(one.id), await store.attempts(other.id)) == ([], [attempt])
    assert await store.outputs([one.id, other.id]) == {other.id: output}


async def test_a_key_that_an_end_takes_back_is_refused_where_another_has_it(store: Store):
    running = await given_a_running_task(store)
    change = completing(store, running)
    taking = change._replace(after=change.after._replace(idempotency_key="k"))
    await given_a_running_task(store, idempotency_key="k")

    (answer,) = await store.commit([an_end(store, running)._replace(changes=(taking,))])

    assert not isinstance(answer, Committed)


async def test_an_expired_attempt_ends_only_when_its_time_is_over(store: Store, clock: ManualClock):
    running = await given_a_running_task(store)
    end = an_end(store, running)
    end = end._replace(changes=(end.changes[0]._replace(expiring=True),))

    assert await store.commit([end]) == [Conflict(running.id)]

    clock.advance(seconds=running.lease_sec + 1)
    assert isinstance((await store.commit([end]))[0], Committed)
