"""Answers that are read seldom and shown often: what they cost does not grow with those who ask."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Generic, TypeVar

FRESH_FOR = 1.0  # seconds that what was read is shown for at least
SHARE = 20  # and so many times as long as the reading took: however large the yard is, that takes little of it

Answer = TypeVar("Answer")


class Fresh(Generic[Answer]):
    """The last answer for each workspace, read again when it is no longer fresh; by one of those who ask at once."""

    def __init__(self, share: int | None = None) -> None:
        self._share = share
        self._read: dict[str, tuple[float, Answer]] = {}
        self._reading: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, workspace: str, read: Callable[[], Awaitable[Answer]]) -> Answer:
        async with self._reading[workspace]:
            known = self._read.get(workspace)
            if known is not None and monotonic() < known[0]:
                return known[1]
            began = monotonic()
            answer = await read()
            ended = monotonic()
            share = SHARE if self._share is None else self._share
            self._read[workspace] = ended + max(FRESH_FOR, share * (ended - began)), answer
            return answer
