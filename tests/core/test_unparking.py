"""When a ceiling has room again, the best that waited for it go: of each lane as many as would fit."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.changes import Limit
from taskyard.core.claiming import UNPARKED_PER_LANE, unpark
from taskyard.core.task import Hot, TaskId
from taskyard.core.units import MicroUsd
from tests.core.choosing import a_lane, ids, ready
from tests.core.rows import free

ONE, OTHER = a_lane(1), a_lane(2)


def let_go(limit: Limit, *parked: Hot, default_reserve: int = 5) -> list[TaskId]:
    return unpark(limit, parked, MicroUsd(default_reserve))


def test_a_free_key_lets_the_best_of_each_lane_go():
    worse, best = ready(20, key="k", lane=ONE), ready(10, key="k", lane=ONE)
    first, second = ready(30, key="k", lane=OTHER), ready(30, key="k", lane=OTHER)

    assert let_go(free("key:k"), second, worse, best, first) == ids(best, first)


@pytest.mark.parametrize("limit", [free("key:k", held=1), free("dag:d", ceiling=10, held=6, spent=4)])
def test_where_there_is_no_room_nothing_goes(limit: Limit):
    assert let_go(limit, ready(key="k"), ready(reserve=MicroUsd(1))) == []


def test_of_each_lane_go_as_many_as_the_money_suffices_for():
    limit = free("dag:d", ceiling=100, held=40, spent=30)
    here = [ready(reserve=MicroUsd(10), lane=ONE) for _ in range(5)]
    there = [ready(reserve=MicroUsd(15), lane=OTHER) for _ in range(5)]

    assert let_go(limit, *here, *there) == ids(*here[:3], *there[:2])


def test_a_dear_one_stays_and_a_cheaper_one_behind_it_goes():
    dear, cheap = ready(10, reserve=MicroUsd(50)), ready(20, reserve=MicroUsd(10))

    assert let_go(free("dag:d", ceiling=30), dear, cheap) == ids(cheap)


def test_a_task_without_a_maximum_needs_the_default():
    tasks = [ready(), ready(), ready()]

    assert let_go(free("dag:d", ceiling=10), *tasks, default_reserve=5) == ids(*tasks[:2])


def test_a_ceiling_that_was_lifted_lets_them_go():
    dear = ready(reserve=MicroUsd(10**9))

    assert let_go(free("dag:d", ceiling=None, held=10**12), dear) == ids(dear)


def test_only_so_many_of_a_lane_go_at_once():
    tasks = [ready(reserve=MicroUsd(0)) for _ in range(UNPARKED_PER_LANE + 1)]

    assert let_go(free("dag:d", ceiling=0), *tasks) == ids(*tasks[:64])


def by_lane(tasks: list[Hot], which: Callable[[Hot], bool]) -> dict[int, list[Hot]]:
    return {lane: [task for task in tasks if task.lane == lane and which(task)] for lane in (1, 2)}


@given(st.lists(st.builds(ready, st.integers(0, 9), lane=st.sampled_from([ONE, OTHER]), reserve=st.integers(0, 50))))
def test_what_goes_of_a_lane_fits_and_what_stays_does_not(parked: list[Hot]):
    gone = set(let_go(free("dag:d", ceiling=100, held=20), *parked))

    for lane, going in by_lane(parked, lambda task: task.id in gone).items():
        used = sum(task.reserve or 0 for task in going)
        staying = by_lane(parked, lambda task: task.id not in gone)[lane]
        assert used <= 80
        assert len(going) == UNPARKED_PER_LANE or all((task.reserve or 0) > 80 - used for task in staying)
