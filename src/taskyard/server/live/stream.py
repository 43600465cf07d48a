"""Streams over HTTP in the form that browsers read by themselves, server-sent events; and that of events."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterable

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from taskyard.api.messages import Closing
from taskyard.core.errors import TaskyardError
from taskyard.core.json_value import compact
from taskyard.server import problems
from taskyard.server.live.connections import Live
from taskyard.server.live.event_buffer import BufferedEvent, Interest
from taskyard.server.live.feed import LiveFeed, Subscription

MEDIA_TYPE = "text/event-stream"
QUIET = 15.0  # seconds of silence after which a sign of life is sent
LEAVING = 5.0  # seconds that a reader gets to take what is on its way when its stream ends
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # proxies pass each event on at once


class LiveStream(StreamingResponse, ABC):
    """An answer that goes on: it ends when the reader goes, or is sent away."""

    def __init__(self, live: Live, content: AsyncIterable[str], *, token: str, counted_as: str | None) -> None:
        super().__init__(content, media_type=MEDIA_TYPE, headers=HEADERS)
        self.token: str | None = token
        self.counted_as = counted_as
        self._live = live
        self._patience = asyncio.timeout(None)

    @property
    @abstractmethod
    def is_stuck(self) -> bool: ...

    @abstractmethod
    def end(self, why: Closing) -> None: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._live.admit(self)
        try:
            async with self._patience:
                await super().__call__(scope, receive, send)
        except TimeoutError:
            if not self._patience.expired():
                raise
        finally:
            self._live.dismiss(self)

    def _end_within(self, seconds: float) -> None:
        self._patience.reschedule(asyncio.get_running_loop().time() + seconds)


class EventStream(LiveStream):
    """The answer to a call that accepts events."""

    def __init__(
        self, live: Live, feed: LiveFeed, interest: Interest, *, after: int | None, token: str, counted_as: str | None
    ) -> None:
        super().__init__(live, self._chunks(), token=token, counted_as=counted_as)
        self.subscription = Subscription(feed, interest, after, self._on_end)

    @property
    def is_stuck(self) -> bool:
        return self.subscription.is_stuck

    def end(self, why: Closing) -> None:
        self.subscription.end(why)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.subscription.leave()

    async def _chunks(self) -> AsyncGenerator[str]:
        try:
            while (batch := await self.subscription.next(QUIET)) is not None:
                if batch:
                    with self.subscription.passing_on(batch):
                        yield "".join(self._chunk(entry) for entry in batch)
                else:
                    # A number without data is no event, but where a browser that comes back will resume.
                    yield f": quiet\nid: {self.subscription.resume_after}\n\n"
        except TaskyardError as error:
            yield f"event: problem\ndata: {compact(problems.document_of(error))}\n\n"

    def _chunk(self, entry: BufferedEvent) -> str:
        # The number comes with the last part: whoever is cut off before has not got the event.
        *parts, last = self.subscription.interest.texts(entry)
        return "".join([*(f"data: {part}\n\n" for part in parts), f"id: {entry.seq}\ndata: {last}\n\n"])

    def _on_end(self, _: Subscription, __: Closing) -> None:
        # The stream ends by itself, unless its reader takes nothing.
        self._end_within(LEAVING)
