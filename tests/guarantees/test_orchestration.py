"""Who may make work for whom, and how an orchestrator hears what becomes of its graphs."""

from typing import Any

import pytest

from taskyard.core.errors import Forbidden, InvalidInput
from taskyard.core.task import Status
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import task
from tests.yards import claim_that, elapse, given_a_dead_letter, given_a_running_task, given_an_agent

MINE = ("planner", "landing page")
INBOX = {"agent": MINE[0], "conversation": MINE[1]}


async def items_about(yard: Yard) -> list[dict[str, Any]]:
    """What the orchestrator was told, taken out of its inbox."""
    batch = (await yard.inbox.take(*MINE, hold_sec=0)).batch
    return [item.content for item in batch.items if isinstance(item.content, dict)] if batch else []


async def finish(yard: Yard, task_id: str, output: Any = None) -> None:
    held = await claim_that(yard, task_id, start=True)
    await yard.complete(held.id, held.lease, output)


async def bury(yard: Yard, task_id: str) -> None:
    held = await claim_that(yard, task_id, start=True)
    await yard.fail(held.id, held.lease, "auth_failure", "no key")


# Who may make work for whom


async def given_a_task_held_by(yard: Yard, agent_id: str, **facts: Any) -> Held:
    await given_an_agent(yard, agent_id, **facts)
    return await claim_that(yard, (await yard.enqueue("code")).id, by=agent_id, start=True)


async def spawn(yard: Yard, held: Held, **fields: Any) -> list[str]:
    return list(await yard.tasks.spawn(held.id, held.lease, [{"type": "test", **fields}], name="more"))


async def test_an_agent_may_not_address_what_it_spawns_to_another(yard: Yard):
    held = await given_a_task_held_by(yard, "coder-1", type="coder")

    with pytest.raises(Forbidden, match="coder-1 is no orchestrator, and only an orchestrator or a person") as refused:
        await spawn(yard, held, agent="tester")

    assert "address work to tester; without `agent` it goes to whoever can do it" in str(refused.value)
    assert len(await yard.find()) == 1


@pytest.mark.parametrize("to", [{}, {"agent": "coder-1"}, {"agent": "coder"}])
async def test_it_may_spawn_for_anybody_who_can_and_for_itself(yard: Yard, to: dict[str, str]):
    held = await given_a_task_held_by(yard, "coder-1", type="coder")

    (child,) = await spawn(yard, held, **to)

    assert (await yard.get(child)).addressed_to == to.get("agent")


async def test_it_may_not_address_a_subagent_to_another_either(yard: Yard):
    held = await given_a_task_held_by(yard, "coder-1")

    with pytest.raises(Forbidden, match="address work to tester"):
        await yard.subagents.spawn(held.id, held.lease, "test", "Try it", name="more", agent_id="tester")

    assert await yard.subagents.list() == []


async def test_an_orchestrator_may_address_work_to_anybody(yard: Yard):
    held = await given_a_task_held_by(yard, "planner", orchestrator=True)

    (child,) = await spawn(yard, held, agent="tester")

    assert (await yard.get(child)).addressed_to == "tester"


async def test_a_person_may_address_work_to_anybody(yard: Yard):
    assert (await yard.enqueue("code", agent="tester", created_by="human:ada")).addressed_to == "tester"


async def test_who_is_an_orchestrator_is_as_it_stands_now(yard: Yard):
    held = await given_a_task_held_by(yard, "planner", orchestrator=True)
    await given_an_agent(yard, "planner", orchestrator=False)

    with pytest.raises(Forbidden):
        await spawn(yard, held, agent="tester")


async def test_an_agent_makes_no_work_but_from_a_task_that_it_holds(yard: Yard):
    await given_an_agent(yard, "coder-1")
    await given_an_agent(yard, "planner", orchestrator=True)
    graph = {"tasks": [task("a")]}

    with pytest.raises(Forbidden, match="makes work only by spawning it"):
        await yard.enqueue("code", created_by="agent:coder-1")
    with pytest.raises(Forbidden, match="makes work only by spawning it"):
        await yard.submit(graph, created_by="agent:coder-1")
    with pytest.raises(Forbidden, match="makes work only by spawning it"):
        await yard.enqueue("code", created_by="agent:somebody nobody knows")

    assert await yard.find() == []
    assert (await yard.submit(graph, created_by="agent:planner")).tasks["a"].status is Status.READY


# What an orchestrator hears


async def test_an_orchestrator_is_notified_of_the_end_of_its_graph(yard: Yard):
    await given_an_agent(yard)
    dag = await yard.submit({"title": "Page", "inbox": INBOX, "tasks": [task("a"), task("b", "a")]})

    await finish(yard, dag.tasks["a"].id)
    assert await items_about(yard) == []
    await finish(yard, dag.tasks["b"].id)

    assert await items_about(yard) == [{"dag_id": dag.id, "title": "Page", "news": "ended", "status": "completed"}]


async def test_it_is_notified_of_dead_letters_and_escalations(yard: Yard):
    await given_an_agent(yard)
    dag = await yard.submit({"title": "Page", "inbox": INBOX, "tasks": [task("a")]})
    dead = dag.tasks["a"].id

    await bury(yard, dead)
    letter, end = await items_about(yard)
    await yard.dead_letters.resolve(dead, "escalate", by="human:ada", note="who has the key?")
    (escalated,) = await items_about(yard)
    await yard.dead_letters.resolve(dead, "retry", by="human:ada")
    await finish(yard, dead)

    assert (letter["news"], letter["task_id"], letter["error"]) == ("dead_lettered", dead, "auth_failure: no key")
    assert (end["news"], end["status"]) == ("ended", "failed")
    assert (escalated["news"], escalated["error"]) == ("escalated", "who has the key?")
    assert [(each["news"], each["status"]) for each in await items_about(yard)] == [("ended", "completed")]


async def test_it_is_notified_of_single_tasks_where_it_wants_to_be(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    wanted = {**INBOX, "about": ["completed", "cancelled"]}
    dag = await yard.submit({"inbox": wanted, "tasks": [task("a"), task("b", "a")]})

    await finish(yard, dag.tasks["a"].id, {"answer": 42})
    clock.advance(seconds=1)
    await yard.cancel(dag.tasks["b"].id, "enough")

    completed, cancelled = await items_about(yard)
    assert (completed["task_id"], completed["news"], completed["result"]) == (
        *(dag.tasks["a"].id, "completed", {"answer": 42}),
    )
    assert (cancelled["task_id"], cancelled["news"], cancelled["error"]) == (dag.tasks["b"].id, "cancelled", "enough")


async def test_what_joins_the_graph_later_is_reported_too(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    dag = await yard.submit({"inbox": INBOX, "tasks": [task("a")]})
    held = await claim_that(yard, dag.tasks["a"].id, start=True)
    (child,) = await yard.tasks.spawn(held.id, held.lease, [{"type": "test"}], name="more")
    added = await yard.dags.add(dag.id, [task("c")])

    await bury(yard, child)
    clock.advance(seconds=1)
    await bury(yard, added.tasks["c"].id)

    assert [(each["news"], each["task_id"]) for each in await items_about(yard)] == [
        ("dead_lettered", child),
        ("dead_lettered", added.tasks["c"].id),
    ]


async def test_a_graph_that_a_crash_left_to_the_sweep_is_reported_once(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    dag = await yard.submit({"inbox": INBOX, "tasks": [task("a")]})
    await finish(yard, dag.tasks["a"].id)

    await elapse(yard, clock, 60)

    assert [each["news"] for each in await items_about(yard)] == ["ended"]


async def test_nobody_is_notified_of_what_names_no_inbox(yard: Yard):
    await given_a_dead_letter(yard)
    running = await given_a_running_task(yard, "test")
    await yard.complete(running.id, running.lease)

    assert await yard.inbox.list() == []


@pytest.mark.parametrize(
    "inbox",
    [
        {"agent": "planner"},
        {"agent": "planner", "conversation": " "},
        {**INBOX, "about": ["everything"]},
        {**INBOX, "about": []},
        {**INBOX, "about": [["ended"]]},
        {**INBOX, "colour": "red"},
        "planner",
    ],
)
async def test_an_inbox_that_makes_no_sense_is_refused_with_the_graph(yard: Yard, inbox: Any):
    with pytest.raises(InvalidInput, match="inbox"):
        await yard.submit({"inbox": inbox, "tasks": [task("a")]})

    assert await yard.dags.list() == []
