"""Two queues in one place while one of them replaces the other: both are written, one answers, differences are counted.

There are four phases: write both and read the old one; read both and compare; let the new one answer, with the old one
kept in step as a fallback; use the new one alone. Where a cutover of the yard is named, its stored phase counts, and
what is seen here is added to its figures: then people move the phase on with `taskyard cutover`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, NamedTuple

from taskyard.core.errors import TaskyardError
from taskyard.core.json_value import is_mapping
from taskyard.features.cutovers.rules import LONGEST, MOST_KEPT, CallCounts, Phase
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.worker")
REPORT_EVERY = 1.0  # seconds: for so long a process may not know of a new phase
Ask = Callable[[], Awaitable[Any]]  # one side's part of a call


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


class TwoQueues:
    """The phase that calls are made in, and the figures of what both sides said to them."""

    def __init__(
        self,
        yard: Yard,
        *,
        phase: Phase = Phase.DUAL_WRITE,
        cutover: str | None = None,
        on_difference: Callable[[Difference], object] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.phase = phase
        self.differences: list[Difference] = []
        self._yard = yard
        self._cutover = cutover
        self._clock = clock
        self._reported_at: float | None = None
        self._figures = CallCounts()
        self._unreported: list[Difference] = []
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
            found = await self._yard.cutovers.report(self._cutover, during.value, **figures._asdict(), latest=shown)
        except TaskyardError as error:
            logger.warning("the cutover %s did not get the figures: %s", self._cutover, error)
            self._figures, self._unreported = figures.plus(self._figures), latest + self._unreported
            return
        self.phase = found.phase

    async def _both(self, old: Ask, new: Ask, *, phase: Phase | None = None) -> BothAnswers:
        """What both say. The side that answers goes first, and may raise; the other may not disturb it."""
        if self._reported_at is None or self._clock() - self._reported_at >= REPORT_EVERY:
            await self.report()
        phase = phase or self.phase  # of this call, whatever others hear meanwhile
        self._figures = self._figures.plus(CallCounts(calls=1))
        if phase is Phase.FINISHED:
            return BothAnswers(phase, None, await new())
        if phase is Phase.CUTOVER:
            answer = await new()
            return BothAnswers(phase, await tried(old), answer)
        answer = await old()
        return BothAnswers(phase, answer, await tried(new))

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


def asking(side: Any, call: str, *arguments: Any, **named: Any) -> Ask:
    """A call of one side, which may be plain or async."""

    async def ask() -> Any:
        answer = getattr(side, call)(*arguments, **named)
        return await answer if inspect.isawaitable(answer) else answer

    return ask


async def tried(ask: Ask) -> Any:
    """What a side answers, or the error that it raises."""
    try:
        return await ask()
    except Exception as error:
        return error


def is_accepted(answer: Any) -> object:
    return repr(answer) if isinstance(answer, Exception) else answer is not None


def fact(thing: Any, name: str) -> Any:
    return thing.get(name) if is_mapping(thing) else getattr(thing, name, None)


def _log(difference: Difference) -> None:
    logger.warning("%s: the old queue says %r, the yard %r", *difference)


def _short(answer: object) -> str:
    return (answer if isinstance(answer, str) else repr(answer))[:LONGEST]
