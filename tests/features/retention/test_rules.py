"""What retention may remove."""

from collections.abc import Callable

import pytest

from taskyard.core.changes import Edge
from taskyard.core.task import DagId, Hot, Status, TaskId
from taskyard.features.retention import rules as retention
from tests.core.rows import a_row

OTHER = TaskId("other")


def an_ended(name: str, dag: str | None = None) -> Hot:
    return a_row(id=TaskId(name), dag_id=None if dag is None else DagId(dag), status=Status.COMPLETED)


TASKS = [an_ended("a", "one"), an_ended("b", "one"), an_ended("c", "two"), an_ended("d")]


def kept(edges: list[Edge], status: Status) -> set[TaskId]:
    """The tasks that stay for another task in this state."""
    others = {OTHER: a_row(id=OTHER, dag_id=DagId("three"), status=status)}
    plain, groups = retention.unneeded(TASKS, retention.needed(edges, others))
    gone = {hot.id for group in (plain, *groups) for hot in group}
    return {hot.id for hot in TASKS} - gone


@pytest.mark.parametrize(
    ("parent", "stay"), [("a", {"a", "b"}), ("b", {"a", "b"}), ("c", {"c"}), ("d", {"d"}), ("other", set[str]())]
)
def test_a_live_dependent_elsewhere_keeps_the_whole_dag(parent: str, stay: set[str]):
    edges = [Edge(TaskId(parent), OTHER, "depends")] if parent != "other" else []

    assert kept(edges, Status.PENDING) == stay
    assert kept(edges, Status.RUNNING) == stay


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.CANCELLED, Status.DEAD_LETTERED])
def test_a_dependent_that_has_ended_keeps_nothing(status: Status):
    assert kept([Edge(TaskId("a"), OTHER, "depends")], status) == set()


def test_neither_a_spawned_task_nor_a_neighbour_keeps_anything():
    edges = [Edge(TaskId("a"), OTHER, "spawned"), Edge(TaskId("a"), TaskId("b"), "depends")]

    assert kept(edges, Status.PENDING) == set()
    assert retention.dependents({hot.id: hot for hot in TASKS}, edges) == set()


@pytest.mark.parametrize(
    ("most", "others_work", "is_behind", "size"),
    [
        (500, False, False, 500),
        (500, True, False, 250),
        (500, True, True, 500),
        (30, False, False, 30),
        (30, True, False, 30),
    ],
)
def test_a_piece_is_small_where_others_work_and_the_rate_is_kept(
    most: int, others_work: bool, is_behind: bool, size: int
):
    assert retention.piece_size(most, others_work=others_work, is_behind=is_behind) == size


@pytest.mark.parametrize(
    ("debt", "took", "rest"),
    [
        (2_100, 0.1, 1.0),  # ahead: until the rate has caught up
        (230, 0.4, 0.2),  # slow: half as long as it took
        (-2_100, 0.2, 0.1),  # behind: the same
    ],
)
def test_beside_others_pruning_rests_until_its_debt_is_worked_off_and_half_as_long_as_it_worked(
    debt: float, took: float, rest: float
):
    assert retention.rest_after(debt, took) == pytest.approx(rest)


def test_a_task_that_is_kept_counts_a_quarter():
    assert retention.debt_after(0, removed=100, kept=0, passed=0) == 100
    assert retention.debt_after(0, removed=0, kept=100, passed=0) == 25


def test_what_is_behind_is_made_up_for_up_to_a_second_of_it():
    assert retention.debt_after(0, removed=0, kept=0, passed=0.5) == -1_050
    assert retention.debt_after(-1_050, removed=500, kept=0, passed=3600) == -2_100 + 500


def removed_in(seconds: float, *, took: Callable[[int], float], pause_every: float = 1e9) -> int:
    """How many tasks are removed beside others in so many seconds, by a clock that only this moves."""
    clock = counted_at = debt = 0.0
    removed, next_pause = 0, pause_every
    while clock < seconds:
        size = retention.piece_size(500, others_work=True, is_behind=debt < 0)
        clock += took(size)
        debt = retention.debt_after(debt, removed=size, kept=0, passed=clock - counted_at)
        counted_at = clock
        removed += size
        clock += retention.rest_after(debt, took(size))
        if clock > next_pause:  # the duty has run out, and is taken again a second later
            clock, next_pause = clock + 1, clock + 1 + pause_every
    return removed


@pytest.mark.parametrize("waits", [0.005, 0.06, 0.1])  # seconds that a piece waits for others, however large it is
def test_beside_others_more_than_2000_tasks_a_second_are_removed_and_not_many_more(waits: float):
    def took(size: int) -> float:
        return waits + size * 60e-6

    assert 2_050 * 60 <= removed_in(60, took=took) <= 2_300 * 60
    assert removed_in(60, took=took, pause_every=10) >= 2_000 * 60
