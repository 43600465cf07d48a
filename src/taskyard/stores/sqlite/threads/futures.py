"""How a thread answers those who wait on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any


def tell(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *values: object) -> None:
    """Call it on the loop, soon."""
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(callback, *values)


def answer(waiting: Iterable[tuple[asyncio.Future[Any], object]]) -> None:
    """Give each its own. Called on the loop."""
    for future, result in waiting:
        if not future.done():
            future.set_result(result)


def refuse(waiting: Iterable[asyncio.Future[Any]], error: BaseException) -> None:
    """Give all of them the same error. Called on the loop."""
    for future in waiting:
        if not future.done():
            future.set_exception(error)
