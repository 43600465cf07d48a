"""What every call over HTTP stands on. No path is written here, or in the modules beside it: they are `api.calls`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from taskyard.api import calls
from taskyard.api.calls import Call
from taskyard.client.body import mended
from taskyard.core.errors import NotFound
from taskyard.core.units import Micros
from taskyard.features.artifacts import views as files

if TYPE_CHECKING:
    from taskyard.client.connection import Connection, Query

_ID = re.compile(r"\w[!-~]{0,254}", re.ASCII)
LONGEST_WAIT = 10.0  # seconds that a server is asked to wait at once: a line that goes silent is noticed after that


class Calling:
    workspace: str

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def now(self) -> Micros:
        """The yard's time, as its last answer told it."""
        return self._connection.now()

    async def mark(self) -> int:
        """Where the yard stands: to be handed to `changed`, so that nothing written since is missed."""
        return await self._mark(-1, 0)

    async def changed(self, mark: int, timeout_sec: float) -> int:
        """Return when something may have been written since the mark, by any process, or at the time-out."""
        until = monotonic() + timeout_sec
        while True:
            wait = max(0.0, min(until - monotonic(), LONGEST_WAIT))
            now = await self._mark(mark, wait)
            if now != mark or monotonic() >= until:
                return now

    async def _mark(self, mark: int, wait_sec: float) -> int:
        answer = await self._ask(calls.CHANGED, query={"mark": mark, "wait_sec": wait_sec}, wait_sec=wait_sec)
        return answer["mark"]

    async def _ask(
        self,
        call: Call,
        body: bytes | None = None,
        *,
        query: Query | None = None,
        wait_sec: float = 0,
        patience: float | None = None,
        headers: Mapping[str, str] | None = None,
        **names: str,
    ) -> Any:
        return await self._connection.ask(
            call, body, query=query, wait_sec=wait_sec, patience=patience, headers=headers, **names
        )

    async def _ask_about(
        self,
        call: Call,
        task_id: str,
        body: bytes | None = None,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        wait_sec: float = 0,
    ) -> Any:
        return await self._ask(call, body, query=query, wait_sec=wait_sec, headers=headers, task_id=_askable(task_id))


def shown(lease: str | None, task_id: str | None = None) -> dict[str, str]:
    """The headers that show a lease, where there is one: with its task, where the path does not say it."""
    headers = {} if task_id is None else {files.TASK: _askable(task_id)}
    # Whatever a header cannot carry is in no lease, and is none of anything as it is spelled here.
    return headers if lease is None else {**headers, files.LEASE: quote(mended(lease), safe="")}


def _askable(task_id: str) -> str:
    if not _ID.fullmatch(task_id):
        raise NotFound("task", task_id)  # what cannot be asked for is not there
    return task_id
