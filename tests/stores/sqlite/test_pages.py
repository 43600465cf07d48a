"""What a write costs, counted: pages in the log of SQLite, and entries in indexes."""

from itertools import pairwise
from pathlib import Path
from statistics import median

from taskyard.ledger.clock import ManualClock
from taskyard.stores.sqlite.threads.writer import Writer
from tests.stores.sqlite.inside import commits_of, one_new, opened

# Every index that a plain task comes to be in, from its birth to its end, with the read that it serves.
OF_A_PLAIN_TASK = {
    "task_id": "a task by its id",
    "definition_type": "lists by type",
    "ready": "claims",
    "held_agent": "what an agent holds",
    "held_due": "leases that are over",
    "attempt_number": "the attempts of a task",
    "log_ends": "what retention removes: one entry for all ends of a commit",
}
# Partial ones that a plain task is never in, and those of tables that it has no row in.
OF_OTHERS = {
    *("task_due", "task_rescore", "task_dag", "task_waiting", "held_runtime", "log_loose"),
    *("definition_queue", "definition_agent", "definition_subject", "definition_parent"),
}
TABLES = ("task", "definition", "ready", "held", "attempt", "log")


async def test_a_lone_task_writes_at_most_seven_pages(writer: Writer, clock: ManualClock):
    for _ in range(50):
        await writer.commit([one_new(clock)])
    pages = await commits_of(writer)
    for _ in range(101):
        await writer.commit([one_new(clock)])

    written = [after - before for before, after in pairwise(pages)]

    # task, its index by id, definition, its index by type, ready, log. A full page is split now and then.
    assert median(written) == 6
    assert sum(written) / len(written) <= 7


async def test_a_plain_task_is_in_few_indexes(writer: Writer, path: Path):
    with opened(path) as connection:
        found = connection.execute("select name, tbl_name, type, sql from sqlite_schema where sql is not null")
        schema = [[str(value) for value in row] for row in found]

    indexes = {name: sql for name, table, kind, sql in schema if kind == "index" and table in TABLES}
    trees = {name for name, _, kind, sql in schema if kind == "table" and name in TABLES and "without rowid" in sql}
    assert indexes.keys() | trees == OF_A_PLAIN_TASK.keys() | OF_OTHERS
    assert all(" where " in indexes[name] for name in OF_OTHERS)
    assert len(OF_A_PLAIN_TASK) <= 9
