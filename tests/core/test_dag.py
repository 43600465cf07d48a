"""Graphs of tasks: an order without cycles, what hangs below each task, the counters, and how a graph ends."""

from itertools import pairwise, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taskyard.core.changes import Count, Edge
from taskyard.core.dag import (
    DagStatus,
    conclusion,
    count_names,
    counted,
    doomed,
    heights,
    topological,
    waited_for,
    waits_for,
    within,
)
from taskyard.core.errors import CycleFound
from taskyard.core.task import DagId, Status, TaskId

Parents = dict[TaskId, set[TaskId]]
DAG = DagId("dag_1")


def graph(**parents: str) -> Parents:
    """`c="ab"`: c depends on a and b."""
    return {TaskId(task): {TaskId(each) for each in ups} for task, ups in parents.items()}


@st.composite
def graphs(draw: st.DrawFn) -> Parents:
    """Any graph without a cycle, its tasks in any order."""
    names = [TaskId(f"t{number}") for number in range(draw(st.integers(1, 12)))]
    names = draw(st.permutations(names))
    parents = {names[0]: set[TaskId]()}
    for place, task in enumerate(names[1:], 1):
        parents[task] = draw(st.sets(st.sampled_from(names[:place])))
    return {task: parents[task] for task in draw(st.permutations(names))}


@given(graphs())
def test_every_task_comes_after_all_it_depends_on(parents: Parents):
    order = topological(parents)

    assert sorted(order) == sorted(parents)
    place = {task: number for number, task in enumerate(order)}
    assert all(place[parent] < place[task] for task, ups in parents.items() for parent in ups)


def test_what_a_task_depends_on_may_be_outside_the_graph():
    assert topological(graph(a="z", b="a")) == ["a", "b"]


def test_an_empty_graph_has_an_empty_order():
    assert topological({}) == []


@pytest.mark.parametrize(
    ("parents", "cycle"),
    [
        (graph(a="a"), ["a", "a"]),
        (graph(a="b", b="a"), ["b", "a", "b"]),
        (graph(a="c", b="a", c="b"), ["b", "c", "a", "b"]),
        (graph(r="", a="rc", b="a", c="b", z="c"), ["b", "c", "a", "b"]),
        (graph(a="b", b="a", x="y", y="x"), ["b", "a", "b"]),
    ],
    ids=["itself", "two", "three", "between others", "one of two"],
)
def test_the_tasks_of_a_cycle_are_named_in_the_order_they_would_run(parents: Parents, cycle: list[str]):
    with pytest.raises(CycleFound) as found:
        topological(parents)

    assert found.value.task_ids == tuple(cycle)


@given(graphs(), st.data())
def test_an_edge_that_closes_a_cycle_is_always_found_and_the_cycle_is_one(parents: Parents, data: st.DataObject):
    ups = {(parent, task) for task in parents for parent in parents[task]}
    assume(ups)
    parent, task = data.draw(st.sampled_from(sorted(ups)))
    parents[parent].add(task)

    with pytest.raises(CycleFound) as found:
        topological(parents)

    named = found.value.task_ids
    assert named[0] == named[-1]
    assert len(set(named)) == len(named) - 1
    assert all(before in parents[TaskId(after)] for before, after in pairwise(named))


def test_a_cycle_of_ten_thousand_is_found():
    names = [TaskId(f"t{number:05}") for number in range(10_000)]
    parents = {task: {names[number - 1]} for number, task in enumerate(names)}

    with pytest.raises(CycleFound) as found:
        topological(parents)

    assert len(found.value.task_ids) == 10_001


def longest_below(task: TaskId, parents: Parents, finished: set[TaskId]) -> int:
    children = [child for child, ups in parents.items() if task in ups and child not in finished]
    return max((longest_below(child, parents, finished) + 1 for child in children), default=0)


@given(graphs(), st.data())
def test_a_tasks_height_is_the_longest_chain_of_unfinished_dependents(parents: Parents, data: st.DataObject):
    finished = data.draw(st.sets(st.sampled_from(sorted(parents))))

    assert heights(parents, finished) == {task: longest_below(task, parents, finished) for task in parents}


def test_a_diamond_has_two_levels_below_its_top():
    assert heights(graph(a="", b="a", c="a", d="bc")) == {"a": 2, "b": 1, "c": 1, "d": 0}


def test_a_chain_of_ten_thousand_is_measured():
    names = [TaskId(f"t{number}") for number in range(10_000)]

    below = heights({task: {names[number - 1]} if number else set() for number, task in enumerate(names)})

    assert (below[names[0]], below[names[-1]]) == (9_999, 0)


STANDS_IN = {
    Status.COMPLETED: "completed",
    Status.CANCELLED: "cancelled",
    Status.DEAD_LETTERED: "dead",
}  # every other state: live


@pytest.mark.parametrize(("before", "after"), list(product(Status, Status)))
def test_a_move_takes_a_task_from_one_counter_to_another(before: Status, after: Status):
    left, reached = STANDS_IN.get(before, "live"), STANDS_IN.get(after, "live")
    moved = {count.name: count.add for count in counted("here", DAG, before, after)}

    if left == reached:
        assert moved == {}
    else:
        expected = {f"dag:dag_1:{word}": 0 for word in ("live", "completed", "cancelled", "dead")}
        assert moved == expected | {f"dag:dag_1:{left}": -1, f"dag:dag_1:{reached}": 1}


def test_counters_are_moved_in_the_tasks_own_workspace():
    assert Count("here", "dag:dag_1:live", -1) in counted("here", DAG, Status.RUNNING, Status.COMPLETED)


def test_a_lone_task_has_no_counters():
    assert counted("here", None, Status.RUNNING, Status.COMPLETED) == ()


def test_each_graph_has_its_own_counters():
    assert set(count_names(DAG).values()).isdisjoint(count_names(DagId("dag_2")).values())


@pytest.mark.parametrize(
    ("live", "completed", "dead", "stuck", "first_death_fails", "ended"),
    [
        # All have ended.
        (0, 3, 0, False, False, "completed"),
        (0, 0, 0, False, False, "cancelled"),
        (0, 2, 1, False, False, "failed"),
        (0, 0, 1, False, False, "failed"),
        # Some go on.
        (1, 2, 0, False, False, None),
        (3, 0, 0, False, False, None),
        (1, 1, 1, False, False, None),
        # Some are left, and none of them can.
        (1, 1, 1, True, False, "failed"),
        (2, 0, 0, True, False, "failed"),
        # Preset automechanica.
        (5, 0, 1, False, True, "failed"),
        (5, 0, 0, False, True, None),
        (0, 2, 0, False, True, "completed"),
    ],
)
def test_how_a_graph_ends(  # noqa: PLR0917 - one column of the table each
    live: int, completed: int, dead: int, stuck: bool, first_death_fails: bool, ended: str | None
):
    counts = {"live": live, "completed": completed, "dead": dead}

    assert conclusion(**counts, stuck=stuck, first_death_fails=first_death_fails) == ended


def test_what_waits_for_a_failure_directly_or_not_cannot_proceed():
    waits = graph(b="a", c="b", d="bz", e="z", f="e")

    assert doomed(waits, {TaskId("a")}) == {"b", "c", "d"}
    assert doomed(waits, set()) == set()


def test_edges_that_leave_a_graph_differ_from_those_within():
    a, b, c = map(TaskId, "abc")
    inside, outside = Edge(a, b, "depends"), Edge(a, c, "depends")

    assert within([inside, outside], {a, b}) == [inside]


@pytest.mark.parametrize(("blocker", "task"), [("task:t1", "t1"), ("child:t1", "t1"), ("time", None), ("key:t", None)])
def test_a_blocker_names_the_task_that_takes_it_off(blocker: str, task: str | None):
    assert waited_for(blocker) == task


def test_a_graph_that_ended_differs_from_one_that_goes_on():
    assert [status.value for status in DagStatus if status.is_final] == ["completed", "failed", "cancelled"]


def test_a_dependent_waits_for_its_parent_and_a_parent_for_the_children_it_awaits():
    a, b, c, d = (TaskId(name) for name in "abcd")
    edges = [Edge(a, b, "depends"), Edge(c, b, "depends"), Edge(a, d, "awaited"), Edge(b, d, "spawned")]

    assert waits_for(edges) == {b: {a, c}, a: {d}}
