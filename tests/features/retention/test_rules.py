"""What retention may remove."""

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
    gone = {hot.id for group in retention.unneeded(TASKS, edges, others) for hot in group}
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
    ("most", "others_work", "size"), [(500, False, 500), (500, True, 250), (30, False, 30), (30, True, 30)]
)
def test_a_piece_is_small_where_others_work(most: int, others_work: bool, size: int):
    assert retention.piece_size(most, others_work=others_work) == size


@pytest.mark.parametrize(
    ("looked_at", "took", "rest"),
    [
        (2_100, 0.1, 0.9),  # quicker than the rate: until the second is over
        (2_100, 0.5, 0.5),
        (2_100, 0.8, 0.8),  # slower: as long as it took
        (0, 0.2, 0.2),  # everything was kept: the look took its time too
    ],
)
def test_beside_others_pruning_keeps_to_a_rate_and_to_half_of_the_time(looked_at: int, took: float, rest: float):
    assert retention.rest_after(looked_at, took, others_work=True) == pytest.approx(rest)
    assert retention.rest_after(looked_at, took, others_work=False) == 0


def test_at_that_rate_what_is_promised_is_removed_in_a_second():
    clock, removed, took = 0.0, 0, 0.012
    while clock + took <= 10:
        removed += retention.SMALL_PIECE
        clock += took + retention.rest_after(retention.SMALL_PIECE, took, others_work=True)

    assert 2_000 * 10 <= removed <= 2_200 * 10
