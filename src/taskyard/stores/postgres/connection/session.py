"""A connection that can send two statements in one round trip.

The driver sends one statement and waits for its answer; only a text without parameters may have several. That text
can however execute a prepared statement by name, with its values as literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from taskyard.stores.shared.timeouts import keep_alive

_MOST_KEPT = 100  # statements prepared by name
_FIRST_OF_A_DATABASE = 10_000  # the lowest number of a type that may differ between databases
_array_types: dict[int, Mapping[str, Any]] = {}  # as the server described them, by number


class PostgresSession(asyncpg.Connection):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._by_text: dict[str, PreparedStatement] = {}
        self.get_settings().register_data_types(_array_types.values())

    async def _introspect_types(
        self, typeoids: Iterable[int], timeout: float
    ) -> tuple[list[Mapping[str, Any]], object]:
        """Remember PostgreSQL's own types for later connections: the query takes longer than all others of a start."""
        types, statement = await super()._introspect_types(typeoids, timeout)
        _array_types.update({each["oid"]: each for each in types if each["oid"] < _FIRST_OF_A_DATABASE})
        return types, statement

    def keep_alive(self) -> None:
        """Let the operating system detect a vanished server."""
        if self._transport is not None:
            keep_alive(self._transport)

    async def run_after(self, first: str, sql: str, values: Sequence[str | None]) -> int:
        """Run both in one transaction. Answers the number of rows of the second.

        Each sees what was committed before it began: if the first waits for a lock, the second sees what was written
        under that lock.
        """
        prepared = self._by_text.get(sql) or await self._prepared(sql)
        given = ", ".join(map(_literal, values))
        answer = await self.execute(f"{first}; execute {prepared.get_name()} ({given})")
        return int(answer.rpartition(" ")[2])

    async def _prepared(self, sql: str) -> PreparedStatement:
        if len(self._by_text) == _MOST_KEPT:
            self._by_text.clear()  # the driver closes unreferenced statements
        self._by_text[sql] = prepared = await self.prepare(sql)
        return prepared


def _literal(value: str | None) -> str:
    """A literal that does not depend on the server's setting for backslashes."""
    return "null" if value is None else "E'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
