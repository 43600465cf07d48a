"""What one token's flood of batches costs the others: their latency in a quiet server and beside the flood, in one run.

    python -m bench.flooding [URL] [--batch TASKS] [--dag] [--rounds N]

The server, the flood and who is watched are processes of their own. What carries over is the ratio of the two p99, as
the median of the rounds and of all rounds together, with the interval that chance leaves. Each round also floods
another server, with a file of its own: what that costs is the price of sharing the machine's cores, which no server can
lower. The flood's own process runs only where a core is idle, as who floods is on another machine.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

import taskyard
from bench.ratios import blocks, percentile, ratio, run_when_idle

TASK = {"type": "code", "prompt": "x" * 100, "dedup": "none"}
PROGRAM = Path(sys.executable).with_name("taskyard")
SHARES = (0.5, 0.99, 1)
Samples = dict[str, list[float]]


class Flood(NamedTuple):
    batch: int  # tasks of one call
    is_dag: bool  # each call submits a DAG instead of a batch

    @property
    def path(self) -> str:
        return "/api/dags" if self.is_dag else "/api/tasks/batch"


class Flooded(NamedTuple):
    """The server that is flooded, and by whom."""

    address: str
    token: str
    flood: Flood


@contextmanager
def server(url: str) -> Generator[str]:
    """The address of a server on this store."""
    words = [str(PROGRAM), "--url", url, "serve", "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "http://" in line:
                yield "http://" + line.split("http://")[1].split()[0]
                break
    finally:
        process.terminate()
        process.wait()


async def send_all(address: str, token: str, flood: Flood) -> None:
    """Batches, one after the other and two at a time, for as long as this process lives."""
    run_when_idle()
    body = json.dumps({"tasks": [TASK] * flood.batch}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=60) as client:

        async def send() -> None:
            while True:
                answer = await client.post(flood.path, content=body)
                print(answer.status_code, flush=True)
                if answer.status_code == 429:
                    await asyncio.sleep(0.05)

        await asyncio.gather(send(), send())


async def latencies(address: str, token: str, seconds: float) -> Samples:
    """How long single calls of another workspace take, one after the other."""
    found: Samples = {"healthz": [], "enqueue": []}
    async with httpx.AsyncClient(base_url=address, headers={"authorization": f"Bearer {token}"}, timeout=60) as client:
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends:
            for name, call in (("healthz", client.get("/healthz")), ("enqueue", client.post("/api/tasks", json=TASK))):
                began = time.perf_counter()
                (await call).raise_for_status()
                found[name].append(time.perf_counter() - began)
            await asyncio.sleep(0.01)
    return found


async def tokens(url: str) -> tuple[str, str]:
    async with taskyard.connect(url) as one, taskyard.connect(url, workspace="others") as other:
        made = [await yard.tokens.create("bench", "admin") for yard in (one, other)]
    return made[0].text, made[1].text


async def flooded(which: Flooded, address: str, watched: str, seconds: float) -> tuple[Samples, list[str]]:
    """The latencies beside the flood, and what the flood was answered."""
    flood = which.flood
    words = ("-m", "bench.flooding", "--flood", which.address, "--batch", str(flood.batch), *(["--dag"] * flood.is_dag))
    secret = {**os.environ, "FLOODING": which.token}
    beside = await asyncio.create_subprocess_exec(sys.executable, *words, env=secret, stdout=subprocess.PIPE)
    try:
        loud = await latencies(address, watched, seconds)
    finally:
        beside.terminate()
        answers = (await beside.communicate())[0].decode().split()
    return loud, answers


async def measure(url: str, elsewhere: str, flood: Flood, seconds: float, rounds: int) -> None:
    flooding, watched = await tokens(url)
    flooding_elsewhere, _ = await tokens(elsewhere)
    found: list[tuple[Samples, Samples, Samples]] = []
    answers: tuple[list[str], list[str]] = [], []
    with server(url) as address, server(elsewhere) as other:
        await latencies(address, watched, 1)
        for _ in range(rounds):
            quiet = await latencies(address, watched, seconds)
            sharing, answered_elsewhere = await flooded(
                Flooded(other, flooding_elsewhere, flood), address, watched, seconds
            )
            loud, answered = await flooded(Flooded(address, flooding, flood), address, watched, seconds)
            found.append((quiet, sharing, loud))
            answers[0].extend(answered_elsewhere)
            answers[1].extend(answered)
    kind = "DAGs" if flood.is_dag else "batches"
    for place, statuses in zip(("elsewhere", "here"), answers, strict=True):
        counts = ", ".join(f"{statuses.count(status)} times {status}" for status in sorted(set(statuses)))
        print(f"{kind} of {flood.batch} answered {place} in {rounds * seconds:g} s: {counts}")
    for name in found[0][0]:
        for share in SHARES:
            show(name, share, [tuple(1000 * percentile(each[name], share) for each in one) for one in found])
        quiet, sharing, loud = (
            [block for each in part for block in blocks(each[name], seconds)] for part in zip(*found, strict=True)
        )
        print(f"{name} p99 of all rounds: beside the flood {ratio(loud, quiet)}")
        print(f"{name} p99 of all rounds: beside a flood elsewhere {ratio(sharing, quiet)}")


def show(name: str, share: float, rounds: Sequence[tuple[float, ...]]) -> None:
    quiet, sharing, loud = (statistics.median(each) for each in zip(*rounds, strict=True))
    times, of_sharing = (statistics.median(one[place] / one[0] for one in rounds) for place in (2, 1))
    print(
        f"{name} p{share * 100:g}: quiet {quiet:.1f} ms, beside a flood elsewhere {sharing:.1f} ms, "
        f"{of_sharing:.1f} times, beside the flood {loud:.1f} ms, {times:.1f} times"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("url", nargs="?")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1_000, help="tasks of one call")
    parser.add_argument("--dag", action="store_true", help="flood with DAGs of so many tasks")
    parser.add_argument("--flood", metavar="ADDRESS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    flood = Flood(given.batch, given.dag)
    if given.flood:
        asyncio.run(send_all(given.flood, os.environ["FLOODING"], flood))
        return
    with tempfile.TemporaryDirectory() as folder:
        here, elsewhere = given.url or f"sqlite:///{folder}/yard.db", f"sqlite:///{folder}/elsewhere.db"
        asyncio.run(measure(here, elsewhere, flood, given.seconds, given.rounds))


if __name__ == "__main__":
    main()
