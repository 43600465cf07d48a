"""Where the time of this process goes: µs per task of enqueueing, and of draining with a worker, by layer.

`python -m bench.profiling URL`. Time is summed by the part of Taskyard that a function belongs to, or by library.
What a profiler costs is in it, so shares and numbers of calls say more than sums.
"""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import sys
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from pathlib import PurePath
from time import process_time, thread_time
from typing import Any, NamedTuple

import taskyard
from bench.peers.adapters.taskyard_itself import SLOTS, Peer
from bench.peers.contract import AT_ONCE

PACKAGE = PurePath(taskyard.__file__).parent
DEEPEST = 25  # functions that are named


class Spent(NamedTuple):
    """What one function cost, in seconds."""

    file: str
    line: int
    name: str
    calls: int
    own: float
    whole: float  # with what it calls

    @property
    def is_ours(self) -> bool:
        return PurePath(self.file).is_relative_to(PACKAGE)


def arguments() -> Namespace:
    parser = ArgumentParser("bench.profiling", description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument("url", help="a yard that nobody else uses")
    parser.add_argument("--tasks", type=int, default=5_000)
    return parser.parse_args()


async def main(given: Namespace) -> None:
    peer = Peer(given.url)
    await peer.open()
    await _profiled(f"enqueue in bulk, {AT_ONCE} at once", lambda: _fill(peer, given.tasks), given.tasks)
    await _profiled(f"drain, {SLOTS} slots", lambda: _drain(peer, given.tasks), given.tasks)
    await _profiled("enqueue one at a time", lambda: _enqueue(peer, given.tasks // 10), given.tasks // 10)
    await peer.close()


async def _fill(peer: Peer, tasks: int) -> None:
    for start in range(0, tasks, AT_ONCE):
        await peer.put_many(range(start, min(start + AT_ONCE, tasks)))


async def _enqueue(peer: Peer, tasks: int) -> None:
    for number in range(tasks):
        await peer.put(number)


async def _drain(peer: Peer, tasks: int) -> None:
    left = tasks
    finished = asyncio.Event()

    def done(_: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            finished.set()

    working = asyncio.create_task(peer.work(done))
    await finished.wait()
    working.cancel()
    await asyncio.wait([working])


async def _profiled(what: str, act: Callable[[], Awaitable[None]], tasks: int) -> None:
    profile = cProfile.Profile(thread_time)
    here, everywhere = thread_time(), process_time()
    profile.enable()
    await act()
    profile.disable()
    here, everywhere = thread_time() - here, process_time() - everywhere
    print(f"\n## {what}, µs of processor per task under the profiler")
    _show("in all", {"this thread": here, "other threads": everywhere - here}, tasks)
    spent = _spent(profile)
    _show("own time, by part", _by_part(spent), tasks)
    _show("own time", {_named(each, tasks): each.own for each in spent[:DEEPEST]}, tasks)
    ours = sorted((each for each in spent if each.is_ours), key=lambda each: -each.whole)
    _show("with what they call", {_named(each, tasks): each.whole for each in ours[:DEEPEST]}, tasks)


def _spent(profile: cProfile.Profile) -> list[Spent]:
    """Most of their own time first."""
    stats: Any = pstats.Stats(profile)
    spent = [
        Spent(file, line, name, calls, own, whole)
        for (file, line, name), (_, calls, own, whole, _) in stats.stats.items()
    ]
    return sorted(spent, key=lambda each: -each.own)


def _show(title: str, seconds: dict[str, float], tasks: int) -> None:
    print(f"\n{title}:")
    for name, each in sorted(seconds.items(), key=lambda item: -item[1]):
        print(f"{1e6 * each / tasks:9.1f} µs  {name}")


def _by_part(spent: list[Spent]) -> dict[str, float]:
    parts: dict[str, float] = {}
    for each in spent:
        parts[_part(each.file)] = parts.get(_part(each.file), 0.0) + each.own
    return parts


def _named(spent: Spent, tasks: int) -> str:
    where = f"{PurePath(spent.file).name}:{spent.line} {spent.name}"
    return f"{spent.calls / tasks:7.3f} calls  {_part(spent.file)}  {where}"


def _part(file: str) -> str:
    path = PurePath(file)
    if path.is_relative_to(PACKAGE):
        return f"taskyard.{path.relative_to(PACKAGE).parts[0].removesuffix('.py')}"
    if "site-packages" in path.parts:
        return path.parts[path.parts.index("site-packages") + 1].removesuffix(".py")
    return "built in" if file == "~" else path.parent.name


if __name__ == "__main__":
    asyncio.run(main(arguments()))
    sys.exit(0)
