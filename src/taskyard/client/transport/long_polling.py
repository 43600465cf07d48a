"""Waiting for what others write to a yard that a server has."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from taskyard.api import calls
from taskyard.client.transport.headers import LONGEST_WAIT

if TYPE_CHECKING:
    from taskyard.client.transport.call_encoding import Query
    from taskyard.client.transport.connection import Connection


async def until_changed(connection: Connection, mark: int, timeout_sec: float, about: Query | None = None) -> int:
    """Return the mark once the server's is another one, or at the time-out. `about`: what else the call says."""
    until = monotonic() + timeout_sec
    while True:
        wait = max(0.0, min(until - monotonic(), LONGEST_WAIT))
        query: Query = {**(about or {}), "mark": mark, "wait_sec": wait}
        now: int = (await connection.ask(calls.CHANGED, query=query, wait_sec=wait))["mark"]
        if now != mark or monotonic() >= until:
            return now
