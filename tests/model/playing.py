"""Plays histories: one drawn from a seed, or one that is given; and makes a history that fails short."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from taskyard.service.clock import ManualClock
from tests.model.choosing import Chooser, opening
from tests.model.running import History, OpenSides, Run
from tests.model.steps import Step
from tests.storage import Opener, opener

MODEL = "memory"  # the store that says what is right, where the promises leave it open
LOOK_EVERY = 20
PATIENCE_SEC = 25.0  # spent on making a history shorter


class Failed(AssertionError):
    """A history broke a promise. It prints as what to paste into a test, and as the seed it came from."""

    def __init__(
        self, cause: BaseException, steps: Sequence[Step], *, draining: bool = False, seed: int | None = None
    ) -> None:
        said = "\n".join(f"    {step!r}," for step in steps)
        when = f"{len(steps)} steps, and while the yard was drained" if draining else f"{len(steps)} steps"
        origin = "" if seed is None else f"seed {seed}: "
        super().__init__(f"{origin}{type(cause).__name__}: {cause}\n{when}:\n[\n{said}\n]")
        self.cause = cause
        self.steps = list(steps)
        self.draining = draining  # the steps of that are not among these: they follow from them


def stage(stores: Sequence[str], folder: Path) -> OpenSides:
    """A place of its own for every run, with these stores side by side."""

    def sides(clock: ManualClock) -> list[Opener]:
        return [opener(name, Path(mkdtemp(dir=folder)), clock) for name in stores]

    return sides


def beside_the_model(store: str, folder: Path) -> OpenSides:
    return stage([MODEL] if store == MODEL else [MODEL, store], folder)


async def play_seed(open_sides: OpenSides, seed: int, steps: int, *, drain: bool = True) -> History:
    """A history drawn from the seed: the same on every store, and every time."""
    run = Run(open_sides)
    return await _played(run, opening(), Chooser(seed, run.seen).next, steps, drain=drain)


async def play(open_sides: OpenSides, steps: Iterable[Step], *, drain: bool = True) -> History:
    """A history that is given; what it says of its end too."""
    given = list(steps)
    left = iter(given)
    return await _played(Run(open_sides), [], lambda: next(left), len(given), drain=drain)


async def _played(run: Run, first: Sequence[Step], draw: Any, steps: int, *, drain: bool) -> History:
    drained_from: int | None = None
    await run.open()
    try:
        for step in first:
            await run.step(step)
        for number in range(1, steps + 1):
            await run.step(draw())
            if number % LOOK_EVERY == 0:
                await run.look()
        await run.look()
        if drain:
            drained_from = len(run.history.steps)
            await run.drain()
            await run.look()
        return run.history
    except Exception as error:
        steps_before = run.history.steps[:drained_from]
        raise Failed(error, steps_before, draining=drained_from is not None) from error
    finally:
        await run.close()


async def shortened(open_sides: OpenSides, failed: Failed, seed: int) -> Failed:
    """The shortest history found that fails for the same reason, by leaving out more and more of it."""
    reason, best = _reason(failed.cause), failed
    until = time.monotonic() + PATIENCE_SEC

    async def still_fails(steps: Sequence[Step]) -> Failed | None:
        try:
            await play(open_sides, steps, drain=failed.draining)
        except Failed as again:
            return again if _reason(again.cause) == reason else None
        return None

    size = max(len(best.steps) // 2, 1)
    while time.monotonic() < until:
        shorter = await _first_shorter(best, size, still_fails, until)
        if shorter is not None:
            best = shorter
        elif size == 1:
            break
        size = max(min(size if shorter else size // 2, len(best.steps) // 2), 1)
    best = await _simpler(best, still_fails, until)
    return Failed(best.cause, best.steps, draining=best.draining, seed=seed)


async def _first_shorter(best: Failed, size: int, still_fails: Any, until: float) -> Failed | None:
    for start in range(max(len(best.steps) - size, 0), -1, -size):
        shorter = await still_fails(best.steps[:start] + best.steps[start + size :])
        if shorter is not None and len(shorter.steps) < len(best.steps):
            return shorter
        if time.monotonic() > until:
            break
    return None


async def _simpler(best: Failed, still_fails: Any, until: float) -> Failed:
    """Without mishaps and wishes that it does not take."""
    for place in range(len(best.steps)):
        step = best.steps[place] if place < len(best.steps) else Step("sweep")
        plainer = [replace(step, mishap=None)] if step.mishap else []
        plainer += [replace(step, given={k: v for k, v in step.given.items() if k != name}) for name in step.given]
        for each in plainer:
            if time.monotonic() > until:
                return best
            simpler = await _tried([*best.steps[:place], each, *best.steps[place + 1 :]], still_fails)
            if simpler is not None and len(simpler.steps) == len(best.steps):
                best = simpler
                break
    return best


async def _tried(steps: Sequence[Step], still_fails: Any) -> Failed | None:
    try:
        return await still_fails(steps)
    except Exception:  # a call without what it needs is no history
        return None


def _reason(error: BaseException) -> str:
    return getattr(error, "promise", type(error).__name__)
