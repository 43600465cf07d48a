"""Makes a history that fails short enough to be understood: by leaving out more and more of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tests.model.playing import Failed, play
from tests.model.running import OpenSides
from tests.model.steps import Step

PATIENCE_SEC = 25.0


async def shortened(open_sides: OpenSides, failed: Failed, seed: int) -> Failed:
    """The shortest history that was found to fail for the same reason."""
    shortener = _Shortener(open_sides, failed)
    await shortener.leave_out_steps()
    await shortener.leave_out_wishes()
    best = shortener.best
    return Failed(best.cause, best.steps, draining=best.draining, seed=seed)


class _Shortener:
    def __init__(self, open_sides: OpenSides, failed: Failed) -> None:
        self.best = failed
        self._open_sides = open_sides
        self._reason = _reason(failed.cause)
        self._until = time.monotonic() + PATIENCE_SEC

    async def leave_out_steps(self) -> None:
        """Many at once as long as that helps, then fewer, at last one by one; from the end, where it failed."""
        size = len(self.best.steps) // 2
        while size:
            start = len(self.best.steps)
            helped = False
            while start > 0 and self._has_time():
                start = max(start - size, 0)
                helped |= await self._try([*self.best.steps[:start], *self.best.steps[start + size :]])
            size = min(size if helped else size // 2, len(self.best.steps) // 2)

    async def leave_out_wishes(self) -> None:
        for place in range(len(self.best.steps)):
            for plainer in _plainer(self.best.steps[place]) if place < len(self.best.steps) else ():
                if self._has_time():
                    await self._try([*self.best.steps[:place], plainer, *self.best.steps[place + 1 :]])

    async def _try(self, steps: Sequence[Step]) -> bool:
        """Whether it fails without all of that too. It may be shorter still: a step without its hold is not made."""
        try:
            await play(self._open_sides, steps, drain=self.best.draining)
        except Failed as failed:
            if _reason(failed.cause) == self._reason and len(failed.steps) <= len(steps):
                self.best = failed
                return True
        return False

    def _has_time(self) -> bool:
        return time.monotonic() < self._until


def _plainer(step: Step) -> Iterator[Step]:
    """Without its mishap, or without one thing that was wished for."""
    if step.mishap is not None:
        yield replace(step, mishap=None)
    for name in step.given:
        yield replace(step, given={other: value for other, value in step.given.items() if other != name})


def _reason(error: BaseException) -> str:
    return getattr(error, "promise", type(error).__name__)
