"""The schema of the yard's file: creating it, and migrating it to this release."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import apsw

from taskyard.stores.shared import migrations
from taskyard.stores.shared.timeouts import CALL_TIMEOUT
from taskyard.stores.sqlite.connection import connect, connect_memory
from taskyard.stores.sqlite.statements import SQL

MIGRATIONS = Path(__file__).with_name("migrations")


def prepare(
    connection: apsw.Connection,
    *,
    migrates: bool = True,
    all_stopped: bool = False,
    call_timeout: float = CALL_TIMEOUT,
) -> bytes:
    """Migrate the file to this release's schema; a new file becomes a yard. Answers the yard's secret."""
    read_state(connection).require_permitted(migrates=migrates, all_stopped=all_stopped)
    _retry_while_busy(lambda: connection.pragma("journal_mode", "wal"), call_timeout)
    if read_state(connection).outstanding():
        _migrate_in_transaction(connection)
    return connection.execute(SQL["secret"]).get


def read_state(connection: apsw.Connection) -> migrations.State:
    return migrations.State(_read_version(connection), migrations.read_migrations(MIGRATIONS))


def read_file_state(path: Path, call_timeout: float = CALL_TIMEOUT) -> migrations.State:
    """The state of a file that this process has not opened. A missing file has an empty schema."""
    if not path.exists():
        return migrations.State(migrations.EMPTY, migrations.read_migrations(MIGRATIONS))
    with closing(connect(path, writes=False, call_timeout=call_timeout)) as connection:
        return read_state(connection)


def migrate_file(path: Path, call_timeout: float = CALL_TIMEOUT) -> None:
    """Migrate the file to this release's schema."""
    with closing(connect(path, writes=True, call_timeout=call_timeout)) as connection:
        prepare(connection, all_stopped=True, call_timeout=call_timeout)


def _migrate_in_transaction(connection: apsw.Connection) -> None:
    kept_in = connection.pragma("temp_store")
    connection.pragma("temp_store", "file")  # a migration may sort more than fits into memory
    connection.execute(SQL["begin"])
    try:
        _migrate(connection)
        connection.execute(SQL["commit"])
    except BaseException:
        connection.execute(SQL["rollback"])
        raise
    finally:
        connection.pragma("temp_store", kept_in)


def _migrate(connection: apsw.Connection) -> None:
    connection.execute(SQL["schema_table"])
    # Read it again under the lock: another process may have migrated meanwhile.
    state = read_state(connection)
    steps = state.outstanding()
    if state.stored == migrations.EMPTY:
        _create_tables(connection, steps)
    else:
        _apply(connection, steps)
    if steps:
        connection.execute(SQL["set_schema"], steps[-1].schema)
    connection.execute(SQL["found_yard"], (secrets.token_bytes(32),))


def _apply(connection: apsw.Connection, steps: Sequence[migrations.Migration]) -> None:
    for step in steps:
        connection.execute(step.sql)


def _create_tables(connection: apsw.Connection, steps: Sequence[migrations.Migration]) -> None:
    """Create what the migrations come to, without the pages that tables of older layouts would leave behind."""
    with closing(connect_memory()) as model:
        _apply(model, steps)
        for (statement,) in model.execute(SQL["tables"]):
            connection.execute(statement)


def _read_version(connection: apsw.Connection) -> migrations.Schema:
    if not connection.execute(SQL["has_schema"]).get:
        return migrations.EMPTY
    row = connection.execute(SQL["schema"]).get
    return migrations.EMPTY if row is None else migrations.Schema(*row)


def _retry_while_busy(change: Callable[[], object], call_timeout: float) -> None:
    """SQLite refuses to change the journal mode without calling the busy handler while another process changes it."""
    until = time.monotonic() + call_timeout
    while True:
        try:
            change()
            return
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(random.uniform(0.000_1, 0.001))
