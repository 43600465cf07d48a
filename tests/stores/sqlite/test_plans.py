"""No statement that is said often reads a whole table: the time it takes must not grow with what is stored."""

import re
from collections.abc import Generator
from pathlib import Path

import apsw
import pytest

from taskyard.stores.sqlite.connection import connect
from taskyard.stores.sqlite.fast import vector_extension
from taskyard.stores.sqlite.schema import prepare
from taskyard.stores.sqlite.statements import SQL

# Asked for by people, or over tables that stay small. `held` stays small too. `filled` reads no second row.
SELDOM = frozenset({"tally", "pulses", "filled"})
CHECKS = frozenset(name for name in SQL if "_without_" in name or name.startswith(("without_", "every_")))
# No statements of their own: they are put together before they are said.
FRAGMENTS = frozenset(name for name in SQL if name.startswith(("find", "change_")) or name == "end_attempts")
TABLES = "|".join(
    ("task", "ready", "name", "definition", "log", "attempt", "blocker", "edge", "record", "counter", "head")
)


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Generator[apsw.Connection]:
    path: Path = tmp_path_factory.mktemp("plans") / "yard.db"
    connection = connect(path, writes=True)
    prepare(connection)
    assert vector_extension.load(connection)
    yield connection
    connection.close()


def plan_of(yard: apsw.Connection, sql: str) -> list[str]:
    return [row[3] for row in yard.execute(f"explain query plan {re.sub(r':[a-z_]+|[?]', '1', sql)}")]


@pytest.mark.parametrize("name", sorted(SQL.keys() - SELDOM - CHECKS - FRAGMENTS))
def test_a_statement_finds_its_rows_by_an_index(yard: apsw.Connection, name: str):
    if SQL[name].split()[0] in ("begin", "commit", "rollback", "pragma", "create"):
        return
    assert [step for step in plan_of(yard, SQL[name]) if re.match(rf"SCAN ({TABLES})\b(?! USING INDEX)", step)] == []


@pytest.mark.parametrize("name", ["type", "queue", "agent", "subject", "dag_id", "parent_id", "tag"])
def test_a_list_of_what_is_seldom_finds_its_rows_by_an_index(yard: apsw.Connection, name: str):
    plan = plan_of(yard, "\n".join([SQL["find"], SQL[f"find_{name}"], SQL["find_newest"]]))

    assert [step for step in plan if step.startswith("SCAN")] == []


@pytest.mark.parametrize("name", ["find_held", "find_waiting"])
def test_a_list_of_states_that_few_tasks_are_in_reads_no_other_task(yard: apsw.Connection, name: str):
    plan = plan_of(yard, "\n".join([SQL["find"], SQL[name], SQL["find_newest"]]))

    assert [step for step in plan if re.match(r"SCAN (task|definition)", step)] == []


@pytest.mark.parametrize("name", ["find_after", "find_statuses", "find_types", "find_default_queue"])
def test_a_list_is_walked_from_the_newest_on_and_not_sorted(yard: apsw.Connection, name: str):
    plan = plan_of(yard, "\n".join([SQL["find"], SQL[name], SQL["find_newest"]]))

    assert [step for step in plan if "TEMP B-TREE" in step] == []
