"""Those of one event loop that wait for something to be written."""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet
from contextlib import suppress

ANYTHING = None  # news of which it is not known what they are about; and what is wanted by whoever wants all of them


class Waiting:
    def __init__(self) -> None:
        self.mark = 1  # of the last write that was heard of
        self._marks: dict[str, int] = {}  # of the last news of each kind
        self._unnamed = 1  # of the last news that may have been of any
        self._waiting: dict[asyncio.Future[None], AbstractSet[str] | None] = {}

    @property
    def is_awaited(self) -> bool:
        """Whether anybody waits who has not been woken."""
        return not all(waiting.done() for waiting in self._waiting)

    def wake(self, news: AbstractSet[str] | None = ANYTHING) -> None:
        """Something was written, or may have been, that is news of these kinds."""
        self.mark += 1
        if news is None:
            self._unnamed = self.mark
        else:
            self._marks.update(dict.fromkeys(news, self.mark))
        for waiting, wanted in self._waiting.items():
            if not waiting.done() and (news is None or wanted is None or not wanted.isdisjoint(news)):
                waiting.set_result(None)

    async def wait(self, mark: int, timeout: float, wanted: AbstractSet[str] | None = ANYTHING) -> None:
        """Until there are news since the mark that are wanted, or until the time-out."""
        if self._has_news(mark, wanted):
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[waiting] = wanted
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await waiting
        finally:
            del self._waiting[waiting]

    def _has_news(self, mark: int, wanted: AbstractSet[str] | None) -> bool:
        if wanted is None:
            return mark != self.mark
        return mark < self._unnamed or any(mark < self._marks.get(kind, 0) for kind in wanted)
