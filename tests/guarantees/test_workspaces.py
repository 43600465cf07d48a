"""Nothing crosses a workspace: what is another's is not there, whichever way it is asked for."""

from collections.abc import Awaitable, Callable

import pytest

from taskyard.core.errors import InvalidInput, LeaseLost, NotFound
from taskyard.core.task import Status
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import bury, every_event, given_a_graph, status_of, task, work_off
from tests.yards import OpenYard, claim_that, elapse, events_of, given_a_running_task, given_an_agent

Call = Callable[[Yard, Held], Awaitable[object]]


@pytest.fixture
async def other(open_yard: OpenYard) -> Yard:
    """Another workspace of the same yard."""
    return await open_yard(workspace="other")


CALLS: dict[str, Call] = {
    "get": lambda yard, held: yard.get(held.id),
    "why": lambda yard, held: yard.why(held.id),
    "inputs": lambda yard, held: yard.tasks.inputs(held.id),
    "checkpoints": lambda yard, held: yard.attempts.checkpoints(held.id),
    "children": lambda yard, held: yard.tasks.children(held.id, "help"),
    "dag": lambda yard, held: yard.dags.get(held.dag_id),
    "start": lambda yard, held: yard.start(held.id, held.lease),
    "complete": lambda yard, held: yard.complete(held.id, held.lease),
    "fail": lambda yard, held: yard.fail(held.id, held.lease, "crash"),
    "release": lambda yard, held: yard.release(held.id, held.lease),
    "checkpoint": lambda yard, held: yard.attempts.checkpoint(held.id, held.lease, "plan", "theirs"),
    "pin_session": lambda yard, held: yard.attempts.pin_session(held.id, held.lease, session_id="s1"),
    "message": lambda yard, held: yard.attempts.message(held.id, held.lease, "hello"),
    "sleep": lambda yard, held: yard.attempts.sleep(held.id, held.lease, "nap", 60),
    "snooze": lambda yard, held: yard.attempts.snooze(held.id, held.lease, 60),
    "wait_for": lambda yard, held: yard.attempts.wait_for(held.id, held.lease, "ask", "approval"),
    "spawn": lambda yard, held: yard.tasks.spawn(held.id, held.lease, [task("child")], name="more"),
    "signal": lambda yard, held: yard.signal(held.id, "approval"),
    "cancel": lambda yard, held: yard.cancel(held.id),
    "cancel_dag": lambda yard, held: yard.dags.cancel(held.dag_id),
    "resolve": lambda yard, held: yard.dead_letters.resolve(held.id, "retry", by="human:eve"),
    "rerun": lambda yard, held: yard.rerun(held.id),
    "set_priority": lambda yard, held: yard.tasks.set_priority(held.id, 1),
    "add": lambda yard, held: yard.dags.add(held.dag_id, [task("more", held.id)]),
}


@pytest.mark.parametrize("verb", CALLS)
async def test_another_workspaces_task_is_not_found(yard: Yard, other: Yard, verb: str):
    """Not even with its lease: a workspace is part of every id."""
    held = await given_a_running_task(yard)
    await yard.attempts.checkpoint(held.id, held.lease, "plan", "secret")
    await yard.tasks.spawn(held.id, held.lease, [task("child")], name="help")
    before = await yard.events()

    with pytest.raises(NotFound):
        await CALLS[verb](other, held)

    assert await yard.events() == before
    assert await other.events() == []
    assert (await yard.get(held.id)).status.is_held


async def test_a_heartbeat_from_another_workspace_keeps_nothing_alive(yard: Yard, other: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    clock.advance(seconds=80)

    told = await other.heartbeat(held.id, held.lease, progress={"from": "outside"}, cost_usd="5")
    clock.advance(seconds=11)
    await yard.sweep()

    assert (told.words, told.lease_expires_at) == (("lease_lost",), None)
    assert await status_of(yard, held.id) is Status.RETRYING
    with pytest.raises(LeaseLost):
        await yard.complete(held.id, held.lease)


async def test_lists_and_figures_show_only_ones_own(yard: Yard, other: Yard):
    await given_an_agent(yard)
    mine = await yard.enqueue("code", tags=["night"], subject="issue:42")
    await given_a_graph(yard, task("a"))
    dead = await given_a_running_task(yard, priority=0)
    await bury(yard, dead)
    await yard.dead_letters.resolve(dead.id, "escalate", by="human:ada")

    assert await other.find() == []
    assert await other.find(tag="night", subject="issue:42", dag_id=mine.dag_id) == []
    assert not any((await other.tasks.stats()).values())
    assert await other.dags.list() == []
    assert await other.dead_letters.list() == []
    assert await other.dead_letters.reviews() == []
    assert await other.agents.list() == []
    assert await other.events() == []
    assert await other.events(task_id=mine.id) == []


async def test_a_claim_takes_only_ones_own(yard: Yard, other: Yard):
    for each in (yard, other):
        await given_an_agent(each)
    mine, theirs = await yard.enqueue("code", priority=90), await other.enqueue("code", priority=0)

    assert [each.id for each in await yard.claim("worker", count=10)] == [mine.id]
    assert [each.id for each in await other.claim("worker", count=10)] == [theirs.id]


async def test_an_agent_of_another_workspace_is_nobody_here(yard: Yard, other: Yard):
    await given_an_agent(yard, "ada")

    with pytest.raises(NotFound):
        await other.claim("ada")
    with pytest.raises(NotFound):
        await other.agents.drain("ada")
    with pytest.raises(NotFound):
        await other.agents.heartbeat("ada")


async def test_agents_of_one_name_have_their_own_slots_and_money(yard: Yard, other: Yard):
    for each in (yard, other):
        await given_an_agent(each, max_concurrent_tasks=1, budget_usd="1.00")
        await claim_that(each, (await each.enqueue("code", max_cost_usd="1.00")).id)

    await other.agents.remove("worker")

    assert [view.current_tasks for view in await yard.agents.list()] == [1]
    assert await other.agents.list() == []


async def test_the_same_request_in_two_workspaces_is_two_claims(yard: Yard, other: Yard):
    for each in (yard, other):
        await given_an_agent(each)
        await each.enqueue("code")

    (mine,) = await yard.claim("worker", request_id="r1")
    (theirs,) = await other.claim("worker", request_id="r1")

    assert mine.id != theirs.id
    assert [each.id for each in await other.claim("worker", request_id="r1")] == [theirs.id]


async def test_keys_are_apart(yard: Yard, other: Yard):
    """Idempotency keys, concurrency keys and the money of a day."""
    for each in (yard, other):
        await each.budgets.set(daily_budget_usd="1.00")
        await given_an_agent(each)
        made = await each.enqueue("code", idempotency_key="once", concurrency_key="repository", max_cost_usd="1.00")
        assert made.created
        await claim_that(each, made.id, start=True)


async def test_freeing_a_key_lets_go_in_its_own_workspace_only(yard: Yard, other: Yard):
    running: list[Held] = []
    for each in (yard, other):
        running.append(await given_a_running_task(each, concurrency_key="repository"))
        await each.enqueue("code", concurrency_key="repository")
        assert await each.claim("worker") == []

    await yard.complete(running[0].id, running[0].lease)

    assert len(await yard.find(status="ready")) == 1
    assert len(await other.find(status="pending")) == 1


async def test_queues_and_breakers_are_apart(yard: Yard, other: Yard):
    await given_an_agent(other)
    theirs = await other.enqueue("code")

    await yard.queues.pause("default")
    await yard.breakers.open("code")

    await claim_that(other, theirs.id)


async def test_events_are_apart(yard: Yard, other: Yard):
    mine, theirs = await yard.enqueue("code"), await other.enqueue("code")

    assert {event.task_id for event in await every_event(yard)} == {mine.id}
    assert {event.task_id for event in await every_event(other)} == {theirs.id}
    assert (await anext(other.tail())).event.task_id == theirs.id


async def test_no_edge_leads_into_another_workspace(yard: Yard, other: Yard):
    mine = await yard.enqueue("code")
    theirs = await given_a_graph(other, task("a"))

    with pytest.raises(InvalidInput, match="depends_on"):
        await other.enqueue("code", depends_on=[mine.id])
    with pytest.raises(InvalidInput, match="depends_on"):
        await other.submit({"tasks": [task("b", mine.id)]})
    with pytest.raises(InvalidInput, match="depends_on"):
        await other.dags.add(theirs.id, [task("b", mine.id)])
    for field in ("parent_id", "rerun_of"):
        with pytest.raises(InvalidInput, match=field):
            await other.enqueue_many([{"type": "code", field: mine.id}])
        with pytest.raises(InvalidInput, match=field):
            await other.submit({"tasks": [task("b", **{field: mine.id})]})

    assert await events_of(yard, mine.id) == ["task.created"]
    assert len(await other.find()) == 1


async def test_another_workspaces_output_is_no_context(yard: Yard, other: Yard):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease, {"secret": 42})

    curious = await other.enqueue("code", context_refs=[f"task:{held.id}:output"])

    assert await other.tasks.inputs(curious.id) == []
    mine = await yard.enqueue("code", context_refs=[f"task:{held.id}:output"])
    assert [each.data for each in await yard.tasks.inputs(mine.id)] == [{"secret": 42}]


async def test_an_id_that_another_workspace_has_taken_shows_nothing_of_it(yard: Yard, other: Yard):
    mine = await yard.enqueue("code", prompt="a secret")
    dag = await given_a_graph(yard, task("a", prompt="another"))

    with pytest.raises(InvalidInput, match="taken"):
        await other.enqueue("code", id=mine.id)
    with pytest.raises(InvalidInput, match="taken"):
        await other.submit({"tasks": [task("b", id=mine.id)]})
    with pytest.raises(InvalidInput, match="taken"):
        await other.submit({"id": dag.id, "tasks": [task("b")]})
    with pytest.raises(InvalidInput, match="taken"):
        await other.submit({"id": mine.dag_id, "tasks": [task("b")]})

    assert await other.find() == []
    assert len((await yard.dags.get(dag.id)).tasks) == 1


async def test_a_runtime_of_one_name_keeps_and_loses_only_its_own(yard: Yard, other: Yard, clock: ManualClock):
    held: list[Held] = []
    for each in (yard, other):
        await each.runtimes.register("laptop")
        await given_an_agent(each, runtime_id="laptop")
        made = await each.enqueue("code", timeouts={"lease_sec": 3600})
        held.append(await claim_that(each, made.id, start=True))
    await yard.sweep()

    for _ in range(4):
        clock.advance(seconds=25)
        await yard.runtimes.heartbeat("laptop")
        await yard.sweep()

    assert await status_of(yard, held[0].id) is Status.RUNNING
    assert await status_of(other, held[1].id) is Status.RETRYING
    assert (await other.runtimes.orphans("laptop")).orphaned == 0
    assert await status_of(yard, held[0].id) is Status.RUNNING


async def test_each_workspace_is_sound_by_itself(yard: Yard, other: Yard, clock: ManualClock):
    for each in (yard, other):
        await given_an_agent(each)
        await given_a_graph(each, task("a"), task("b", "a"))
        await work_off(each)
        await given_a_running_task(each)
    await elapse(yard, clock, 100)

    assert (await yard.verify()).ok
    assert (await other.verify()).ok
