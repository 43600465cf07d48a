"""Making a schema a yard, and bringing it to this release."""

from __future__ import annotations

import secrets

import asyncpg

from taskyard.core.errors import StoreUnavailable
from taskyard.stores import migrate
from taskyard.stores.postgres.connecting import Connection
from taskyard.stores.postgres.statements import Statements

OLDEST_SERVER = 14


async def prepare(connection: Connection, sql: Statements) -> bytes:
    """Bring the schema to this release, and make it a yard if it is none yet; its secret is answered."""
    version = connection.get_server_version().major
    if version < OLDEST_SERVER:
        raise StoreUnavailable(f"PostgreSQL {OLDEST_SERVER} or newer is needed, and this is {version}")
    known = migrate.migrations("taskyard.stores.postgres.migrations")
    if migrate.outstanding(known, await stored_schema(connection, sql)):
        async with connection.transaction():
            await connection.execute(sql["migration_lock"])
            await _migrate(connection, sql, known)
    return await connection.fetchval(sql["secret"])


async def stored_schema(connection: Connection, sql: Statements) -> migrate.Schema:
    try:
        row = await connection.fetchrow(sql["schema"])
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        return migrate.EMPTY
    return migrate.EMPTY if row is None else migrate.Schema(*row)


async def _migrate(connection: Connection, sql: Statements, known: list[migrate.Migration]) -> None:
    await connection.execute(sql["schema_table"])
    # Read again under the lock: another process may have been faster.
    for step in migrate.outstanding(known, await stored_schema(connection, sql)):
        await connection.execute(sql.of_schema(step.sql))
        await connection.execute(sql["set_schema"], *step.schema)
    await connection.execute(sql["found_yard"], secrets.token_bytes(32))
