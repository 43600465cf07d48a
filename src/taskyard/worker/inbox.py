"""One conversation's inbox, for who consumes it or fills it, with callbacks for what happens to it here.

A callback that raises is logged and disturbs nothing: what it was called for is stored already.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

from taskyard.core.json_value import Json
from taskyard.features.inbox.items import Item, ItemSource
from taskyard.features.inbox.rules import Blocked, Kind
from taskyard.features.inbox.service import HOLD_SEC
from taskyard.features.inbox.views import ItemBatch
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.worker")
LOOK_AGAIN_SEC = 5.0  # what came back because nobody consumed it is announced by nothing but time
Callback = Callable[..., Any]  # plain or async


class Inbox:
    """`inbox = taskyard.Inbox(yard, "planner", "c1")`. The same on every store, and beyond a server."""

    def __init__(
        self,
        yard: Yard,
        agent: str,
        conversation: str = "default",
        *,
        hold_sec: float = HOLD_SEC,
        on_enqueued: Callback | None = None,
        on_dequeued: Callback | None = None,
        on_blocked: Callback | None = None,
        on_dropped: Callback | None = None,
        on_cleared: Callback | None = None,
    ) -> None:
        self.agent = agent
        self.conversation = conversation
        self.yard = yard
        self._hold_sec = hold_sec
        self._on_enqueued = on_enqueued
        self._on_dequeued = on_dequeued
        self._on_blocked = on_blocked
        self._on_dropped = on_dropped
        self._on_cleared = on_cleared

    async def enqueue(
        self,
        content: Json,
        *,
        kind: str = Kind.MESSAGE,
        agent: str | None = None,
        conversation: str | None = None,
        source: str = ItemSource.USER,
        client_message_id: str | None = None,
    ) -> Item | None:
        """Put something in. None: the inbox is full, nothing was stored, and `on_dropped` hears of it."""
        put = await self.yard.inbox.put(
            self.agent,
            self.conversation,
            content,
            kind=kind,
            scope_agent=agent,
            scope_conversation=conversation,
            source=source,
            client_message_id=client_message_id,
        )
        if put.item is None:
            await self._call(self._on_dropped, None, "hard_limit", put.queue_len)
            return None
        if put.dropped is not None:
            await self._call(self._on_dropped, put.dropped, "soft_limit", put.queue_len)
        await self._call(self._on_enqueued, put.item, put.queue_len)
        return put.item

    async def try_dequeue(self, blocked_reason: str | None = None) -> ItemBatch | None:
        """The next batch; None where there is none, or where something blocks who would take it."""
        taken = await self.yard.inbox.take(self.agent, self.conversation, blocked_reason, hold_sec=self._hold_sec)
        if taken.blocked is not None:
            await self._call(self._on_blocked, taken.blocked)
        if taken.batch is not None:
            await self._call(self._on_dequeued, taken.batch)
        return taken.batch

    async def consume(self, batch: ItemBatch) -> None:
        """The batch was dealt with. Without this it comes back when `hold_sec` are over."""
        await self.yard.inbox.consume(self.agent, self.conversation, batch.batch_id)

    async def clear(self, reason: str = "cancelled") -> int:
        """Leave nothing in it."""
        count = await self.yard.inbox.clear(self.agent, self.conversation, reason)
        await self._call(self._on_cleared, reason, count)
        return count

    async def peek(self) -> tuple[Item, ...]:
        """What waits, in its order."""
        return (await self.yard.inbox.peek(self.agent, self.conversation)).items

    async def batches(self, blocked: Callable[[], Blocked | str | None] = lambda: None) -> AsyncGenerator[ItemBatch]:
        """Batches as they come, for as long as they are asked for. Each is consumed when the next is asked for."""
        while True:
            mark = await self.yard.mark()
            batch = await self.try_dequeue(blocked())
            if batch is None:
                await self.yard.changed(mark, LOOK_AGAIN_SEC)
                continue
            yield batch
            await self.consume(batch)

    async def _call(self, callback: Callback | None, *facts: Any) -> None:
        if callback is None:
            return
        try:
            answer = callback(*facts)
            if inspect.isawaitable(answer):
                await answer
        except Exception:
            logger.exception("a callback of the inbox of %s raised", self.agent)
