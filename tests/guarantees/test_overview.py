"""How a yard stands, and how it went: what pages and charts are made of."""

import pytest

import taskyard
from taskyard.core.errors import InvalidInput
from taskyard.core.units import Micros, from_iso
from taskyard.features.metrics import counting as metering
from taskyard.features.metrics.rules import TIME_RESOLUTIONS
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, elapse, given_a_dead_letter, given_a_running_task, given_an_agent

HOUR = 3600.0


async def test_a_quiet_yard_has_nothing_that_asks_for_anybody(yard: Yard):
    view = await yard.overview.figures()

    assert (view.dead_unreviewed, view.approvals, view.open_breakers, view.paused_queues) == (0, 0, 0, 0)
    assert (view.oldest_ready, view.silent_agents, view.day.spent_usd, view.day.budget_usd) == (None, [], "0", None)


async def test_what_asks_for_somebody_is_counted(yard: Yard, clock: ManualClock):
    await given_a_dead_letter(yard)
    decided = await given_a_dead_letter(yard)
    await yard.dead_letters.resolve(decided.id, "escalate", by="human:local")
    asking = await given_a_running_task(yard)
    await yard.attempts.wait_for(asking.id, asking.lease, "may I", "approval", timeout_sec=600)
    await yard.breakers.open("code", why="by hand")
    await yard.queues.pause("night")
    await yard.budgets.set(daily_budget_usd=5)

    view = await yard.overview.figures()

    assert (view.dead_unreviewed, view.approvals, view.open_breakers, view.paused_queues) == (1, 1, 1, 1)
    assert view.tasks["dead_lettered"] == {"code": 2}
    assert view.day.budget_usd == "5"


async def test_the_task_that_has_waited_longest_is_named(yard: Yard, clock: ManualClock):
    first = await yard.enqueue("code", title="Waits", priority=1)
    clock.advance(seconds=5)
    await yard.enqueue("code", priority=99)

    oldest = (await yard.overview.figures()).oldest_ready

    assert oldest is not None
    assert (oldest.id, oldest.title, from_iso(oldest.ready_since)) == (first.id, "Waits", first.updated_at)


async def test_an_agent_that_fell_silent_is_named_unless_it_signed_off(yard: Yard, clock: ManualClock):
    await given_an_agent(yard, "ada")
    await given_an_agent(yard, "bob")
    await yard.agents.sign_off("bob")
    await elapse(yard, clock, 80)
    await given_an_agent(yard, "eve")

    assert [agent.id for agent in (await yard.overview.figures()).silent_agents] == ["ada"]


# Over time


async def counted(yard: Yard, clock: ManualClock) -> None:
    """Let the sweep come by that counts."""
    clock.advance(seconds=6)
    await yard.sweep()


async def test_an_hour_is_reported_minute_by_minute(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    clock.advance(seconds=2)
    await yard.complete(held.id, held.lease, cost_usd="0.25")
    await counted(yard, clock)
    clock.advance(seconds=60)
    await given_a_dead_letter(yard)
    await counted(yard, clock)

    hour = await yard.overview.series("1h")

    assert (hour.bucket_sec, len(hour.at)) == (60, 60)
    assert (sum(hour.created), sum(hour.completed), sum(hour.failed), sum(hour.dead)) == (2, 1, 1, 1)
    assert [amount for amount in hour.spend_usd if amount != "0"] == ["0.25"]
    [took] = [each for each in hour.duration_sec.p50 if each is not None and each > 1]
    assert 1 < took <= 5
    assert hour.created[-1] == 1
    assert from_iso(hour.at[-1]) == yard.now() - yard.now() % 60_000_000


async def test_what_each_queue_agent_and_type_did_is_counted_for_itself(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard, queue="night")
    await yard.complete(held.id, held.lease)
    await counted(yard, clock)  # the yard has one queue so far
    await given_a_dead_letter(yard)
    again = await given_a_running_task(yard, queue="night")
    await yard.complete(again.id, again.lease)
    await counted(yard, clock)

    found: dict[str, dict[str, tuple[int, int]]] = {}
    for by in ("queue", "agent", "type"):
        shares = (await yard.overview.series("1h", by=by)).shares or {}
        found[by] = {name: (sum(share.completed), sum(share.failed)) for name, share in shares.items()}

    assert found["queue"] == {"default": (0, 1), "night": (2, 0)}
    assert list(found["agent"].values()) == [(2, 1)]
    assert found["type"] == {"code": (2, 0)}
    assert (await yard.overview.series("1h")).shares is None
    with pytest.raises(InvalidInput, match="by"):
        await yard.overview.series("1h", by="mood")


async def test_the_queues_of_another_workspace_are_counted_there(yard: Yard, clock: ManualClock, open_yard: OpenYard):
    elsewhere = await open_yard(workspace="acme")
    for queue in ("day", "night"):
        held = await given_a_running_task(elsewhere, queue=queue)
        await elsewhere.complete(held.id, held.lease)
    await counted(yard, clock)

    shares = (await elsewhere.overview.series("1h", by="queue")).shares or {}
    assert {name: sum(share.completed) for name, share in shares.items()} == {"day": 1, "night": 1}
    assert (await yard.overview.series("1h", by="queue")).shares == {}


async def test_figures_are_found_by_a_clock_that_does_not_stand_still():
    class Moving(ManualClock):
        def now(self) -> Micros:
            self.advance(seconds=0.000_007)
            return super().now()

    clock = Moving()
    async with taskyard.connect("memory://", clock=clock, sweeps=False) as yard:
        await yard.enqueue("code")
        clock.advance(seconds=6)
        await yard.sweep()

        assert sum((await yard.overview.series("1h")).created) == 1


@pytest.mark.parametrize(
    ("window", "length", "buckets"),
    [("6h", 600, 36), ("24h", 600, 144), ("7d", 3600, 168), ("14d", 86400, 14), ("90d", 86400, 90)],
)
async def test_longer_times_are_reported_in_longer_buckets(
    yard: Yard, clock: ManualClock, window: str, length: int, buckets: int
):
    await yard.enqueue("code")
    await counted(yard, clock)

    series = await yard.overview.series(window)

    assert (series.bucket_sec, len(series.at), sum(series.created)) == (length, buckets, 1)
    with pytest.raises(InvalidInput):
        await yard.overview.series("13h")


async def test_a_queue_is_as_deep_as_it_was_last_seen_where_nothing_happens(yard: Yard, clock: ManualClock):
    await yard.enqueue("code")
    await counted(yard, clock)
    clock.advance(seconds=300)

    depth = (await yard.overview.series("1h")).depth["ready"]

    assert depth[-1] == 1
    assert depth[0] is None


async def test_figures_of_short_times_are_kept_for_so_long_and_no_longer(yard: Yard, clock: ManualClock):
    for _ in range(6):
        await yard.enqueue("code")
        await counted(yard, clock)
        clock.advance(seconds=HOUR)

    kept = await yard.store.records(metering.PACE, yard.workspace)

    minutes = [record.id for record in kept if record.id.startswith("minute:")]
    assert len(minutes) <= TIME_RESOLUTIONS["minute"].kept // (3600 * 1_000_000) + 1
    assert len([record for record in kept if record.id.startswith("hour:")]) == 6


async def test_events_of_long_ago_are_counted_without_figures_of_their_minutes(yard: Yard, clock: ManualClock):
    for _ in range(3):
        await yard.enqueue("code")
        clock.advance(seconds=24 * HOUR)
    await counted(yard, clock)

    assert sum((await yard.overview.series("1h")).created) == 0
    assert sum((await yard.overview.series("7d")).created) == 3


# Money


async def test_a_report_tells_where_the_money_went(yard: Yard, clock: ManualClock):
    dag = await yard.submit({"title": "Launch", "budget_ceiling_usd": 9, "tasks": [{"type": "code", "name": "a"}]})
    await given_an_agent(yard)
    [held] = await yard.claim("worker", start=True)
    await yard.complete(held.id, held.lease, cost_usd="0.75", model="opus")
    cheap = await given_a_running_task(yard, "research")
    await yard.complete(cheap.id, cheap.lease, cost_usd="0.25", model="haiku")
    await counted(yard, clock)

    report = await yard.budgets.report(days=7)

    assert report.total_usd == "1"
    assert report.by_model == [("opus", "0.75"), ("haiku", "0.25")]
    assert report.by_type == [("code", "0.75"), ("research", "0.25")]
    assert report.by_agent == [("worker", "1")]
    assert report.by_dag == [(dag.id, "Launch", "0.75")]
    assert [row.id for row in report.dearest] == [held.id, cheap.id]
    assert [share.spent_usd for share in report.by_day] == ["1"]


async def test_a_queue_that_was_drained_within_a_minute_is_shown_as_empty(yard: Yard, clock: ManualClock):
    await yard.enqueue("code")
    await counted(yard, clock)
    await given_an_agent(yard)
    (held,) = await yard.claim("worker", start=True)
    await yard.complete(held.id, held.lease)
    await yard.sweep()
    clock.advance(seconds=300)

    depth = (await yard.overview.series("1h")).depth

    assert {status: figures[-1] for status, figures in depth.items()} in ({}, {"ready": 0})
