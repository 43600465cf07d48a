"""Waiting for what others write to a yard that servers have."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING

from taskyard.api import calls
from taskyard.client.transport.headers import LONGEST_WAIT

if TYPE_CHECKING:
    from taskyard.client.transport.call_encoding import Query
    from taskyard.client.transport.connection import Connection

MOST_SERVERS = 8  # whose marks are kept: those that answered last


class ServerMarks:
    """Where each server stood when it answered last. Behind a load balancer every call may meet another one.

    A server knows only its own marks. So a caller hands back those of all servers that had answered before it looked.
    """

    def __init__(self) -> None:
        self._heard: dict[str, str] = {}  # by process, the one that answered last at the end

    def known(self) -> Mapping[str, str]:
        """What was heard until now: to be kept while the call is made, since what is heard meanwhile is too new."""
        return dict(self._heard)

    def hear(self, mark: str, known: Mapping[str, str]) -> str:
        """The mark of one server, as it answered, and those that were known before the call."""
        process, _, _ = mark.partition("-")
        self._heard.pop(process, None)
        self._heard[process] = mark
        if len(self._heard) > MOST_SERVERS:
            del self._heard[next(iter(self._heard))]
        return ",".join({**known, process: mark}.values())


async def until_changed(connection: Connection, mark: str, timeout_sec: float, about: Query | None = None) -> str:
    """Return where the yard stands once that may be elsewhere, or at the time-out. `about`: what else the call says."""
    until, before = monotonic() + timeout_sec, mark.split(",")
    while True:
        wait, known = max(0.0, min(until - monotonic(), LONGEST_WAIT)), connection.marks.known()
        query: Query = {**(about or {}), "mark": mark, "wait_sec": wait}
        answered: str = (await connection.ask(calls.CHANGED, query=query, wait_sec=wait))["mark"]
        now = connection.marks.hear(answered, known)
        if answered not in before or monotonic() >= until:
            return now
