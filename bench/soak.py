"""A soak: a server, a worker and ten readers of events for some minutes, with a short retention.

Memory, open files, the database and its log are sampled and plotted. Once retention is reached, all of them must stay
flat: a line fitted through the second half of the run may not rise. The exit status is 1 where one does.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser, Namespace
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from statistics import linear_regression, mean
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import asyncpg  # pyright: ignore[reportMissingTypeStubs]

import taskyard
from bench.growing.__main__ import yards_of
from bench.growing.growth import TASK, Growth, Place
from bench.growing.plot import save
from bench.runner import Row, Table
from taskyard.features.tasks.creation.growth_limits import MOST_IN_A_BATCH
from taskyard.server.server import served

STORES = ("sqlite", "postgres")
SAMPLES = 120
READERS = 10
RETAINED = 10  # retention is this part of the run
MEGABYTE = 1 << 20


class Bound(NamedTuple):
    """How much the line through the second half may rise: by a share of its mean, and by so much at any rate."""

    unit: str
    share: float
    least: float


BOUNDS = {
    "memory": Bound("MB", 0.05, 4),
    "files": Bound("open files", 0.0, 3),
    "store": Bound("MB", 0.10, 8),
    "log": Bound("MB", 0.10, 32),
}


class Sample(NamedTuple):
    at: float  # seconds since the run began
    figures: dict[str, float]  # by the kind of figure and what it is of: "memory of worker"


def arguments() -> Namespace:
    parser = ArgumentParser("bench.soak", description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=100, help="tasks a second")
    parser.add_argument("--stores", nargs="+", choices=STORES, default=STORES)
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results", help="a folder")
    parser.add_argument("--run", choices=("server", "worker"), help="be one of the processes of a soak")
    parser.add_argument("--url")
    parser.add_argument("--retention", type=float, help="in days, for --run")
    return parser.parse_args()


# The processes


async def serve(url: str, retention: float) -> None:
    async with taskyard.connect(url, retention_days=retention) as yard, served(yard) as server:
        print(server.port, flush=True)
        await asyncio.Event().wait()


async def work(url: str, retention: float) -> None:
    agent = taskyard.Agent("soaking", max_concurrent_tasks=50)

    @agent.handles("noop")
    async def nothing(task: taskyard.Context) -> dict[str, bool]:  # pyright: ignore[reportUnusedFunction]
        return {"ok": bool(task.id)}

    async with taskyard.connect(url, retention_days=retention) as yard:
        print("up", flush=True)
        await yard.work(agent)


@asynccontextmanager
async def process(role: str, url: str, retention: float) -> AsyncGenerator[tuple[Process, str]]:
    command = ("-m", "bench.soak", "--run", role, "--url", url, "--retention", str(retention))
    started = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=PIPE)
    assert started.stdout is not None
    try:
        yield started, (await started.stdout.readline()).decode().strip()
    finally:
        if started.returncode is None:
            started.send_signal(signal.SIGINT)
            with suppress(TimeoutError):
                async with asyncio.timeout(10):
                    await started.wait()
        if started.returncode is None:
            started.kill()
            await started.wait()


async def read_events(port: int) -> None:
    """As a browser does, until the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n")
        last = b""
        while some := await reader.read(1 << 16):
            last = some
        raise EOFError(f"the server ended a stream of events, with {last[-500:]!r}")
    finally:
        writer.close()


async def produce(url: str, rate: int) -> None:
    async with taskyard.connect(url, sweeps=False) as yard:
        began, made = perf_counter(), 0
        while True:
            wanted = min(int(rate * (perf_counter() - began)) - made, MOST_IN_A_BATCH)
            if wanted:
                await yard.enqueue_many([TASK] * wanted)
            made += wanted
            await asyncio.sleep(0.2)


# Sampling


def of_process(name: str, pid: int) -> dict[str, float]:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return {f"memory of {name}": pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE, f"files of {name}": files}


def of_file(path: Path) -> dict[str, float]:
    def size(each: Path) -> float:
        return each.stat().st_size / MEGABYTE if each.exists() else 0.0

    return {"store": size(path), "log": size(path.with_name(f"{path.name}-wal"))}


async def of_server(connection: asyncpg.Connection) -> dict[str, float]:
    database = await connection.fetchval("select pg_database_size(current_database())")
    log = await connection.fetchval("select sum(size) from pg_ls_waldir()")
    return {"store": database / MEGABYTE, "log": float(log) / MEGABYTE}


Look = Callable[[], Awaitable[dict[str, float]]]


@asynccontextmanager
async def looking_at(store: str, url: str) -> AsyncGenerator[Look]:
    if store == "sqlite":
        path = Path(url.removeprefix("sqlite:///"))

        async def look() -> dict[str, float]:
            return of_file(path)

        yield look
        return
    connection = await asyncpg.connect(url.partition("&schema=")[0])
    # With the default, a gigabyte, the log would grow for longer than most soaks last.
    for setting, size in (("min_wal_size", "32MB"), ("max_wal_size", "48MB")):
        await connection.execute(f"alter system set {setting} = '{size}'")
    await connection.execute("select pg_reload_conf()")
    try:
        yield lambda: of_server(connection)
    finally:
        await connection.close()


async def soak(given: Namespace, store: str, url: str) -> list[Sample]:
    seconds = given.minutes * 60
    retention = seconds / RETAINED / 86_400
    samples: list[Sample] = []
    async with AsyncExitStack() as stack:
        server, port = await stack.enter_async_context(process("server", url, retention))
        worker, _ = await stack.enter_async_context(process("worker", url, retention))
        look = await stack.enter_async_context(looking_at(store, url))
        busy = [asyncio.create_task(produce(url, given.rate))]
        busy += [asyncio.create_task(read_events(int(port))) for _ in range(READERS)]
        began = perf_counter()
        while (passed := perf_counter() - began) < seconds:
            figures = {**of_process("server", server.pid), **of_process("worker", worker.pid), **await look()}
            samples.append(Sample(passed, figures))
            for each in busy:
                if each.done():
                    each.result()
            await asyncio.sleep(seconds / SAMPLES)
        for each in busy:
            each.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
    async with taskyard.connect(url, sweeps=False) as yard:
        stats = (await yard.local.metrics.report(days=1)).total
        print(f"{store}: {stats.created} tasks came, {stats.tasks_completed} were completed")
    return samples


# Judging


def rise(points: Sequence[tuple[float, float]]) -> float:
    """By how much the line through these points rises from the first to the last."""
    at, figures = zip(*points, strict=True)
    return linear_regression(at, figures).slope * (at[-1] - at[0])


def verdicts(samples: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """For each figure how much it rose in the second half, and how much it might."""
    half = [each for each in samples if each.at >= samples[-1].at / 2]
    found: dict[str, tuple[float, float]] = {}
    for name in samples[0].figures:
        bound = BOUNDS[name.partition(" ")[0]]
        figures = [each.figures[name] for each in half]
        most = max(bound.share * mean(figures), bound.least)
        found[name] = rise([(each.at, each.figures[name]) for each in half]), most
    return found


def plot(store: str, samples: Sequence[Sample], folder: Path) -> None:
    """One plot for each kind of figure, over the time."""
    for kind, bound in BOUNDS.items():
        rows, places = list[Row](), dict[str, Place]()
        for at, figures in samples:
            for name, figure in figures.items():
                if name.partition(" ")[0] == kind:
                    case = f"{name} after {at:.0f} s"
                    places[case] = Place(name.removeprefix(f"{kind} of "), round(at))
                    rows.append(_row(case, bound.unit, figure))
        table = Table(title=f"Soak {store} {kind}", settings={}, rows=rows)
        save(Growth(table=table, of="seconds", places=places, is_time=True), folder)


def _row(case: str, unit: str, figure: float) -> Row:
    return Row(
        case=case, unit=unit, median=figure, least=figure, most=figure, samples=1, against=None, ratio=None, counts={}
    )


def judged(store: str, samples: Sequence[Sample]) -> bool:
    flat = True
    for name, (rose, most) in verdicts(samples).items():
        kept = rose <= most
        flat = flat and kept
        last = samples[-1].figures[name]
        unit = BOUNDS[name.partition(" ")[0]].unit
        told = f"{last:,.1f} {unit} at the end, {rose:+,.2f} in the second half (at most {most:,.2f})"
        print(f"{store}: {name} {told}: {'flat' if kept else 'RISES'}")
    return flat


def main() -> int:
    given = arguments()
    if given.run is not None:
        with suppress(KeyboardInterrupt):
            asyncio.run((serve if given.run == "server" else work)(given.url, given.retention))
        return 0
    flat = True
    given.results.mkdir(parents=True, exist_ok=True)
    for store in given.stores:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder, yards_of(store, Path(folder)) as urls:
            samples = asyncio.run(soak(given, store, urls("soak")))
        plot(store, samples, given.results)
        flat = judged(store, samples) and flat
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
