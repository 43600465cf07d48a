"""Two schedulers on one yard, over a year with all its changes of the clocks: every nominal time fires exactly once.

TASKYARD_WHOLE_YEAR=1 has the hourly schedules go on all year too, and not only in the days around the changes.
"""

import asyncio
import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.interference import ProcessDied, dying_after
from tests.sources.words import behind
from tests.timetables import add_all, plans, wrong_with
from tests.yards import OpenYard, states_of

ALL = "TASKYARD_WHOLE_YEAR" in os.environ
STEP = timedelta(days=1 if ALL else 5)
YEAR = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 12, 31, tzinfo=UTC)


async def fire(yard: Yard) -> None:
    with suppress(ProcessDied):
        await yard.on_store.sweeper.fire_schedules()


@pytest.mark.timeout(900)
async def test_every_nominal_time_of_a_year_fires_exactly_once(open_yard: OpenYard, clock: ManualClock):
    one, other = [behind(await open_yard()) for _ in range(2)]
    planned = plans(YEAR, hourly_all_year=ALL)
    await add_all(one, planned)
    for step in range((YEAR[1] - YEAR[0]) // STEP + 2):
        clock.advance(seconds=STEP.total_seconds())
        # One of them is killed now and then, before a fire is stored or after.
        await asyncio.gather(fire(one), fire(dying_after(other, step % 4) if step % 3 else other))
    await fire(one)

    wrong = [each for plan in planned for each in await wrong_with(one, plan)]
    assert wrong == []
    wanted = sum(plan.span[0] <= at <= plan.span[1] for plan in planned for at in plan.times)
    assert await states_of(one) == {"ready": {"audit": wanted}}
