"""Handing in how an attempt ended. A result that meets a full store is kept, and sent again while the lease lasts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from taskyard.core.errors import StoreFull
from taskyard.worker.context import Context

logger = logging.getLogger("taskyard.worker")
Answer = TypeVar("Answer")
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0  # seconds until it is handed in again


async def hand_in(context: Context, call: Callable[[], Awaitable[Answer]]) -> Answer:
    """Make the call until it is answered otherwise. Heartbeats go on meanwhile, and the end of the lease ends it."""
    pause = FIRST_PAUSE
    while True:
        try:
            return await call()
        except StoreFull as full:
            if context.stopped is not None:
                raise
            logger.warning("%s: its result is kept, and handed in again: %s", context.id, full)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
