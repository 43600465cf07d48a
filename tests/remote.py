"""Yards beyond a server, so that what every yard promises is tried through HTTP too: TASKYARD_TEST_STORES=http.

The server is a real one, in this process. What a test looks at inside a yard is what it finds behind the server.
"""

from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

from taskyard.client.host import RemoteHost
from taskyard.client.transport.connection import Connection
from taskyard.core.units import Micros
from taskyard.features.notifications.views import OutboxRun
from taskyard.features.retention.views import Swept
from taskyard.host import LocalHost
from taskyard.portal import Portal
from taskyard.server.server import Server, served
from taskyard.yard import Yard


class HostBeyond(RemoteHost):
    """Time passes behind a server, where the test's clock is, and so do sweeps."""

    def __init__(self, server: Server, behind: Yard) -> None:
        super().__init__(Connection(url_of(server)))
        self._behind = behind

    def now(self) -> Micros:
        return self._behind.now()

    async def sweep(self) -> Swept:
        return await self._behind.sweep()

    async def run_outbox(self) -> OutboxRun:
        return await self._behind.host.run_outbox()


class Beyond(Yard):
    """A yard beyond a server. What a test looks at in its store is behind the server."""

    def __init__(self, server: Server, behind: Yard) -> None:
        super().__init__(HostBeyond(server, behind))
        self.behind = behind

    @property
    def on_store(self) -> LocalHost:
        return self.behind.on_store


def url_of(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


@asynccontextmanager
async def beyond_a_server(yard: Yard) -> AsyncGenerator[Yard]:
    """The same yard, as it is seen through HTTP."""
    async with served(yard) as server, Beyond(server, yard) as remote:
        yield remote


@contextmanager
def served_beside(yard: Yard) -> Generator[str]:
    """The URL of a yard that is served from a thread of its own: a test may block the loop that it is in."""
    portal = Portal()
    stack = AsyncExitStack()

    async def begin() -> str:
        await stack.enter_async_context(yard)
        return url_of(await stack.enter_async_context(served(yard)))

    try:
        yield portal.call(begin())
    finally:
        portal.call(stack.aclose())
        portal.close()
