"""What is new has an id and a key of its own, or is told who has them."""

import pytest

from taskyard.core.changes import (
    Committed,
    Conflict,
    NewTask,
    RecordChange,
    Taken,
)
from taskyard.core.task import Status, Trait
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from tests.stores.given import (
    ELSEWHERE,
    HERE,
    a_new_task,
    a_set,
    an_id,
    at_once,
    cancelling,
    claiming,
    commit,
    committed,
    every_event,
    given_a_completed_task,
    given_a_dead_letter,
    given_a_task,
    history,
    reviving,
    row_of,
    signalling,
    step,
)


async def test_a_task_id_that_is_in_use_is_taken(store: Store):
    task = await given_a_task(store)
    twin = await a_new_task(store, id=task.id, workspace=ELSEWHERE)

    assert await commit(store, tasks=(twin,)) == Taken({task.id: task.id})
    assert await row_of(store, task.id) == task


async def test_what_comes_in_together_has_each_what_is_its_own(store: Store, clock: ManualClock):
    """Alike or not, early or late; of two sets in one batch the one that is refused leaves the other whole."""
    there = await given_a_task(store)
    tasks: list[NewTask] = []
    for number in range(6):
        clock.advance(seconds=number % 2)
        task = await a_new_task(store, rank=number // 3, lease_sec=60 + number % 2)
        said = task.event._replace(data=f'{{"number":{number // 2}}}')
        definition = task.definition._replace(payload=f'"payload {number}"', prompt="p" * number, title=f"{number % 2}")
        tasks.append(NewTask(task.hot, definition, said))
    refused = a_set(store, tasks=(tasks[0], await a_new_task(store, id=there.id)))

    answers = await store.commit([refused, a_set(store, tasks=tuple(tasks[:3])), a_set(store, tasks=tuple(tasks[3:]))])

    assert [type(answer) for answer in answers] == [Taken, Committed, Committed]
    stored = await store.load([task.hot.id for task in tasks])
    assert [hot._replace(seq=0) for hot in stored.values()] == [task.hot for task in tasks]
    assert [stored[task.hot.id].seq for task in tasks] == sorted(hot.seq for hot in stored.values())
    assert await store.definitions(list(stored)) == {task.hot.id: task.definition for task in tasks}
    for task in tasks:
        assert [told.event for told in await store.events(after=0, limit=10, task_id=task.hot.id)] == [task.event]


async def test_an_idempotency_key_is_taken_while_its_owner_lives(store: Store):
    owner = await given_a_task(store, idempotency_key="k")
    twin = await a_new_task(store, idempotency_key="k")

    assert await commit(store, tasks=(twin,)) == Taken({"k": owner.id})

    assert await store.load([twin.hot.id]) == {}
    assert await store.definitions([twin.hot.id]) == {}
    assert await history(store, twin.hot.id) == []


async def test_all_that_is_taken_is_stated_at_once(store: Store):
    first = await given_a_task(store, idempotency_key="k1")
    second = await given_a_task(store, idempotency_key="k2")
    tasks = tuple([await a_new_task(store, idempotency_key=key) for key in ("k1", "k2", "k3")])
    again = await a_new_task(store, id=first.id)

    result = await commit(store, tasks=(*tasks, again))

    assert result == Taken({"k1": first.id, "k2": second.id, first.id: first.id})


async def test_a_completed_task_still_owns_its_key(store: Store):
    owner = await given_a_completed_task(store, idempotency_key="k")

    assert await commit(store, tasks=(await a_new_task(store, idempotency_key="k"),)) == Taken({"k": owner.id})
    assert await store.by_key(HERE, ["k", "unheard of"]) == {"k": owner.id}


async def test_the_key_of_a_cancelled_task_or_a_dead_letter_is_free(store: Store):
    await step(store, cancelling(store, await given_a_task(store, idempotency_key="k1")))
    await given_a_dead_letter(store, idempotency_key="k2")
    assert await store.by_key(HERE, ["k1", "k2"]) == {}

    heirs = [await given_a_task(store, idempotency_key=key) for key in ("k1", "k2")]

    assert await store.by_key(HERE, ["k1", "k2"]) == {"k1": heirs[0].id, "k2": heirs[1].id}


async def test_a_key_that_its_task_let_go_is_free(store: Store):
    waiting = await given_a_task(store, idempotency_key="k", traits=int(Trait.KEY_WHILE_WAITING))
    await step(store, claiming(waiting, now=store.now()))

    heir = await given_a_task(store, idempotency_key="k")

    assert await store.by_key(HERE, ["k"]) == {"k": heir.id}


async def test_a_key_means_nothing_in_another_workspace(store: Store):
    here = await given_a_task(store, idempotency_key="k")
    there = await given_a_task(store, idempotency_key="k", workspace=ELSEWHERE)

    assert await store.by_key(HERE, ["k"]) == {"k": here.id}
    assert await store.by_key(ELSEWHERE, ["k"]) == {"k": there.id}


async def test_of_two_sets_of_one_batch_with_one_key_the_second_names_the_first(store: Store):
    first, second = [await a_new_task(store, idempotency_key="k") for _ in range(2)]

    results = await store.commit([a_set(store, tasks=(task,)) for task in (first, second)])

    assert isinstance(results[0], Committed)
    assert results[1] == Taken({"k": first.hot.id})


async def test_of_two_sets_of_one_batch_with_one_id_the_second_names_the_first(store: Store):
    task = await a_new_task(store)
    first, second = await store.commit([a_set(store, tasks=(task,)), a_set(store, tasks=(task,))])

    assert isinstance(first, Committed)
    assert second == Taken({task.hot.id: task.hot.id})


async def test_a_key_that_one_set_of_a_batch_lets_go_the_next_may_take(store: Store):
    owner, heir = await given_a_task(store, idempotency_key="k"), await a_new_task(store, idempotency_key="k")

    results = await store.commit([a_set(store, changes=(cancelling(store, owner),)), a_set(store, tasks=(heir,))])

    assert [type(result) for result in results] == [Committed, Committed]
    assert await store.by_key(HERE, ["k"]) == {"k": heir.hot.id}


async def test_of_many_processes_that_want_one_key_exactly_one_gets_it(store: Store, other: Store):
    tasks = [await a_new_task(store, idempotency_key="k") for _ in range(10)]

    results = await at_once(*(commit((store, other)[n % 2], tasks=(task,)) for n, task in enumerate(tasks)))

    owner = (await store.by_key(HERE, ["k"]))["k"]
    assert [result for result in results if not isinstance(result, Committed)] == [Taken({"k": owner})] * 9
    assert list(await store.load([task.hot.id for task in tasks])) == [owner]


async def test_a_dead_letter_is_not_revived_where_another_task_has_its_key_by_now(store: Store):
    dead = await given_a_dead_letter(store, idempotency_key="k")
    heir = await given_a_task(store, idempotency_key="k")

    assert await commit(store, changes=(reviving(store, dead),)) == Taken({"k": heir.id})
    assert await row_of(store, dead.id) == dead

    await step(store, cancelling(store, heir))
    await step(store, reviving(store, dead))
    assert await store.by_key(HERE, ["k"]) == {"k": dead.id}


async def test_a_conflict_is_reported_before_what_is_taken(store: Store):
    owner = await given_a_task(store, idempotency_key="k")
    moved = await given_a_task(store)
    await step(store, signalling(store, moved))
    twin = await a_new_task(store, idempotency_key="k")

    assert isinstance(await commit(store, tasks=(twin,), changes=(cancelling(store, moved),)), Conflict)
    assert isinstance(await commit(store, tasks=(twin,)), Taken)
    assert await store.by_key(HERE, ["k"]) == {"k": owner.id}


async def test_new_tasks_are_numbered_in_the_order_given(store: Store):
    sets = [[await a_new_task(store) for _ in range(3)] for _ in range(2)]

    await store.commit([a_set(store, tasks=tuple(tasks)) for tasks in sets])

    wanted = [task.hot.id for tasks in sets for task in tasks]
    rows = await store.load(list(reversed(wanted)))
    assert sorted(wanted, key=lambda task_id: rows[task_id].seq) == wanted
    assert len({row.seq for row in rows.values()}) == 6
    assert min(row.seq for row in rows.values()) > 0


async def test_a_changed_definition_replaces_the_one_before(store: Store):
    task, bystander = await a_new_task(store), await a_new_task(store)
    await committed(store, tasks=(task, bystander))
    changed = task.definition._replace(priority=1, prompt="once more", tags=("urgent",))

    await committed(store, redefined=(changed,))

    found = await store.definitions([task.hot.id, bystander.hot.id, an_id()])
    assert found == {task.hot.id: changed, bystander.hot.id: bystander.definition}


async def test_a_set_may_cancel_the_owner_of_a_key_and_put_its_successor_in(store: Store):
    owner, heir = await given_a_task(store, idempotency_key="k"), await a_new_task(store, idempotency_key="k")

    await committed(store, changes=(cancelling(store, owner),), tasks=(heir,))

    assert await store.by_key(HERE, ["k"]) == {"k": heir.hot.id}
    assert (await row_of(store, owner.id)).status is Status.CANCELLED


async def test_a_set_at_odds_with_itself_is_a_mistake_and_nothing_of_its_batch_is_written(store: Store):
    task, fresh = await given_a_task(store), await a_new_task(store)
    twins = [await a_new_task(store, idempotency_key="k") for _ in range(2)]
    record = RecordChange("note", HERE, "n", 0, {})
    nonsense = (
        a_set(store, changes=(cancelling(store, task), signalling(store, task))),
        a_set(store, tasks=(fresh, fresh)),
        a_set(store, tasks=tuple(twins)),
        a_set(store, records=(record, record)),
    )
    sound = a_set(store, tasks=(await a_new_task(store),))
    before = await every_event(store)

    for each in nonsense:
        with pytest.raises(ValueError, match="one change set"):
            await store.commit([sound, each])

    assert await every_event(store) == before
    assert await row_of(store, task.id) == task
    await store.commit([sound])
