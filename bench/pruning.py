"""Pruning: how fast finished work goes, on a quiet yard and beside a drain.

A yard is filled with finished tasks, each with the rows that a plain task leaves behind: three events, an attempt and
an output. Then it is pruned as a worker process does it: alone, beside a drain that always has work, and beside one
that is offered half of what it can do. Each sample is of a process that has drained before, so that no statement is
planned in it. A run that pruned the last finished task ends without a table: what came after had nothing to prune.

The speed of a shared machine may move by half within seconds, which is far more than what is looked for. Pruning is
therefore let go on and held up in turns, every few seconds, beside one drain that goes on. The ratio is the median of
those of neighbours, each beside the mean of the two around it.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, NamedTuple

import taskyard
from bench.growing.__main__ import STORES, yards_of
from bench.growing.growth import AGENT, BATCH, drain, put_in
from bench.ratios import median_of
from bench.runner import Count, Counts, Row, Table, markdown, report
from bench.yards import Urls, a_yard
from taskyard.core.changes import ChangeSet, Committed, Event, NewTask, Output, RecordChange
from taskyard.core.task import Attempt, Status, TaskId
from taskyard.core.transitions import created_event
from taskyard.core.units import DAY, SECOND, Micros
from taskyard.features.tasks.views import Task, stored_task
from taskyard.stores.contract import Prunable
from taskyard.sweeper import Sweeper
from taskyard.yard import Yard

AT_ONCE = 500  # finished tasks of one set
WARM_UP = 10 * BATCH  # tasks that are drained before a sample
MOST_MICROS = 500  # for a pruned task, also beside a drain: 2,000 a second
KEPT_DAYS = 7  # all finished tasks are older
SHORTLY, SETTLING = 0.3, 2.0  # seconds in which what was behind is made up for
MOST_SLOWED = 1 / 0.9  # the time of a drained task beside pruning, beside that without
PRUNED = "pruning, quiet yard"
FULL, FULL_BOTH = "full drain", "full drain beside pruning"
HALF, HALF_BOTH = "drain at half its maximum", "drain at half its maximum beside pruning"
LOADS = {"full": (FULL, FULL_BOTH), "half": (HALF, HALF_BOTH)}


def arguments() -> Namespace:
    parser = ArgumentParser("bench.pruning", description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument("--stores", nargs="+", choices=STORES, default=STORES, help="what to measure it on")
    parser.add_argument("--finished", type=int, default=1_000_000, help="finished tasks, on Redis a third of it")
    parser.add_argument("--seconds", type=float, default=2, help="length of a sample")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--turns", type=int, default=15, help="of pruning, in each round beside a full drain")
    parser.add_argument("--loads", nargs="+", choices=LOADS, default=list(LOADS), help="the drains that it is beside")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results", help="a folder")
    return parser.parse_args()


class Sample(NamedTuple):
    """What was done in so many seconds, and what it took of this process's processor time."""

    seconds: float
    processor: float
    drain_rate: float
    pruned: int
    left: int  # finished tasks


async def measure(store: str, urls: Urls, given: Namespace) -> Table:
    url = urls("pruning")
    number = given.finished // 3 if store == "redis" else given.finished
    async with a_yard(url) as yard:
        await yard.agents.register(AGENT, max_concurrent_tasks=BATCH)
        await fill(yard, number)
    samples: dict[str, list[Sample]] = {PRUNED: []}
    ratios: dict[str, list[float]] = {}
    (full,) = await _turns(url, number, given.seconds, 0, _drain_rate)
    most = full.drain_rate
    for _ in range(given.rounds):
        samples[PRUNED].append(await _alone(url, number, given.seconds))
        for load in given.loads:
            run = _drain_rate if load == "full" else partial(_paced_rate, offered=most / 2)
            case, beside = LOADS[load]
            taken = await _turns(url, number, given.seconds, given.turns, run)
            samples[case] = samples.get(case, []) + taken[::2]
            samples[beside] = samples.get(beside, []) + taken[1::2]
            ratios[beside] = ratios.get(beside, []) + [
                (before.drain_rate + after.drain_rate) / 2 / there.drain_rate
                for before, there, after in zip(taken[::2], taken[1::2], taken[2::2], strict=False)
            ]
    if any(not taken[-1].left for taken in samples.values()):
        raise SystemExit(
            f"{store}: {number:,} finished tasks are too few for {given.rounds} rounds of {given.turns} turns"
        )
    settings: dict[str, float] = {
        "finished tasks": number,
        "seconds": given.seconds,
        "rounds": given.rounds,
        "turns": given.turns,
        "full drain before, tasks/s": round(most),
    }
    return Table(title=f"Pruning, {store}", settings=settings, rows=_rows(samples, ratios))


def _rows(samples: dict[str, list[Sample]], ratios: dict[str, list[float]]) -> list[Row]:
    pruned = {name: median(each.pruned / each.seconds for each in taken) for name, taken in samples.items()}
    alone = [each.processor / max(each.pruned, 1) for each in samples[PRUNED]]
    quiet: Counts = {
        "µs per pruned task": Count(1e6 / max(pruned[PRUNED], 1), MOST_MICROS),
        "of it in this process": Count(1e6 * median(alone)),
    }
    rows = [_row(PRUNED, [each.pruned / each.seconds for each in samples[PRUNED]], counts=quiet)]
    for case, beside in LOADS.values():
        if case not in samples:
            continue
        found = median_of(ratios[beside])
        counts: Counts = {
            "µs per pruned task": Count(1e6 / max(pruned[beside], 1), MOST_MICROS),
            "pruned a second": Count(pruned[beside]),
            "ratio at least": Count(found.least),
            "ratio at most": Count(found.most),
        }
        rows.append(_row(case, [each.drain_rate for each in samples[case]], counts={}))
        slowed = Count(found.value, MOST_SLOWED)
        rows.append(
            _row(beside, [each.drain_rate for each in samples[beside]], counts=counts, against=case, ratio=slowed)
        )
    return rows


def _row(
    case: str, rates: Sequence[float], *, counts: Counts, against: str | None = None, ratio: Count | None = None
) -> Row:
    return Row(
        case=case,
        unit="tasks/s",
        median=median(rates),
        least=min(rates),
        most=max(rates),
        samples=len(rates),
        against=against,
        ratio=ratio,
        counts=counts,
    )


Drain = Callable[[Yard, float], Awaitable[float]]


async def _alone(url: str, finished: int, seconds: float) -> Sample:
    """Prune for so many seconds, and do nothing else."""
    await _settle(url)
    async with taskyard.connect(url, retention_days=KEPT_DAYS) as yard:
        await asyncio.sleep(SETTLING)  # the first sweep is not made at once
        return await _sample(yard, finished, seconds, asyncio.sleep)


async def _turns(url: str, finished: int, seconds: float, turns: int, run: Drain) -> list[Sample]:
    """Drain without pruning, and beside it, in turns; first and last without."""
    await _settle(url)
    async with taskyard.connect(url, retention_days=KEPT_DAYS) as yard:
        may_prune = _gated(yard)
        await put_in(yard, WARM_UP)
        await drain(yard, WARM_UP)
        taken: list[Sample] = []
        for _ in range(turns):
            taken.append(await _sample(yard, finished, seconds, partial(run, yard)))
            may_prune.set()
            await run(yard, SETTLING)
            taken.append(await _sample(yard, finished, seconds, partial(run, yard)))
            may_prune.clear()
            await run(yard, SHORTLY)  # what has begun ends
        return [*taken, await _sample(yard, finished, seconds, partial(run, yard))]


def _gated(yard: Yard) -> asyncio.Event:
    """While it is not set, no piece of finished tasks is begun."""
    may_prune, prunable = asyncio.Event(), yard.store.prunable

    async def wait_and_look(*given: Any, **named: Any) -> Prunable:
        await may_prune.wait()
        return await prunable(*given, **named)

    yard.store.prunable = wait_and_look
    return may_prune


async def _settle(url: str) -> None:
    """Nothing is pruned before it is counted, and what a drain without sweeps left to count is no part of a sample."""
    async with a_yard(url) as yard:
        while (await Sweeper(yard.local, lambda _: yard.local).follow()).more:
            pass
        # Pruning is one process's duty for a while; the one of the last sample is gone.
        await asyncio.sleep(max(0, (await yard.store.duty("prune") or 0) - yard.now()) / SECOND)


async def _sample(yard: Yard, finished: int, seconds: float, run: Callable[[float], Awaitable[float | None]]) -> Sample:
    gone = await _gone(yard, finished)
    began, used = perf_counter(), process_time()
    rate = await run(seconds)
    took, processor = perf_counter() - began, process_time() - used
    pruned = await _gone(yard, finished) - gone
    return Sample(took, processor, rate or 0.0, pruned, finished - gone - pruned)


async def _drain_rate(yard: Yard, seconds: float) -> float:
    """Tasks a second, while there is always work: putting it in is not counted."""
    done, spent = 0, 0.0
    while spent < seconds:
        await put_in(yard, 20 * BATCH)
        began = perf_counter()
        await drain(yard, 20 * BATCH)
        spent += perf_counter() - began
        done += 20 * BATCH
    return done / spent


async def _paced_rate(yard: Yard, seconds: float, *, offered: float) -> float:
    """Tasks a second of what is offered and no more; a drain that falls behind may catch up."""
    await put_in(yard, int(1.1 * offered * seconds))
    began, done = perf_counter(), 0
    while (passed := perf_counter() - began) < seconds:
        if done + BATCH > offered * passed:
            await asyncio.sleep(min(0.05, seconds - passed))
            continue
        await drain(yard, BATCH)
        done += BATCH
    took = perf_counter() - began
    while batch := await yard.claim(AGENT, count=BATCH, start=True):
        await asyncio.gather(*(yard.complete(held.id, held.lease, {"ok": True}) for held in batch))
    return done / took


async def _gone(yard: Yard, finished: int) -> int:
    """How many of the finished tasks were removed: they go in the order of their numbers."""
    first, last = 0, finished
    while first < last:
        middle = (first + last) // 2
        if await yard.store.load([_id(middle)]):
            last = middle
        else:
            first = middle + 1
    return first


# Filling


def _id(serial: int) -> TaskId:
    return TaskId(f"task_{serial:026}")


async def fill(yard: Yard, number: int) -> None:
    """One task is done as agents do it; the others are copies of it, ended ten days ago, straight to the store."""
    await put_in(yard, 1)
    await drain(yard, 1)
    [task] = await yard.find(limit=1)
    [attempt] = await yard.store.attempts(task.id)
    output = (await yard.store.outputs([task.id]))[task.id]
    then = Micros(yard.now() - 10 * DAY)
    serials = iter(range(number))
    while some := list(islice(serials, AT_ONCE)):
        (landed,) = await yard.store.commit([_copies(some, task, attempt, output, then)])
        assert isinstance(landed, Committed)
    await _count_all(yard)


def _copies(serials: list[int], task: Task, attempt: Attempt, output: Output, then: Micros) -> ChangeSet:
    row, asked = stored_task(task)
    hots = [row._replace(id=_id(serial), seq=0, updated_at=Micros(then + serial)) for serial in serials]
    births = [created_event(hot, asked.created_by, asked.type)._replace(at=then) for hot in hots]
    return ChangeSet(
        tasks=tuple(NewTask(hot, asked._replace(id=hot.id), birth) for hot, birth in zip(hots, births, strict=True)),
        attempts=tuple(attempt._replace(task_id=hot.id) for hot in hots),
        outputs=tuple(output._replace(task_id=hot.id) for hot in hots),
        events=tuple(
            Event(name, birth.workspace, birth.task_id, birth.dag_id, then, 1, Status.COMPLETED, 1, None)
            for birth in births
            for name in ("task.started", "task.completed")
        ),
        at=then,
    )


async def _count_all(yard: Yard) -> None:
    """Say that all events are counted: nothing is pruned before that, and it is not what is measured here."""
    [last] = await yard.enqueue_many([{"type": "noop"}])
    [event] = await yard.store.events(after=0, limit=1, task_id=last.id)
    counted = RecordChange("meter", "", "events", 0, {"seq": event.seq, "since": 0})
    (landed,) = await yard.store.commit([ChangeSet(records=(counted,), at=yard.now())])
    assert isinstance(landed, Committed)
    await drain(yard, 1)


def main() -> int:
    given = arguments()
    tables: list[Table] = []
    for store in given.stores:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder, yards_of(store, Path(folder)) as urls:
            tables.append(asyncio.run(measure(store, urls, given)))
            print(markdown(tables[-1:]), flush=True)
    given.results.mkdir(parents=True, exist_ok=True)
    (given.results / "pruning.json").write_text(report(tables, {"taskyard": version("taskyard")}) + "\n")
    return 0 if all(row.kept for table in tables for row in table.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
