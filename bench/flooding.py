"""What one token's flood of batches costs the others: their latency in a quiet server and beside the flood, in one run.

    python -m bench.flooding [URL]

The server, the flood and who is watched are processes of their own. What carries over is the ratio of the two p99.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx

import taskyard

BATCH = 10_000  # tasks
TASK = {"type": "code", "prompt": "x" * 100, "dedup": "none"}
PROGRAM = Path(sys.executable).with_name("taskyard")


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


async def flood(address: str, token: str) -> None:
    """Batches, one after the other and two at a time, for as long as this process lives."""
    body = json.dumps({"tasks": [TASK] * BATCH}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=60) as client:

        async def send() -> None:
            while True:
                answer = await client.post("/api/tasks/batch", content=body)
                print(answer.status_code, flush=True)
                if answer.status_code == 429:
                    await asyncio.sleep(0.05)

        await asyncio.gather(send(), send())


async def latencies(address: str, token: str, seconds: float) -> dict[str, list[float]]:
    """How long single calls of another workspace take, one after the other."""
    found: dict[str, list[float]] = {"healthz": [], "enqueue": []}
    async with httpx.AsyncClient(base_url=address, headers={"authorization": f"Bearer {token}"}, timeout=60) as client:
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends:
            for name, call in (("healthz", client.get("/healthz")), ("enqueue", client.post("/api/tasks", json=TASK))):
                began = time.perf_counter()
                (await call).raise_for_status()
                found[name].append(time.perf_counter() - began)
            await asyncio.sleep(0.01)
    return found


def p(share: float, samples: list[float]) -> float:
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * share))] * 1000


async def tokens(url: str) -> tuple[str, str]:
    async with taskyard.connect(url) as one, taskyard.connect(url, workspace="others") as other:
        made = [await yard.create_token("bench", "admin") for yard in (one, other)]
    return made[0].text, made[1].text


async def measure(url: str, seconds: float) -> None:
    flooding, watched = await tokens(url)
    with server(url) as address:
        await latencies(address, watched, 1)
        quiet = await latencies(address, watched, seconds)
        words, secret = ("-m", "bench.flooding", "--flood", address), {**os.environ, "FLOODING": flooding}
        beside = await asyncio.create_subprocess_exec(sys.executable, *words, env=secret, stdout=subprocess.PIPE)
        try:
            loud = await latencies(address, watched, seconds)
        finally:
            beside.terminate()
            answers = (await beside.communicate())[0].decode().split()
    print(f"batches of {BATCH}: {answers.count('201')} taken, {answers.count('429')} refused in {seconds:g} s")
    for name, samples in quiet.items():
        for share in (0.5, 0.99, 1):
            before, after = p(share, samples), p(share, loud[name])
            print(f"{name} p{share * 100:g}: quiet {before:.1f} ms, beside {after:.1f} ms, {after / before:.1f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("url", nargs="?")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--flood", metavar="ADDRESS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.flood:
        asyncio.run(flood(given.flood, os.environ["FLOODING"]))
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(given.url or f"sqlite:///{folder}/yard.db", given.seconds))


if __name__ == "__main__":
    main()
