"""The same yard for callers without an event loop: every call waits for its answer.

One thread runs the loop; calls are forwarded to it. Nothing is written twice, so nothing can fall behind, and a test
holds the two together.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, cast

from taskyard.features.tasks.result_views import Enqueued
from taskyard.yard import Yard

PATIENCE = 10.0  # seconds for what is cancelled to end


class Portal:
    """A thread with an event loop, and the way into it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="taskyard portal", daemon=True)
        self._thread.start()

    def call(self, answer: Coroutine[Any, Any, Any]) -> Any:
        future: Future[Any] = asyncio.run_coroutine_threadsafe(answer, self._loop)
        return future.result()

    def iterate(self, items: AsyncIterator[Any]) -> Iterator[Any]:
        """The items of an asynchronous iterator, as they come."""
        while True:
            try:
                yield self.call(_next(items))
            except StopAsyncIteration:
                return

    def close(self) -> None:
        """End what is still under way, such as another thread's upload, and then the loop."""
        self.call(_end_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class SyncYard:
    """A yard whose calls wait. `with taskyard.connect_sync() as yard: yard.enqueue("code")`."""

    def __init__(self, make: Callable[[], Yard]) -> None:
        self._portal = Portal()
        self._yard: Yard = self._portal.call(_made(make))

    def __enter__(self) -> Self:
        self._portal.call(self._yard.open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._portal.call(self._yard.close())
        self._portal.close()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._yard, name)
        if not inspect.iscoroutinefunction(value) and not inspect.isasyncgenfunction(value):
            return value
        wait = self._portal.iterate if inspect.isasyncgenfunction(value) else self._portal.call

        def call(*arguments: Any, **named: Any) -> Any:
            return self._waiting(wait(value(*arguments, **named)))

        return call

    def _waiting(self, answer: Any) -> Any:
        """A task that was put in, whose result is waited for as everything else here."""
        if isinstance(answer, Enqueued):
            return answer.awaited_by(self.result)
        if isinstance(answer, list):
            return [self._waiting(each) for each in cast(list[Any], answer)]
        return answer


async def _made(make: Callable[[], Yard]) -> Yard:
    """A yard belongs to the loop it was made in."""
    return make()


async def _end_others() -> None:
    """Cancel every other task of this loop: whoever waits for one is told that it was cancelled."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=PATIENCE)


async def _next(items: AsyncIterator[Any]) -> Any:
    return await anext(items)
