"""Schedulers that are killed while they fire: no time is lost, and none fires twice."""

import time

import taskyard
from taskyard.core.units import Micros, to_iso
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.processes.crew import Crew
from tests.timetables import all_fires

BACKLOG = 300  # seconds, and as many times


async def given_a_backlog(url: str) -> None:
    """A schedule that nobody has looked at for a while."""
    clock = ManualClock()
    clock.advance(seconds=int(time.time()) - BACKLOG - clock.now() / 1_000_000)
    async with taskyard.connect(url, clock=clock, sweeps=False) as earlier:
        await earlier.schedules.add("tick", "every second", task={"type": "tick"}, misfire="all")


async def test_a_scheduler_that_is_killed_while_it_fires_neither_doubles_nor_loses(url: str, yard: Yard, crew: Crew):
    await given_a_backlog(url)
    one, other = await crew.start_many(2, "scheduler", url)
    while (await yard.schedules.get("tick")).schedule.seen < yard.now() - BACKLOG * 500_000:
        await other.hear()
    await one.kill()
    begun = Micros((await yard.schedules.get("tick")).schedule.timing.starts_at)
    while (await yard.schedules.get("tick")).schedule.seen < begun + BACKLOG * 1_000_000:
        await other.hear()
    await other.kill()

    fires = await all_fires(yard, "tick")
    nominal = [to_iso(fire.nominal or Micros(0)) for fire in reversed(fires)]
    assert nominal == [to_iso(Micros(begun + number * 1_000_000)) for number in range(1, len(nominal) + 1)]
    assert len(nominal) >= BACKLOG
    assert len({fire.task_id for fire in fires}) == len(fires) == sum((await yard.tasks.stats())["ready"].values())
