"""Lists and counts: whole, bounded, and the same from afar."""

from collections.abc import Sequence

import pytest

from taskyard.core.errors import IllegalTransition, InvalidInput
from taskyard.core.task import Definition, Status, TaskId
from taskyard.features.dead_letters import service as dead_letters
from taskyard.features.tasks.lookup import queries
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, claim_that, given_a_dead_letter, given_a_running_task, given_an_agent


async def test_a_dead_letter_is_found_however_many_were_decided_after_it(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dead_letters, "MOST_LISTED", 2)
    oldest = await given_a_dead_letter(yard)
    for number in range(5):
        later = await given_a_dead_letter(yard, f"code {number}")  # so that no breaker opens
        await yard.dead_letters.resolve(later.id, "escalate", by="human:local")

    unseen = await yard.dead_letters.list(reviewed=False, limit=2)

    assert [letter.task.id for letter in unseen] == [oldest.id]
    assert [attempt.error for attempt in unseen[0].task.attempts] == ["it fell over"]
    assert len(await yard.dead_letters.list(reviewed=True, limit=3)) == 3


async def test_dead_letters_are_read_page_by_page(yard: Yard):
    died = [(await given_a_dead_letter(yard, f"code {number}")).id for number in range(5)]

    first = await yard.dead_letters.list(limit=3)
    rest = await yard.dead_letters.list(limit=3, cursor=first[-1].task.seq)

    assert [letter.task.id for letter in (*first, *rest)] == died[::-1]


async def test_an_approval_is_found_however_many_tasks_wait_for_something_else(yard: Yard, clock: ManualClock):
    asking = await given_a_running_task(yard)
    await yard.attempts.wait_for(asking.id, asking.lease, "may I", "approval", timeout_sec=600)
    clock.advance(seconds=1)
    for _ in range(5):
        await yard.enqueue("code", run_after="2100-01-01T00:00:00Z")

    [approval] = await yard.approvals.list(limit=2)

    assert (approval.task.id, approval.signal) == (asking.id, "approval")
    await yard.signal(asking.id, "approval", {"ok": True})
    assert await yard.approvals.list() == []


async def test_graphs_are_listed_newest_first_page_by_page(yard: Yard, clock: ManualClock):
    made: list[str] = []
    for number in range(5):
        made.append((await yard.submit({"title": f"graph {number}", "tasks": [{"type": "code"}]})).id)
        clock.advance(seconds=1)

    first = await yard.dags.list(limit=3)
    rest = await yard.dags.list(limit=3, cursor=first[-1].id)

    assert [record.id for record in (*first, *rest)] == sorted(made, reverse=True)
    with pytest.raises(InvalidInput):
        await yard.dags.list(limit=201)


async def test_a_row_has_what_a_list_shows_and_nothing_long(yard: Yard):
    held = await given_a_running_task(
        yard, title="Fix it", prompt=f"First line\n{'x' * 10_000}", payload={"big": "y" * 10_000}, tags=["red"]
    )
    await yard.heartbeat(held.id, held.lease, progress={"fraction": 0.5}, cost_usd="0.25")

    [row] = await yard.tasks.rows(status="running", tag="red", limit=10)

    assert (row.id, row.title, row.summary, row.agent) == (held.id, "Fix it", "First line", "worker")
    assert (row.progress, row.cost, row.tags, row.ended_at) == ({"fraction": 0.5}, 250_000, ("red",), None)


async def test_a_row_tells_what_all_attempts_have_cost(yard: Yard):
    held = await given_a_running_task(yard, retry={"strategy": "immediate"})
    await yard.fail(held.id, held.lease, "crash", cost_usd="0.10")
    again = await claim_that(yard, held.id, start=True)
    await yard.complete(again.id, again.lease, {}, cost_usd="0.05")

    [row] = await yard.tasks.rows()

    assert (row.cost, row.status, row.failures) == (150_000, "completed", 1)
    assert row.ended_at is not None


def every_state(**some: int) -> dict[str, int]:
    return {status.value: some.get(status.value, 0) for status in Status}


async def test_tasks_that_match_are_counted_by_status(yard: Yard):
    await given_a_dead_letter(yard, queue="night")
    await yard.enqueue("code", queue="night", prompt="Find the needle")
    await yard.enqueue("test", queue="night")
    await yard.enqueue("code")

    assert await yard.tasks.count(queue="night") == (every_state(dead_lettered=1, ready=2), False)
    assert (await yard.tasks.count(type=["code"])).counts == every_state(dead_lettered=1, ready=2)
    assert (await yard.tasks.count(text="needle")).counts == every_state(ready=1)
    assert (await yard.tasks.count()).counts == every_state(dead_lettered=1, ready=3)
    assert (await yard.tasks.count(status=["ready"], type="test")).counts == every_state(ready=1)
    assert {status: sum(types.values()) for status, types in (await yard.tasks.stats()).items()} == every_state(
        dead_lettered=1, ready=3
    )


async def test_of_too_many_the_newest_are_counted(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queries, "COUNTED_AT_ONCE", 2)
    monkeypatch.setattr(queries, "MOST_COUNTED", 4)
    for _ in range(6):
        await yard.enqueue("code", queue="night")

    assert await yard.tasks.count(queue="night") == (every_state(ready=4), True)


async def test_a_task_is_shown_with_all_that_it_hangs_together_with(yard: Yard):
    tasks = [
        {"name": "plan", "type": "plan"},
        {"name": "build", "type": "code", "depends_on": ["plan"]},
        {"name": "ship", "type": "ship", "depends_on": ["build"]},
    ]
    dag = await yard.submit({"tasks": tasks})
    await given_an_agent(yard)
    plan = await claim_that(yard, dag.tasks["plan"].id, start=True)
    [child] = await yard.tasks.spawn(plan.id, plan.lease, [{"type": "research"}], name="ask")
    await yard.complete(plan.id, plan.lease, {})
    again = await yard.rerun(plan.id)

    build = await yard.tasks.relations(dag.tasks["build"].id)
    assert [row.id for row in build.dependencies] == [plan.id]
    assert [row.id for row in build.dependents] == [dag.tasks["ship"].id]
    assert [row.id for row in (await yard.tasks.relations(plan.id)).children] == [child]
    spawned = (await yard.tasks.relations(child)).parent
    assert spawned is not None
    assert spawned.id == plan.id
    repeated = (await yard.tasks.relations(again.id)).rerun_of
    assert repeated is not None
    assert repeated.id == plan.id
    twice = await yard.rerun(plan.id)
    assert [row.id for row in (await yard.tasks.relations(plan.id)).reruns] == [twice.id, again.id]


async def test_of_another_workspaces_tasks_nothing_is_related(yard: Yard, open_yard: OpenYard):
    elsewhere = await open_yard(workspace="acme")
    secret = await elsewhere.enqueue("code", title="secret")
    task = await yard.enqueue("code", context_refs=[f"task:{secret.id}:output"])

    related = await yard.tasks.relations(task.id)

    assert related == ([], [], [], None, None, [])


# What would happen


CHAIN = [
    {"name": "a", "type": "code"},
    {"name": "b", "type": "code", "depends_on": ["a"]},
    {"name": "c", "type": "code", "depends_on": ["b"]},
    {"name": "beside", "type": "code"},
]


async def test_a_cancel_can_be_tried_before_it_is_made(yard: Yard):
    dag = await yard.submit({"tasks": CHAIN})
    ids = {name: task.id for name, task in dag.tasks.items()}

    would = await yard.cancel(ids["a"], dry_run=True)
    alone = await yard.cancel(ids["a"], cascade=False, dry_run=True)
    whole = await yard.dags.cancel(dag.id, dry_run=True)

    assert set(would.task_ids) == {ids["a"], ids["b"], ids["c"]}
    assert would.task_ids[0] == ids["a"]
    assert alone.task_ids == (ids["a"],)
    assert set(whole.task_ids) == set(ids.values())
    assert {status for status, types in (await yard.tasks.stats()).items() if types} == {"ready", "pending"}
    assert set((await yard.cancel(ids["a"])).task_ids) == set(would.task_ids)


async def test_a_cancel_that_would_be_refused_is_refused_when_it_is_tried(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease)

    with pytest.raises(IllegalTransition):
        await yard.cancel(held.id, dry_run=True)


async def test_trying_an_action_on_many_says_what_would_be_refused(yard: Yard):
    dead = await given_a_dead_letter(yard)
    waiting = await yard.enqueue("code")

    tried = {
        action: await yard.tasks.bulk(action, by="human:local", dry_run=True, priority=priority)
        for action, priority in (("cancel", None), ("retry", None), ("rerun", None), ("priority", 5))
    }

    assert {action: set(acted.task_ids) for action, acted in tried.items()} == {
        "cancel": {dead.id, waiting.id},
        "retry": {dead.id},
        "rerun": {dead.id},
        "priority": {waiting.id},
    }
    assert [refusal.code for refusal in tried["retry"].refused.values()] == ["illegal_transition"]
    assert (await yard.get(dead.id)).status == "dead_lettered"


async def test_an_action_is_for_exactly_the_tasks_that_are_named(yard: Yard, open_yard: OpenYard):
    chosen, other = await yard.enqueue("code"), await yard.enqueue("code")
    elsewhere = await (await open_yard(workspace="acme")).enqueue("code")

    acted = await yard.tasks.bulk("cancel", by="human:local", ids=[chosen.id, elsewhere.id])

    assert acted.task_ids == (chosen.id,)
    assert (await yard.get(other.id)).status == "ready"
    with pytest.raises(InvalidInput):
        await yard.tasks.bulk("cancel", by="human:local", ids=[other.id], queue="default")


async def test_a_list_leaves_out_what_was_pruned_while_it_was_read(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    pruned, kept = await yard.enqueue("code"), await yard.enqueue("code")
    definitions = yard.store.definitions

    async def definitions_that_are_left(task_ids: Sequence[TaskId]) -> dict[TaskId, Definition]:
        return {task_id: each for task_id, each in (await definitions(task_ids)).items() if task_id != pruned.id}

    monkeypatch.setattr(yard.store, "definitions", definitions_that_are_left)

    assert [task.id for task in await yard.find()] == [kept.id]
