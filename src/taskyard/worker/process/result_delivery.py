"""Handing in how an attempt ended. A result that meets a full store is kept, and sent again while the lease lasts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from taskyard.core.errors import InvalidInput, StoreFull
from taskyard.core.task import Reason
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


async def hand_in_failure(
    context: Context, call: Callable[..., Awaitable[None]], reason: str, error: str, **more: Any
) -> None:
    """Hand in that the attempt failed. What the yard cannot store of it is left out: it has failed all the same."""
    try:
        await hand_in(context, lambda: call(reason, error, **more))
    except InvalidInput as refusal:
        logger.warning("%s: how it failed was refused: %s", context.id, refusal)
        stored = f"{error} (how it failed was refused: {refusal})"
        await hand_in(context, lambda: call(Reason.AGENT_ERROR, stored))
