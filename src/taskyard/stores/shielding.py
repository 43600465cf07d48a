"""Writes that go on to their end, also where the caller is cancelled: what may be stored is not taken back.

A write is a task of its own for that, which costs the loop two more rounds. A task that nobody cancels waits for its
write as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Answer = TypeVar("Answer")

UNCANCELLED: set[asyncio.Task[Any]] = set()  # whoever has such a task run adds it, and takes it out when it ends


class Shield:
    def __init__(self) -> None:
        self._writing: set[asyncio.Task[Any]] = set()

    async def run(self, writing: Coroutine[Any, Any, Answer]) -> Answer:
        if asyncio.current_task() in UNCANCELLED:
            return await writing
        task = asyncio.create_task(writing)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Wait for the writes of callers that are gone."""
        await asyncio.gather(*self._writing, return_exceptions=True)
