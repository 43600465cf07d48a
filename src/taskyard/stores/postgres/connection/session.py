"""A connection to the database that can also send a statement behind another, in one round trip.

The driver sends one statement at a time and waits for its answer; only a text without values may hold several. But what
is prepared can be executed by its name in such a text, with its values written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from taskyard.stores.shared.timeouts import keep_alive

_MOST_KEPT = 100  # statements that are known by name


class Session(asyncpg.Connection):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._by_text: dict[str, PreparedStatement] = {}

    def keep_alive(self) -> None:
        """Let the system find out when the server is gone without a word."""
        if self._transport is not None:
            keep_alive(self._transport)

    async def run_behind(self, first: str, sql: str, values: Sequence[str | None]) -> int:
        """Run both in one transaction of their own, and say how many rows the second has answered.

        Each sees what was committed before it began: where the first waits for a lock, the second sees what was written
        under it.
        """
        prepared = self._by_text.get(sql) or await self._prepared(sql)
        given = ", ".join(map(_literal, values))
        answer = await self.execute(f"{first}; execute {prepared.get_name()} ({given})")
        return int(answer.rpartition(" ")[2])

    async def _prepared(self, sql: str) -> PreparedStatement:
        if len(self._by_text) == _MOST_KEPT:
            self._by_text.clear()  # the driver closes what nobody holds any more
        self._by_text[sql] = prepared = await self.prepare(sql)
        return prepared


def _literal(value: str | None) -> str:
    """The same text whatever the server is set to take a backslash for."""
    return "null" if value is None else "E'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
