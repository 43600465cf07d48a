"""One call for all who ask for it at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

Answer = TypeVar("Answer")


class Shared(Generic[Answer]):
    """Whoever asks while the call is under way gets the answer of that call, and its error too."""

    def __init__(self, call: Callable[[], Coroutine[Any, Any, Answer]]) -> None:
        self._call = call
        self._running: asyncio.Task[Answer] | None = None

    async def ask(self) -> Answer:
        if self._running is None:
            self._running = asyncio.create_task(self._call())
            self._running.add_done_callback(self._ended)
        # A cancelled caller does not cancel the call: others wait for it.
        return await asyncio.shield(self._running)

    def part(self) -> None:
        """Let those who ask from now on not have the answer of a call that began before."""
        self._running = None

    def _ended(self, task: asyncio.Task[Answer]) -> None:
        if self._running is task:
            self._running = None
        if not task.cancelled():
            task.exception()  # where all who asked have gone away, it must not be an unheard error
