"""Taking the samples: one round for one system, in which every job is accounted for.

A sample in which a job was lost, or done twice, or was not stored, is void.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic, monotonic_ns

from bench.peers.hosting import Host, Void, hosted
from bench.peers.lineup import System
from bench.peers.places import Places

LINE = 30  # bytes of a record: the number, the moment
LOOK = 0.003  # seconds between two looks at the records
STALL = 10.0  # seconds in which no job is run, and after which one counts as lost
PAUSE = 0.03  # seconds between two jobs whose pickup is timed


class Measure(StrEnum):
    ONE = "enqueue one at a time"
    FLIGHT = "enqueue, 16 in flight"
    BULK = "enqueue in bulk"
    DRAIN = "drain, 1 process"
    DRAIN_BY_TWO = "drain, 2 processes"
    PICKUP = "pickup p50"

    @property
    def unit(self) -> str:
        return "ms" if self is Measure.PICKUP else "jobs/s"

    @property
    def less_is_better(self) -> bool:
        return self is Measure.PICKUP


WAYS = {Measure.ONE: "one", Measure.FLIGHT: "flight", Measure.BULK: "bulk"}
FIRST = {Measure.ONE: 50, Measure.FLIGHT: 160, Measure.BULK: 1_000, Measure.DRAIN: 300, Measure.DRAIN_BY_TWO: 300}
LEAST, MOST = 100, 100_000  # jobs of a sample
FIRST_PICKUPS, PICKUPS = 3, 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    value: float  # in the unit of the measure
    cpu: float | None = None  # µs per job of the process that was measured


Samples = dict[Measure, Sample]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many jobs each sample is taken on."""

    jobs: dict[Measure, int]
    pickups: int

    @classmethod
    def to_begin_with(cls) -> Sizes:
        return cls(jobs=FIRST, pickups=FIRST_PICKUPS)

    @classmethod
    def lasting(cls, seconds: float, samples: Samples) -> Sizes:
        """So many that each sample lasts about as long, to judge by an earlier round."""
        jobs = {measure: round(samples[measure].value * seconds) for measure in FIRST}
        return cls(jobs={measure: max(LEAST, min(MOST, number)) for measure, number in jobs.items()}, pickups=PICKUPS)


async def take_round(system: System, places: Places, sizes: Sizes) -> Samples:
    """Every measure once. What it says is void where a job is not accounted for."""
    with TemporaryDirectory(prefix="taskyard-records-") as folder:
        async with places.new(system) as place:
            enqueued = await _enqueueing(system, place, Path(folder) / "enqueueing", sizes)
        async with places.new(system) as place:
            drained = await _draining(system, place, Path(folder) / "draining", sizes)
    return enqueued | drained


async def _enqueueing(system: System, place: str, records: Path, sizes: Sizes) -> Samples:
    samples: Samples = {}
    async with hosted(system, place, records) as producer:
        await producer.ask("prepare")
        await producer.ask("open")
        first = 0
        for measure, how in WAYS.items():
            number = sizes.jobs[measure]
            took = await producer.ask("put", how=how, first=first, number=number)
            first += number
            samples[measure] = Sample(value=number / took["seconds"], cpu=1e6 * took["cpu"] / number)
            if (stored := (await producer.ask("left"))["left"]) != first:
                raise Void(f"{first} jobs were put in, and {stored} are there")
    return samples


async def _draining(system: System, place: str, records: Path, sizes: Sizes) -> Samples:
    samples: Samples = {}
    async with hosted(system, place, records) as producer:
        await producer.ask("prepare")
        await producer.ask("open")
        queue = _Queue(producer, records)
        async with _workers(1, system, place, records) as alone:
            samples[Measure.DRAIN] = await queue.drain(alone, sizes.jobs[Measure.DRAIN])
            samples[Measure.PICKUP] = await queue.pickup(sizes.pickups)
        async with _workers(2, system, place, records) as both:
            samples[Measure.DRAIN_BY_TWO] = await queue.drain(both, sizes.jobs[Measure.DRAIN_BY_TWO])
    return samples


@asynccontextmanager
async def _workers(number: int, system: System, place: str, records: Path) -> AsyncGenerator[list[Host]]:
    """Processes that are connected, and have not begun."""
    async with AsyncExitStack() as stack:
        hosts = [await stack.enter_async_context(hosted(system, place, records)) for _ in range(number)]
        await asyncio.gather(*(host.ask("open") for host in hosts))
        yield hosts


class _Queue:
    """The producer's side of a place that jobs are drained from, and the records of those that ran."""

    def __init__(self, producer: Host, records: Path) -> None:
        self._producer = producer
        self._records = records
        self._put = 0

    async def drain(self, workers: Sequence[Host], number: int) -> Sample:
        """From the first job that runs until all are stored as done."""
        before = self._put
        await self._producer.ask("put", how="bulk", first=before, number=number)
        self._put += number
        await asyncio.gather(*(worker.ask("work") for worker in workers))
        await self._all_have_run()
        await self._all_are_stored()
        ended = monotonic_ns()
        used = sum([(await worker.ask("used"))["cpu"] for worker in workers])
        self._account()
        began = min(moment for job, moment in self._ran() if job >= before)
        return Sample(value=1e9 * number / (ended - began), cpu=1e6 * used / number)

    async def pickup(self, number: int) -> Sample:
        """From the call that enqueues a job until an idle worker in another process runs it."""
        first = self._put
        asked = (await self._producer.ask("pace", first=first, number=number, pause=PAUSE))["moments"]
        self._put += number
        await self._all_have_run()
        await self._all_are_stored()
        self._account()
        waits = [moment - asked[job - first] for job, moment in self._ran() if job >= first]
        return Sample(value=median(waits) / 1e6)

    async def _all_have_run(self) -> None:
        size, since = 0, monotonic()
        while (now := self._size()) < self._put * LINE:
            if now > size:
                size, since = now, monotonic()
            elif monotonic() - since > STALL:
                raise Void(f"{self._put - now // LINE} of {self._put} jobs were lost")
            await asyncio.sleep(LOOK)

    def _size(self) -> int:
        return self._records.stat().st_size

    async def _all_are_stored(self) -> None:
        since = monotonic()
        for _ in count():
            if (left := (await self._producer.ask("left"))["left"]) == 0:
                return
            if monotonic() - since > STALL:
                raise Void(f"{left} jobs were run and never stored as done")
            await asyncio.sleep(LOOK)

    def _account(self) -> None:
        """Every job that was put in was run once."""
        runs = Counter(job for job, _ in self._ran())
        if lost := [job for job in range(self._put) if job not in runs]:
            raise Void(f"{len(lost)} jobs were lost, the first is {lost[0]}")
        if again := [job for job, times in runs.items() if times > 1]:
            raise Void(f"{len(again)} jobs were done more than once, the first is {again[0]}")

    def _ran(self) -> list[tuple[int, int]]:
        lines = self._records.read_text(encoding="ascii").splitlines()
        return [(int(job), int(moment)) for job, moment in map(str.split, lines)]
