"""Sessions with PostgreSQL that stay open from one test to the next, with the statements that they have prepared.

Until a new session knows the tables and has planned its statements, it takes longer than most tests. A session belongs
to the event loop that it was opened in, so the tests on PostgreSQL take turns at one loop. A test starts with an idle
session, and with a loop without tasks, timers and open files of the tests before.
"""

from __future__ import annotations

import asyncio
import selectors
from collections import defaultdict
from functools import cache
from typing import Any

from taskyard.stores.postgres.connection import pool
from taskyard.stores.postgres.connection.address import PostgresAddress
from taskyard.stores.postgres.connection.session import PostgresSession
from tests.servers import at_the_end

_MOST = 4  # sessions kept of a yard: few tests use more at a time
_connect = pool.connect
_kept: defaultdict[tuple[str, str], list[KeptSession]] = defaultdict(list)  # by database and schema


class KeptSession(PostgresSession):
    kept_for: tuple[str, str] | None = None  # the database and the schema, where it is not closed with its pool

    async def close(self, *, timeout: float | None = None) -> None:
        """Keep the session, with nothing of the test in it but plans."""
        idle = _kept[self.kept_for] if self.kept_for else []
        if self.kept_for is None or len(idle) == _MOST or self.is_closed() or self.is_in_transaction():
            await super().close(timeout=timeout)
        else:
            await self.reset(timeout=timeout)
            idle.append(self)

    @property
    def socket(self) -> int:
        assert self._transport is not None
        return self._transport.get_extra_info("socket").fileno()


class KeptLoop(asyncio.SelectorEventLoop):
    """A loop that the runner of each test closes, and that is closed once all tests have ended."""

    _signal_handlers: dict[int, Any]
    _ready: Any
    _scheduled: Any

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        super().__init__(self.selector)
        self._own = set(self.selector.get_map())

    def close(self) -> None:
        """Remove what a test left, as the end of the loop would."""
        for number in list(self._signal_handlers):
            self.remove_signal_handler(number)
        kept = {session.socket for idle in _kept.values() for session in idle if not session.is_closed()}
        for left in set(self.selector.get_map()) - self._own - kept:
            self.selector.unregister(left)
        self.set_exception_handler(None)
        for waiting in (*self._ready, *self._scheduled):
            waiting.cancel()
        self._asyncgens_shutdown_called = self._executor_shutdown_called = False
        self._default_executor = None

    def end(self) -> None:
        super().close()


@cache
def loop() -> KeptLoop:
    at_the_end.callback(_end)
    pool.connect = _connect_or_reuse
    pool.PostgresSession = KeptSession
    return KeptLoop()


def forget(schema: str) -> None:
    """End the sessions of a schema that no other test will have."""
    for key in [key for key in _kept if key[1] == schema]:
        for session in _kept.pop(key):
            session.terminate()


async def _connect_or_reuse(where: PostgresAddress, *, direct: bool = False) -> PostgresSession:
    is_kept = where.prepared and asyncio.get_running_loop() is loop()
    key = where.url, where.schema
    while is_kept and (idle := _kept[key]):
        if not (session := idle.pop()).is_closed():
            return session
    session = await _connect(where, direct=direct)
    if is_kept and isinstance(session, KeptSession):
        session.kept_for = key
    return session


def _end() -> None:
    for _, schema in list(_kept):
        forget(schema)
    loop().run_until_complete(asyncio.sleep(0))  # it closes their sockets
    loop().end()
    loop.cache_clear()
