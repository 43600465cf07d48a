"""Moving from another queue to an inbox without a leap: both are written, one answers, and differences are reported.

There are three phases: write both and read the old one; read both and compare; let the inbox answer, with the old one
kept in step as a fallback. After the third, the inbox is used alone.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from taskyard.core.json_value import is_mapping
from taskyard.worker.inbox import Inbox

logger = logging.getLogger("taskyard.worker")


class Phase(StrEnum):
    DUAL_WRITE = "dual_write"  # the old queue answers; the inbox is only written, and kept in step
    SHADOW = "shadow"  # the old queue answers; what the inbox would have answered is compared
    CUTOVER = "cutover"  # the inbox answers; the old queue is kept in step, and compared


class Difference(NamedTuple):
    """What the two did not agree on. An error of the one that does not answer is what it said."""

    call: str
    old: object
    new: object


class ShadowedInbox:
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
        on_difference: Callable[[Difference], object] | None = None,
    ) -> None:
        self.phase = phase
        self.differences: list[Difference] = []
        self._old = old
        self._new = new
        self._on_difference = on_difference or _log

    def switch_to(self, phase: Phase) -> None:
        """Go on to another phase, or back: both sides are in step in all of them."""
        self.phase = phase

    async def enqueue(self, content: Any, **facts: Any) -> Any:
        """Put something into both."""
        old, new = await self._both("enqueue", content, **facts)
        self._compare("enqueue", _is_accepted(old), _is_accepted(new))
        return self._answer(old, new)

    async def try_dequeue(self, blocked_reason: str | None = None) -> Any:
        """The next batch of the side that answers. The other's is let go of at once."""
        old, new = await self._both("try_dequeue", blocked_reason)
        if self.phase is not Phase.DUAL_WRITE:
            self._compare("try_dequeue", _contents_of(old), _contents_of(new))
        spare, side = (old, self._old) if self._new_answers else (new, self._new)
        if spare is not None and not isinstance(spare, Exception) and hasattr(side, "consume"):
            await _tried(side, "consume", spare)
        return self._answer(old, new)

    async def consume(self, batch: Any) -> None:
        """A batch of the side that answers was dealt with."""
        side = self._new if self._new_answers else self._old
        if hasattr(side, "consume"):
            await _called(side, "consume", batch)

    async def clear(self, reason: str = "cancelled") -> Any:
        """Leave nothing in either."""
        return self._answer(*await self._both("clear", reason))

    async def peek(self) -> Any:
        """What waits on the side that answers; what waits on the other is compared."""
        old, new = await self._both("peek")
        self._compare("peek", _contents(old), _contents(new))
        return self._answer(old, new)

    @property
    def _new_answers(self) -> bool:
        return self.phase is Phase.CUTOVER

    async def _both(self, call: str, *arguments: Any, **named: Any) -> tuple[Any, Any]:
        """What both say. The side that answers goes first, and may raise; the other may not disturb it."""
        first, second = (self._new, self._old) if self._new_answers else (self._old, self._new)
        answer = await _called(first, call, *arguments, **named)
        other = await _tried(second, call, *arguments, **named)
        return (other, answer) if self._new_answers else (answer, other)

    def _answer(self, old: Any, new: Any) -> Any:
        return new if self._new_answers else old

    def _compare(self, call: str, old: object, new: object) -> None:
        if old == new:
            return
        difference = Difference(call, old, new)
        self.differences.append(difference)
        try:
            self._on_difference(difference)
        except Exception:
            logger.exception("what was to hear of a difference raised")


async def _called(side: Any, call: str, *arguments: Any, **named: Any) -> Any:
    answer = getattr(side, call)(*arguments, **named)
    return await answer if inspect.isawaitable(answer) else answer


async def _tried(side: Any, call: str, *arguments: Any, **named: Any) -> Any:
    try:
        return await _called(side, call, *arguments, **named)
    except Exception as error:
        return error


def _is_accepted(answer: Any) -> object:
    return repr(answer) if isinstance(answer, Exception) else answer is not None


def _contents_of(batch: Any) -> object:
    if batch is None or isinstance(batch, Exception):
        return None if batch is None else repr(batch)
    return _contents(_fact(batch, "items"))


def _contents(items: Sequence[Any] | Exception) -> object:
    return repr(items) if isinstance(items, Exception) else [_content(item) for item in items]


def _content(item: Any) -> tuple[object, object]:
    """What an item is and says; its id is each side's own."""
    content = _fact(item, "content")
    return str(_fact(item, "kind")), _fact(item, "text") if content is None else content


def _fact(thing: Any, name: str) -> Any:
    return thing.get(name) if is_mapping(thing) else getattr(thing, name, None)


def _log(difference: Difference) -> None:
    logger.warning("%s: the old queue says %r, the inbox %r", *difference)
