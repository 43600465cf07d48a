"""Why is this not running? Every cause that the rule book names has its answer, in words and in data."""

import pytest

from taskyard.core.errors import NotFound
from taskyard.core.json_value import Json
from taskyard.core.units import Micros, seconds, to_iso
from taskyard.features.tasks.answers import CauseView
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import bury, claim_all, given_a_graph, task
from tests.yards import OpenYard, claim_that, elapse, given_a_claimed_task, given_a_running_task, given_an_agent


async def cause_of(yard: Yard, task_id: str, kind: str) -> CauseView:
    """The one cause, which must be of this kind."""
    (cause,) = (await yard.why(task_id)).causes
    assert cause.kind == kind, cause
    return cause


def after(yard: Yard, delay_sec: float) -> str:
    return to_iso(Micros(yard.now() + seconds(delay_sec)))


async def test_it_waits_for_tasks_each_with_its_own_state(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("b", "a"), task("both", "a", "b"))
    a, b, both = (dag.tasks[name].id for name in ("a", "b", "both"))
    await claim_that(yard, a, start=True)

    why = await yard.why(both)

    facts: dict[Json, Json] = {cause.facts["task_id"]: cause.facts["status"] for cause in why.causes}
    assert facts == {a: "running", b: "pending"}
    assert f"waits for {a}, which is running" in why.words


async def test_it_waits_for_a_dead_letter_or_for_what_will_never_come(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("b"), task("both", "a", "b"))
    await bury(yard, (await claim_all(yard, 2))[0])
    await yard.cancel(dag.tasks["b"].id, cascade=False)

    words = (await yard.why(dag.tasks["both"].id)).words

    assert "which is dead_lettered, so it waits until a person resolves that dead letter" in words
    assert "which is cancelled, so it will never run" in words


async def test_it_waits_for_its_children(yard: Yard):
    held = await given_a_running_task(yard)
    (child,) = await yard.tasks.spawn(held.id, held.lease, [task("child")], name="ask", wait=True)

    cause = await cause_of(yard, held.id, "task")

    assert cause.facts == {"task_id": child, "status": "ready"}


async def test_it_waits_for_a_signal(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.attempts.wait_for(held.id, held.lease, "ask", "approval", timeout_sec=60)

    cause = await cause_of(yard, held.id, "signal")

    assert cause.facts["signal"] == "approval"
    assert cause.words == f"waits for the signal approval, until {after(yard, 60)} at the latest"


async def test_it_waits_for_its_time(yard: Yard):
    later = await yard.enqueue("code", run_after=after(yard, 3600))

    cause = await cause_of(yard, later.id, "run_after")

    assert cause.facts == {"run_after": after(yard, 3600)}


async def test_it_waits_for_its_delay_after_a_failure(yard: Yard):
    held = await given_a_running_task(yard, retry={"jitter": 0})
    await yard.fail(held.id, held.lease, "crash", "it fell over")

    cause = await cause_of(yard, held.id, "retry")

    assert cause.facts == {"retry_at": after(yard, 10), "reason": "crash", "attempts": 1}


async def test_it_waits_for_the_providers_time(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.fail(held.id, held.lease, "rate_limit", retry_after_sec=120)

    assert f"is tried again at {after(yard, 120)}, after the provider's rate limit" in (await yard.why(held.id)).words


async def test_another_task_holds_its_concurrency_key(yard: Yard):
    holder = await given_a_running_task(yard, concurrency_key="repository")
    waiting = await yard.enqueue("code", concurrency_key="repository")
    assert await yard.claim("worker") == []

    cause = await cause_of(yard, waiting.id, "concurrency_key")

    assert cause.facts == {"key": "repository", "held_by": holder.id}
    assert holder.id in cause.words


async def test_its_graph_has_no_money_left(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(
        yard, task("a", max_cost_usd="0.70"), task("b", max_cost_usd="0.40"), budget_ceiling_usd="1.00"
    )
    assert len(await yard.claim("worker", count=2)) == 1

    cause = await cause_of(yard, dag.tasks["b"].id, "budget")

    assert cause.facts == {"limit": f"dag:{dag.id}", "ceiling": 1_000_000, "used": 700_000, "wants": 400_000}
    assert "it reserves $0.4" in cause.words
    assert "$0.3 of its DAG's $1 is left" in cause.words


async def test_the_day_has_no_money_left(yard: Yard):
    await yard.budgets.set(daily_budget_usd="1.00", default_reserve_usd="0.25")
    await given_a_running_task(yard, max_cost_usd="0.90")
    waiting = await yard.enqueue("code")
    assert await yard.claim("worker") == []

    cause = await cause_of(yard, waiting.id, "budget")

    assert cause.facts == {"limit": "day:2026-01-01", "ceiling": 1_000_000, "used": 900_000, "wants": 250_000}


async def test_no_agent_is_registered(yard: Yard):
    waiting = await yard.enqueue("code")

    assert (await cause_of(yard, waiting.id, "no_agent")).words == "no agent takes code; none is registered"


async def test_no_agent_has_the_capabilities_and_the_closest_are_named(yard: Yard):
    await given_an_agent(yard, "near", capabilities=["python", "git"])
    await given_an_agent(yard, "far", capabilities=["cooking"])
    await given_an_agent(yard, "reviewer", capabilities=["python", "git", "gpu"], types=["review"])
    waiting = await yard.enqueue("code", required_capabilities=["python", "git", "gpu"])

    cause = await cause_of(yard, waiting.id, "no_agent")

    assert cause.facts["required_capabilities"] == ["git", "gpu", "python"]
    assert cause.facts["closest"] == [
        "reviewer (does not handle code)",
        "near (lacks gpu)",
        "far (lacks git, gpu, python)",
    ]


async def test_it_is_addressed_to_an_agent_that_is_not_there(yard: Yard):
    await given_an_agent(yard)
    waiting = await yard.enqueue("code", agent="ada")

    words = (await cause_of(yard, waiting.id, "no_agent")).words

    assert words == "no agent takes code addressed to ada; closest: worker (is another agent)"


async def test_the_agents_for_it_are_not_active(yard: Yard):
    await given_an_agent(yard)
    await yard.agents.drain("worker")
    waiting = await yard.enqueue("code")

    assert "worker (draining)" in (await cause_of(yard, waiting.id, "agents_inactive")).words


async def test_the_agents_for_it_are_busy(yard: Yard):
    await given_an_agent(yard, max_concurrent_tasks=1)
    await claim_that(yard, (await yard.enqueue("code")).id)
    waiting = await yard.enqueue("code")

    assert (await cause_of(yard, waiting.id, "agent_busy")).words == "worker is busy with 1 of 1"


async def test_the_agents_for_it_cannot_afford_it(yard: Yard):
    await given_an_agent(yard, budget_usd="0.50")
    waiting = await yard.enqueue("code", max_cost_usd="0.60")

    words = (await cause_of(yard, waiting.id, "agent_budget")).words

    assert words == "worker has $0.5 left, and it reserves $0.6"


async def test_its_queue_is_paused(yard: Yard):
    await given_an_agent(yard)
    waiting = await yard.enqueue("code", queue="nightly")
    await yard.queues.pause("nightly")

    assert (await cause_of(yard, waiting.id, "paused")).facts == {"queue": "nightly"}
    await yard.queues.resume("nightly")
    await cause_of(yard, waiting.id, "next_in_line")


async def test_its_breaker_is_open_and_then_half_open(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    waiting = await yard.enqueue("code")
    await yard.breakers.open("code")

    cause = await cause_of(yard, waiting.id, "breaker")
    assert cause.facts == {"type": "code", "open_until": after(yard, 60)}

    await elapse(yard, clock, 60)
    assert "half open" in (await cause_of(yard, waiting.id, "breaker")).words


async def test_its_type_is_throttled(yard: Yard):
    held = await given_a_running_task(yard)
    waiting = await yard.enqueue("code")
    await yard.fail(held.id, held.lease, "rate_limit", retry_after_sec=120)

    assert (await cause_of(yard, waiting.id, "throttle")).facts == {"until": after(yard, 60)}


async def test_it_is_next_in_line(yard: Yard):
    await given_an_agent(yard)
    behind = await yard.enqueue("code", priority=60)
    await yard.enqueue("code", priority=10)
    await yard.enqueue("code", priority=50)

    cause = await cause_of(yard, behind.id, "next_in_line")

    assert (cause.words, cause.facts) == ("next in line, position 3", {"position": 3})


async def test_it_is_not_waiting_at_all(yard: Yard):
    claimed = await given_a_claimed_task(yard)
    assert "claimed by worker and not yet started" in (await cause_of(yard, claimed.id, "claimed")).words
    await yard.start(claimed.id, claimed.lease)
    assert "attempt 1 by worker" in (await cause_of(yard, claimed.id, "running")).words
    await yard.complete(claimed.id, claimed.lease)
    await cause_of(yard, claimed.id, "completed")

    dead = await given_a_running_task(yard, max_attempts=1)
    await yard.fail(dead.id, dead.lease, "crash")
    assert "waits for a person" in (await cause_of(yard, dead.id, "dead_lettered")).words

    cancelled = await yard.enqueue("code")
    await yard.cancel(cancelled.id, "no longer wanted")
    assert (await cause_of(yard, cancelled.id, "cancelled")).words == "is cancelled: no longer wanted"


async def test_the_answer_is_the_same_in_words_and_in_data(yard: Yard):
    later = await yard.enqueue("code", run_after=after(yard, 60))

    assert (await yard.why(later.id)).to_dict() == {
        "task_id": later.id,
        "status": "pending",
        "words": f"is not to run before {after(yard, 60)}",
        "causes": [
            {
                "kind": "run_after",
                "words": f"is not to run before {after(yard, 60)}",
                "run_after": after(yard, 60),
            }
        ],
    }


async def test_nothing_is_stated_of_a_task_that_is_not_there(yard: Yard, open_yard: OpenYard):
    elsewhere = await (await open_yard(workspace="other")).enqueue("code")

    for task_id in ("task_01ARZ3NDEKTSV4RRFFQ69G5FAV", elsewhere.id):
        with pytest.raises(NotFound):
            await yard.why(task_id)
