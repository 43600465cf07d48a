"""A claim reserves what a task may cost under every ceiling, and finishing settles what it did cost."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.task import Status
from taskyard.core.units import MicroUsd, to_usd
from taskyard.features.budgets.views import Spent
from taskyard.features.tasks.parts import TokensUsed
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, claim_of, claim_that, elapse, given_a_running_task, given_an_agent, pass_unswept


async def given_a_dag(yard: Yard, ceiling: object, *costs: object) -> str:
    """A graph with a ceiling, of tasks that may cost so much each, and do not depend on each other."""
    tasks: list[dict[str, Any]] = [{"type": "code", "max_cost_usd": cost} for cost in costs]
    return (await yard.submit({"tasks": tasks, "budget_ceiling_usd": ceiling})).id


async def money_of(yard: Yard, dag_id: str) -> tuple[str, str]:
    """What a graph has spent and reserved, in dollars."""
    dag = await yard.dags.get(dag_id)
    return to_usd(dag.spent), to_usd(dag.reserved)


# A graph's ceiling


async def test_a_claim_reserves_and_finishing_returns_what_was_not_used(yard: Yard):
    await given_an_agent(yard)
    dag_id = await given_a_dag(yard, "1.00", "0.60")
    (held,) = await yard.claim("worker", start=True)
    assert await money_of(yard, dag_id) == ("0", "0.6")

    await yard.complete(held.id, held.lease, cost_usd="0.25")
    assert await money_of(yard, dag_id) == ("0.25", "0")


async def test_what_is_left_of_the_ceiling_decides_and_equal_is_allowed(yard: Yard):
    await given_an_agent(yard)
    await given_a_dag(yard, "1.00", "0.60", "0.40", "0.000001")

    held = await yard.claim("worker", count=3)
    assert [to_usd(claim_of(each).reserved) for each in held] == ["0.6", "0.4"]


async def test_what_the_graph_cannot_pay_for_is_parked_until_it_can(yard: Yard):
    await given_an_agent(yard)
    dag_id = await given_a_dag(yard, "1.00", "0.60", "0.60")
    (held,) = await yard.claim("worker", count=2, start=True)
    (parked,) = [hot.id for hot in (await yard.dags.get(dag_id)).tasks if hot.id != held.id]
    shown = (await yard.get(parked)).to_dict()
    assert (shown["status"], shown["blocked_by"]) == ("pending", [f"budget:dag:{dag_id}"])
    assert (await yard.why(parked)).causes[0].kind == "budget"

    await yard.complete(held.id, held.lease, cost_usd="0.40")
    await claim_that(yard, parked)


async def test_what_is_parked_stays_so_while_there_is_too_little(yard: Yard):
    await given_an_agent(yard)
    await given_a_dag(yard, "1.00", "0.60", "0.60")
    (held,) = await yard.claim("worker", count=2, start=True)
    await yard.complete(held.id, held.lease, cost_usd="0.41")

    assert await yard.claim("worker") == []


@pytest.mark.parametrize("ceiling", ["5", None], ids=["more", "no limit"])
async def test_more_money_for_the_graph_frees_what_was_parked(yard: Yard, ceiling: str | None):
    await given_an_agent(yard)
    dag_id = await given_a_dag(yard, "1.00", "5.00")
    assert await yard.claim("worker") == []

    await yard.dags.set_budget(dag_id, ceiling)

    (held,) = await yard.claim("worker", start=True)
    await yard.complete(held.id, held.lease, cost_usd="4.50")
    assert await money_of(yard, dag_id) == ("4.5", "0")


async def test_two_agents_that_race_for_the_last_dollar_never_exceed_it(yard: Yard, open_yard: OpenYard):
    other = await open_yard()
    await given_an_agent(yard, "ada")
    await given_an_agent(yard, "bob")
    for _ in range(10):
        dag_id = await given_a_dag(yard, "1.00", "1.00", "1.00")
        claims = await asyncio.gather(yard.claim("ada", start=True), other.claim("bob", start=True))

        (held,) = [held for claim in claims for held in claim]
        assert await money_of(yard, dag_id) == ("0", "1")
        await other.complete(held.id, held.lease, cost_usd="1.00")
        assert await yard.claim("ada", count=5) == []
        assert await money_of(yard, dag_id) == ("1", "0")


async def test_many_agents_of_many_processes_never_exceed_a_ceiling(yard: Yard, open_yard: OpenYard):
    yards = [yard, *[await open_yard() for _ in range(3)]]
    await given_an_agent(yard)
    dag_id = await given_a_dag(yard, "1.00", *["0.15"] * 20)
    claims = await asyncio.gather(*(each.claim("worker", count=4, start=True) for each in yards))

    held = [held for claim in claims for held in claim]
    assert len(held) == 6
    assert await money_of(yard, dag_id) == ("0", "0.9")


async def released(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.release(held.id, held.lease)


async def failed(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.fail(held.id, held.lease, "crash")


async def buried(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.fail(held.id, held.lease, "auth_failure")


async def cancelled(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.cancel(held.id)


async def taken_back(yard: Yard, clock: ManualClock, held: Held) -> None:
    await elapse(yard, clock, 91)


async def suspended(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.attempts.sleep(held.id, held.lease, "nap", 1000)


@pytest.mark.parametrize("ended", [released, failed, buried, cancelled, taken_back, suspended])
async def test_however_an_attempt_ends_its_reservation_is_given_back_and_its_cost_is_kept(
    yard: Yard, clock: ManualClock, ended: Callable[[Yard, ManualClock, Held], Awaitable[None]]
):
    await given_an_agent(yard)
    dag_id = await given_a_dag(yard, "1.00", "0.60", "0.60")
    (held,) = await yard.claim("worker", start=True)
    await yard.heartbeat(held.id, held.lease, cost_usd="0.05")
    await ended(yard, clock, held)

    assert await money_of(yard, dag_id) == ("0.05", "0")
    assert len(await yard.claim("worker")) == 1


async def test_heartbeats_report_the_total_so_far(yard: Yard):
    await given_an_agent(yard)
    dag_id = await given_a_dag(yard, "1.00", "0.60")
    (held,) = await yard.claim("worker", start=True)
    for cost in ("0.10", "0.20", "0.30"):
        await yard.heartbeat(held.id, held.lease, cost_usd=cost)
    assert (await yard.get(held.id)).to_dict()["cost_usd"] == "0.3"

    await yard.complete(held.id, held.lease)
    assert await money_of(yard, dag_id) == ("0.3", "0")


async def test_sums_are_those_of_the_attempts_to_the_last_cent(yard: Yard, clock: ManualClock):
    await yard.agents.register("worker", budget_usd="10.00")
    dag_id = await given_a_dag(yard, "2.00", "0.50")
    for cost in (0.12, 0.31):
        (held,) = await yard.claim("worker", start=True)
        await yard.fail(held.id, held.lease, "crash", cost_usd=cost)
        await elapse(yard, clock, 21)
    (held,) = await yard.claim("worker", start=True)
    await yard.complete(held.id, held.lease, cost_usd=0.08)

    assert (await yard.get(held.id)).to_dict()["cost_usd"] == "0.51"
    assert {limit.name: to_usd(MicroUsd(limit.spent)) for limit in await yard.budgets.spending()} == {
        "agent:worker": "0.51",
        "day:2026-01-01": "0.51",
        f"dag:{dag_id}": "0.51",
        "type:worker": "0.51",
    }


# The task's own maximum


async def test_cost_above_the_tasks_maximum_stops_the_attempt_at_its_next_heartbeat(yard: Yard):
    held = await given_a_running_task(yard, max_cost_usd="0.50")
    assert (await yard.heartbeat(held.id, held.lease, cost_usd="0.50")).words == ()

    told = await yard.heartbeat(held.id, held.lease, cost_usd="0.51")
    assert told.words == ("budget_exceeded",)
    assert told.must_stop
    task = await yard.get(held.id)
    assert (task.status, task.attempts[0].reason) == (Status.DEAD_LETTERED, "budget_exceeded")
    assert task.to_dict()["cost_usd"] == "0.51"


async def test_a_completion_that_cost_too_much_is_not_accepted(yard: Yard):
    held = await given_a_running_task(yard, max_cost_usd="0.50")
    receipt = await yard.complete(held.id, held.lease, {"dear": True}, cost_usd="0.500001")

    assert receipt.status is Status.DEAD_LETTERED
    assert await yard.complete(held.id, held.lease, {"dear": True}, cost_usd="0.500001") == receipt
    assert (await yard.get(held.id)).output.attempt is None


async def test_an_overshoot_is_recorded_and_blocks_further_claims(yard: Yard):
    await given_an_agent(yard)
    dag_id = await given_a_dag(yard, "1.00", "0.50", "0.10")
    (held,) = await yard.claim("worker", start=True)
    await yard.heartbeat(held.id, held.lease, cost_usd="1.25")

    assert await money_of(yard, dag_id) == ("1.25", "0")
    assert await yard.claim("worker", count=5) == []


# A task without a maximum


async def test_where_a_ceiling_exists_a_task_without_a_maximum_reserves_the_default(yard: Yard):
    await given_an_agent(yard)
    await yard.budgets.set(default_reserve_usd="0.40")
    dag_id = await given_a_dag(yard, "1.00", None, None, None)

    assert len(await yard.claim("worker", count=3)) == 2
    assert await money_of(yard, dag_id) == ("0", "0.8")


async def test_where_no_ceiling_exists_nothing_is_reserved_and_all_is_recorded(yard: Yard):
    await yard.budgets.set(default_reserve_usd="0.40")
    held = await given_a_running_task(yard)
    assert claim_of(held).reserved == 0

    await yard.complete(held.id, held.lease, cost_usd="123.456789")
    assert (await yard.get(held.id)).to_dict()["cost_usd"] == "123.456789"


async def test_the_default_is_no_maximum(yard: Yard):
    await yard.budgets.set(daily_budget_usd="5.00", default_reserve_usd="0.40")
    held = await given_a_running_task(yard)

    assert (await yard.heartbeat(held.id, held.lease, cost_usd="0.90")).words == ()
    assert (await yard.complete(held.id, held.lease)).status is Status.COMPLETED


# An agent's budget


async def test_an_agent_gets_only_what_it_can_afford_and_the_rest_stays_for_others(yard: Yard):
    await given_an_agent(yard, "poor", budget_usd="0.50")
    await given_an_agent(yard, "rich", budget_usd="50")
    dear = await yard.enqueue("code", priority=10, max_cost_usd="0.51")
    cheap = await yard.enqueue("code", priority=90, max_cost_usd="0.50")

    await claim_that(yard, cheap.id, by="poor")
    assert await yard.claim("poor") == []
    await claim_that(yard, dear.id, by="rich")


async def test_an_agent_that_has_spent_its_budget_gets_nothing_until_it_has_more(yard: Yard):
    await given_an_agent(yard, budget_usd="1.00")
    first = await yard.enqueue("code", max_cost_usd="0.75")
    held = await claim_that(yard, first.id, start=True)
    await yard.complete(held.id, held.lease, cost_usd="0.75")
    second = await yard.enqueue("code", max_cost_usd="0.50")
    assert await yard.claim("worker") == []
    (worker,) = await yard.agents.list()
    assert worker.budget_left == 250_000

    await yard.agents.set_budget("worker", "1.25")
    await claim_that(yard, second.id)


async def test_two_claims_of_one_agent_at_once_do_not_spend_its_money_twice(yard: Yard, open_yard: OpenYard):
    other = await open_yard()
    await given_an_agent(yard, budget_usd="1.00")
    for _ in range(4):
        await yard.enqueue("code", max_cost_usd="0.60")
    claims = await asyncio.gather(yard.claim("worker", count=2), other.claim("worker", count=2))

    assert sum(map(len, claims)) == 1


# The day's budget


async def test_a_day_without_money_parks_its_tasks_until_the_next(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    await yard.budgets.set(daily_budget_usd="1.00")
    clock.advance(seconds=23 * 3600)
    await yard.sweep()
    first = await yard.enqueue("code", max_cost_usd="1.00")
    second = await yard.enqueue("code", max_cost_usd="1.00")
    held = await claim_that(yard, first.id, start=True)
    await yard.complete(held.id, held.lease, cost_usd="0.90")
    assert await yard.claim("worker") == []
    assert (await yard.get(second.id)).to_dict()["blocked_by"] == ["budget:day"]

    await pass_unswept(yard, clock, 3599)
    assert await yard.claim("worker") == []
    await elapse(yard, clock, 1)
    await claim_that(yard, second.id)


async def test_more_money_for_the_day_frees_what_was_parked(yard: Yard):
    await given_an_agent(yard)
    await yard.budgets.set(daily_budget_usd="1.00")
    first = await yard.enqueue("code", max_cost_usd="1.00")
    second = await yard.enqueue("code", max_cost_usd="0.50")
    held = await claim_that(yard, first.id, start=True)
    await yard.complete(held.id, held.lease, cost_usd="1.00")
    assert await yard.claim("worker") == []

    await yard.budgets.set(daily_budget_usd="1.49")
    assert await yard.claim("worker") == []
    await yard.budgets.set(daily_budget_usd="1.50")
    await claim_that(yard, second.id)


async def test_the_money_of_a_day_that_was_not_used_frees_what_was_parked(yard: Yard):
    await given_an_agent(yard)
    await yard.budgets.set(daily_budget_usd="1.00")
    first = await yard.enqueue("code", max_cost_usd="1.00")
    second = await yard.enqueue("code", max_cost_usd="0.50")
    held = await claim_that(yard, first.id, start=True)
    assert await yard.claim("worker") == []

    await yard.complete(held.id, held.lease, cost_usd="0.50")
    await claim_that(yard, second.id)


async def test_a_day_is_a_day_of_its_own_workspace(yard: Yard, open_yard: OpenYard):
    other = await open_yard(workspace="other")
    await yard.budgets.set(daily_budget_usd="1.00")
    await given_a_running_task(yard, max_cost_usd="1.00")

    await given_a_running_task(other, max_cost_usd="5.00")


async def test_what_ends_after_midnight_is_paid_by_the_day_it_was_claimed_on(yard: Yard, clock: ManualClock):
    await yard.budgets.set(daily_budget_usd="1.00")
    clock.advance(seconds=86_400 - 10)
    held = await given_a_running_task(yard, max_cost_usd="1.00")
    clock.advance(seconds=20)
    await yard.complete(held.id, held.lease, cost_usd="0.80")

    spent = {limit.name: to_usd(MicroUsd(limit.spent)) for limit in await yard.budgets.spending()}
    assert spent["day:2026-01-01"] == "0.8"
    assert spent.get("day:2026-01-02", "0") == "0"
    await given_a_running_task(yard, max_cost_usd="1.00")


# All at once


async def test_every_ceiling_must_have_room(yard: Yard):
    await yard.budgets.set(daily_budget_usd="3.00")
    await given_an_agent(yard, budget_usd="2.00")
    await given_a_dag(yard, "1.00", "0.90", "0.90")
    lone = [await yard.enqueue("code", max_cost_usd="0.90", priority=90) for _ in range(3)]

    held = await yard.claim("worker", count=10)  # one of the graph, then one alone: the agent has 0.20 left
    assert len(held) == 2
    assert held[1].id == lone[0].id


@pytest.mark.parametrize("amount", [-1, "0.0000001", "much", True, float("nan"), [1], 10**40])
async def test_what_is_no_money_is_no_budget(yard: Yard, amount: Any):
    with pytest.raises(InvalidInput):
        await yard.budgets.set(daily_budget_usd=amount)
    with pytest.raises(InvalidInput):
        await yard.budgets.set(default_reserve_usd=amount)
    with pytest.raises(InvalidInput):
        await yard.agents.register("worker", budget_usd=amount)
    with pytest.raises(InvalidInput):
        await given_a_dag(yard, amount, "1.00")
    assert await yard.dags.list() == []
    assert await yard.agents.list() == []


# Tokens


async def test_tokens_read_from_and_put_into_a_cache_are_summed_over_all_attempts(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.heartbeat(held.id, held.lease, tokens_input=1000, tokens_cache_read=600, tokens_cache_write=300)
    await yard.heartbeat(held.id, held.lease, progress="leaves the totals alone")
    assert (await yard.get(held.id)).tokens_used == TokensUsed(1000, 0, 600, 300)

    await elapse(yard, clock, 125)  # its agent is gone
    assert (await yard.get(held.id)).tokens_used == TokensUsed(1000, 0, 600, 300)
    again = await claim_that(yard, held.id, start=True)
    totals = Spent(tokens_input=2000, tokens_output=10, tokens_cache_read=1900)
    await yard.attempts.checkpoint(again.id, again.lease, "plan", 1, **totals)
    await yard.complete(again.id, again.lease, tokens_output=50)

    details = await yard.get(held.id)
    assert [each.tokens for each in details.attempts] == [TokensUsed(1000, 0, 600, 300), TokensUsed(2000, 50, 1900, 0)]
    assert details.tokens_used == TokensUsed(3000, 50, 2500, 300)
    assert details.to_dict()["tokens_used"] == {"input": 3000, "output": 50, "cache_read": 2500, "cache_write": 300}
