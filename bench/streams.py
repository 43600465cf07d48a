"""What streams cost: processor time of a server while many attempts stream tokens, and a drain beside them.

    python -m bench.streams [--url sqlite:///…] [--streams 200] [--tokens 50] [--seconds 15] [--workers 4]
                            [--readers 0] [--offered 0] [--rounds 1]

One `taskyard serve`, and worker processes over HTTP whose handlers say so many tokens a second, in turns with handlers
that say nothing. The figure is processor time of the server, from /proc, over the time in which all stream; that of the
silent is taken off. With `--offered`, another worker drains so many tasks a second beside them: how many it did, and
how soon they began. That is compared with silent attempts, which are measured twice in each round: how much the two
differ is what chance does to the ratio. Each round also has streams of another server beside it, with a file of its
own, which is what sharing the cores and the disk costs. Those who speak run only where a core is idle: where agents are
on other machines, the making of tokens takes no time from the server and from who drains.
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
from pathlib import Path
from statistics import median
from typing import NamedTuple

import taskyard
from bench.ratios import Block, blocks, percentile, pooled, ratio, run_when_idle, typical
from taskyard.app import Yard
from taskyard.client.streams import MOST_FOLLOWED

TOKEN = "token "
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


class Round(NamedTuple):
    share: float  # of a core, that the server used
    waits: list[float]  # ms until each task began that was drained beside it; empty: none was offered


async def speak(url: str, streams: int, rate: float, seconds: float) -> None:
    """A worker process: so many attempts at once, each with so many tokens a second; 0: silent."""
    run_when_idle()
    agent = taskyard.Agent("speaker", max_concurrent_tasks=streams)

    @agent.handles("speak")
    async def handle(task: taskyard.Context) -> None:
        began, said = time.monotonic(), 0
        while (passed := time.monotonic() - began) < seconds:
            # What is due by the clock: a worker that is late makes up for it, so that the rate is the one asked for.
            for _ in range(int(passed * rate) - said):
                await task.stream(TOKEN)
                said += 1
            await asyncio.sleep(1 / rate if rate else 0.5)

    async with taskyard.connect(url) as yard:
        await yard.drain(agent)


async def echo(url: str, seconds: float) -> None:
    """A worker process that drains, and prints how long each task had waited, in milliseconds."""
    agent, waits = taskyard.Agent("echo", max_concurrent_tasks=20), list[float]()

    async with taskyard.connect(url) as yard:

        @agent.handles("echo")
        async def handle(task: taskyard.Context) -> None:
            waits.append((yard.now() - task.task.created_at) / 1_000)

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


async def follow(yard: Yard, task_id: str) -> int:
    return sum([len(chunk.text) async for chunk in yard.streams.follow(task_id)])


async def one_round(url: str, pid: int, asked: argparse.Namespace, rate: float, elsewhere: str | None = None) -> Round:
    """Attempts that say so much, on this server or on another one; what is measured is this one."""
    spoken = elsewhere or url
    async with taskyard.connect(url) as yard, taskyard.connect(spoken) as of_speakers, AsyncExitStack() as connected:
        tasks = [await of_speakers.enqueue("speak") for _ in range(asked.streams)]
        each = asked.streams // asked.workers
        words = [sys.executable, "-m", "bench.streams", "--speak", spoken, str(each), str(rate), str(asked.seconds + 8)]
        workers = [subprocess.Popen(words) for _ in range(asked.workers)]  # noqa: ASYNC220
        followed = tasks[: asked.readers if rate else 0]
        # Each connection with as many streams as one client follows by answers that stay open.
        lines = [await connected.enter_async_context(taskyard.connect(spoken)) for _ in followed[::MOST_FOLLOWED]]
        readers = [
            asyncio.create_task(follow(lines[place // MOST_FOLLOWED], task.id)) for place, task in enumerate(followed)
        ]
        try:
            while (await of_speakers.tasks.count()).counts["running"] < each * asked.workers:  # noqa: ASYNC110 - they are others
                await asyncio.sleep(0.2)
            await asyncio.sleep(2)
            waits: list[float] = []
            began, before = time.monotonic(), processor_time(pid)
            if asked.offered:
                echoing = [sys.executable, "-m", "bench.streams", "--echo", url, str(asked.seconds + 3)]
                draining = subprocess.Popen(echoing, stdout=subprocess.PIPE)  # noqa: ASYNC220
                await asyncio.sleep(1.5)
                began, before = time.monotonic(), processor_time(pid)
                await offer(yard, asked.offered, asked.seconds)
                used = (processor_time(pid) - before) / (time.monotonic() - began)
                told, _ = await asyncio.to_thread(draining.communicate)
                waits = json.loads(told)
            else:
                await asyncio.sleep(asked.seconds)
                used = (processor_time(pid) - before) / (time.monotonic() - began)
        finally:
            for worker in workers:
                await asyncio.to_thread(worker.wait)
        for reader in readers:
            assert await reader > 0
        if rate:
            chunks = [chunk async for chunk in of_speakers.streams.follow(tasks[0].id)]
            said = sum(len(chunk.text) for chunk in chunks) / len(TOKEN) / (asked.seconds + 8)
            print(f"  one stream: {len(chunks)} chunks, {said:.0f} tokens a second")
        return Round(used, waits)


async def main(asked: argparse.Namespace) -> None:
    silent, again, speaking, sharing = list[Round](), list[Round](), list[Round](), list[Round]()
    with tempfile.TemporaryDirectory() as folder:
        store = asked.url or f"sqlite:///{folder}/yard.db"
        other = f"sqlite:///{folder}/elsewhere.db"
        with serving(store, asked.port) as pid, serving(other, asked.port + 1):
            url, elsewhere = (f"http://127.0.0.1:{asked.port + more}" for more in (0, 1))
            await ready(url)
            await ready(elsewhere)
            for _ in range(asked.rounds):
                silent.append(await one_round(url, pid, asked, 0))
                speaking.append(await one_round(url, pid, asked, asked.tokens))
                if asked.offered:
                    again.append(await one_round(url, pid, asked, 0))
                    sharing.append(await one_round(url, pid, asked, asked.tokens, elsewhere))
    print(f"{asked.streams} attempts, {asked.workers} workers, {asked.readers} readers, {asked.tokens} tokens a second")
    with_, without = (median(each.share for each in rounds) for rounds in (speaking, silent + again))
    print(f"  server, of a core: {with_:.3f}; silent attempts: {without:.3f}; streams: {with_ - without:.3f}")
    if asked.offered:
        measured = {
            "silent attempts": silent,
            "silent attempts again": again,
            "streams": speaking,
            "streams of another server": sharing,
        }
        for name, rounds in measured.items():
            show_drain(name, rounds, asked.seconds)
        first, second, beside, shared = (second_by_second(rounds, asked.seconds) for rounds in measured.values())
        for name, figure in (("p99 of all", pooled), ("p99 of a usual second", typical)):
            print(f"  {name}, beside streams: {ratio(beside, first + second, figure)}")
            print(f"  {name}, beside streams of another server: {ratio(shared, first + second, figure)}")
            print(f"  {name}, beside silent attempts again: {ratio(second, first, figure)}")


def show_drain(name: str, rounds: list[Round], seconds: float) -> None:
    waits = [wait for each in rounds for wait in each.waits]
    half, late = (percentile(waits, share) for share in (0.5, 0.99))
    each_p99 = ", ".join(f"{percentile(each.waits, 0.99):.1f}" for each in rounds)
    rate = len(waits) / len(rounds) / seconds
    print(f"  beside {name}: {rate:.0f} a second, begun after {half:.1f} ms, p99 {late:.1f} ms ({each_p99})")


def second_by_second(rounds: list[Round], seconds: float) -> list[Block]:
    return [block for each in rounds for block in blocks(each.waits, seconds)]


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
        asyncio.run(speak(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])))
        sys.exit()
    if sys.argv[1:2] == ["--echo"]:
        asyncio.run(echo(sys.argv[2], float(sys.argv[3])))
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--url")
    parser.add_argument("--port", type=int, default=18_217)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--tokens", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--readers", type=int, default=0)
    parser.add_argument("--offered", type=float, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    asyncio.run(main(parser.parse_args()))
