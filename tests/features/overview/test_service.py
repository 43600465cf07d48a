"""What asks for somebody, and how much there is of everything."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.units import SECOND, from_iso
from taskyard.features.overview.service import WINDOWS
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import elapse, given_a_dead_letter, given_a_running_task


async def test_an_empty_yard_asks_for_nobody(yard: Yard):
    shown = await yard.overview.figures()

    assert (shown.tasks, shown.oldest_ready, shown.dead_unreviewed, shown.approvals) == ({}, None, 0, 0)


async def test_what_asks_for_a_person_is_counted(yard: Yard):
    await given_a_dead_letter(yard)
    held = await given_a_running_task(yard)
    await yard.attempts.wait_for(held.id, held.lease, "ask", "approved")
    await yard.queues.pause("slow")

    shown = await yard.overview.figures()

    assert (shown.dead_unreviewed, shown.approvals, shown.paused_queues) == (1, 1, 1)


async def test_a_dead_letter_that_was_decided_asks_for_nobody(yard: Yard):
    dead = await given_a_dead_letter(yard)
    await yard.dead_letters.resolve(dead.id, "escalate", by="human:ana")

    assert (await yard.overview.figures()).dead_unreviewed == 0


async def test_the_oldest_ready_task_is_shown_by_its_title(yard: Yard, clock: ManualClock):
    first = await yard.enqueue("code", title="The first")
    clock.advance(seconds=5)
    await yard.enqueue("code", title="The second")

    oldest = (await yard.overview.figures()).oldest_ready

    assert oldest is not None
    assert (oldest.id, oldest.title) == (first.id, "The first")


@pytest.mark.parametrize("window", WINDOWS)
async def test_a_series_has_a_value_for_each_bucket(yard: Yard, clock: ManualClock, window: str):
    await given_a_dead_letter(yard)
    await elapse(yard, clock, 120)

    series = await yard.overview.series(window)

    assert len(series.at) == len(series.created) == len(series.wait_sec.p50) == WINDOWS[window].buckets
    assert (sum(series.created), sum(series.dead)) == (1, 1)
    assert 0 <= yard.now() - from_iso(series.at[-1]) < series.bucket_sec * SECOND


async def test_a_window_that_is_none_is_refused(yard: Yard):
    with pytest.raises(InvalidInput):
        await yard.overview.series("2h")
