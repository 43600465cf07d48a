"""Making a file a yard, and bringing it to this release."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from taskyard.stores.shared import migrations
from taskyard.stores.shared.timeouts import CALL_TIMEOUT
from taskyard.stores.sqlite.connection import connect
from taskyard.stores.sqlite.statements import SQL

MIGRATIONS = Path(__file__).with_name("migrations")


def prepare(connection: apsw.Connection, *, migrates: bool = True, call_timeout: float = CALL_TIMEOUT) -> bytes:
    """Bring the file to this release's schema, and make it a yard if it is none yet; its secret is answered."""
    if not migrates:
        schema(connection).require_current()
    _patiently(lambda: connection.pragma("journal_mode", "wal"), call_timeout)
    if schema(connection).outstanding():
        connection.execute(SQL["begin"])
        try:
            _migrate(connection)
            connection.execute(SQL["commit"])
        except BaseException:
            connection.execute(SQL["rollback"])
            raise
    return connection.execute(SQL["secret"]).get


def schema(connection: apsw.Connection) -> migrations.State:
    return migrations.State(_stored(connection), migrations.read_migrations(MIGRATIONS))


def schema_of(path: Path, call_timeout: float = CALL_TIMEOUT) -> migrations.State:
    """That of a file nobody here has open; of none, where there is none yet."""
    if not path.exists():
        return migrations.State(migrations.EMPTY, migrations.read_migrations(MIGRATIONS))
    with closing(connect(path, writes=False, call_timeout=call_timeout)) as connection:
        return schema(connection)


def bring_up(path: Path, call_timeout: float = CALL_TIMEOUT) -> None:
    """Make the file a yard of this release."""
    with closing(connect(path, writes=True, call_timeout=call_timeout)) as connection:
        prepare(connection, call_timeout=call_timeout)


def _migrate(connection: apsw.Connection) -> None:
    connection.execute(SQL["schema_table"])
    # Read again under the lock: another process may have been faster.
    for step in schema(connection).outstanding():
        connection.execute(step.sql)
        connection.execute(SQL["set_schema"], step.schema)
    connection.execute(SQL["found_yard"], (secrets.token_bytes(32),))


def _stored(connection: apsw.Connection) -> migrations.Schema:
    if not connection.execute(SQL["has_schema"]).get:
        return migrations.EMPTY
    row = connection.execute(SQL["schema"]).get
    return migrations.EMPTY if row is None else migrations.Schema(*row)


def _patiently(change: Callable[[], object], call_timeout: float) -> None:
    """Changing the journal mode is refused at once, past the busy handler, while another process does the same."""
    until = time.monotonic() + call_timeout
    while True:
        try:
            change()
            return
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(random.uniform(0.000_1, 0.001))
