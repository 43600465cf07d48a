"""Work that is counted instead of timed: what noise cannot touch."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import apsw
import redis

from bench.runner import Count, Counts
from taskyard.core.task import Hot
from taskyard.stores.postgres.transaction import PostgresTransaction


class Counted(Protocol):
    """What was done since the last reset by the yards that were opened meanwhile."""

    def reset(self) -> None: ...
    def counts(self, *, most_rows: int) -> Counts: ...


Counting = Callable[[], AbstractContextManager[Counted]]


class _Steps:
    """What SQLite has done."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._rows = 0  # of tasks, read into the process
        self._steps = 0  # instructions of SQLite's engine: also what it looked at and did not hand over

    def counts(self, *, most_rows: int) -> Counts:
        return {"task rows read": Count(self._rows, most_rows), "engine steps": Count(self._steps)}

    def watch(self, connection: apsw.Connection) -> None:
        connection.set_row_trace(self._row)
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._statement)  # pyright: ignore[reportUnknownMemberType]

    def _row(self, _: apsw.Cursor, row: Any) -> Any:
        self._rows += len(row) == len(Hot._fields)
        return row

    def _statement(self, told: dict[str, Any]) -> None:
        self._steps += told["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]


@contextmanager
def sqlite_steps() -> Generator[Counted]:
    steps = _Steps()
    apsw.connection_hooks.append(steps.watch)
    try:
        yield steps
    finally:
        apsw.connection_hooks.remove(steps.watch)


class _Pages:
    """What PostgreSQL says that it would do to choose: it is asked before each choice."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._pages = 0
        self._whole_tables = 0  # read from one end to the other

    def counts(self, *, most_rows: int) -> Counts:  # noqa: ARG002 - rows that are looked at are not told
        return {"pages": Count(self._pages), "sequential scans": Count(self._whole_tables, 0)}

    async def explain(self, transaction: PostgresTransaction, name: str, *values: Any) -> None:
        sql = f"explain (analyze, buffers, format json) {transaction.sql[name]}"
        plan = json.loads(await transaction.connection.fetchval(sql, *values))[0]["Plan"]
        self._pages += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        self._whole_tables += sum(node["Node Type"] == "Seq Scan" for node in _nodes(plan))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


@contextmanager
def postgres_pages() -> Generator[Counted]:
    pages = _Pages()
    query = PostgresTransaction.query

    async def explained(self: PostgresTransaction, name: str, *values: Any) -> Any:
        if name in ("pick", "look"):
            await pages.explain(self, name, *values)
        return await query(self, name, *values)

    PostgresTransaction.query = explained
    try:
        yield pages
    finally:
        PostgresTransaction.query = query


MISSES = "keyspace_misses"


class _Commands:
    """What Redis has run, inside scripts and outside."""

    def __init__(self, server: str) -> None:
        self._client = redis.Redis.from_url(server)  # pyright: ignore[reportUnknownMemberType]
        self.reset()

    def reset(self) -> None:
        self._before = self._calls()

    def counts(self, *, most_rows: int) -> Counts:
        calls = {name: number - self._before.get(name, 0) for name, number in self._calls().items()}
        rows = calls.pop(MISSES)
        most = 2 * most_rows  # of each lane rows are read ahead, twice as many each time
        return {"task rows read": Count(rows, most), "commands": Count(sum(calls.values()))}

    def _calls(self) -> dict[str, int]:
        told: dict[str, dict[str, int]] = self._client.info("commandstats")  # pyright: ignore[reportUnknownMemberType, reportAssignmentType]
        figures: dict[str, int] = self._client.info("stats")  # pyright: ignore[reportUnknownMemberType, reportAssignmentType]
        # With the row of each task that is ready comes `held:ID`, which is not there.
        return {name: each["calls"] for name, each in told.items()} | {MISSES: figures[MISSES]}


def redis_commands(server: str) -> Counting:
    @contextmanager
    def counting() -> Generator[Counted]:
        yield _Commands(server)

    return counting
