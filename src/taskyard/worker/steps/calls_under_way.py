"""The model calls of an attempt that are under way: what ends the attempt waits for them, since they are paid for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar

LONGEST = 600.0  # seconds that the end of an attempt waits for a call, as long as OpenAI's client does

_call: ContextVar[Future[None] | None] = ContextVar("taskyard_model_call", default=None)


def is_within_call() -> bool:
    """Whether this is a part of a call already."""
    return _call.get() is not None


class CallsUnderWay:
    """Handlers in threads have event loops of their own, so the futures are those of threads."""

    __slots__ = ("_calls", "_gate", "_leaving")

    def __init__(self) -> None:
        self._calls: set[Future[None]] = set()
        self._leaving = 0
        self._gate: Future[None] | None = None

    @asynccontextmanager
    async def one(self) -> AsyncGenerator[None]:
        """Make a call. It does not begin while the attempt may be about to end."""
        while self._gate is not None:
            await asyncio.wait([asyncio.wrap_future(self._gate)])
        call, outside = Future[None](), _call.get()
        self._calls.add(call)
        _call.set(call)
        try:
            yield
        finally:
            _call.set(outside)
            self._calls.discard(call)
            call.set_result(None)

    async def settled(self) -> None:
        """Wait for the calls that are under way, except the one that this is a part of."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST):
                while others := [each for each in self._calls if each is not _call.get()]:
                    await asyncio.wait([asyncio.wrap_future(each) for each in others])

    @asynccontextmanager
    async def left_behind(self) -> AsyncGenerator[None]:
        """What may end the attempt. Calls that are under way are waited for, and no other begins meanwhile."""
        self._leaving += 1
        self._gate = self._gate or Future()
        try:
            await self.settled()
            yield
        finally:
            self._leaving -= 1
            if not self._leaving:
                gate, self._gate = self._gate, None
                gate.set_result(None)

    async def outlived(self, error: BaseException) -> BaseException:
        """What ends an attempt whose handler raised this, when the calls that it left running are over."""
        if self._calls and isinstance(error, Exception):
            try:
                async with self.left_behind():
                    return error
            except asyncio.CancelledError as cancelled:
                return cancelled  # the attempt was stopped meanwhile
        return error
