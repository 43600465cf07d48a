"""What time does to a yard that is kept swept: due work, limits, and what is forgotten in the end."""

import asyncio
import json

import pytest

from taskyard import sweeper
from taskyard.core.changes import ChangeSet, Edge
from taskyard.core.dag import DagStatus
from taskyard.core.errors import EventsGone, NotFound
from taskyard.core.task import Status
from taskyard.core.units import Micros, seconds, to_iso
from taskyard.features.retention import pruning
from taskyard.features.retention.views import Swept
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import (
    bury,
    claim_all,
    given_a_graph,
    happened,
    several,
    states,
    status_of,
    task,
    work_off,
)
from tests.interference import ProcessDied, dying_after, while_pruning
from tests.yards import (
    OpenYard,
    claim_that,
    elapse,
    events_of,
    given_a_claimed_task,
    given_a_running_task,
    given_an_agent,
    pass_unswept,
)

DAY = 24 * 3600.0


def after(yard: Yard, delay_sec: float) -> str:
    return to_iso(Micros(yard.now() + seconds(delay_sec)))


# Due work


async def test_a_task_is_not_to_be_had_before_its_time(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    later = await yard.enqueue("code", run_after=after(yard, 3600))
    assert later.status is Status.PENDING

    await pass_unswept(yard, clock, 3599)
    assert await yard.claim("worker") == []
    await elapse(yard, clock, 1)

    await claim_that(yard, later.id)


async def test_a_time_that_is_past_already_makes_nobody_wait(yard: Yard):
    assert (await yard.enqueue("code", run_after=after(yard, -1))).status is Status.READY


async def test_a_task_with_a_time_and_a_dependency_waits_for_both(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    when = after(yard, 60)
    dag = await given_a_graph(yard, task("a"), task("early", "a", run_after=when), task("late", "a", run_after=when))
    (held,) = await claim_all(yard, 1)

    await elapse(yard, clock, 60)
    assert await yard.claim("worker") == []
    await yard.complete(held.id, held.lease)

    assert await states(yard, dag) == {"a": Status.COMPLETED, "early": Status.READY, "late": Status.READY}


async def test_a_failed_task_is_promoted_by_the_first_sweep_after_its_delay(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard, retry={"strategy": "fixed", "initial_delay_sec": 20, "jitter": 0})
    await yard.fail(held.id, held.lease, "crash")

    await elapse(yard, clock, 19)
    assert await status_of(yard, held.id) is Status.RETRYING
    await elapse(yard, clock, 1)

    assert await status_of(yard, held.id) is Status.READY


async def test_a_sweep_is_bounded_and_the_next_one_goes_on(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sweeper, "BATCH", 50)
    await yard.enqueue_many([{"type": "code", "run_after": after(yard, 10)} for _ in range(70)])
    await yard.sweep()
    clock.advance(seconds=10)

    assert (await yard.sweep()).woken == 50
    clock.advance(seconds=1)
    assert (await yard.sweep()).woken == 20
    clock.advance(seconds=1)
    assert (await yard.sweep()).woken == 0


async def test_what_was_swept_this_second_is_not_swept_again(yard: Yard, clock: ManualClock):
    await yard.sweep()
    waiting = await yard.enqueue("code", run_after=after(yard, 0.5))
    clock.advance(seconds=0.5)

    assert await yard.sweep() == Swept()
    assert await status_of(yard, waiting.id) is Status.PENDING
    clock.advance(seconds=0.5)
    assert (await yard.sweep()).woken == 1


async def test_many_who_sweep_at_once_do_each_thing_once(yard: Yard, open_yard: OpenYard, clock: ManualClock):
    tasks = await yard.enqueue_many([{"type": "code", "run_after": after(yard, 10)} for _ in range(50)])
    held = await given_a_running_task(yard)
    yards = await several(open_yard, 4)
    clock.advance(seconds=91)

    # The duty is only for economy, so the sweeps are also let loose without it.
    await asyncio.gather(*(each.sweep() for each in yards), *(each.on_store.sweeper.sweep_due() for each in yards))

    assert await happened(yard, "task.ready") == {each.id: 1 for each in tasks}
    assert (await events_of(yard, held.id)).count("task.retrying") == 1
    assert (await yard.get(held.id)).failures == 1


async def test_time_passes_in_every_workspace_whoever_sweeps(yard: Yard, open_yard: OpenYard, clock: ManualClock):
    other = await open_yard(workspace="other")
    waiting = await other.enqueue("code", run_after=after(yard, 10))
    held = await given_a_running_task(other)

    clock.advance(seconds=91)
    await yard.sweep()

    assert await status_of(other, waiting.id) is Status.READY
    assert await status_of(other, held.id) is Status.RETRYING
    assert (await other.verify()).ok


# Limits


async def test_what_still_waits_when_it_expires_is_cancelled(yard: Yard, clock: ManualClock):
    failed = await given_a_running_task(yard, expires_at=after(yard, 60), retry={"initial_delay_sec": 300})
    await yard.fail(failed.id, failed.lease, "crash")
    ready = await yard.enqueue("code", expires_at=after(yard, 60))
    other = await yard.enqueue("code")
    pending = await yard.enqueue("code", expires_at=after(yard, 60), run_after=after(yard, 30), depends_on=[other.id])
    three = (failed.id, ready.id, pending.id)

    await elapse(yard, clock, 59)
    assert [await status_of(yard, each) for each in three] == [Status.RETRYING, Status.READY, Status.PENDING]
    await elapse(yard, clock, 1)

    for each in three:
        details = (await yard.get(each)).to_dict()
        assert details["status"] == "cancelled"
        assert details["cancelled"] == {"at": to_iso(yard.now()), "reason": "expired"}


async def test_what_was_begun_in_time_may_end_after_it_expires(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard, expires_at=after(yard, 60))

    await elapse(yard, clock, 75)

    assert (await yard.complete(held.id, held.lease)).status is Status.COMPLETED


@pytest.mark.parametrize(("preset", "left"), [("standard", Status.CANCELLED), ("factory", Status.PENDING)])
async def test_what_expires_takes_its_dependents_along_where_a_cancel_does(
    open_yard: OpenYard, clock: ManualClock, preset: str, left: Status
):
    yard = await open_yard(preset=preset)
    dag = await given_a_graph(yard, task("a", expires_at=after(yard, 60)), task("b", "a"), task("c", "b"))

    await elapse(yard, clock, 60)

    assert await states(yard, dag) == {"a": Status.CANCELLED, "b": left, "c": left}
    ended = DagStatus.CANCELLED if left is Status.CANCELLED else DagStatus.FAILED
    assert (await yard.dags.get(dag.id)).status is ended


async def test_an_expiry_that_a_crash_interrupted_is_finished_by_the_next_sweep(yard: Yard, clock: ManualClock):
    dag = await given_a_graph(yard, task("a", expires_at=after(yard, 60)), task("b", "a"))
    clock.advance(seconds=60)

    with pytest.raises(ProcessDied):
        await dying_after(yard, 1).sweep()
    assert (await states(yard, dag))["a"] is Status.CANCELLED
    await elapse(yard, clock, 61)

    assert await states(yard, dag) == {"a": Status.CANCELLED, "b": Status.CANCELLED}


async def test_an_attempt_that_takes_too_long_times_out_however_lively_it_is(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard, max_duration_sec=100)
    for _ in range(5):
        await elapse(yard, clock, 19)
        assert (await yard.heartbeat(held.id, held.lease)).words == ()

    await elapse(yard, clock, 4)
    assert await status_of(yard, held.id) is Status.RUNNING
    await elapse(yard, clock, 1)

    (attempt,) = (await yard.get(held.id)).attempts
    assert (attempt.reason, attempt.counted) == ("timeout", True)
    assert (await yard.heartbeat(held.id, held.lease)).words == ("lease_lost",)


async def test_the_time_of_an_attempt_begins_when_it_starts(yard: Yard, clock: ManualClock):
    held = await given_a_claimed_task(yard, max_duration_sec=60)
    await elapse(yard, clock, 50)
    await yard.start(held.id, held.lease)

    await elapse(yard, clock, 59)

    assert await status_of(yard, held.id) is Status.RUNNING


# A new day


async def test_what_waits_for_the_days_money_is_let_go_at_midnight(yard: Yard, clock: ManualClock):
    await yard.budgets.set(daily_budget_usd="1.00")
    await given_an_agent(yard)
    await yard.sweep()
    first = await claim_that(yard, (await yard.enqueue("code", max_cost_usd="1.00")).id, start=True)
    await yard.complete(first.id, first.lease, cost_usd="0.90")
    second = await yard.enqueue("code", max_cost_usd="0.50")
    assert await yard.claim("worker") == []
    assert await status_of(yard, second.id) is Status.PENDING

    clock.advance(seconds=DAY - 1)
    await yard.sweep()
    assert await status_of(yard, second.id) is Status.PENDING
    clock.advance(seconds=1)
    await yard.sweep()

    await claim_that(yard, second.id)


# What is forgotten


async def a_week_later(yard: Yard, clock: ManualClock) -> None:
    """Agents are heard of meanwhile: those that are silent for so long would be forgotten too."""
    clock.advance(seconds=7 * DAY + 61)
    for view in await yard.agents.list():
        await yard.agents.heartbeat(view.id)
    await yard.sweep()


async def test_finished_work_is_kept_for_a_week_and_then_forgotten_whole(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    lone = await yard.enqueue("code", idempotency_key="once")
    dag = await given_a_graph(yard, task("a"), task("b", "a"))
    await work_off(yard)
    await yard.sweep()

    clock.advance(seconds=7 * DAY)
    assert (await yard.sweep()).pruned == 0
    assert await status_of(yard, lone.id) is Status.COMPLETED
    clock.advance(seconds=61)
    assert (await yard.sweep()).pruned == 3

    for each in (lone, *dag.tasks.values()):
        with pytest.raises(NotFound):
            await yard.get(each.id)
    with pytest.raises(NotFound):
        await yard.dags.get(dag.id)
    assert await yard.find() == []
    assert await yard.store.events(after=0, limit=100) == []
    assert (await yard.enqueue("code", idempotency_key="once")).created


async def test_one_sweep_prunes_piece_after_piece(yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pruning, "PIECE", 3)
    monkeypatch.setattr(pruning, "MOST_PIECES", 3)
    await given_an_agent(yard)
    for _ in range(10):
        await yard.enqueue("code")
    await work_off(yard)
    clock.advance(seconds=7 * DAY + 61)

    assert (await yard.sweep()).pruned == 9

    clock.advance(seconds=10)
    assert (await yard.sweep()).pruned == 1
    assert await yard.find() == []


async def test_what_a_live_task_of_another_graph_depends_on_is_kept(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    kept = await given_a_graph(yard, task("a"), task("b", "a"))
    gone, lone = await given_a_graph(yard, task("a")), await yard.enqueue("code")
    await work_off(yard)
    other = await given_a_graph(yard, task("c", run_after=after(yard, 30 * DAY)))
    edge = Edge(kept.tasks["a"].id, other.tasks["c"].id, "depends")
    await yard.store.commit([ChangeSet(edges=(edge,), at=yard.now())])

    await a_week_later(yard, clock)

    assert set((await states(yard, kept)).values()) == {Status.COMPLETED}
    left = {each.id for each in await yard.find()}
    assert not left & {lone.id, *(each.id for each in gone.tasks.values())}

    await yard.cancel(other.tasks["c"].id)
    await a_week_later(yard, clock)
    assert await yard.find() == []


async def test_a_graph_that_grows_at_the_moment_it_would_be_forgotten_is_kept_whole(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"))
    await work_off(yard)
    await yard.sweep()
    clock.advance(seconds=7 * DAY + 61)

    await while_pruning(yard, lambda: yard.dags.add(dag.id, [task("b")])).sweep()

    assert len((await yard.dags.get(dag.id)).tasks) == 2


async def test_a_graph_is_not_forgotten_while_any_of_it_is_young_or_under_way(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    under_way = await given_a_graph(yard, task("a"), task("b", "a", run_after=after(yard, 30 * DAY)))
    young = await given_a_graph(yard, task("a"))
    await work_off(yard)
    clock.advance(seconds=6 * DAY)
    added = await yard.dags.add(young.id, [task("b", young.tasks["a"].id)])
    await work_off(yard)

    clock.advance(seconds=2 * DAY)
    await yard.sweep()

    assert await states(yard, under_way) == {"a": Status.COMPLETED, "b": Status.PENDING}
    assert await states(yard, added) == {"b": Status.COMPLETED}
    assert len((await yard.dags.get(young.id)).tasks) == 2


async def test_a_dead_letter_is_never_forgotten_nor_its_graph(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("done"), task("doomed"))
    done, doomed = await claim_all(yard, 2)
    await yard.complete(done.id, done.lease)
    await bury(yard, doomed)

    await a_week_later(yard, clock)

    assert set((await states(yard, dag)).values()) == {Status.COMPLETED, Status.DEAD_LETTERED}
    assert len(await yard.dead_letters.list()) == 1


async def test_the_preset_ade_forgets_dead_letters_too(open_yard: OpenYard, clock: ManualClock):
    yard = await open_yard(preset="ade")
    doomed = await given_a_running_task(yard, max_attempts=1)
    await yard.fail(doomed.id, doomed.lease, "crash")

    await a_week_later(yard, clock)

    assert await yard.find() == []
    assert await yard.dead_letters.list() == []
    assert await yard.store.records("dead", yard.workspace) == []


async def test_what_was_spent_is_remembered_when_the_work_is_forgotten(yard: Yard, clock: ManualClock):
    await given_an_agent(yard, budget_usd="1.00")
    held = await claim_that(yard, (await yard.enqueue("code", max_cost_usd="1.00")).id, start=True)
    await yard.complete(held.id, held.lease, cost_usd="0.75")

    await a_week_later(yard, clock)

    assert await yard.find() == []
    assert [view.budget_left for view in await yard.agents.list()] == [250_000]


async def test_retention_is_what_the_yard_was_opened_with(open_yard: OpenYard, clock: ManualClock):
    yard = await open_yard(retention_days=0.5)
    await given_an_agent(yard)
    await yard.enqueue("code")
    await work_off(yard)

    clock.advance(seconds=DAY / 2 + 1)
    await yard.sweep()

    assert await yard.find() == []


async def test_retention_is_one_for_all_processes_and_the_last_that_was_given(open_yard: OpenYard, clock: ManualClock):
    server = await open_yard(retention_days=30)
    worker = await open_yard()
    await given_an_agent(worker)
    task = await worker.enqueue("code")
    await work_off(worker)

    await a_week_later(worker, clock)
    assert [each.id for each in await worker.find()] == [task.id]

    await open_yard(retention_days=2)
    clock.advance(seconds=61)
    await server.sweep()
    assert await worker.find() == []
    changes = [each.event.data for each in await server.events(limit=1000) if each.event.event == "yard.retention"]
    assert [json.loads(data or "")["days"] for data in changes][-1] == 2


async def test_events_of_no_task_are_kept_no_longer_than_finished_work(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    await yard.queues.pause("default")
    assert {"agent.registered", "queue.paused"} <= {each.event.event for each in await yard.events()}

    await a_week_later(yard, clock)
    await yard.queues.resume("default")

    assert [each.event.event for each in await yard.events()] == ["queue.resumed"]


async def test_a_reader_that_was_away_too_long_learns_what_it_missed(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    await yard.enqueue("code")
    await work_off(yard)
    (*_, last_seen) = await yard.events()
    await yard.enqueue("code")
    await work_off(yard)
    await a_week_later(yard, clock)
    kept = await yard.enqueue("code")

    with pytest.raises(EventsGone) as gone:
        await yard.events(after=last_seen.seq)
    with pytest.raises(EventsGone):
        await anext(yard.tail(after=last_seen.seq))

    resumed = await yard.events(after=int(str(gone.value.facts["oldest_seq"])) - 1)
    assert [each.event.task_id for each in resumed] == [kept.id]


async def test_a_reader_that_begins_after_something_was_forgotten_can_read_on(yard: Yard, clock: ManualClock):
    """Of work that is not done, and of agents, there are older events than those that are gone."""
    await given_an_agent(yard)
    old = await yard.enqueue("code", run_after=after(yard, 30 * DAY))
    await yard.enqueue("code")
    await work_off(yard)
    await a_week_later(yard, clock)
    kept = await yard.enqueue("code")
    last = await yard.enqueue("code")

    tail = yard.tail()
    assert [(await anext(tail)).event.task_id for _ in range(2)] == [kept.id, last.id]
    (first,) = await yard.events(limit=1)
    assert [each.event.task_id for each in await yard.events(after=first.seq)] == [last.id]
    assert await events_of(yard, old.id) == ["task.created"]


async def test_what_one_workspace_forgets_is_nothing_that_another_missed(
    yard: Yard, open_yard: OpenYard, clock: ManualClock
):
    quiet = await open_yard(workspace="quiet")
    await quiet.enqueue("code")
    tail = quiet.tail()
    seen = await anext(tail)
    await given_an_agent(yard)
    await yard.enqueue("code")
    await work_off(yard)

    await a_week_later(yard, clock)
    kept = await quiet.enqueue("code")

    assert (await anext(tail)).event.task_id == kept.id
    assert [each.event.task_id for each in await quiet.events(after=seen.seq)] == [kept.id]


async def test_a_reader_that_has_seen_all_that_is_forgotten_misses_nothing(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    await yard.enqueue("code")
    await work_off(yard)
    (*_, last_seen) = await yard.events()
    await a_week_later(yard, clock)

    kept = await yard.enqueue("code")

    assert [each.event.task_id for each in await yard.events(after=last_seen.seq)] == [kept.id]
