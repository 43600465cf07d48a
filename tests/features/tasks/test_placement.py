"""Which DAG a new task belongs to."""

from taskyard.core.task import DagId, Definition, TaskId
from taskyard.core.units import Micros
from taskyard.features.tasks.creation.placement import groups, placed
from tests.core.rows import a_row

D1, D2 = DagId("dag_1"), DagId("dag_2")


def draft(name: str, *depends_on: str, into: DagId | None = None) -> Definition:
    return Definition(
        id=TaskId(name),
        workspace="default",
        dag_id=into,
        type="code",
        created_at=Micros(0),
        created_by="human:ada",
        depends_on=tuple(map(TaskId, depends_on)),
    )


def homes(*drafts: Definition, **stored: DagId | None) -> dict[str, str | None]:
    """The DAG of each task; that of a new one is named after its first task."""
    rows = {TaskId(name): a_row()._replace(id=TaskId(name), dag_id=dag_id) for name, dag_id in stored.items()}
    new = {group[0].id: DagId(f"dag of {group[0].id}") for group in groups(drafts)}
    return {each.id: dag_id for dag_id, mine in placed(drafts, rows, new).items() for each in mine}


def test_a_task_that_depends_on_nothing_is_alone_unless_it_is_put_somewhere():
    assert homes(draft("a"), draft("b", into=D1)) == {"a": None, "b": D1}


def test_where_all_dependencies_are_of_one_dag_the_task_is_too():
    assert homes(draft("a", "x", "y"), x=D1, y=D1) == {"a": D1}
    assert homes(draft("a", "x", into=D2), x=D1) == {"a": D2}


def test_else_it_has_a_dag_of_its_own():
    assert homes(draft("a", "x", "y"), x=D1, y=D2) == {"a": "dag of a"}
    assert homes(draft("a", "x", "y"), x=D1, y=None) == {"a": "dag of a"}
    assert homes(draft("a", "x"), draft("b", "x"), x=None) == {"a": "dag of a", "b": "dag of b"}


def test_tasks_of_a_batch_that_depend_on_each_other_are_one_new_dag():
    batch = draft("a"), draft("b", "a", "x"), draft("c"), draft("d", "e"), draft("e"), draft("f", "b")

    found = homes(*batch, x=D1)

    assert found == {"a": "dag of a", "b": "dag of a", "c": None, "d": "dag of d", "e": "dag of d", "f": "dag of a"}


def test_a_task_that_one_put_elsewhere_depends_on_has_a_dag_that_its_end_is_counted_in():
    assert homes(draft("a"), draft("b", "a", into=D1)) == {"a": "dag of a", "b": D1}
    assert homes(draft("a", into=D1), draft("b", "a")) == {"a": D1, "b": D1}


def test_ten_thousand_tasks_in_pairs_are_grouped_in_one_go():
    pairs = [draft(f"t{number}", *([f"t{number - 1}"] if number % 2 else [])) for number in range(10_000)]

    assert [len(group) for group in groups(pairs)] == [2] * 5_000
