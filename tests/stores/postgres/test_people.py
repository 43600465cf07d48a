"""What people and their programs read in the database itself."""

import json

from taskyard.ledger.clock import ManualClock
from taskyard.stores.postgres import PostgresStore
from tests.stores.a_day import FIGURES, given_a_day
from tests.stores.memories import given_memories
from tests.stores.postgres.conftest import Gate


async def test_the_figures_of_a_day_are_a_row(store: PostgresStore, gate: Gate, clock: ManualClock):
    await given_a_day(store, clock)

    row = await gate.ask("select to_json(row) from yard.task_queue_metrics as row where day > '2000-01-01'")

    assert json.loads(row) == FIGURES


async def test_the_database_tells_of_a_transaction_that_somebody_has_left_open(store: PostgresStore, gate: Gate):
    await gate.session.execute("begin")
    await gate.session.execute("select pg_sleep(0.01)")

    figures = await store.health()

    assert figures["engine"] == "postgresql"
    assert isinstance(figures["oldest_transaction_sec"], float)
    assert figures["oldest_transaction_sec"] >= 0.01
    assert figures["fsync"] == "off"
    assert figures["standbys"] == 0
    await gate.open()


async def test_ends_of_tasks_and_what_is_embedded_of_them_are_rows(store: PostgresStore, gate: Gate):
    events, jobs = await given_memories(store)

    seen = await gate.ask(
        "select json_agg(row order by id) from "
        "(select id, workspace, workflow_id, task_id, event, agent_name, attempt from yard.agent_events) as row"
    )
    done = await gate.ask(
        "select json_agg(row order by id) from "
        "(select id, workspace, task_id, embedder, status, error from yard.embedding_jobs) as row"
    )
    first = await gate.ask("select min(created_at) at time zone 'UTC' from yard.agent_events")

    assert [tuple(row.values()) for row in json.loads(seen)] == events
    assert [tuple(row.values()) for row in json.loads(done)] == jobs
    assert first.isoformat() == "2026-01-01T00:00:00"
