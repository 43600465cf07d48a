"""Who may have what, and what becomes of the work of those that are gone."""

import asyncio
from typing import Any

import pytest

from taskyard.core.agent import AgentStatus
from taskyard.core.errors import InvalidInput, LeaseLost, NotFound
from taskyard.core.task import Status
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, claim_of, claim_that, elapse, given_a_running_task, given_an_agent


async def ids_claimed(yard: Yard, agent: str) -> list[str]:
    return [held.id for held in await yard.claim(agent, count=10)]


async def test_the_list_of_agents_says_who_is_there_and_how_busy(yard: Yard, clock: ManualClock):
    await yard.agents.register(
        "ada", "coder", capabilities=["git"], models=["opus"], max_concurrent_tasks=2, budget_usd="5"
    )
    held = await yard.enqueue("code", max_cost_usd="1.50")
    await claim_that(yard, held.id, by="ada")
    clock.advance(seconds=7)
    await yard.agents.heartbeat("ada")

    (ada,) = await yard.agents.list()
    assert (ada.type, ada.capabilities, ada.models_available) == ("coder", {"git"}, ("opus",))
    assert (ada.current_tasks, ada.budget_left, ada.last_heartbeat) == (1, 3_500_000, yard.now())
    assert ada.status is AgentStatus.ACTIVE


async def test_a_heartbeat_of_a_task_is_one_of_its_agent(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    clock.advance(seconds=20)
    await yard.heartbeat(held.id, held.lease)

    (worker,) = await yard.agents.list()
    assert worker.last_heartbeat == yard.now()


async def test_an_agent_holds_no_more_than_it_may_claimed_and_running_together(yard: Yard):
    await yard.agents.register("worker", max_concurrent_tasks=2)
    for _ in range(4):
        await yard.enqueue("code")
    first, second = await yard.claim("worker", count=4)
    await yard.start(first.id, first.lease)
    assert await yard.claim("worker", count=4) == []

    await yard.complete(first.id, first.lease)
    assert len(await yard.claim("worker", count=4)) == 1
    await yard.release(second.id, second.lease)
    assert len(await yard.claim("worker", count=4)) == 1


async def test_claims_of_many_processes_at_once_do_not_give_an_agent_more(yard: Yard, open_yard: OpenYard):
    yards = [yard, *[await open_yard() for _ in range(3)]]
    await yard.agents.register("worker", max_concurrent_tasks=3)
    for _ in range(12):
        await yard.enqueue("code")
    claims = await asyncio.gather(*(each.claim("worker", count=2) for each in yards))

    assert sum(map(len, claims)) == 3


async def test_an_agent_gets_what_it_is_able_to_do(yard: Yard):
    await given_an_agent(yard, "able", capabilities=["git", "python"])
    await given_an_agent(yard, "plain")
    needs = await yard.enqueue("code", required_capabilities=["python"])
    more = await yard.enqueue("code", required_capabilities=["python", "rust"])
    nothing = await yard.enqueue("code")

    assert await ids_claimed(yard, "plain") == [nothing.id]
    assert await ids_claimed(yard, "able") == [needs.id]
    assert (await yard.get(more.id)).status is Status.READY


async def test_an_agent_gets_the_types_it_handles(yard: Yard):
    await given_an_agent(yard, types=["research", "review"])
    await yard.enqueue("code")
    wanted = await yard.enqueue("review")

    assert await ids_claimed(yard, "worker") == [wanted.id]


async def test_a_task_may_be_addressed_to_one_agent_or_to_a_type_of_them(yard: Yard):
    await given_an_agent(yard, "ada", type="coder")
    await given_an_agent(yard, "bob", type="coder")
    for_ada = await yard.enqueue("code", agent="ada")
    for_coders = await yard.enqueue("code", agent="coder")
    await yard.enqueue("code", agent="cleo")

    assert await ids_claimed(yard, "bob") == [for_coders.id]
    assert await ids_claimed(yard, "ada") == [for_ada.id]


async def test_who_is_not_registered_gets_nothing(yard: Yard):
    await yard.enqueue("code")

    with pytest.raises(NotFound):
        await yard.claim("nobody")
    with pytest.raises(NotFound):
        await yard.agents.heartbeat("nobody")
    with pytest.raises(NotFound):
        await yard.agents.drain("nobody")


async def test_an_agent_of_another_workspace_is_not_there(yard: Yard, open_yard: OpenYard):
    other = await open_yard(workspace="other")
    await given_an_agent(yard)

    assert await other.agents.list() == []
    with pytest.raises(NotFound):
        await other.claim("worker")


@pytest.mark.parametrize(
    ("facts", "field"),
    [
        ({"agent_id": ""}, "agent_id"),
        ({"agent_id": "a\0b"}, "agent_id"),
        ({"agent_id": "\ud800"}, "agent_id"),
        ({"agent_id": "x" * 256}, "agent_id"),
        ({"agent_id": 5}, "agent_id"),
        ({"type": " "}, "type"),
        ({"capabilities": "git"}, "capabilities"),
        ({"capabilities": [""]}, "capabilities"),
        ({"capabilities": None}, "capabilities"),
        ({"types": [5]}, "types"),
        ({"models": ["a\0b"]}, "models"),
        ({"max_concurrent_tasks": 0}, "max_concurrent_tasks"),
        ({"max_concurrent_tasks": True}, "max_concurrent_tasks"),
        ({"budget_usd": -1}, "budget_usd"),
        ({"runtime_id": ""}, "runtime_id"),
        ({"poll_interval_sec": float("nan")}, "poll_interval_sec"),
        ({"claim_ttl_sec": -1}, "claim_ttl_sec"),
    ],
)
async def test_an_agent_that_makes_no_sense_is_refused_and_not_stored(yard: Yard, facts: dict[str, Any], field: str):
    said: dict[str, Any] = {"agent_id": "worker", **facts}
    with pytest.raises(InvalidInput) as refused:
        await yard.agents.register(**said)

    assert refused.value.facts["field"] == field
    assert await yard.agents.list() == []


# Coming and going


async def test_a_draining_agent_finishes_what_it_holds_and_gets_nothing_new(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.enqueue("code")
    await yard.agents.drain("worker")

    assert await yard.claim("worker") == []
    told = await yard.heartbeat(held.id, held.lease)
    assert (told.words, told.must_stop) == (("draining",), False)
    assert await yard.agents.heartbeat("worker") is AgentStatus.DRAINING
    assert (await yard.complete(held.id, held.lease)).status is Status.COMPLETED

    await yard.agents.resume("worker")
    assert len(await yard.claim("worker")) == 1


async def test_who_is_drained_hears_of_it_in_another_process_within_a_second(
    yard: Yard, open_yard: OpenYard, clock: ManualClock
):
    other = await open_yard()
    held = await given_a_running_task(other)
    await other.heartbeat(held.id, held.lease)
    await yard.agents.drain("worker")
    clock.advance(seconds=1)

    assert (await other.heartbeat(held.id, held.lease)).words == ("draining",)


async def test_an_agent_that_has_signed_off_gets_nothing_until_it_registers_again(yard: Yard):
    await given_an_agent(yard)
    task = await yard.enqueue("code")
    await yard.agents.sign_off("worker")
    assert await yard.claim("worker") == []
    assert (await yard.agents.list())[0].status is AgentStatus.OFFLINE

    await given_an_agent(yard)
    await claim_that(yard, task.id)


async def test_to_remove_an_agent_fails_what_it_holds(yard: Yard, open_yard: OpenYard):
    other = await open_yard(workspace="other")
    theirs = await given_a_running_task(other)  # by an agent of the same name
    held = await given_a_running_task(yard)
    await yard.agents.remove("worker")

    assert await yard.agents.list() == []
    assert (await yard.get(held.id)).status is Status.RETRYING
    assert (await other.complete(theirs.id, theirs.lease)).status is Status.COMPLETED


# Runtimes


async def given_a_runtime(yard: Yard, runtime: str, *agents: str) -> None:
    await yard.runtimes.register(runtime, hostname="host", pid=7, version="1")
    for agent in agents:
        await given_an_agent(yard, agent, runtime_id=runtime)


async def given_work_of(yard: Yard, agent: str, **fields: Any) -> Held:
    task = await yard.enqueue("code", agent=agent, **fields)
    return await claim_that(yard, task.id, by=agent, start=True)


async def test_a_runtime_that_restarts_gives_up_its_orphans(yard: Yard):
    await given_a_runtime(yard, "laptop", "ada", "bob")
    await given_a_runtime(yard, "server", "cleo")
    first, last = await given_work_of(yard, "ada"), await given_work_of(yard, "bob", max_attempts=1)
    elsewhere = await given_work_of(yard, "cleo")

    assert await yard.runtimes.orphans("laptop") == (2, 1)
    task = await yard.get(first.id)
    assert (task.status, task.attempts[0].reason) == (Status.RETRYING, "runtime_recovery")
    assert (await yard.get(last.id)).status is Status.DEAD_LETTERED
    assert (await yard.get(elsewhere.id)).status is Status.RUNNING
    with pytest.raises(LeaseLost):
        await yard.complete(first.id, first.lease)
    assert await yard.runtimes.orphans("laptop") == (0, 0)


async def test_what_a_silent_runtime_held_fails_after_75_seconds(yard: Yard, clock: ManualClock):
    await given_a_runtime(yard, "laptop", "ada")
    held = await given_work_of(yard, "ada")
    for _ in range(3):
        await elapse(yard, clock, 25)
        await yard.heartbeat(held.id, held.lease)
    assert (await yard.get(held.id)).status is Status.RUNNING

    await elapse(yard, clock, 1)
    task = await yard.get(held.id)
    assert (task.status, task.attempts[0].reason) == (Status.RETRYING, "runtime_offline")


async def test_a_runtime_that_is_heard_of_keeps_what_it_holds(yard: Yard, clock: ManualClock):
    await given_a_runtime(yard, "laptop", "ada")
    held = await given_work_of(yard, "ada", timeouts={"lease_sec": 3600})
    for _ in range(10):
        await elapse(yard, clock, 25)
        await yard.runtimes.heartbeat("laptop")

    assert (await yard.get(held.id)).status is Status.RUNNING


async def test_nobody_was_silent_while_the_yard_was_away(yard: Yard, clock: ManualClock):
    await given_a_runtime(yard, "laptop", "ada")
    held = await given_work_of(yard, "ada", timeouts={"lease_sec": 3600})
    await yard.sweep()
    clock.advance(seconds=300)
    await elapse(yard, clock, 75)
    assert (await yard.get(held.id)).status is Status.RUNNING

    await elapse(yard, clock, 1)
    assert (await yard.get(held.id)).status is Status.RETRYING


async def test_in_multica_the_heartbeat_of_a_runtime_extends_what_it_holds(open_yard: OpenYard, clock: ManualClock):
    yard = await open_yard(preset="multica")
    await given_a_runtime(yard, "laptop", "ada")
    held = await given_work_of(yard, "ada")
    for _ in range(10):
        await elapse(yard, clock, 15)
        await yard.runtimes.heartbeat("laptop")

    assert claim_of(await yard.get(held.id)).lease_expires_at == yard.now() + 75_000_000
    assert (await yard.complete(held.id, held.lease)).status is Status.COMPLETED


async def test_elsewhere_the_heartbeat_of_a_runtime_extends_nothing(yard: Yard, clock: ManualClock):
    await given_a_runtime(yard, "laptop", "ada")
    held = await given_work_of(yard, "ada")
    for _ in range(4):
        await elapse(yard, clock, 23)
        await yard.runtimes.heartbeat("laptop")

    assert (await yard.get(held.id)).attempts[0].reason == "heartbeat_timeout"


async def test_a_runtime_of_the_same_name_in_another_workspace_is_another(open_yard: OpenYard, clock: ManualClock):
    yard, other = await open_yard(preset="multica"), await open_yard(preset="multica", workspace="other")
    await given_a_runtime(yard, "laptop", "ada")
    await given_a_runtime(other, "laptop", "ada")
    mine = await given_work_of(yard, "ada", timeouts={"lease_sec": 3600})
    theirs = await given_work_of(other, "ada")
    for _ in range(4):
        await elapse(yard, clock, 20)
        await other.runtimes.heartbeat("laptop")

    assert (await yard.get(mine.id)).attempts[0].reason == "runtime_offline"  # it was theirs that was heard of
    assert (await other.get(theirs.id)).status is Status.RUNNING
    assert await yard.runtimes.orphans("laptop") == (0, 0)
    assert (await other.get(theirs.id)).status is Status.RUNNING


async def test_a_runtime_that_never_stated_it_started_is_not_there(yard: Yard):
    with pytest.raises(NotFound):
        await yard.runtimes.heartbeat("ghost")


async def test_a_claim_for_a_runtime_serves_all_its_agents_within_their_limits(yard: Yard):
    await yard.runtimes.register("laptop")
    await yard.agents.register("ada", runtime_id="laptop", max_concurrent_tasks=1)
    await yard.agents.register("bob", runtime_id="laptop", max_concurrent_tasks=2)
    await yard.agents.register("cleo", max_concurrent_tasks=5)
    for _ in range(5):
        await yard.enqueue("code")

    held = await yard.attempts.claim_for_runtime("laptop", count=5)
    assert sorted(str(each.worker) for each in held) == ["ada", "bob", "bob"]
    assert {claim_of(each).runtime_id for each in held} == {"laptop"}


async def test_a_claim_for_a_runtime_whose_answer_was_lost_is_answered_again(yard: Yard):
    await yard.runtimes.register("laptop")
    await yard.agents.register("ada", runtime_id="laptop")
    await yard.agents.register("bob", runtime_id="laptop", max_concurrent_tasks=2)
    for _ in range(5):
        await yard.enqueue("code")
    first = await yard.attempts.claim_for_runtime("laptop", count=2, request_id="r1")

    again = await yard.attempts.claim_for_runtime("laptop", count=2, request_id="r1")
    assert [(held.id, held.lease) for held in again] == [(held.id, held.lease) for held in first]
    assert len(await yard.attempts.claim_for_runtime("laptop", count=2, request_id="r2")) == 1


async def test_a_lost_answer_to_a_runtime_is_found_again_though_another_agent_has_work_by_now(yard: Yard):
    await given_a_runtime(yard, "laptop", "ada", "bob")
    await yard.enqueue("code", agent="bob")
    lost = await yard.attempts.claim_for_runtime("laptop", request_id="r1")
    await yard.enqueue("code", agent="ada")

    again = await yard.attempts.claim_for_runtime("laptop", request_id="r1")
    assert [(held.id, held.lease) for held in again] == [(held.id, held.lease) for held in lost]


async def test_a_claim_for_a_runtime_takes_only_the_types_and_queues_that_are_asked_for(yard: Yard):
    await given_a_runtime(yard, "laptop", "ada")
    for type_, queue in (("code", "default"), ("review", "default"), ("review", "night")):
        await yard.enqueue(type_, queue=queue)

    (held,) = await yard.attempts.claim_for_runtime("laptop", count=3, types=["review"], queues=["night"])
    assert (held.type, held.queue) == ("review", "night")


async def test_no_agent_gets_anothers_lease_by_using_its_request_id(yard: Yard):
    for agent in ("ada", "mallory"):
        await given_an_agent(yard, agent)
        await yard.enqueue("code", agent=agent)

    (mine,), (theirs,) = [await yard.claim(agent, request_id="r1") for agent in ("ada", "mallory")]

    with pytest.raises(LeaseLost):
        await yard.start(mine.id, theirs.lease)


async def test_an_agents_own_claim_time_counts_where_a_task_has_one(open_yard: OpenYard, clock: ManualClock):
    yard = await open_yard()
    await given_an_agent(yard, claim_ttl_sec=5)
    slow = await claim_that(yard, (await yard.enqueue("code")).id)
    at_once = await claim_that(yard, (await yard.enqueue("code", timeouts={"claim_ttl_sec": 0})).id)

    assert (claim_of(slow).lease_expires_at, at_once.status) == (yard.now() + 5_000_000, Status.RUNNING)
    await elapse(yard, clock, 6)
    assert (await yard.get(slow.id)).attempts[0].reason == "claim_expired"


async def test_pinning_a_session_keeps_what_was_pinned_before(yard: Yard):
    await yard.agents.register("pinner", runtime_id="machine")
    await yard.enqueue("pin", agent="pinner")
    (held,) = await yard.claim("pinner", start=True)

    await yard.attempts.pin_session(held.id, held.lease, work_dir="/srv/page")
    await yard.attempts.pin_session(held.id, held.lease, session_id="s1")

    session = (await yard.get(held.id)).to_dict()["session"]
    assert session == {"session_id": "s1", "work_dir": "/srv/page", "runtime": "machine", "fresh": False}
    with pytest.raises(InvalidInput, match="work_dir"):
        await yard.attempts.pin_session(held.id, held.lease)
