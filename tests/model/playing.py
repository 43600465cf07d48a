"""Plays histories: one that is drawn from a seed, or one that is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import mkdtemp

from taskyard.ledger.clock import ManualClock
from tests.model.choosing import Chooser, opening
from tests.model.running import History, OpenSides, Run
from tests.model.sides import Place
from tests.model.steps import Step

MODEL = "memory"  # the store that says what is right, where the promises leave it open
LOOK_EVERY = 20


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

    def sides(clock: ManualClock) -> list[Place]:
        return [Place(name, Path(mkdtemp(dir=folder)), clock) for name in stores]

    return sides


def beside_the_model(store: str, folder: Path) -> OpenSides:
    """The store and the model; where the store is the model, its promises alone are looked at."""
    return stage([MODEL] if store == MODEL else [MODEL, store], folder)


async def play_seed(open_sides: OpenSides, seed: int, steps: int, *, drain: bool = True) -> History:
    """A history drawn from the seed: the same on every store, and every time."""
    run = Run(open_sides)
    return await _played(run, opening(), Chooser(seed, run.seen).next, steps, drain=drain)


async def play(open_sides: OpenSides, steps: Iterable[Step], *, drain: bool = True) -> History:
    """A history that is given."""
    given = list(steps)
    return await _played(Run(open_sides), [], iter(given).__next__, len(given), drain=drain)


async def _played(run: Run, first: Iterable[Step], draw: Callable[[], Step], steps: int, *, drain: bool) -> History:
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
        raise Failed(error, run.history.steps[:drained_from], draining=drained_from is not None) from error
    finally:
        await run.close()
