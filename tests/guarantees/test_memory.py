"""What has ended is remembered, found by what it was about, and forgotten when it is pruned: on every store."""

from typing import Any, cast

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.task import Status, TaskId
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.sources.words import behind
from tests.yards import OpenYard, claim_that, elapse, given_a_dead_letter, given_a_running_task, given_an_agent


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    yard = await open_yard(embedder="hash:")
    await yard.memory.set_policy(remember=True)
    return yard


async def given_a_completed_task(yard: Yard, title: str, output: Any = None) -> TaskId:
    held = await given_a_running_task(yard, title=title)
    await yard.complete(held.id, held.lease, output)
    return held.id


async def test_similar_work_is_found_with_how_it_ended_and_goes_with_its_task(yard: Yard, clock: ManualClock):
    done = await given_a_completed_task(yard, "Migrate the invoice table", {"summary": "40 rows", "rows": 40})
    dead = await given_a_dead_letter(yard, title="Translate the manual")
    waiting = await yard.memory.embedding_jobs()
    assert await behind(yard).memory.catch_up() == 2

    found = await yard.memory.search("migrating invoices")
    assert [hit.task_id for hit in found] == [done, dead.id]
    assert [hit.status for hit in found] == [Status.COMPLETED, Status.DEAD_LETTERED]
    assert (found[0].summary, found[1].reason) == ("40 rows", "crash")
    assert [hit.task_id for hit in await yard.memory.search("manuals", limit=1, type="code")] == [dead.id]
    jobs = await yard.memory.embedding_jobs()
    assert [(job.task_id, job.status) for job in waiting] == [(dead.id, "pending"), (done, "pending")]
    assert [(job.task_id, job.status) for job in jobs] == [(dead.id, "completed"), (done, "completed")]
    assert [(each.id, each.event) for each in await yard.memory.agent_events()] == [
        (jobs[0].id, "task.dead_lettered"),
        (jobs[1].id, "task.completed"),
    ]

    await yard.cancel(dead.id)
    clock.advance(seconds=8 * 86_400)
    for _ in range(3):
        await elapse(yard, clock, 20)
    assert await yard.memory.search("migrating invoices") == []
    assert (await yard.memory.state()).vectors == 0


async def test_the_worker_goes_on_after_a_gap_in_the_log(yard: Yard, clock: ManualClock):
    kept = await given_a_running_task(yard, title="Kept")
    await given_a_completed_task(yard, "Pruned")
    clock.advance(seconds=8 * 86_400)
    for _ in range(3):
        await elapse(yard, clock, 20)
    await given_an_agent(yard)
    again = await claim_that(yard, kept.id, start=True)
    await yard.complete(again.id, again.lease)

    assert await behind(yard).memory.catch_up() == 1
    assert [hit.title for hit in await yard.memory.search("Kept")] == ["Kept"]
    assert (await yard.memory.state()).waiting_since is None


async def test_a_retry_recalls_what_its_first_attempt_did(yard: Yard):
    await given_a_completed_task(yard, "Migration of invoices", "done")
    await behind(yard).memory.catch_up()
    held = await given_a_running_task(yard, title="Migrate orders", context_refs=["memory:auto"])
    (first,) = await yard.tasks.inputs(held.id, held.lease)
    await yard.release(held.id, held.lease)
    (again,) = await yard.claim("worker", start=True)
    await given_a_completed_task(yard, "Migration of orders", "done")
    await behind(yard).memory.catch_up()

    assert cast(Any, first.data)["tasks"][0]["title"] == "Migration of invoices"
    assert await yard.tasks.inputs(again.id, again.lease) == [first]


async def test_a_policy_is_stored_shown_and_audited(yard: Yard):
    assert (await yard.memory.set_policy(types={"code": False})).types == {"code": False}
    assert (await yard.memory.policy()).remember is None
    await given_a_completed_task(yard, "Nothing of this")

    assert await behind(yard).memory.catch_up() == 0
    assert "workspace.memory" in [stored.event.event for stored in await yard.events()]
    with pytest.raises(InvalidInput):
        await yard.memory.search("x", limit=0)
