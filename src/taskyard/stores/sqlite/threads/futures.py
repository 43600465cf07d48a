"""How a thread sets the results of futures that coroutines of the event loop wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any


def call_on_loop(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *values: object) -> None:
    """Call the function on the event loop, soon."""
    with suppress(RuntimeError):  # the loop is closed, so no coroutine waits
        loop.call_soon_threadsafe(callback, *values)


def resolve(waiting: Iterable[tuple[asyncio.Future[Any], object]]) -> None:
    """Set each future's result. Runs on the event loop."""
    for future, result in waiting:
        if not future.done():
            future.set_result(result)


def reject(waiting: Iterable[asyncio.Future[Any]], error: BaseException) -> None:
    """Set the same error for all futures. Runs on the event loop."""
    for future in waiting:
        if not future.done():
            future.set_exception(error)
