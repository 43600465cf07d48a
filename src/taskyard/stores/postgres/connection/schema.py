"""The schema of a yard: creating it, and migrating it to this release."""

from __future__ import annotations

import asyncio
import random
import secrets
from pathlib import Path

import asyncpg

from taskyard.core.errors import StoreUnavailable
from taskyard.stores.postgres.connection.session import PostgresSession
from taskyard.stores.postgres.statements import Statements
from taskyard.stores.shared import migrations

OLDEST_SERVER = 14
MIGRATIONS = Path(__file__).parent.with_name("migrations")
_TRIES = 20  # of a migration that waits for a table


async def prepare(connection: PostgresSession, sql: Statements, *, migrates: bool, all_stopped: bool) -> bytes:
    """Migrate the schema to this release; a new schema becomes a yard. Answers the yard's secret."""
    version = connection.get_server_version().major
    if version < OLDEST_SERVER:
        raise StoreUnavailable(f"PostgreSQL {OLDEST_SERVER} or newer is needed, and this is {version}")
    state = await read_state(connection, sql)
    state.require_permitted(migrates=migrates, all_stopped=all_stopped)
    if state.outstanding():
        await _migrate(connection, sql)
    return await connection.fetchval(sql["secret"])


async def read_state(connection: PostgresSession, sql: Statements) -> migrations.State:
    return migrations.State(await _read_version(connection, sql), migrations.read_migrations(MIGRATIONS))


async def _read_version(connection: PostgresSession, sql: Statements) -> migrations.Schema:
    try:
        row = await connection.fetchrow(sql["schema"])
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        return migrations.EMPTY
    return migrations.EMPTY if row is None else migrations.Schema(*row)


async def _migrate(connection: PostgresSession, sql: Statements) -> None:
    """Apply the outstanding migrations in one transaction.

    It waits for the lock of a table only briefly, and tries again later. Other transactions queue behind a waiting
    migration, so a single session that is idle in a transaction would stop the whole yard.
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


async def _apply(connection: PostgresSession, sql: Statements) -> None:
    await connection.execute(sql["schema_table"])
    # Read it again under the lock: another process may have migrated meanwhile.
    for step in (await read_state(connection, sql)).outstanding():
        await connection.execute(sql.of_schema(step.sql))
        await connection.execute(sql["set_schema"], *step.schema)
    await connection.execute(sql["found_yard"], secrets.token_bytes(32))
