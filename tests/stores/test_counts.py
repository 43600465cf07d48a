"""Counters are deltas: summed per batch, never versioned, never in conflict."""

from taskyard.core.changes import Committed, Conflict, Count
from taskyard.stores.contract import Store
from tests.stores.given import (
    ELSEWHERE,
    HERE,
    a_set,
    at_once,
    cancelling,
    commit,
    committed,
    given_a_task,
    signalling,
    step,
)


async def test_a_counter_is_moved_and_its_new_value_reported(store: Store):
    assert (await committed(store, counts=(Count(HERE, "dag:d:live", 3),))).counts == {"dag:d:live": 3}
    assert (await committed(store, counts=(Count(HERE, "dag:d:live", -1),))).counts == {"dag:d:live": 2}

    assert await store.counts(HERE, ["dag:d:live"]) == {"dag:d:live": 2}


async def test_a_counter_at_zero_is_reported_once_and_then_gone(store: Store):
    await committed(store, counts=(Count(HERE, "dag:d:live", 1),))

    assert (await committed(store, counts=(Count(HERE, "dag:d:live", -1),))).counts == {"dag:d:live": 0}

    assert await store.counts(HERE, ["dag:d:live", "unheard of"]) == {}


async def test_a_counter_may_go_below_zero_and_come_back(store: Store):
    assert (await committed(store, counts=(Count(HERE, "n", -2),))).counts == {"n": -2}
    assert (await committed(store, counts=(Count(HERE, "n", 5),))).counts == {"n": 3}


async def test_sets_of_one_batch_that_move_one_counter_are_all_answered_where_it_ends(store: Store):
    sets = [a_set(store, counts=(Count(HERE, "n", add), Count(HERE, f"own {add}", add))) for add in (1, 10, 100)]

    results = await store.commit(sets)

    assert [result.counts for result in results if isinstance(result, Committed)] == [
        {"n": 111, "own 1": 1},
        {"n": 111, "own 10": 10},
        {"n": 111, "own 100": 100},
    ]


async def test_clearing_comes_before_adding_and_in_the_order_of_the_sets(store: Store):
    await committed(store, counts=(Count(HERE, "breaker:code:1", 4),))
    moves = [Count(HERE, "breaker:code:1", 1), Count(HERE, "breaker:code:1", 2, clear=True)]

    results = await store.commit([a_set(store, counts=(move,)) for move in (*moves, moves[0])])

    assert [result.counts for result in results if isinstance(result, Committed)] == [{"breaker:code:1": 3}] * 3
    assert await store.counts(HERE, ["breaker:code:1"]) == {"breaker:code:1": 3}


async def test_moves_of_one_counter_within_a_set_are_made_in_turn(store: Store):
    moves = (Count(HERE, "n", 5), Count(HERE, "n", 1, clear=True), Count(HERE, "n", 1))

    assert (await committed(store, counts=moves)).counts == {"n": 2}


async def test_a_refused_set_moves_no_counter_of_its_batch(store: Store):
    moved = await given_a_task(store)
    await step(store, signalling(store, moved))
    refused = a_set(store, changes=(cancelling(store, moved),), counts=(Count(HERE, "n", 100, clear=True),))
    sound = a_set(store, counts=(Count(HERE, "n", 1),))

    results = await store.commit([sound, refused, sound])

    assert isinstance(results[1], Conflict)
    assert [result.counts for result in results if isinstance(result, Committed)] == [{"n": 2}, {"n": 2}]


async def test_two_sets_that_decide_on_one_row_move_their_counter_once(store: Store):
    task = await given_a_task(store)
    moves = (Count(HERE, "dag:d:live", -1), Count(HERE, "dag:d:cancelled", 1))
    twice = [a_set(store, changes=(cancelling(store, task),), counts=moves) for _ in range(2)]

    await store.commit(twice)

    assert await store.counts(HERE, ["dag:d:live", "dag:d:cancelled"]) == {"dag:d:live": -1, "dag:d:cancelled": 1}


async def test_every_move_of_many_processes_counts(store: Store, other: Store):
    results = await at_once(*(commit(each, counts=(Count(HERE, "n", 1),)) for each in (store, other) * 25))

    assert all(isinstance(result, Committed) for result in results)
    assert await store.counts(HERE, ["n"]) == {"n": 50}


async def test_of_many_who_count_down_at_once_someone_sees_zero(store: Store, other: Store):
    await committed(store, counts=(Count(HERE, "dag:d:live", 20),))

    results = await at_once(*(committed(each, counts=(Count(HERE, "dag:d:live", -1),)) for each in (store, other) * 10))

    assert min(result.counts["dag:d:live"] for result in results) == 0


async def test_a_counter_means_nothing_in_another_workspace(store: Store):
    await committed(store, counts=(Count(HERE, "n", 1),))
    await committed(store, counts=(Count(ELSEWHERE, "n", 7),))

    assert await store.counts(HERE, ["n"]) == {"n": 1}
    assert await store.counts(ELSEWHERE, ["n"]) == {"n": 7}
