"""A yard beyond HTTP: every call of the local one, with the same answers and the same errors."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from taskyard.api import calls
from taskyard.client.artifacts import Filing
from taskyard.client.inboxes import Inboxes
from taskyard.client.notifying import Notifying
from taskyard.client.sources import Sources
from taskyard.client.steering import Steering
from taskyard.core.claiming import Pace
from taskyard.core.errors import InvalidInput
from taskyard.core.policy import other_preset
from taskyard.features.notifications.views import ErrandsRun
from taskyard.features.retention.views import Swept

if TYPE_CHECKING:
    from taskyard.client.connection import Connection

NEEDS_THE_STORE = "names a server, and this needs the store itself: run it with the store's own URL"


class RemoteYard(Steering, Sources, Inboxes, Filing, Notifying):
    """A durable queue of work for agents, served by others.

    Use it as an async context manager: `async with taskyard.connect("https://…") as yard`. The servers keep it swept.
    """

    pace = Pace()
    sweeps = False  # the servers do

    def __init__(self, connection: Connection, workspace: str | None = None, preset: str | None = None) -> None:
        super().__init__(connection)
        self._wanted = workspace
        self._preset = preset
        self.workspace = workspace or ""

    def twin(self) -> Self | None:
        """Another connection to the same yard, for another thread's loop."""
        return type(self)(self._connection.twin(), self._wanted)

    async def open(self) -> Self:
        await self._connection.open()
        try:
            self.workspace = (await self._ask(calls.CHANGED))["workspace"]
            if self._wanted not in (None, self.workspace):
                raise InvalidInput("workspace", f"is said by the token, and this one is for {self.workspace}")
            if self._preset is not None and (stored := await self.preset()) != self._preset:
                raise other_preset(stored, self.workspace)
        except BaseException:
            await self._connection.close()
            raise
        return self

    async def close(self) -> None:
        await self._feed.close()
        await self._deliver()
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # What only who has the store can do

    @property
    def store(self) -> Any:
        raise InvalidInput("url", NEEDS_THE_STORE)

    async def sweep(self) -> Swept:
        """Nothing is left to do from here: every server sweeps, once a second."""
        return Swept()

    async def run_errands(self) -> ErrandsRun:
        """Nothing is left to do from here: every server does, once a second."""
        return ErrandsRun()

    async def health(self) -> Any:
        """Not from here: it is about the store."""
        raise InvalidInput("url", NEEDS_THE_STORE)

    async def adopt_preset(self, name: str) -> int:
        """Not from here: it goes with a migration of the store."""
        raise InvalidInput("url", NEEDS_THE_STORE)

    async def metrics(self, *, days: int = 7) -> Any:
        """Not from here: the server's own /metrics has them."""
        raise InvalidInput("url", NEEDS_THE_STORE)
