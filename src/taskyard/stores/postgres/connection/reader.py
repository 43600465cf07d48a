"""Reads by named statements on one connection."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from taskyard.core.task import Hot
from taskyard.stores.postgres.connection.session import PostgresSession
from taskyard.stores.postgres.statements import Statements
from taskyard.stores.shared import rows


class PostgresReader:
    def __init__(self, connection: PostgresSession, sql: Statements) -> None:
        self.connection = connection
        self.sql = sql

    async def ask(self, name: str, *values: Any) -> list[rows.Row]:
        return await self.connection.fetch(self.sql[name], *values)

    async def value(self, name: str, *values: Any) -> Any:
        return await self.connection.fetchval(self.sql[name], *values)

    async def tasks(self, name: str, *values: Any) -> list[Hot]:
        return [rows.parse_hot(row) for row in await self.ask(name, *values)]

    @asynccontextmanager
    async def snapshot(self) -> AsyncGenerator[None]:
        """Run several statements on one snapshot."""
        async with self.connection.transaction(isolation="repeatable_read", readonly=True):
            yield
