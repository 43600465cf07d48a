"""Making a schema a yard, and bringing it to this release."""

from __future__ import annotations

import asyncio
import random
import secrets
from pathlib import Path

import asyncpg

from taskyard.core.errors import StoreUnavailable
from taskyard.stores.postgres.connection.pool import Connection
from taskyard.stores.postgres.statements import Statements
from taskyard.stores.shared import migrations

OLDEST_SERVER = 14
MIGRATIONS = Path(__file__).parent.with_name("migrations")
_TRIES = 20  # of a migration that others keep from a table


async def prepare(connection: Connection, sql: Statements, *, migrates: bool) -> bytes:
    """Bring the schema to this release, and make it a yard if it is none yet; its secret is answered."""
    version = connection.get_server_version().major
    if version < OLDEST_SERVER:
        raise StoreUnavailable(f"PostgreSQL {OLDEST_SERVER} or newer is needed, and this is {version}")
    state = await schema(connection, sql)
    if not migrates:
        state.require_current()
    if state.outstanding():
        await _migrate(connection, sql)
    return await connection.fetchval(sql["secret"])


async def schema(connection: Connection, sql: Statements) -> migrations.State:
    return migrations.State(await _stored(connection, sql), migrations.read_migrations(MIGRATIONS))


async def _stored(connection: Connection, sql: Statements) -> migrations.Schema:
    try:
        row = await connection.fetchrow(sql["schema"])
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        return migrations.EMPTY
    return migrations.EMPTY if row is None else migrations.Schema(*row)


async def _migrate(connection: Connection, sql: Statements) -> None:
    """Apply what is outstanding, in one transaction.

    A lock on a table is waited for only briefly, and then again later. Whoever wants the table meanwhile waits behind
    us: one session that is idle in a transaction would bring the whole yard to a stand.
    """
    for _ in range(_TRIES):
        try:
            async with connection.transaction():
                await connection.execute(sql["migration_lock"])
                await connection.execute(sql["migration_patience"])
                await _apply(connection, sql)
                return
        except asyncpg.LockNotAvailableError:
            await asyncio.sleep(random.uniform(0.1, 0.5))
    raise StoreUnavailable("a migration needs a table that other transactions do not let go of")


async def _apply(connection: Connection, sql: Statements) -> None:
    await connection.execute(sql["schema_table"])
    # Read again under the lock: another process may have been faster.
    for step in (await schema(connection, sql)).outstanding():
        await connection.execute(sql.of_schema(step.sql))
        await connection.execute(sql["set_schema"], *step.schema)
    await connection.execute(sql["found_yard"], secrets.token_bytes(32))
