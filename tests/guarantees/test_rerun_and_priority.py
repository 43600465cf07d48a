"""Doing finished work again, and moving waiting work."""

import asyncio

import pytest

from taskyard.core.errors import IllegalTransition, InvalidInput, NotFound
from taskyard.core.task import Status
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import bury, claim_all, given_a_graph, states, status_of, task, work_off
from tests.yards import OpenYard, claim_that, elapse, events_of, given_a_running_task, given_an_agent

NOBODY = "task_01ARZ3NDEKTSV4RRFFQ69G5FAV"


async def test_a_rerun_is_a_new_task_that_asks_for_the_same_in_a_fresh_session(yard: Yard):
    held = await given_a_running_task(
        yard,
        prompt="compare them",
        payload={"vendors": 3},
        priority=7,
        tags=["night"],
        idempotency_key="once",
        session={"session_id": "s1", "work_dir": "/srv/page"},
    )
    await yard.complete(held.id, held.lease, {"best": "b"})

    rerun = await yard.rerun(held.id, created_by="human:ada")

    assert (rerun.created, rerun.status) == (True, Status.READY)
    again, before = (await yard.get(rerun.id)).to_dict(), (await yard.get(held.id)).to_dict()
    for field in ("type", "spec", "priority", "tags", "queue", "timeouts", "retry"):
        assert again[field] == before[field]
    assert again["rerun_of"] == held.id
    assert again["session"] == {"session_id": None, "work_dir": None, "runtime": None, "fresh": True}
    assert again["trigger"] == {"type": "manual_rerun", "ref": None, "summary": None}
    assert (again["idempotency_key"], again["created_by"]) == (None, "human:ada")


async def test_what_is_rerun_stays_as_it_is(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease, {"first": True})
    before = (await yard.get(held.id)).to_dict()

    rerun = await yard.rerun(held.id)
    await work_off(yard, outputs={rerun.id: {"second": True}})

    assert (await yard.get(held.id)).to_dict() == before
    assert (await yard.get(rerun.id)).result == {"second": True}


async def test_a_rerun_of_a_subject_cancels_what_waits_with_all_that_depends_on_it(yard: Yard):
    dag = await given_a_graph(yard, task("a", subject="issue:1", agent="worker"), task("b", "a"))

    again = await yard.tasks.rerun_subject("issue:1", created_by="human:ada")

    assert await states(yard, dag) == {"a": Status.CANCELLED, "b": Status.CANCELLED}
    assert (again.rerun_of, again.status) == (dag.tasks["a"].id, Status.READY)
    assert again.created_by == "human:ada"


async def test_of_many_reruns_of_a_subject_at_once_one_is_left_waiting(open_yard: OpenYard):
    yard, other = await open_yard(preset="multica"), await open_yard(preset="multica")
    await yard.enqueue("code", subject="issue:1", agent="worker")

    await asyncio.gather(*(each.tasks.rerun_subject("issue:1") for each in [yard, other] * 4))

    waiting = await yard.find(status="ready")
    assert len(waiting) == 1
    assert not (await yard.enqueue("code", subject="issue:1", agent="worker")).created


async def test_a_subject_that_nothing_is_about_cannot_be_rerun(open_yard: OpenYard):
    yard, other = await open_yard(), await open_yard(workspace="other")
    theirs = await other.enqueue("code", subject="issue:1")

    for which in ({}, {"task_id": theirs.id}, {"task_id": NOBODY}):
        with pytest.raises(NotFound):
            await yard.tasks.rerun_subject("issue:1", **which)


async def test_a_rerun_of_a_graphs_task_is_a_lone_task(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("b", "a"))
    await work_off(yard)

    rerun = await yard.rerun(dag.tasks["b"].id)

    assert rerun.status is Status.READY
    assert rerun.dag_id != dag.id
    assert len((await yard.dags.get(dag.id)).tasks) == 2


async def test_dead_and_cancelled_tasks_can_be_rerun_too(yard: Yard):
    dead = await given_a_running_task(yard)
    await bury(yard, dead)
    cancelled = await yard.enqueue("code")
    await yard.cancel(cancelled.id)

    reruns = [await yard.rerun(each.id) for each in (dead, cancelled)]

    assert [each.id for each in await claim_all(yard, 2)] == [each.id for each in reruns]


async def test_a_task_that_expired_can_be_rerun_now(yard: Yard, clock: ManualClock):
    """Its time is over, and that is why a person asks for it again."""
    await given_an_agent(yard)
    expired = await yard.enqueue("code", expires_at="2026-01-01T00:01:00Z")
    await elapse(yard, clock, 60)
    assert await status_of(yard, expired.id) is Status.CANCELLED

    rerun = await yard.rerun(expired.id)
    await elapse(yard, clock, 5)

    await claim_that(yard, rerun.id)


async def test_what_has_not_ended_cannot_be_rerun(yard: Yard):
    held = await given_a_running_task(yard)

    with pytest.raises(IllegalTransition, match="rerun"):
        await yard.rerun(held.id)
    with pytest.raises(NotFound):
        await yard.rerun(NOBODY)

    assert len(await yard.find()) == 1


async def test_a_waiting_task_is_moved_within_its_lane(yard: Yard):
    await given_an_agent(yard)
    first = await yard.enqueue("code", priority=50)
    second = await yard.enqueue("code", priority=50)

    await yard.tasks.set_priority(second.id, 10, by="human:ada")

    assert [each.id for each in await yard.claim("worker", count=2)] == [second.id, first.id]
    assert (await yard.get(second.id)).to_dict()["priority"] == 10
    assert "task.reprioritised" in await events_of(yard, second.id)


async def test_a_moved_task_keeps_its_age_and_its_deadline(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    old = await yard.enqueue("code", priority=90)
    clock.advance(seconds=60 * 100)
    fresh = await yard.enqueue("code", priority=51)

    await yard.tasks.set_priority(old.id, 60)

    # 60 less the ten points of its hundred minutes is 50.
    assert [each.id for each in await yard.claim("worker", count=2)] == [old.id, fresh.id]


async def test_a_pending_task_is_moved_before_it_is_ready(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("top"), task("a", "top"), task("b", "top"))

    await yard.tasks.set_priority(dag.tasks["b"].id, 0)

    assert await work_off(yard) == [dag.tasks[name].id for name in ("top", "b", "a")]


async def test_only_waiting_tasks_are_moved_and_only_within_the_scale(yard: Yard):
    held = await given_a_running_task(yard)
    waiting = await yard.enqueue("code")

    with pytest.raises(IllegalTransition, match="running"):
        await yard.tasks.set_priority(held.id, 10)
    for priority in (-1, 101, 1.5, "high", True, None):
        with pytest.raises(InvalidInput, match="priority"):
            await yard.tasks.set_priority(waiting.id, priority)  # pyright: ignore[reportArgumentType]

    assert (await yard.get(waiting.id)).to_dict()["priority"] == 50


async def test_a_priority_is_given_and_shown_in_the_presets_own_scale(open_yard: OpenYard):
    yard = await open_yard(preset="automechanica")
    waiting = await yard.enqueue("code", priority=3)

    await yard.tasks.set_priority(waiting.id, 0)

    assert (await yard.get(waiting.id)).to_dict()["priority"] == 0
    with pytest.raises(InvalidInput, match="from 0 to 3"):
        await yard.tasks.set_priority(waiting.id, 4)
