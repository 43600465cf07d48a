"""Looks for a broken promise, in a process of its own: python -m tests.mutants.hunting STORE QUARRY

A quarry is a range of seeds, as in 0-40, or the name of a story. The process ends with 3 when something was found,
which it prints, and with 0 when all is well.
"""

import asyncio
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.model.playing import Failed, beside_the_model, play, play_seed
from tests.model.running import History
from tests.mutants.stories import STORIES
from tests.storage import in_memory

STEPS = 60
CAUGHT = 3  # not what Python itself ends with when a program is broken


async def hunt(store: str, quarry: str, folder: Path) -> str | None:
    """What promise was broken first, and where; None where all are kept."""
    sides = beside_the_model(store, folder)
    if quarry in STORIES:
        return await _found([play(sides, steps) for steps in STORIES[quarry]()])
    seeds = range(*(int(each) for each in quarry.split("-")))
    return await _found([play_seed(sides, seed, STEPS, drain=seed % 4 == 0) for seed in seeds])


async def _found(playing: Sequence[Coroutine[None, None, History]]) -> str | None:
    found: str | None = None
    for number, history in enumerate(playing):
        if found is not None:
            history.close()
            continue
        try:
            await history
        except Failed as failed:
            found = f"number {number}: {type(failed.cause).__name__}: {failed.cause}"
    return found


def main(store: str, quarry: str) -> int:
    with TemporaryDirectory(dir=in_memory()) as folder:
        found = asyncio.run(hunt(store, quarry, Path(folder)))
    sys.stdout.write(f"{found or 'nothing'} was found\n")
    return 0 if found is None else CAUGHT


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
