"""Moving from another queue of messages to an inbox without a leap: both are written, one answers, all is compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from taskyard.features.cutovers.rules import Phase
from taskyard.features.inbox.views import ItemBatch
from taskyard.integrations.two_queues import BothAnswers, Difference, TwoQueues, asking, fact, is_accepted, tried
from taskyard.worker.inbox import Inbox


class ShadowedInbox(TwoQueues):
    """An inbox beside the queue that it is to replace, with the calls of both.

    The old queue is any object with `enqueue`, `try_dequeue`, `clear` and `peek`, plain or async; `consume` where it
    has one. Whatever the side that does not answer does or raises, callers do not notice.
    """

    def __init__(
        self,
        old: Any,
        new: Inbox,
        *,
        phase: Phase = Phase.DUAL_WRITE,
        cutover: str | None = None,
        on_difference: Callable[[Difference], object] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__(new.yard, phase=phase, cutover=cutover, on_difference=on_difference, clock=clock)
        self._old = old
        self._new = new

    async def enqueue(self, content: Any, **facts: Any) -> Any:
        """Put something into both."""
        both = await self._asked("enqueue", content, **facts)
        self._compare(both, "enqueue", is_accepted)
        return both.answer

    async def try_dequeue(self, blocked_reason: str | None = None) -> Any:
        """The next batch of the side that answers. The other's is let go of at once."""
        both = await self._asked("try_dequeue", blocked_reason)
        if both.phase is not Phase.DUAL_WRITE:
            self._compare(both, "try_dequeue", _contents_of)
        spare, side = (both.old, self._old) if both.new_answers else (both.new, self._new)
        if spare is not None and not isinstance(spare, Exception) and hasattr(side, "consume"):
            await tried(asking(side, "consume", spare))
        return both.answer

    async def consume(self, batch: Any) -> None:
        """A batch was dealt with. It is consumed where it is from: the phase may be another by now."""
        side = self._new if isinstance(batch, ItemBatch) else self._old
        if hasattr(side, "consume"):
            await asking(side, "consume", batch)()

    async def clear(self, reason: str = "cancelled") -> Any:
        """Leave nothing in either."""
        return (await self._asked("clear", reason)).answer

    async def peek(self) -> Any:
        """What waits on the side that answers; what waits on the other is compared."""
        both = await self._asked("peek")
        self._compare(both, "peek", _contents)
        return both.answer

    async def _asked(self, call: str, *arguments: Any, **named: Any) -> BothAnswers:
        sides = (asking(side, call, *arguments, **named) for side in (self._old, self._new))
        return await self._both(*sides)


def _contents_of(batch: Any) -> object:
    if batch is None or isinstance(batch, Exception):
        return None if batch is None else repr(batch)
    return _contents(fact(batch, "items"))


def _contents(items: Sequence[Any] | Exception) -> object:
    return repr(items) if isinstance(items, Exception) else [_content(item) for item in items]


def _content(item: Any) -> tuple[object, object]:
    """What an item is and says; its id is each side's own."""
    content = fact(item, "content")
    return str(fact(item, "kind")), fact(item, "text") if content is None else content
