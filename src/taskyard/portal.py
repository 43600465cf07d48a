"""A thread with an event loop, for callers that have none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from taskyard.core.json_value import is_list
from taskyard.features.tasks.result_views import Enqueued

PATIENCE = 10.0  # seconds for what is cancelled to end
P = ParamSpec("P")
R = TypeVar("R")


class Portal:
    """A thread with an event loop, and the way into it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="taskyard portal", daemon=True)
        self._thread.start()

    def call(self, answer: Coroutine[Any, Any, R]) -> R:
        future: Future[R] = asyncio.run_coroutine_threadsafe(answer, self._loop)
        return future.result()

    def iterate(self, items: AsyncIterator[R]) -> Iterator[R]:
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


class Waits:
    """Makes verbs that wait for their answer, with the arguments and the answer of the verb that they wait for."""

    def __init__(self, portal: Portal, result: Callable[..., Coroutine[Any, Any, Any]]) -> None:
        self._portal = portal
        self._result = result

    def __call__(self, verb: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
        @wraps(verb)
        def waiting(*arguments: P.args, **named: P.kwargs) -> R:
            return self._with_result(self._portal.call(verb(*arguments, **named)))

        return waiting

    def iterate(self, verb: Callable[P, AsyncIterator[R]]) -> Callable[P, Iterator[R]]:
        @wraps(verb)
        def waiting(*arguments: P.args, **named: P.kwargs) -> Iterator[R]:
            return self._portal.iterate(verb(*arguments, **named))

        return waiting

    def _with_result(self, answer: R) -> R:
        """A task that was put in, whose result is waited for as everything else here."""
        if isinstance(answer, Enqueued):
            return cast(R, answer.awaited_by(self(self._result)))
        if is_list(answer):
            return cast(R, [self._with_result(each) for each in answer])
        return answer


async def _end_others() -> None:
    """Cancel every other task of this loop: whoever waits for one gets a cancellation."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=PATIENCE)


async def _next(items: AsyncIterator[R]) -> R:
    return await anext(items)
