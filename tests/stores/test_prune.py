"""What has been final for long enough is removed whole; nothing else is."""

import pytest

from taskyard.core.changes import (
    Blocker,
    Ceiling,
    Checkpoint,
    Conflict,
    Count,
    Edge,
    Event,
    Outbox,
    Output,
    RecordChange,
    Signal,
    Spend,
    expected,
)
from taskyard.core.errors import EventsGone
from taskyard.core.task import DagId, Hot
from taskyard.core.units import Micros
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import FROM_THE_OLDEST, Embedding, Store
from tests.stores.given import (
    ELSEWHERE,
    HERE,
    a_dag_id,
    an_attempt,
    cancelling,
    commit,
    committed,
    completing,
    every_event,
    given_a_completed_task,
    given_a_dead_letter,
    given_a_running_task,
    given_a_task,
    history,
    ids,
    picture,
    reviving,
    step,
)


async def prunable(store: Store, *, limit: int = 100, dead_too: bool = False) -> list[str]:
    """What has been final for a minute."""
    before = Micros(store.now() - 60_000_000)
    return sorted(ids((await store.prunable(before, limit, dead_too=dead_too)).tasks))


async def pieces(store: Store, *, limit: int, dead_too: bool = False) -> list[list[str]]:
    """All that has been final for a minute, piece by piece; nothing of it is removed."""
    before, cursor = Micros(store.now() - 60_000_000), FROM_THE_OLDEST
    found: list[list[str]] = []
    while cursor is not None:
        piece = await store.prunable(before, limit, dead_too=dead_too, after=cursor)
        found.append([*ids(piece.tasks)])
        assert piece.cursor is None or piece.cursor > cursor
        cursor = piece.cursor
    return found


async def remove(store: Store, *tasks: Hot) -> None:
    await committed(
        store,
        expects=tuple(expected(task) for task in tasks),
        removals=tuple(task.id for task in tasks),
    )


async def test_a_task_can_be_pruned_once_it_has_been_final_for_long_enough(store: Store, clock: ManualClock):
    completed = await given_a_completed_task(store)
    cancelled = await step(store, cancelling(store, await given_a_task(store)))
    await given_a_task(store)
    await given_a_running_task(store)
    clock.advance(seconds=59)
    assert await prunable(store) == []

    clock.advance(seconds=2)
    assert await prunable(store) == sorted([completed.id, cancelled.id])


async def test_a_task_that_was_revived_is_not_final(store: Store, clock: ManualClock):
    dead = await given_a_dead_letter(store)
    await step(store, reviving(store, dead))
    clock.advance(seconds=61)

    assert await prunable(store, dead_too=True) == []


async def test_a_dag_is_pruned_whole_or_not_at_all(store: Store, clock: ManualClock):
    live, ended, fresh = a_dag_id(), a_dag_id(), a_dag_id()
    await given_a_completed_task(store, dag_id=live)
    await given_a_task(store, dag_id=live)
    done = [await given_a_completed_task(store, dag_id=ended) for _ in range(3)]
    await given_a_completed_task(store, dag_id=fresh)
    clock.advance(seconds=61)
    await given_a_completed_task(store, dag_id=fresh)

    assert await prunable(store) == sorted(ids(done))


async def test_a_dead_letter_keeps_its_dag_until_dead_letters_are_pruned_too(store: Store, clock: ManualClock):
    dag_id = a_dag_id()
    in_dag = [await given_a_completed_task(store, dag_id=dag_id), await given_a_dead_letter(store, dag_id=dag_id)]
    lone = await given_a_dead_letter(store)
    clock.advance(seconds=61)

    assert await prunable(store) == []
    assert await prunable(store, dead_too=True) == sorted(ids([*in_dag, lone]))


async def test_a_small_limit_still_gives_whole_dags(store: Store, clock: ManualClock):
    dags: list[DagId] = [a_dag_id(), a_dag_id()]
    of_dag = {
        dag_id: sorted(ids([await given_a_completed_task(store, dag_id=dag_id) for _ in range(3)])) for dag_id in dags
    }
    clock.advance(seconds=61)

    assert await prunable(store, limit=1) in of_dag.values()
    assert await prunable(store) == sorted(task_id for each in of_dag.values() for task_id in each)


async def test_a_piece_exceeds_its_limit_by_the_rest_of_one_dag_only(store: Store, clock: ManualClock):
    dags: list[DagId] = [a_dag_id(), a_dag_id()]
    ended = [(dag_id, await given_a_completed_task(store, dag_id=dag_id)) for _ in range(3) for dag_id in dags]
    first, second = (sorted(ids([task for home, task in ended if home == dag_id])) for dag_id in dags)
    clock.advance(seconds=61)

    assert await prunable(store, limit=2) == first
    assert second in [sorted(piece) for piece in await pieces(store, limit=2)]


async def test_pieces_follow_the_order_of_ends_and_meet_every_task_once(store: Store, clock: ManualClock):
    at_once = [await given_a_completed_task(store) for _ in range(5)]
    clock.advance(seconds=1)
    later = [await given_a_completed_task(store) for _ in range(2)]
    clock.advance(seconds=61)

    found = await pieces(store, limit=2)

    # Within a piece the order is nothing: it goes as a whole.
    assert [task_id for piece in found for task_id in sorted(piece)] == ids([*at_once, *later])
    assert all(len(piece) <= 2 for piece in found)


async def test_dead_letters_come_in_the_same_order_where_they_may_go(store: Store, clock: ManualClock):
    done = await given_a_completed_task(store)
    dead = await given_a_dead_letter(store)
    clock.advance(seconds=1)
    also_done, also_dead = await given_a_completed_task(store), await given_a_dead_letter(store)
    clock.advance(seconds=61)

    assert await pieces(store, limit=1, dead_too=True) == [
        *([each] for each in ids([done, dead, also_done, also_dead])),
        [],
    ]
    assert [each for each in await pieces(store, limit=1) if each] == [[done.id], [also_done.id]]


async def test_what_is_kept_does_not_stand_before_what_may_go(store: Store, clock: ManualClock):
    kept = a_dag_id()
    for _ in range(3):
        await given_a_completed_task(store, dag_id=kept)
    await given_a_dead_letter(store, dag_id=kept)
    lone = await given_a_completed_task(store)
    clock.advance(seconds=61)

    assert [piece for piece in await pieces(store, limit=2) if piece] == [[lone.id]]


async def test_a_removed_task_leaves_nothing_behind(store: Store):
    dag_id = a_dag_id()
    kept = await given_a_completed_task(store)
    running = await given_a_running_task(store, dag_id=dag_id, idempotency_key="k")
    counters = [f"dag:{dag_id}:live", f"dag:{dag_id}:completed"]
    await committed(
        store,
        changes=(completing(store, running),),
        attempts=(an_attempt(running, store.now()),),
        outputs=(Output(running.id, 1, "{}", (), None),),
        checkpoints=(Checkpoint(running.id, "half way", 1, "{}"),),
        signals=(Signal(running.id, "go", "{}", "a person", store.now()),),
        edges=(Edge(running.id, kept.id, "depends"), Edge(kept.id, running.id, "depends")),
        blockers=(Blocker(running.id, 0, "signal:go"),),
        outbox=(Outbox(HERE, "notify", running.id, "{}", store.now()),),
        records=(
            RecordChange("dag", HERE, dag_id, 0, {}),
            RecordChange("dead", HERE, "a dead letter", 0, {"task_id": running.id}),
            RecordChange("dead", HERE, "of another", 0, {"task_id": kept.id}),
        ),
        ceilings=(Ceiling(HERE, f"dag:{dag_id}", 100),),
        spends=(Spend(HERE, f"dag:{dag_id}", 0, 10),),
        counts=tuple(Count(HERE, name, 1) for name in counters),
        events=(Event("dag.completed", HERE, None, dag_id, store.now(), None, None, None, None),),
    )
    await store.keep_embeddings([Embedding(HERE, task.id, "noop", "words", (1.0, 0.0)) for task in (running, kept)])
    last = (await every_event(store))[-1].seq
    completed = (await store.load([running.id]))[running.id]

    await remove(store, completed)

    seen = await picture(store, [running.id], limits=[f"dag:{dag_id}"], counts=counters)
    assert [part for part, rows in seen.items() if rows not in ({}, [], [[]])] == ["events", "tally"]
    assert {stored.event.task_id for stored in await every_event(store)} == {kept.id}
    assert await store.pruned() == last
    assert sum((await store.tally(HERE)).values()) == 1
    assert await store.by_key(HERE, ["k"]) == {}
    assert await store.edges([kept.id]) == []
    assert await store.record("dag", HERE, dag_id) is None
    assert [record.id for record in await store.records("dead")] == ["of another"]
    assert (await store.graph(dag_id)).tasks == ()
    assert await store.embedding_counts(HERE) == {"words": 1}


async def test_the_counters_of_a_dag_whose_name_begins_alike_stay(store: Store):
    dag_id = a_dag_id()
    task = await given_a_completed_task(store, dag_id=dag_id)
    names = [f"dag:{dag_id}", f"dag:{dag_id[:-1]}_:live", *(f"dag:{dag_id}{more}:live" for more in "0A_z~")]
    await committed(store, counts=tuple(Count(HERE, name, 1) for name in names))

    await remove(store, task)

    assert await store.counts(HERE, names) == dict.fromkeys(names, 1)


async def test_a_task_that_has_moved_since_is_not_removed(store: Store):
    dead = await given_a_dead_letter(store)
    await step(store, reviving(store, dead))

    result = await commit(store, expects=(expected(dead),), removals=(dead.id,))

    assert isinstance(result, Conflict)
    assert len(await history(store, dead.id)) == 4


async def test_a_removed_id_and_key_may_be_used_again(store: Store):
    task = await given_a_completed_task(store, idempotency_key="k")
    await remove(store, task)

    again = await given_a_task(store, id=task.id, idempotency_key="k")

    assert await history(store, again.id) == ["task.created"]
    assert again.seq > task.seq


async def test_a_reader_that_was_away_while_events_were_pruned_is_notified(store: Store):
    early, pruned, late = [await given_a_completed_task(store) for _ in range(3)]
    before = await every_event(store)
    assert await store.pruned() == 0
    await remove(store, pruned)
    gone = [stored.seq for stored in before if stored.event.task_id == pruned.id]

    assert await store.pruned() == gone[-1]
    with pytest.raises(EventsGone) as told:
        await store.events(after=gone[0] - 1, limit=10)
    with pytest.raises(EventsGone):
        await store.events(after=gone[-1] - 1, limit=10, workspace=HERE)

    from_start = await store.events(after=0, limit=100)
    assert [stored.event.task_id for stored in from_start] == [early.id] * 3 + [late.id] * 3
    assert await store.events(after=gone[-1], limit=100) == [each for each in before if each.event.task_id == late.id]
    assert isinstance(oldest := told.value.facts["oldest_seq"], int)
    assert await store.events(after=oldest, limit=100) is not None


async def test_only_the_readers_of_what_was_pruned_are_notified(store: Store):
    here, there = await given_a_completed_task(store), await given_a_completed_task(store, workspace=ELSEWHERE)
    kept = await given_a_task(store)
    events = await every_event(store)
    await remove(store, here)

    assert await store.pruned(HERE) == await store.pruned() == events[2].seq
    assert await store.pruned(ELSEWHERE) == 0
    assert await store.events(after=events[0].seq, limit=10, workspace=ELSEWHERE) == events[3:6]
    assert await store.events(after=events[0].seq, limit=10, task_id=kept.id) == events[6:]
    assert await store.events(after=events[3].seq, limit=10, task_id=there.id) == events[4:6]
    with pytest.raises(EventsGone):
        await store.events(after=events[0].seq, limit=10)


async def test_numbers_of_pruned_events_and_tasks_are_not_given_again(store: Store):
    task = await given_a_completed_task(store)
    last = (await every_event(store))[-1].seq
    await remove(store, task)

    fresh = await given_a_task(store)

    assert (await every_event(store))[0].seq > last
    assert fresh.seq > task.seq


def an_event(store: Store, name: str, *, workspace: str = HERE, dag_id: DagId | None = None) -> Event:
    return Event(name, workspace, None, dag_id, store.now(), None, None, None, None)


async def test_old_events_of_no_task_and_no_dag_are_removed_and_readers_are_notified(store: Store, clock: ManualClock):
    task = await given_a_task(store)
    old = [an_event(store, "agent.registered", workspace=where) for where in (HERE, ELSEWHERE, HERE)]
    await committed(store, events=(*old, an_event(store, "dag.created", dag_id=a_dag_id())))
    there, last = [stored.seq for stored in (await every_event(store))[-3:-1]]
    clock.advance(seconds=10)
    before = store.now()
    await committed(store, events=(an_event(store, "agent.drained"),))

    assert await store.prune_events(before, 0, 100) is None

    kept = await every_event(store)
    assert [stored.event.event for stored in kept] == ["task.created", "dag.created", "agent.drained"]
    assert kept[0].event.task_id == task.id
    assert (await store.pruned(HERE), await store.pruned(ELSEWHERE)) == (last, there)
    with pytest.raises(EventsGone):
        await store.events(after=there, limit=10, workspace=HERE)
    assert await store.prune_events(before, 0, 100) is None
    assert len(await every_event(store)) == 3


async def test_old_events_are_removed_piece_by_piece(store: Store, clock: ManualClock):
    for _ in range(3):
        await committed(
            store, events=tuple(an_event(store, "agent.drained", workspace=each) for each in (HERE, ELSEWHERE))
        )
        await given_a_task(store)
    clock.advance(seconds=10)
    after: int | None = 0
    left: list[int] = []
    while after is not None:
        after = await store.prune_events(store.now(), after, 2)
        left.append(len([stored for stored in await every_event(store) if stored.event.task_id is None]))

    assert left[-1] == 0
    assert len(left) > 2
    assert left == sorted(left, reverse=True)
