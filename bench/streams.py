"""What streams cost: processor time of a server while many attempts stream tokens, and a drain beside them.

    python -m bench.streams [--url sqlite:///…] [--streams 200] [--tokens 50] [--seconds 5] [--workers 4]
                            [--readers 0] [--offered RATE|half] [--rounds 10]

One `taskyard serve`, and worker processes over HTTP whose handlers say so many tokens a second and nothing in turns,
each for some seconds: the speed of a shared machine moves within a minute. The figure is processor time of the server,
from /proc, while all speak; that of the silent is taken off. With `--offered`, another worker drains so many tasks a
second beside them: how many it did, and how soon they began. `half` offers half of what this machine drains at most
while tasks are put in, measured right before: how much a shared machine does changes within hours. How much half of
the silent windows differ from the other half is what chance does to the ratio. The same is measured beside streams of
another server, with a file of its own, which is what sharing the cores and the disk costs. Those who speak run only
where a core is idle: where agents are on other machines, the making of tokens takes no time from the server and from
who drains.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

import taskyard
from bench.ratios import Block, blocks, percentile, pooled, ratio, run_when_idle, typical
from taskyard.app import Yard
from taskyard.client.streams import MOST_FOLLOWED

TOKEN = "token "
SETTLING = 1.0  # seconds of each window in which what was said or kept back before still counts
HALF = "half"  # of the maximum, for --offered
WAITING = 300  # tasks that always wait while the maximum is measured
WARMING_UP, MEASURING = 3.0, 8.0  # seconds
DRAINED = 3.0  # seconds in which what was put in last is drained
_TICKS = os.sysconf("SC_CLK_TCK")


def processor_time(pid: int) -> float:
    """Seconds of user and system time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def serving(url: str, port: int) -> Generator[int]:
    words = [sys.executable, "-m", "taskyard", "--url", url, "serve", "--port", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


class Window(NamedTuple):
    """Some seconds in which attempts either speak or are silent."""

    share: float  # of a core, that the server used
    waits: list[float]  # ms until each task began that was drained in it; empty: none was offered


def speaks(at: float, turn: float) -> bool:
    """Whether attempts speak at this time, in seconds: all processes agree by their clock."""
    return int(at / turn) % 2 == 1


async def speak(url: str, streams: int, rate: float, seconds: float, turn: float) -> None:
    """A worker process: so many attempts at once, each with so many tokens a second when it is time to speak."""
    run_when_idle()
    agent = taskyard.Agent("speaker", max_concurrent_tasks=streams)

    @agent.handles("speak")
    async def handle(task: taskyard.Context) -> None:
        until = time.time() + seconds
        while (now := time.time()) < until:
            if not speaks(now, turn):
                await asyncio.sleep(turn - now % turn)
                continue
            began, said = now, 0
            while speaks(now := time.time(), turn) and now < until:
                # What is due by the clock: a worker that is late makes up for it, so the rate is the one asked for.
                for _ in range(int((now - began) * rate) - said):
                    await task.stream(TOKEN)
                    said += 1
                await asyncio.sleep(1 / rate)

    async with taskyard.connect(url) as yard:
        await yard.drain(agent)


async def echo(url: str, seconds: float) -> None:
    """A worker process that drains, and prints when each task was put in and how many milliseconds it had waited."""
    agent, waits = taskyard.Agent("echo", max_concurrent_tasks=20), list[tuple[float, float]]()

    async with taskyard.connect(url) as yard:

        @agent.handles("echo")
        async def handle(task: taskyard.Context) -> None:
            created = task.task.created_at
            waits.append((created / 1e6, (yard.now() - created) / 1_000))

        working = asyncio.create_task(yard.work(agent))
        await asyncio.sleep(seconds)
        working.cancel()
        await asyncio.wait([working])
    print(json.dumps(waits), flush=True)


async def offer(yard: Yard, rate: float, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    began, given = loop.time(), 0
    while loop.time() - began < seconds:
        due = int((loop.time() - began) * rate) - given
        if due > 0:
            await yard.enqueue_many([{"type": "echo"}] * due)
            given += due
        await asyncio.sleep(0.02)


async def maximum(url: str) -> float:
    """Tasks a second that a worker drains while others are put in, and some always wait."""
    begins = time.time() + WARMING_UP
    ends = begins + MEASURING
    draining = _draining(url, ends + DRAINED - time.time())
    async with taskyard.connect(url) as yard:
        while time.time() < ends:
            missing = WAITING - (await yard.tasks.count()).counts["ready"]
            if missing > 0:
                await yard.enqueue_many([{"type": "echo"}] * missing)
            await asyncio.sleep(0.05)
    printed, _ = await asyncio.to_thread(draining.communicate)
    begun = [at + wait / 1_000 for at, wait in json.loads(printed)]
    return sum(begins <= at < ends for at in begun) / MEASURING


async def follow(yard: Yard, task_id: str) -> int:
    return sum([len(chunk.text) async for chunk in yard.streams.follow(task_id)])


async def measured(url: str, pid: int, asked: argparse.Namespace, spoken: str) -> dict[bool, list[Window]]:
    """What this server does while attempts, its own or another's, are silent (False) and while they speak, in turns."""
    async with taskyard.connect(url) as yard, taskyard.connect(spoken) as of_speakers, AsyncExitStack() as connected:
        tasks = [await of_speakers.enqueue("speak") for _ in range(asked.streams)]
        each, seconds = asked.streams // asked.workers, 2 * asked.rounds * asked.seconds
        given = (spoken, str(each), str(asked.tokens), str(seconds + 2 * asked.seconds + 10), str(asked.seconds))
        words = [sys.executable, "-m", "bench.streams", "--speak", *given]
        workers = [subprocess.Popen(words) for _ in range(asked.workers)]  # noqa: ASYNC220
        followed = tasks[: asked.readers]
        # Each connection with as many streams as one client follows by answers that stay open.
        lines = [await connected.enter_async_context(taskyard.connect(spoken)) for _ in followed[::MOST_FOLLOWED]]
        readers = [
            asyncio.create_task(follow(lines[place // MOST_FOLLOWED], task.id)) for place, task in enumerate(followed)
        ]
        try:
            while (await of_speakers.tasks.count()).counts["running"] < each * asked.workers:  # noqa: ASYNC110 - they are others
                await asyncio.sleep(0.2)
            windows = await beside(url, yard, pid, asked)
        finally:
            for worker in workers:
                await asyncio.to_thread(worker.wait)
        for reader in readers:
            assert await reader > 0
        chunks = [chunk async for chunk in of_speakers.streams.follow(tasks[0].id)]
        said = sum(len(chunk.text) for chunk in chunks) / len(TOKEN) / (seconds / 2 + asked.seconds + 5)
        print(f"  one stream: {len(chunks)} chunks, about {said:.0f} tokens a second while it spoke")
        return windows


async def beside(url: str, yard: Yard, pid: int, asked: argparse.Namespace) -> dict[bool, list[Window]]:
    """Windows in turns, the first of them silent."""
    turn, number = asked.seconds, 2 * asked.rounds
    first = (int(time.time() / (2 * turn)) + 1) * 2 * turn  # the start of the next silent window that is whole
    draining = _draining(url, first + number * turn + DRAINED - time.time()) if asked.offered else None
    offering = asyncio.create_task(offer(yard, asked.offered, first + number * turn + 1 - time.time()))
    used = [await _processor_time_at(first + place * turn, pid) for place in range(number + 1)]
    await offering
    waits: list[tuple[float, float]] = []
    if draining is not None:
        printed, _ = await asyncio.to_thread(draining.communicate)
        waits = json.loads(printed)
    windows: dict[bool, list[Window]] = {False: [], True: []}
    for place, (before, after) in enumerate(pairwise(used)):
        begins, ends = first + place * turn + SETTLING, first + (place + 1) * turn
        there = [wait for at, wait in waits if begins <= at < ends]
        windows[speaks(begins, turn)].append(Window((after - before) / turn, there))
    return windows


def _draining(url: str, seconds: float) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "bench.streams", "--echo", url, str(seconds)]
    return subprocess.Popen(words, stdout=subprocess.PIPE)


async def _processor_time_at(moment: float, pid: int) -> float:
    await asyncio.sleep(max(0.0, moment - time.time()))
    return processor_time(pid)


async def main(asked: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = asked.url or f"sqlite:///{folder}/yard.db"
        other = f"sqlite:///{folder}/elsewhere.db"
        with serving(store, asked.port) as pid, serving(other, asked.port + 1):
            url, elsewhere = (f"http://127.0.0.1:{asked.port + more}" for more in (0, 1))
            await ready(url)
            await ready(elsewhere)
            if asked.offered == HALF:
                found = await maximum(url)
                print(f"at most {found:.0f} tasks a second are drained while others are put in: half of it is offered")
                asked.offered = found / 2
            here = await measured(url, pid, asked, url)
            there = await measured(url, pid, asked, elsewhere) if asked.offered else None
    print(f"{asked.streams} attempts, {asked.workers} workers, {asked.readers} readers, {asked.tokens} tokens a second")
    with_, without = (median(each.share for each in here[is_loud]) for is_loud in (True, False))
    print(f"  server, of a core: {with_:.3f}; silent attempts: {without:.3f}; streams: {with_ - without:.3f}")
    if there is not None:
        show(asked, "streams", here)
        show(asked, "streams of another server", there)


def show(asked: argparse.Namespace, name: str, windows: dict[bool, list[Window]]) -> None:
    """The drain beside silent attempts and beside those that speak, and what chance does to such a ratio."""
    silent, loud = windows[False], windows[True]
    show_drain("silent attempts", silent, asked.seconds - SETTLING)
    show_drain(name, loud, asked.seconds - SETTLING)
    quiet, beside = second_by_second(silent, asked.seconds), second_by_second(loud, asked.seconds)
    for figure_name, figure in (("p99 of all", pooled), ("p99 of a usual second", typical)):
        print(f"  {figure_name}, beside {name}: {ratio(beside, quiet, figure)}")
        even, odd = (second_by_second(silent[place::2], asked.seconds) for place in (0, 1))
        print(f"  {figure_name}, half of the silent windows beside the other half: {ratio(odd, even, figure)}")


def show_drain(name: str, windows: list[Window], seconds: float) -> None:
    waits = [wait for each in windows for wait in each.waits]
    half, late = (percentile(waits, share) for share in (0.5, 0.99))
    each_p99 = ", ".join(f"{percentile(each.waits, 0.99):.1f}" for each in windows)
    rate = len(waits) / len(windows) / seconds
    print(f"  beside {name}: {rate:.0f} a second, begun after {half:.1f} ms, p99 {late:.1f} ms ({each_p99})")


def second_by_second(windows: list[Window], seconds: float) -> list[Block]:
    return [block for each in windows for block in blocks(each.waits, seconds - SETTLING)]


async def ready(url: str, token: str | None = None) -> None:
    async with asyncio.timeout(120):
        while True:
            try:
                async with taskyard.connect(url, token=token) as yard:
                    await yard.mark()
                    return
            except taskyard.TaskyardError:
                await asyncio.sleep(0.2)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--speak"]:
        asyncio.run(speak(sys.argv[2], int(sys.argv[3]), *map(float, sys.argv[4:7])))
        sys.exit()
    if sys.argv[1:2] == ["--echo"]:
        asyncio.run(echo(sys.argv[2], float(sys.argv[3])))
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--url")
    parser.add_argument("--port", type=int, default=18_217)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--tokens", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=5, help="length of a window")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--readers", type=int, default=0)
    parser.add_argument("--offered", type=lambda text: text if text == HALF else float(text), default=0.0)
    parser.add_argument("--rounds", type=int, default=10, help="windows in which attempts speak")
    given = parser.parse_args()
    if given.rounds < 2:
        parser.error("--rounds must be at least 2: half of the silent windows are compared with the other half")
    asyncio.run(main(given))
