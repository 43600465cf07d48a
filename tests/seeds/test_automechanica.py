"""The document that the preset automechanica comes from, replayed in its own field names."""

import asyncio
from typing import Any

import pytest

from taskyard.core.dag import DagStatus
from taskyard.core.errors import Forbidden, InvalidInput, LeaseLost
from taskyard.core.task import Status
from taskyard.core.units import from_iso
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import dag_history, status_of
from tests.sources.words import behind
from tests.yards import OpenYard, claim_that, elapse, given_an_agent

AGENT = "FitmentAgent"
WORKER = "host-1:4711"  # hostname and process id
WORKFLOW: dict[str, Any] = {
    "title": "A new part",
    "tasks": [
        {"name": "fitment", "task_type": "generate_fitment", "agent_name": AGENT},
        {"name": "price", "task_type": "refresh_price", "depends_on": ["fitment"]},
    ],
}


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    yard = await open_yard(preset="automechanica")
    await given_an_agent(yard, WORKER, type=AGENT)
    return yard


async def create_task(yard: Yard, **fields: Any) -> str:
    """As the orchestrator of the document does it."""
    given = {"agent_name": AGENT, "task_type": "generate_fitment", "payload": {"sku": 7}, "priority": 0, **fields}
    (made,) = await yard.enqueue_many([{**given, "max_attempts": given.get("max_attempts", 3)}])
    return made.id


async def lease(yard: Yard, task_id: str) -> Held:
    return await claim_that(yard, task_id, by=WORKER)


async def facts(yard: Yard, task_id: str) -> Any:
    return (await yard.get(task_id)).to_dict()


async def fail(yard: Yard, held: Held, error: str = "no such part") -> float | None:
    """How long the task waits, where it is tried again."""
    receipt = await yard.fail(held.id, held.lease, "agent_error", error, details={"code": 17})
    return None if receipt.wake_at is None else (receipt.wake_at - yard.now()) / 1_000_000


# 2, 9. The task table, and how the orchestrator creates tasks


async def test_a_task_is_created_in_the_words_of_the_document(yard: Yard):
    workflow = await yard.submit(WORKFLOW)
    made = await create_task(yard, workflow_id=workflow.id, available_at="2026-01-01T00:01:00Z", payload={"a": [1]})

    shown = await facts(yard, made)
    assert (shown["dag_id"], shown["agent"], shown["type"]) == (workflow.id, AGENT, "generate_fitment")
    assert (shown["spec"]["payload"], shown["priority"], shown["state"]) == ({"a": [1]}, 0, "pending")
    assert (shown["attempts"], shown["max_attempts"]) == (0, 3)
    assert shown["run_after"] == "2026-01-01T00:01:00.000000Z"
    assert from_iso(shown["created_at"]) == from_iso(shown["updated_at"]) == yard.now()
    for kept in ("status", "attempts", "lease_owner", "lease_expires_at", "error_info", "created_at", "updated_at"):
        with pytest.raises(InvalidInput, match=f"{kept}.*is kept by the system"):
            await create_task(yard, **{kept: None})


async def test_three_attempts_are_the_default(yard: Yard):
    (made,) = await yard.enqueue_many([{"task_type": "generate_fitment"}])

    assert (await facts(yard, made.id))["max_attempts"] == 3


# 3, 4. Lifecycle and leases


async def test_a_worker_leases_a_task_for_thirty_seconds_runs_it_and_completes_it(yard: Yard):
    made = await create_task(yard, timeouts={"claim_ttl_sec": 20})
    held = await lease(yard, made)

    claim = (await facts(yard, made))["claim"]
    assert (claim["agent_id"], (await facts(yard, made))["state"]) == (WORKER, "leased")
    await yard.start(held.id, held.lease)
    shown = await facts(yard, made)
    assert (shown["state"], from_iso(shown["claim"]["lease_expires_at"])) == ("running", yard.now() + 30_000_000)
    await yard.complete(held.id, held.lease, {"fits": True})
    shown = await facts(yard, made)
    assert (shown["state"], shown["claim"], shown["output"]["data"]) == ("completed", None, {"fits": True})


async def test_only_what_is_pending_and_available_is_leased_by_priority_and_then_by_age(yard: Yard, clock: ManualClock):
    analytics, seo = await create_task(yard, priority=3), await create_task(yard, priority=2)
    clock.advance(seconds=1)
    supplier, order = await create_task(yard, priority=1), await create_task(yard, priority=0)
    later = await create_task(yard, priority=0, available_at="2026-01-01T00:00:10Z")
    fitment = await create_task(yard, priority=0)

    assert [held.id for held in await yard.claim(WORKER, count=9)] == [order, fitment, supplier, seo, analytics]
    await elapse(yard, clock, 10)
    await lease(yard, later)


async def test_no_task_is_processed_twice_by_workers_in_parallel(yard: Yard, open_yard: OpenYard):
    yards = [yard, await open_yard(preset="automechanica")]
    made = {await create_task(yard) for _ in range(5)}
    for number in range(8):
        await given_an_agent(yard, f"host-{number}:1", type=AGENT)

    claims = await asyncio.gather(*(yards[n % 2].claim(f"host-{n}:1") for n in range(8)))

    leased = [held.id for claim in claims for held in claim]
    assert (len(leased), set(leased)) == (5, made)


async def test_a_heartbeat_extends_the_lease_and_without_one_the_task_is_eligible_again(yard: Yard, clock: ManualClock):
    held = await lease(yard, await create_task(yard))
    for _ in range(3):
        await elapse(yard, clock, 20)
        await yard.heartbeat(held.id, held.lease)
    await elapse(yard, clock, 29)
    assert await status_of(yard, held.id) is Status.RUNNING
    await elapse(yard, clock, 2)

    await given_an_agent(yard, "host-2:1", type=AGENT)
    again = await claim_that(yard, held.id, by="host-2:1")
    assert again.failures == 1
    with pytest.raises(LeaseLost):
        await yard.complete(held.id, held.lease)


# 5. Backoff


async def test_a_failure_waits_for_the_square_of_the_attempts_and_the_last_is_dead(yard: Yard, clock: ManualClock):
    made = await create_task(yard, max_attempts=4)
    waits: list[float | None] = []
    for number in range(1, 5):
        waits.append(await fail(yard, await lease(yard, made), f"failure {number}"))
        shown = await facts(yard, made)
        assert (shown["attempts"], shown["failure"]["error"]) == (number, f"failure {number}")
        assert shown["state"] == ("pending" if number < 4 else "dead")
        await elapse(yard, clock, waits[-1] or 0)

    assert waits == [5, 20, 45, None]


# 6, 10. Workers and agents


async def test_an_agent_takes_only_what_is_addressed_to_it_or_to_nobody(yard: Yard):
    await create_task(yard, agent_name="PricingAgent")
    mine, anybodys = await create_task(yard), await create_task(yard, agent_name=None)

    assert {held.id for held in await yard.claim(WORKER, count=9)} == {mine, anybodys}


async def test_an_agent_attaches_its_error_and_gives_its_lease_back(yard: Yard):
    held = await lease(yard, await create_task(yard))
    await yard.release(held.id, held.lease)
    assert (await facts(yard, held.id))["state"] == "pending"

    await fail(yard, await lease(yard, held.id))
    assert (await facts(yard, held.id))["failure"]["details"] == {"code": 17}


async def test_an_agent_never_creates_tasks_for_unrelated_agents_and_the_orchestrator_does(yard: Yard):
    held = await lease(yard, await create_task(yard))
    wanted = {"task_type": "refresh_price", "agent_name": "PricingAgent"}
    with pytest.raises(Forbidden, match="PricingAgent"):
        await yard.tasks.spawn(held.id, held.lease, [wanted], name="more")

    await given_an_agent(yard, "orchestrator", orchestrator=True)
    plan = await claim_that(yard, (await yard.enqueue("plan", agent="orchestrator")).id, by="orchestrator")
    (made,) = await yard.tasks.spawn(plan.id, plan.lease, [wanted], name="more")
    assert (await facts(yard, made))["agent"] == "PricingAgent"


# 8. Dead letters


async def test_a_dead_task_is_shown_with_its_story_and_may_be_revived(yard: Yard):
    made = await create_task(yard, max_attempts=1)
    await fail(yard, await lease(yard, made), "no such part")

    (letter,) = await yard.dead_letters.list()
    shown: Any = letter.task.to_dict()
    assert (shown["failure"]["error"], shown["agent"], shown["type"]) == ("no such part", AGENT, "generate_fitment")
    assert (shown["spec"]["payload"], shown["attempts"], shown["state"]) == ({"sku": 7}, 1, "dead")
    await yard.dead_letters.resolve(made, "retry", by="human:ada", note="the catalogue is back")
    revived = await facts(yard, made)
    assert (revived["state"], revived["attempts"]) == ("pending", 0)
    await lease(yard, made)


# 9. Workflows


async def test_a_workflow_goes_on_with_completions_and_fails_at_the_first_dead_task(yard: Yard):
    workflow = await yard.submit(WORKFLOW)
    await yard.dags.add(workflow.id, [{"task_type": "analyse", "agent_name": "AnalyticsAgent"}])
    fitment, price = workflow.tasks["fitment"].id, workflow.tasks["price"].id
    held = await lease(yard, fitment)
    await yard.complete(held.id, held.lease, {"fits": True})
    assert (await yard.dags.get(workflow.id)).status is DagStatus.RUNNING

    held = await lease(yard, price)
    await yard.fail(held.id, held.lease, "agent_error")
    assert (await yard.dags.get(workflow.id)).status is DagStatus.RUNNING  # it will be tried again
    await yard.cancel(price)
    (last,) = (await yard.dags.add(workflow.id, [{"task_type": "escalate", "max_attempts": 1}])).tasks.values()
    held = await lease(yard, last.id)
    await yard.fail(held.id, held.lease, "agent_error")

    assert (await yard.dags.get(workflow.id)).status is DagStatus.FAILED  # though one of its tasks could go on
    assert (await dag_history(yard, workflow.id))[-1] == "dag.failed"


async def test_priorities_go_from_critical_to_low_and_no_further(yard: Yard):
    made = [await create_task(yard, priority=priority) for priority in (3, 1, 2, 0)]

    assert [held.id for held in await yard.claim(WORKER, count=9)] == [made[at] for at in (3, 1, 2, 0)]
    for priority in (-1, 4):
        with pytest.raises(InvalidInput, match="priority"):
            await create_task(yard, priority=priority)


# 11. Metrics


async def test_the_table_of_metrics_has_the_figures_of_the_day(yard: Yard, clock: ManualClock):
    held = await lease(yard, await create_task(yard))
    clock.advance(seconds=4)
    await yard.complete(held.id, held.lease)
    await fail(yard, await lease(yard, await create_task(yard, max_attempts=1)))
    clock.advance(seconds=6)
    await yard.sweep()

    (day,) = (await behind(yard).local.metrics.report(days=1)).days
    assert day.totals.summary() == {
        "tasks_created": 2,
        "tasks_completed": 1,
        "tasks_failed": 1,
        "tasks_dead_lettered": 1,
        "average_latency": 4.0,
        "worker_heartbeat_delay": 2.0,
        "error_rates_per_agent": {AGENT: 0.5},
    }


# 6, 12. Agent events and embedding jobs


async def test_a_completion_is_an_agent_event_and_an_embedding_job_that_a_worker_picks_up(open_yard: OpenYard):
    yard = await open_yard(preset="automechanica", embedder="hash:")
    await given_an_agent(yard, WORKER, type=AGENT)
    held = await lease(yard, await create_task(yard, payload={"part": "brake disc"}))
    await yard.complete(held.id, held.lease, {"fits": ["Model A"]})

    (event,) = await yard.memory.agent_events()
    (job,) = await yard.memory.embedding_jobs()
    assert (event.event, event.agent_name, event.task_id) == ("task.completed", WORKER, held.id)
    assert (job.id, job.task_id, job.status.value) == (event.id, held.id, "pending")
    await behind(yard).memory.catch_up()  # the embedding worker, which is a process of its own
    (done,) = await yard.memory.embedding_jobs()
    assert (done.id, done.status.value) == (job.id, "completed")
    (hit,) = await yard.memory.search("brake discs")
    assert (hit.task_id, hit.summary) == (held.id, '{"fits":["Model A"]}')
