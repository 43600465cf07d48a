"""An agent is a type with many ids: whose names are whose, and what all ids of a type may spend and hold together."""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest

from taskyard.core.agent import DEFAULT_SLOTS, Period, RegisteredAgent
from taskyard.core.errors import Forbidden, IdentityTaken, InvalidInput
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, claim_that, given_an_agent

DAY = 24 * 3600


async def spend(yard: Yard, agent_id: str, cost: str) -> None:
    """One task that this agent does for so much."""
    task = await yard.enqueue("code", agent=agent_id)
    held = await claim_that(yard, task.id, by=agent_id, start=True)
    await yard.complete(held.id, held.lease, cost_usd=cost)


async def left_to(yard: Yard, agent_id: str) -> int | None:
    return (await yard.agents.get(agent_id)).budget_left


# Names


async def test_an_id_stays_with_the_type_that_it_was_first_registered_under(yard: Yard):
    await yard.agents.register("coder-1", "coder")

    with pytest.raises(IdentityTaken, match="an agent of the type coder"):
        await yard.agents.register("coder-1", "mallory")
    assert (await yard.agents.get("coder-1")).type == "coder"


async def test_an_id_is_not_called_as_another_type_is(yard: Yard):
    await yard.agents.register("coder-1", "coder")

    with pytest.raises(IdentityTaken, match="name of a type"):
        await yard.agents.register("coder", "mallory")


async def test_a_type_is_not_called_as_an_id_of_another_type_is(yard: Yard):
    await yard.agents.register("coder-1", "coder")

    with pytest.raises(IdentityTaken):
        await yard.agents.register("mallory", "coder-1")
    with pytest.raises(IdentityTaken):
        await yard.tokens.create("t", "agent", agent="coder-1")


async def test_an_agent_may_be_the_only_one_of_its_kind(yard: Yard):
    await yard.agents.register("coder")
    await yard.agents.register("coder-2", "coder")

    assert {view.id: view.type for view in await yard.agents.list()} == {"coder": "coder", "coder-2": "coder"}


async def test_who_registers_again_without_a_type_keeps_its_own(yard: Yard):
    await yard.agents.register("coder-1", "coder")
    await yard.agents.register("coder-1", capabilities=["git"])

    assert (await yard.agents.get("coder-1")).type == "coder"


async def test_who_names_no_id_is_given_one_of_its_type(yard: Yard):
    one, other = (await yard.agents.register(None, "coder")).id, (await yard.agents.register(None, "coder")).id

    assert one != other
    assert all(each.startswith("coder-") and len(each) == len("coder-") + 8 for each in (one, other))
    with pytest.raises(InvalidInput, match="type"):
        await yard.agents.register(None)


# Money


async def test_a_budget_is_of_the_type_whatever_id_spends_it(yard: Yard):
    await yard.agents.register("coder-1", "coder", budget_usd="1.00")
    await spend(yard, "coder-1", "0.70")
    await yard.agents.register("coder-2", "coder", budget_usd="1.00")
    await spend(yard, "coder-2", "0.30")

    assert await left_to(yard, "coder-1") == await left_to(yard, "coder-2") == 0
    await yard.budgets.set(default_reserve_usd="0.01")
    task = await yard.enqueue("code")
    assert not await yard.claim("coder-1")
    (cause,) = {cause.kind for cause in (await yard.why(task.id)).causes}
    assert cause == "agent_budget"
    assert (await yard.verify()).ok


async def test_what_an_operator_set_counts_until_it_is_taken_back(yard: Yard):
    await given_an_agent(yard, "coder", budget_usd="1")
    await yard.agents.set_budget("coder", "5")
    await given_an_agent(yard, "coder", budget_usd="2")
    assert await left_to(yard, "coder") == 5_000_000

    await given_an_agent(yard, "coder")  # says nothing in code: that changes nothing
    await yard.agents.set_budget("coder")  # an operator's word too: no limit
    assert await left_to(yard, "coder") is None

    await yard.agents.set_budget("coder", take_back=True)
    assert await left_to(yard, "coder") == 2_000_000


async def test_of_two_processes_the_last_to_start_counts_and_an_event_says_so(yard: Yard):
    await yard.agents.register("coder-1", "coder", budget_usd="1")
    await yard.agents.register("coder-2", "coder", budget_usd="3", budget_per="day")

    said = [json.loads(each.event.data or "") for each in await yard.events() if each.event.event == "agent.budget"]
    assert [(each["from"], each["to"]) for each in said] == [
        (None, {"usd": "1", "per": "ever"}),
        ({"usd": "1", "per": "ever"}, {"usd": "3", "per": "day"}),
    ]
    view = await yard.agents.get("coder-1")
    assert (view.budget, view.budget_per, view.budget_set_by) == (3_000_000, Period.DAY, "code")


@pytest.mark.parametrize(("per", "days"), [("day", 1), ("month", 31)])
async def test_a_budget_may_be_for_each_day_or_month(yard: Yard, clock: ManualClock, per: str, days: int):
    await given_an_agent(yard, "coder", budget_usd="1", budget_per=per)
    await spend(yard, "coder", "1.00")
    assert await left_to(yard, "coder") == 0

    clock.advance(seconds=days * DAY)

    assert await left_to(yard, "coder") == 1_000_000
    await yard.agents.set_budget("coder", "1.50")  # for ever: what was spent before counts
    assert await left_to(yard, "coder") == 500_000


async def test_an_attempt_is_charged_to_the_day_of_its_claim(yard: Yard, clock: ManualClock):
    await given_an_agent(yard, "coder", budget_usd="1", budget_per="day")
    task = await yard.enqueue("code", timeouts={"lease_sec": 3 * DAY, "heartbeat_sec": DAY})
    held = await claim_that(yard, task.id, by="coder", start=True)
    clock.advance(seconds=DAY)

    await yard.complete(held.id, held.lease, cost_usd="1.00")

    assert await left_to(yard, "coder") == 1_000_000
    assert (await yard.verify()).ok


async def test_an_id_may_have_one_more_budget_of_its_own(yard: Yard):
    await yard.agents.register("coder-1", "coder", budget_usd="10")
    await yard.agents.register("coder-2", "coder")
    await yard.agents.set_budget("coder-1", "1")
    await yard.agents.register("coder-1", "coder")  # its start does not erase it

    assert (await left_to(yard, "coder-1"), await left_to(yard, "coder-2")) == (1_000_000, 10_000_000)
    with pytest.raises(InvalidInput, match="budget_per"):
        await yard.agents.set_budget("coder-1", "1", budget_per="day")


# Grants


async def test_a_grant_narrows_what_an_agent_gets_from_its_next_claim_on(yard: Yard):
    await yard.agents.register("coder-1", "coder", capabilities=["git"], max_concurrent_tasks=10)
    await yard.enqueue("code", queue="slow")
    await yard.enqueue("review")
    await yard.enqueue("code", required_capabilities=["git"])
    wanted = await yard.enqueue("code")

    await yard.tokens.grant("coder", types=["code"], capabilities=[], queues=["default"])

    assert [held.id for held in await yard.claim("coder-1", count=10)] == [wanted.id]


async def test_slots_of_a_grant_are_the_sum_over_all_ids(yard: Yard):
    await yard.agents.register(None, "coder")
    await yard.tokens.grant("coder", slots=3)
    for name in ("coder-1", "coder-2"):
        await yard.agents.register(name, "coder", max_concurrent_tasks=2)
    for _ in range(5):
        await yard.enqueue("code")

    first = await yard.claim("coder-1", count=5, start=True)
    second = await yard.claim("coder-2", count=5, start=True)
    assert (len(first), len(second)) == (2, 1)
    assert (await yard.verify()).ok

    await yard.complete(first[0].id, first[0].lease)
    assert len(await yard.claim("coder-2", count=5)) == 1
    await yard.tokens.grant("coder", slots=1)
    await yard.complete(first[1].id, first[1].lease)
    assert not await yard.claim("coder-1", count=5)
    assert (await yard.verify()).ok


async def test_a_grant_without_slots_bounds_all_ids_together(yard: Yard):
    await yard.agents.register(None, "coder")
    assert (await yard.tokens.grant("coder")).slots == DEFAULT_SLOTS
    for name in ("coder-1", "coder-2"):
        await yard.agents.register(name, "coder", max_concurrent_tasks=1000)
    for _ in range(DEFAULT_SLOTS + 3):
        await yard.enqueue("code")

    first = await yard.claim("coder-1", count=DEFAULT_SLOTS - 1)
    second = await yard.claim("coder-2", count=20)
    assert (len(first), len(second)) == (DEFAULT_SLOTS - 1, 1)

    assert (await yard.tokens.grant("coder", slots="unlimited")).slots is None
    assert len(await yard.claim("coder-2", count=20)) == 3
    assert (await yard.verify()).ok
    for slots in ("many", -1, 1.5):
        with pytest.raises(InvalidInput, match="slots"):
            await yard.tokens.grant("coder", slots=slots)  # pyright: ignore[reportArgumentType]


async def test_of_two_processes_that_want_a_name_at_once_one_gets_it(open_yard: OpenYard):
    one, other = await open_yard(), await open_yard()
    for number in range(8):
        # One id under two types; and an id with the name that another process makes a type.
        same, name = f"same-{number}", f"name-{number}"
        await race(one.agents.register(same, "coder"), other.agents.register(same, "mallory"))
        await race(one.agents.register(name, "coder"), other.agents.register(f"{name}-1", name))


async def race(*registering: Coroutine[Any, Any, RegisteredAgent]) -> None:
    tried = await asyncio.gather(*registering, return_exceptions=True)
    assert sorted(type(each).__name__ for each in tried) == ["IdentityTaken", "RegisteredAgent"]


async def test_registering_asks_for_no_more_than_was_granted(yard: Yard):
    await yard.agents.register(None, "coder")
    await yard.tokens.grant("coder", types=["code"], capabilities=["git"])

    with pytest.raises(Forbidden, match="capability python"):
        await yard.agents.register("coder-1", "coder", capabilities=["git", "python"])
    with pytest.raises(Forbidden, match="type review"):
        await yard.agents.register("coder-1", "coder", types=["code", "review"])
    await yard.agents.register("coder-1", "coder", capabilities=["git"])
    assert (await yard.agents.get("coder-1")).types == {"code"}


@pytest.mark.parametrize("judging", ["llm-judge", "test-runner"])
async def test_who_is_granted_anything_judges_only_where_that_is_granted(yard: Yard, judging: str):
    await yard.agents.register(None, "coder")
    await yard.tokens.grant("coder")
    with pytest.raises(Forbidden, match=judging):
        await yard.agents.register("coder-1", "coder", capabilities=[judging])

    await yard.tokens.grant("coder", capabilities=[judging])
    await yard.agents.register("coder-1", "coder", capabilities=[judging])
    await yard.tokens.grant("coder")

    assert not (await yard.agents.get("coder-1")).capabilities


async def test_a_grant_to_one_id_is_for_that_id_alone(yard: Yard):
    await yard.agents.register(None, "coder")
    await yard.tokens.grant("coder")
    await yard.tokens.grant("coder", agent_id="coder-1", capabilities=["llm-judge"], slots=1)
    await yard.agents.register("coder-1", "coder", capabilities=["llm-judge"], max_concurrent_tasks=5)

    assert (await yard.agents.get("coder-1")).max_concurrent_tasks == 1
    with pytest.raises(Forbidden):
        await yard.agents.register("coder-2", "coder", capabilities=["llm-judge"])


# What is known of an agent


async def test_adding_a_capability_keeps_what_is_known_of_an_agent(yard: Yard):
    await yard.agents.register("coder-1", "coder", capabilities=["git"], models=["opus"], max_concurrent_tasks=7)
    await yard.agents.set_budget("coder-1", "4")
    await yard.agents.drain("coder-1")

    await yard.agents.register("coder-1", capabilities=["python"], keep=True)

    agent = await yard.agents.get("coder-1")
    shown = (agent.type, agent.models_available, agent.max_concurrent_tasks, agent.own_budget)
    assert shown == ("coder", ("opus",), 7, 4_000_000)
    assert (agent.capabilities, agent.status) == ({"git", "python"}, "draining")


# Judging


async def test_nobody_judges_what_its_own_type_has_made(yard: Yard):
    for name, type_ in (("coder-1", "coder"), ("coder-2", "coder"), ("judge-1", "judge")):
        await yard.agents.register(name, type_, capabilities=["llm-judge"], max_concurrent_tasks=9)
    task = await yard.enqueue("code", output={"validation": "llm-judge"})
    held = await claim_that(yard, task.id, by="coder-1", start=True)
    await yard.complete(held.id, held.lease, {"good": True})

    assert not await yard.claim("coder-1", start=True)
    assert not await yard.claim("coder-2", start=True)
    (verdict,) = await yard.claim("judge-1", start=True)
    await yard.fail(verdict.id, verdict.lease, "crash")  # the next attempt at judging is not for them either
    assert not await yard.claim("coder-2", start=True)
