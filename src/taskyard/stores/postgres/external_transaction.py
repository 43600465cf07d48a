"""Writing in the caller's own transaction: what is put in commits or vanishes with it.

The connection is the caller's, of asyncpg, psycopg 3 or SQLAlchemy over one of these, with a transaction open. It is
neither committed nor rolled back here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import isawaitable
from typing import Any

from taskyard.core.changes import Blocker, NewTask
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Lane, LaneId, TaskId
from taskyard.stores.postgres.statements import Part, Statements, new_rows, number_of
from taskyard.stores.shared import rows

_PARAMETER = re.compile(r"\$(\d+)")
_IDLE = 0  # psycopg's word for a connection without a transaction


class PostgresGuest:
    def __init__(self, connection: Any, sql: Statements) -> None:
        self._connection = connection
        self._sql = sql

    async def lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        """Their ids. New ones are made here too: until the caller's transaction ends, the workspace has no claims."""
        known = await self._lane_ids(lanes)
        new = [lane for lane in dict.fromkeys(lanes) if lane not in known]
        if new:
            await self._query("let_no_claim_in", sorted({number_of(lane.workspace) for lane in new}))
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
        """The tail of events waits for the caller's transaction from here on, for the number that was drawn in it."""
        parts = [self._sql.part("new_tasks", new_rows(tasks))]
        parts += [Part(name, self._sql[name], ()) for name in ("insert_tasks", "insert_definitions")]
        tags = [(place, tag) for place, task in enumerate(tasks, 1) for tag in task.definition.tags]
        for name, values in (
            ("insert_new_tags", tags),
            ("insert_blockers", blockers),
            ("insert_events", [task.event for task in tasks]),
        ):
            if values:
                parts.append(self._sql.part(name, values))
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
        # psycopg counts its parameters by place or by name, and knows arrays as lists only.
        named = {f"p{number}": _listed(value) for number, value in enumerate(values, 1)}
        cursor = await _awaited(connection.execute(_PARAMETER.sub(r"%(p\1)s", sql.replace("%", "%%")), named))
        return await _awaited(cursor.fetchall()) if cursor.description is not None else ()

    async def _drivers(self) -> Any:
        """The driver's own connection, where SQLAlchemy's was handed in."""
        connection = self._connection
        if hasattr(connection, "exec_driver_sql"):
            # It begins a transaction only with the first statement that it is asked for itself.
            await _awaited(connection.exec_driver_sql("select 1"))
            pooled = await connection.get_raw_connection() if _is_async(connection) else connection.connection
            return pooled.driver_connection
        return connection


def _is_async(connection: Any) -> bool:
    return hasattr(connection, "get_raw_connection")


async def _awaited(answer: Any) -> Any:
    """Of a synchronous connection the answer is there already."""
    return await answer if isawaitable(answer) else answer


def _listed(value: Any) -> Any:
    return [*value] if isinstance(value, tuple) else value
