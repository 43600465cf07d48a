"""Moving from another queue to an inbox without a leap: both are written, one answers, and differences are reported.

There are four phases: write both and read the old one; read both and compare; let the inbox answer, with the old one
kept in step as a fallback; use the inbox alone. Where a cutover of the yard is named, its stored phase counts, and
what is seen here is added to its figures: then people move the phase on with `taskyard cutover`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, NamedTuple

from taskyard.core.errors import TaskyardError
from taskyard.core.json_value import is_mapping
from taskyard.features.cutovers.rules import LONGEST, MOST_KEPT, CallCounts, Phase
from taskyard.features.inbox.views import ItemBatch
from taskyard.worker.inbox import Inbox

logger = logging.getLogger("taskyard.worker")
REPORT_EVERY = 1.0  # seconds: for so long a process may not know of a new phase


class Difference(NamedTuple):
    """What the two did not agree on. An error of the one that does not answer is what it said."""

    call: str
    old: object
    new: object


class BothAnswers(NamedTuple):
    """What both sides said to one call, in the phase that the call was made in."""

    phase: Phase
    old: Any
    new: Any

    @property
    def new_answers(self) -> bool:
        return self.phase in (Phase.CUTOVER, Phase.FINISHED)

    @property
    def answer(self) -> Any:
        return self.new if self.new_answers else self.old


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
        cutover: str | None = None,
        on_difference: Callable[[Difference], object] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.phase = phase
        self.differences: list[Difference] = []
        self._cutover = cutover
        self._clock = clock
        self._reported_at: float | None = None
        self._figures = CallCounts()
        self._unreported: list[Difference] = []
        self._old = old
        self._new = new
        self._on_difference = on_difference or _log

    def switch_to(self, phase: Phase) -> None:
        """Go on to another phase, or back: both sides are in step in all of them."""
        self.phase = phase

    async def report(self) -> None:
        """Add to the figures of the cutover what was seen since the last report, and follow its phase.

        Calls do so by themselves, once in a second. One that fails is made up for by the next.
        """
        if self._cutover is None:
            return
        self._reported_at = self._clock()
        during, figures, latest = self.phase, self._figures, self._unreported[-MOST_KEPT:]
        shown = [{"call": each.call, "old": _short(each.old), "new": _short(each.new)} for each in latest]
        self._figures, self._unreported = CallCounts(), []
        try:
            found = await self._new.yard.cutovers.report(self._cutover, during.value, **figures._asdict(), latest=shown)
        except TaskyardError as error:
            logger.warning("the cutover %s did not get the figures: %s", self._cutover, error)
            self._figures, self._unreported = figures.plus(self._figures), latest + self._unreported
            return
        self.phase = found.phase

    async def enqueue(self, content: Any, **facts: Any) -> Any:
        """Put something into both."""
        both = await self._both("enqueue", content, **facts)
        self._compare(both, "enqueue", _is_accepted)
        return both.answer

    async def try_dequeue(self, blocked_reason: str | None = None) -> Any:
        """The next batch of the side that answers. The other's is let go of at once."""
        both = await self._both("try_dequeue", blocked_reason)
        if both.phase is not Phase.DUAL_WRITE:
            self._compare(both, "try_dequeue", _contents_of)
        spare, side = (both.old, self._old) if both.new_answers else (both.new, self._new)
        if spare is not None and not isinstance(spare, Exception) and hasattr(side, "consume"):
            await _tried(side, "consume", spare)
        return both.answer

    async def consume(self, batch: Any) -> None:
        """A batch was dealt with. It is consumed where it is from: the phase may be another by now."""
        side = self._new if isinstance(batch, ItemBatch) else self._old
        if hasattr(side, "consume"):
            await _called(side, "consume", batch)

    async def clear(self, reason: str = "cancelled") -> Any:
        """Leave nothing in either."""
        return (await self._both("clear", reason)).answer

    async def peek(self) -> Any:
        """What waits on the side that answers; what waits on the other is compared."""
        both = await self._both("peek")
        self._compare(both, "peek", _contents)
        return both.answer

    async def _both(self, call: str, *arguments: Any, **named: Any) -> BothAnswers:
        """What both say. The side that answers goes first, and may raise; the other may not disturb it."""
        if self._reported_at is None or self._clock() - self._reported_at >= REPORT_EVERY:
            await self.report()
        phase = self.phase  # of this call, whatever others hear meanwhile
        self._figures = self._figures.plus(CallCounts(calls=1))
        if phase is Phase.FINISHED:
            return BothAnswers(phase, None, await _called(self._new, call, *arguments, **named))
        if phase is Phase.CUTOVER:
            new = await _called(self._new, call, *arguments, **named)
            return BothAnswers(phase, await _tried(self._old, call, *arguments, **named), new)
        old = await _called(self._old, call, *arguments, **named)
        return BothAnswers(phase, old, await _tried(self._new, call, *arguments, **named))

    def _compare(self, both: BothAnswers, call: str, about: Callable[[Any], object]) -> None:
        if both.phase is Phase.FINISHED:
            return
        old, new = about(both.old), about(both.new)
        self._figures = self._figures.plus(CallCounts(compared=1, differences=int(old != new)))
        if old == new:
            return
        difference = Difference(call, old, new)
        self.differences.append(difference)
        self._unreported.append(difference)
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


def _short(answer: object) -> str:
    return (answer if isinstance(answer, str) else repr(answer))[:LONGEST]
