"""What calls over HTTP cost: processor time of client and server for each call, beside the same call on the library.

    python -m bench.http_calls [--calls 500] [--rounds 3] [--token]

One `taskyard serve` on SQLite. Processor time is that of the process: noise of a busy machine touches it less than wall
time. With `--token` the calls show one, as they must beyond loopback.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from statistics import median
from time import perf_counter, process_time

import taskyard
from bench.rates import IN_FLIGHT, in_flight, one_at_a_time
from bench.streams import processor_time, ready, serving
from taskyard.yard import Yard

AGENT = "worker"

Act = Callable[[Yard, int], Awaitable[None]]


async def claim_and_complete(yard: Yard, number: int) -> None:
    for _ in range(number):
        (held,) = await yard.claim(AGENT, start=True)
        await yard.complete(held.id, held.lease, {"ok": True})


async def read_nothing(yard: Yard, number: int) -> None:
    for _ in range(number):
        await yard.mark()


ACTS: dict[str, Act] = {
    "enqueue one at a time": one_at_a_time,
    f"enqueue, {IN_FLIGHT} in flight": in_flight,
    "claim and complete one": claim_and_complete,
    "a call that reads nothing": read_nothing,
}


async def measured(yard: Yard, act: Act, calls: int, pid: int | None) -> tuple[float, float, float]:
    """µs of processor time of this process and of the server, and of wall time, for each call."""
    server = 0.0 if pid is None else processor_time(pid)
    began, used = perf_counter(), process_time()
    await act(yard, calls)
    own, took = process_time() - used, perf_counter() - began
    theirs = 0.0 if pid is None else processor_time(pid) - server
    return 1e6 * own / calls, 1e6 * theirs / calls, 1e6 * took / calls


async def main(asked: argparse.Namespace) -> None:
    samples: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/served.db"
        token = None
        async with taskyard.connect(store) as made:
            if asked.token:
                token = (await made.tokens.create("bench", "admin")).text
        with serving(store, asked.port) as pid:
            url = f"http://127.0.0.1:{asked.port}"
            await ready(url, token)
            async with (
                taskyard.connect(url, token=token) as far,
                taskyard.connect(f"sqlite:///{folder}/direct.db") as near,
            ):
                for yard in (far, near):
                    await yard.agents.register(AGENT, max_concurrent_tasks=100)
                    await one_at_a_time(yard, asked.calls // 5)  # what is done first takes longer
                for _ in range(asked.rounds):
                    for name, act in ACTS.items():
                        for where, yard, server in (("library", near, None), ("HTTP", far, pid)):
                            found = await measured(yard, act, asked.calls, server)
                            samples.setdefault((name, where), []).append(found)
    print(f"{'µs for each call':28} {'':8} {'client':>8} {'server':>8} {'wall':>8}")
    for (name, where), found in samples.items():
        client, theirs, wall = (median(column) for column in zip(*found, strict=True))
        print(f"{name:28} {where:8} {client:8.0f} {theirs:8.0f} {wall:8.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--port", type=int, default=18_218)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--token", action="store_true")
    asyncio.run(main(parser.parse_args()))
