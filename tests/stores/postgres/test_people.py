"""What people and their programs read in the database itself."""

import json

from taskyard.ledger.clock import ManualClock
from taskyard.stores.postgres import PostgresStore
from tests.stores.a_day import FIGURES, given_a_day
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
