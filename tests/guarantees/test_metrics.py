"""The figures of a yard: every event is counted once, whoever counts and whoever dies while counting."""

import asyncio

import pytest

from taskyard import sweeper
from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Status
from taskyard.core.units import utc_date
from taskyard.features.metrics import service as metering
from taskyard.features.metrics.rules import MetricTotals
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.interference import ProcessDied, dying_after
from tests.yards import OpenYard, claim_that, elapse, given_a_dead_letter, given_a_running_task, given_an_agent

DAY = 24 * 3600.0


async def count_now(yard: Yard, clock: ManualClock) -> None:
    """Let the sweep come by that counts."""
    clock.advance(seconds=6)
    await yard.sweep()


async def several(yard: Yard, number: int) -> None:
    for _ in range(number):
        await yard.enqueue("code")


def page_by_page(monkeypatch: pytest.MonkeyPatch, size: int, pages: int = 1) -> None:
    """So many events to a page, and the figures of so many pages stored together."""
    monkeypatch.setattr(sweeper, "PAGE", size)
    monkeypatch.setattr(sweeper, "PAGES_AT_ONCE", pages)


async def today(yard: Yard) -> MetricTotals:
    [day] = (await yard.local.metrics.report(days=1)).days
    assert day.date == utc_date(yard.now())
    return day.totals


async def test_a_day_tells_what_came_in_and_how_it_went(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard, by="ada.1")
    clock.advance(seconds=4)
    await yard.complete(held.id, held.lease, cost_usd="0.25", model="opus")
    await given_a_dead_letter(yard, by="bob")
    await count_now(yard, clock)

    assert (await today(yard)).summary() == {
        "tasks_created": 2,
        "tasks_completed": 1,
        "tasks_failed": 1,
        "tasks_dead_lettered": 1,
        "average_latency": 4.0,
        "worker_heartbeat_delay": 2.0,
        "error_rates_per_agent": {"ada.1": 0.0, "bob": 1.0},
    }


async def test_the_sum_goes_on_where_days_end(yard: Yard, clock: ManualClock):
    await yard.cancel((await yard.enqueue("code")).id, "not wanted")
    await count_now(yard, clock)
    clock.advance(seconds=DAY)
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease, cost_usd=2)
    await count_now(yard, clock)

    metrics = await yard.local.metrics.report(days=2)

    assert [day.totals.created for day in metrics.days] == [1, 1]
    assert [day.totals.tasks_completed for day in (await yard.local.metrics.report(days=1)).days] == [1]
    assert (metrics.total.created, metrics.total.completed) == (2, {"code": 1})
    assert metrics.total.to_dict()["costs"] == [{"type": "code", "agent": "worker", "model": "", "cost_usd": "2"}]


async def test_what_is_counted_by_agent_goes_by_its_type(yard: Yard, clock: ManualClock):
    for process in ("coder@host:1", "coder@host:2"):
        await given_an_agent(yard, process, type="coder")
        task = await yard.enqueue("code")
        held = await claim_that(yard, task.id, by=process, start=True)
        await yard.complete(held.id, held.lease)
    await count_now(yard, clock)

    assert (await today(yard)).error_rates_per_agent == {"coder": 0.0}


async def test_a_workspace_sees_its_own_figures_and_one_sweep_counts_for_all(open_yard: OpenYard, clock: ManualClock):
    here, there = await open_yard(), await open_yard(workspace="acme")
    await here.enqueue("code")
    await several(there, 2)

    await count_now(here, clock)

    assert (await today(here)).created == 1
    assert (await today(there)).created == 2


async def test_sweeps_of_many_processes_count_each_event_once(open_yard: OpenYard, clock: ManualClock):
    yards = [await open_yard() for _ in range(4)]
    for round_ in range(5):
        await asyncio.gather(*(yard.enqueue("code") for yard in yards))
        clock.advance(seconds=6)
        await asyncio.gather(*(yard.on_store.sweeper.follow() for yard in yards))
        await yards[0].on_store.sweeper.follow()
        assert (await today(yards[round_ % 4])).created == 4 * (round_ + 1)


async def test_who_dies_between_counting_and_storing_leaves_no_trace(yard: Yard, clock: ManualClock):
    await yard.enqueue("code")
    with pytest.raises(ProcessDied):
        await dying_after(yard, 0).on_store.sweeper.follow()

    assert (await yard.local.metrics.report()).days == ()


@pytest.mark.parametrize(("commits", "pages"), [(0, 1), (1, 1), (2, 1), (1, 2)])
async def test_whenever_the_counting_process_dies_each_event_is_counted_once(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, commits: int, pages: int
):
    page_by_page(monkeypatch, 1, pages)
    await several(yard, 3)
    with pytest.raises(ProcessDied):
        await dying_after(yard, commits).on_store.sweeper.follow()

    await count_now(yard, clock)
    await count_now(yard, clock)

    assert (await today(yard)).created == 3


async def test_a_long_backlog_is_counted_page_by_page(yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch):
    page_by_page(monkeypatch, 7)
    monkeypatch.setattr(sweeper, "MOST_ROUNDS", 2)
    await several(yard, 30)

    await count_now(yard, clock)
    assert (await today(yard)).created == 14
    await count_now(yard, clock)
    await count_now(yard, clock)

    assert (await today(yard)).created == 30


async def test_figures_of_several_pages_are_stored_together(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    page_by_page(monkeypatch, 7, pages=3)
    monkeypatch.setattr(sweeper, "MOST_ROUNDS", 1)
    await several(yard, 30)

    with pytest.raises(ProcessDied):
        await dying_after(yard, 0).on_store.sweeper.follow()
    assert (await yard.local.metrics.report()).days == ()
    assert (await yard.on_store.sweeper.follow()).more

    assert (await today(yard)).created == 21


async def test_a_sweep_that_finds_no_event_writes_nothing(yard: Yard):
    await several(yard, 3)
    await yard.on_store.sweeper.follow()

    step = await dying_after(yard, 0).on_store.sweeper.follow()

    assert not step.more


async def test_nothing_is_pruned_before_it_is_counted(yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sweeper, "MOST_ROUNDS", 0)
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease)
    clock.advance(seconds=8 * DAY)
    await elapse(yard, clock, 120)
    assert await yard.find() != []

    monkeypatch.undo()
    await elapse(yard, clock, 120)

    assert await yard.find() == []
    assert (await yard.local.metrics.report()).total.completed == {"code": 1}


async def test_counting_begins_with_what_is_kept_where_some_is_gone_already(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease)
    await elapse(yard, clock, 120)
    await forget_that_it_was_counted(yard)
    clock.advance(seconds=8 * DAY)
    await yard.store.commit([await everything_removed(yard)])
    await yard.enqueue("code")

    await count_now(yard, clock)

    assert (await today(yard)).created == 1


async def test_figures_are_kept_for_a_year_and_then_some(yard: Yard, clock: ManualClock):
    await yard.enqueue("code", max_attempts=1)
    await count_now(yard, clock)
    first = utc_date(yard.now())
    clock.advance(seconds=399 * DAY)
    await count_now(yard, clock)
    assert await yard.store.record(metering.DAYS, yard.workspace, first) is not None

    clock.advance(seconds=3 * DAY)
    await count_now(yard, clock)

    assert await yard.store.record(metering.DAYS, yard.workspace, first) is None
    assert (await yard.local.metrics.report()).total.created == 1


async def test_verify_finds_a_day_that_says_something_else_than_its_events(yard: Yard, clock: ManualClock):
    await yard.enqueue("code")
    await count_now(yard, clock)
    record = await yard.store.record(metering.DAYS, yard.workspace, utc_date(yard.now()))
    assert record is not None
    for figure in (7, 1):
        wrong = RecordChange(*record[:4], {**record.body, "tasks_created": figure})
        await yard.store.commit([ChangeSet(records=(wrong,), at=yard.now())])
        problems = (await yard.verify()).problems
        record = record._replace(version=record.version + 1)

        assert [problem for problem in problems if "7 created" in problem] == list(problems)
        assert len(problems) == (figure == 7)


@pytest.mark.parametrize("days", [-1, 401, 1.5])
async def test_so_many_days_are_not_kept(yard: Yard, days: int):
    with pytest.raises(InvalidInput):
        await yard.local.metrics.report(days=days)


async def forget_that_it_was_counted(yard: Yard) -> None:
    """As a yard is that an older release has worked on."""
    for kind in (metering.DAYS, metering.METER):
        gone = tuple(RecordChange(*each[:4], None) for each in await yard.store.records(kind))
        await yard.store.commit([ChangeSet(records=gone, at=yard.now())])


async def everything_removed(yard: Yard) -> ChangeSet:
    return ChangeSet(removals=tuple(task.id for task in await yard.find()), at=yard.now())


async def test_counting_never_reads_every_task(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    """The depth of each minute is that of the tasks that have not ended, however long the history is."""

    async def tally(workspace: str) -> dict[tuple[Status, str], int]:
        raise AssertionError(f"every task of {workspace} is read")

    monkeypatch.setattr(yard.store, "tally", tally)
    await yard.enqueue("code")
    await yard.sweep()

    assert (await yard.overview.series("1h")).depth["ready"][-1] == 1
