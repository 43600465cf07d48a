"""The stream of a task over HTTP, as server-sent events: a browser that was cut off comes back where it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from taskyard.api.codec import write
from taskyard.api.messages import Closing
from taskyard.core.errors import TaskyardError
from taskyard.core.json_value import compact
from taskyard.features.streams.views import StreamedChunk
from taskyard.server import problems
from taskyard.server.live.connections import Live
from taskyard.server.live.feed import STUCK
from taskyard.server.live.stream import LEAVING, QUIET, LiveStream
from taskyard.yard import Yard


class ChunkStream(LiveStream):
    """Every chunk behind a place, until the task has ended; then an event `end`, and nothing more.

    The first chunk of a new attempt comes as an event `restarted`, the others as messages.
    """

    def __init__(
        self, live: Live, yard: Yard, task_id: str, after: str | None, *, token: str, counted_as: str | None
    ) -> None:
        super().__init__(live, self._sent(task_id, after), token=token, counted_as=counted_as)
        self._yard = yard
        self._blocked_since: float | None = None

    @property
    def is_stuck(self) -> bool:
        return self._blocked_since is not None and asyncio.get_running_loop().time() - self._blocked_since > STUCK

    def end(self, why: Closing) -> None:
        del why
        self._end_within(0 if self._blocked_since is None else LEAVING)

    async def _sent(self, task_id: str, after: str | None) -> AsyncGenerator[str]:
        try:
            async for page in self._yard.local.streams.pages(task_id, after=after, quiet_sec=QUIET):
                self._blocked_since = asyncio.get_running_loop().time()
                if page.chunks:
                    yield "".join(map(_event, page.chunks))
                elif not page.is_over:
                    yield ": quiet\n\n"
                if page.is_over:
                    yield f"event: end\ndata: {compact({'status': page.status.value})}\n\n"
                self._blocked_since = None
        except TaskyardError as error:
            yield f"event: problem\ndata: {compact(problems.document_of(error))}\n\n"


def _event(chunk: StreamedChunk) -> str:
    name = "event: restarted\n" if chunk.restarted else ""
    return f"{name}id: {chunk.place}\ndata: {compact(write(chunk))}\n\n"
