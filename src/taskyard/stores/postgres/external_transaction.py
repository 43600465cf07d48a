"""Enqueueing in the caller's own transaction: the tasks are committed or rolled back with it.

The connection belongs to the caller: asyncpg, psycopg 3 or SQLAlchemy over one of these, with an open transaction. This
module neither commits nor rolls back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import isawaitable
from typing import Any

from taskyard.core.changes import Blocker, NewTask
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Lane, LaneId, TaskId
from taskyard.stores.postgres.statements import Statements, drawing_part, lock_number, new_task_parts
from taskyard.stores.shared import rows
from taskyard.stores.shared.log_rows import split_events

_PARAMETER = re.compile(r"\$(\d+)")
_IDLE = 0  # psycopg's status of a connection without a transaction


class PostgresExternalTransaction:
    def __init__(self, connection: Any, sql: Statements) -> None:
        self._connection = connection
        self._sql = sql

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        """The ids of these lanes. Adding a lane blocks claims in its workspace until the caller's transaction ends."""
        known = await self._lane_ids(lanes)
        new = [lane for lane in dict.fromkeys(lanes) if lane not in known]
        if new:
            await self._query("let_no_claim_in", sorted({lock_number(lane.workspace) for lane in new}))
            known = await self._lane_ids(lanes)
            for lane in new:
                if lane not in known:
                    await self._query("insert_lane", lane.workspace, rows.format_lane(lane), rows.digest_lane(lane))
                    await self._query("bump_epochs", [lane.workspace])
            known = await self._lane_ids(lanes)
        return [known[lane] for lane in lanes]

    async def by_key(self, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]:
        return {row[0]: row[1] for row in await self._query("by_key", workspace, list(keys))}

    async def insert(self, tasks: Sequence[NewTask], blockers: Sequence[Blocker]) -> None:
        """Insert the tasks. Readers of events wait for the caller's transaction from here on."""
        chunks = split_events([task.event for task in tasks])
        placed = [place for place, chunk in enumerate(chunks, 1) for _ in chunk.events]
        logged = [(place, *row) for place, chunk in enumerate(chunks, 1) for row in chunk.rows]
        parts = [drawing_part(self._sql, len(chunks))]
        parts += await new_task_parts(self._sql, tasks, placed)
        parts += [
            self._sql.part(name, values)
            for name, values in (("insert_blockers", blockers), ("insert_log", logged))
            if values
        ]
        sql, values = self._sql.bundle(parts)
        await self._fetch(sql, values)

    async def _lane_ids(self, lanes: Sequence[Lane]) -> dict[Lane, LaneId]:
        digests = {rows.digest_lane(lane): lane for lane in lanes}
        found = await self._query("lane_ids", list(digests))
        return {digests[bytes(digest)]: LaneId(number) for digest, number in found}

    async def _query(self, name: str, *values: Any) -> Sequence[rows.Row]:
        return await self._fetch(self._sql[name], values)

    async def _fetch(self, sql: str, values: Sequence[Any]) -> Sequence[rows.Row]:
        connection = await self._drivers()
        if hasattr(connection, "fetch"):
            if not connection.is_in_transaction():
                raise InvalidInput("connection", "must have a transaction open")
            return await connection.fetch(sql, *values)
        if connection.autocommit and connection.info.transaction_status == _IDLE:
            raise InvalidInput("connection", "must have a transaction open")
        # psycopg takes parameters by place or by name, and arrays only as lists.
        named = {f"p{number}": _listed(value) for number, value in enumerate(values, 1)}
        cursor = await _awaited(connection.execute(_PARAMETER.sub(r"%(p\1)s", sql.replace("%", "%%")), named))
        return await _awaited(cursor.fetchall()) if cursor.description is not None else ()

    async def _drivers(self) -> Any:
        """The driver's connection, also if the caller passed one of SQLAlchemy."""
        connection = self._connection
        if hasattr(connection, "exec_driver_sql"):
            # SQLAlchemy begins a transaction only with its own first statement.
            await _awaited(connection.exec_driver_sql("select 1"))
            pooled = await connection.get_raw_connection() if _is_async(connection) else connection.connection
            return pooled.driver_connection
        return connection


def _is_async(connection: Any) -> bool:
    return hasattr(connection, "get_raw_connection")


async def _awaited(answer: Any) -> Any:
    """A synchronous connection answers at once."""
    return await answer if isawaitable(answer) else answer


def _listed(value: Any) -> Any:
    return [*value] if isinstance(value, tuple) else value
