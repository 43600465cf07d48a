"""What people and their programs read in the file itself."""

import json
from pathlib import Path

from taskyard.ledger.clock import ManualClock
from taskyard.stores.sqlite import SqliteStore
from tests.stores.a_day import FIGURES, given_a_day
from tests.stores.given import given_tasks
from tests.stores.memories import given_memories
from tests.stores.sqlite.inside import opened


async def test_the_figures_of_a_day_are_a_row(store: SqliteStore, path: Path, clock: ManualClock):
    await given_a_day(store, clock)

    with opened(path) as connection:
        rows = connection.execute("select * from task_queue_metrics")
        names = [column[0] for column in rows.get_description()]
        row = dict(zip(names, rows.fetchone() or (), strict=True))

    assert {**row, "error_rates_per_agent": json.loads(row["error_rates_per_agent"])} == FIGURES


async def test_the_file_tells_its_size_and_that_of_its_log(store: SqliteStore, path: Path):
    before = await store.health()
    await given_tasks(store, 200)
    after = await store.health()

    assert (after["engine"], after["free_bytes"]) == ("sqlite", 0)
    assert isinstance(before["file_bytes"], int)
    assert isinstance(after["file_bytes"], int)
    assert after["file_bytes"] > before["file_bytes"] > 0
    assert after["wal_bytes"] != 0
    assert after["disk_free_bytes"] != 0


async def test_ends_of_tasks_and_what_is_embedded_of_them_are_rows(store: SqliteStore, path: Path):
    events, jobs = await given_memories(store)

    with opened(path) as connection:
        seen = connection.execute(
            "select id, workspace, workflow_id, task_id, event, agent_name, attempt from agent_events order by id"
        ).fetchall()
        done = connection.execute(
            "select id, workspace, task_id, embedder, status, error from embedding_jobs order by id"
        ).fetchall()
        (first,) = connection.execute("select min(created_at) from agent_events").fetchone() or ("",)

    assert [tuple(row) for row in seen] == events
    assert [tuple(row) for row in done] == jobs
    assert first == "2026-01-01T00:00:00.000000Z"
