"""Handlers that are plain functions, each in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any


async def in_thread(function: Callable[[], Any]) -> Any:
    """Run a plain function beside the loop. Its thread does not outlive the process, so a stop need not wait for it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    context = copy_context()  # what is known here is known there: the trace that a step belongs to

    def run() -> None:
        try:
            result, error = context.run(function), None
        except BaseException as raised:
            result, error = None, raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="taskyard handler", daemon=True).start()
    return await future
