"""Work that was put in twice is there once."""

import asyncio
import json
from hashlib import sha256
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.task import Status
from taskyard.features.attempts.endings.completions import WORTH_DECIDING
from taskyard.yard import Yard
from tests.graphs import happened
from tests.yards import OpenYard, claim_that, given_a_dead_letter, given_a_running_task, given_an_agent

MINTED = "task_01J8K2M00000000000000000ZZ"


async def test_the_same_key_gets_the_same_task(yard: Yard):
    first = await yard.enqueue("code", idempotency_key="nightly", prompt="one")
    again = await yard.enqueue("code", idempotency_key="nightly", prompt="two")

    assert (first.created, again.created) == (True, False)
    assert again.id == first.id
    assert again.prompt == "one"


async def test_many_producers_that_race_make_one_task(yard: Yard, open_yard: OpenYard):
    yards = [yard, *[await open_yard() for _ in range(3)]]
    made = await asyncio.gather(
        *(each.enqueue("code", idempotency_key="nightly") for each in yards for _ in range(10)),
    )

    assert len({task.id for task in made}) == 1
    assert sum(task.created for task in made) == 1


async def test_a_batch_may_repeat_itself(yard: Yard):
    tasks = await yard.enqueue_many(
        [
            {"type": "code", "idempotency_key": "a"},
            {"type": "code", "idempotency_key": "b"},
            {"type": "code", "idempotency_key": "a"},
        ]
    )

    assert [task.created for task in tasks] == [True, True, False]
    assert tasks[2].id == tasks[0].id


async def test_a_finished_task_keeps_its_key(yard: Yard):
    held = await given_a_running_task(yard, idempotency_key="nightly")
    await yard.complete(held.id, held.lease, {"done": True})

    again = await yard.enqueue("code", idempotency_key="nightly")
    assert (again.id, again.created, again.status) == (held.id, False, Status.COMPLETED)


async def test_a_cancelled_task_lets_its_key_go(yard: Yard):
    first = await yard.enqueue("code", idempotency_key="nightly")
    await yard.cancel(first.id)

    assert (await yard.enqueue("code", idempotency_key="nightly")).created


async def test_a_dead_letter_lets_its_key_go(yard: Yard):
    await given_a_dead_letter(yard, idempotency_key="nightly")

    assert (await yard.enqueue("code", idempotency_key="nightly")).created


async def test_a_key_belongs_to_its_workspace(yard: Yard, open_yard: OpenYard):
    other = await open_yard(workspace="other")
    mine = await yard.enqueue("code", idempotency_key="nightly")
    theirs = await other.enqueue("code", idempotency_key="nightly")

    assert theirs.created
    assert theirs.id != mine.id


async def test_the_key_of_a_payload_is_that_of_its_canonical_json_in_every_process(yard: Yard):
    payload: dict[str, Any] = {"b": [1, 2.5, None, True], "a": {"ü": "€", "x": -0.0}}
    task = await yard.enqueue("code", dedup="payload", payload=payload)

    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert task.idempotency_key == sha256(text.encode()).hexdigest()


async def test_by_payload_the_order_of_keys_makes_no_difference_and_all_else_does(yard: Yard):
    first = await yard.enqueue("code", dedup="payload", payload={"a": 1, "b": {"c": 2, "d": 3}})

    same = await yard.enqueue("other", dedup="payload", payload={"b": {"d": 3, "c": 2}, "a": 1}, prompt="hello")
    assert (same.id, same.created) == (first.id, False)
    other: list[Any] = [{"a": 1, "b": {"c": 2}}, {"a": "1", "b": {"c": 2, "d": 3}}, [1], 0, False, ""]
    assert all([(await yard.enqueue("code", dedup="payload", payload=each)).created for each in other])


async def test_by_payload_prompt_and_type_count_where_there_is_none(yard: Yard):
    first = await yard.enqueue("code", dedup="payload", prompt="hello")

    assert not (await yard.enqueue("code", dedup="payload", prompt="hello", payload={})).created
    assert (await yard.enqueue("code", dedup="payload", prompt="hello!")).created
    assert (await yard.enqueue("research", dedup="payload", prompt="hello")).created
    assert (await yard.get(first.id)).status is Status.READY


async def test_without_a_key_nothing_is_the_same(yard: Yard):
    first = await yard.enqueue("code", payload={"a": 1})

    assert (await yard.enqueue("code", payload={"a": 1})).id != first.id


# Minted ids


async def test_a_producer_that_mints_the_id_may_repeat_the_call(yard: Yard):
    first = await yard.enqueue("code", id=MINTED, prompt="one")
    again = await yard.enqueue("code", id=MINTED, prompt="two")

    assert (first.created, again.created) == (True, False)
    assert first.id == again.id == MINTED
    assert again.prompt == "one"


async def test_an_id_of_another_workspace_is_refused_and_tells_nothing(yard: Yard, open_yard: OpenYard):
    other = await open_yard(workspace="other")
    await yard.enqueue("code", id=MINTED, prompt="secret")

    with pytest.raises(InvalidInput) as refused:
        await other.enqueue("code", id=MINTED)
    assert refused.value.facts == {"field": "id", "rule": "is taken"}
    assert await other.find() == []


# Graphs


@pytest.mark.parametrize("again", ["key", "id"])
async def test_a_graph_with_a_task_that_is_there_already_is_refused_whole(yard: Yard, again: str):
    there = await yard.enqueue("code", idempotency_key="nightly", id=MINTED)
    taken = {"idempotency_key": "nightly"} if again == "key" else {"id": MINTED}

    with pytest.raises(InvalidInput) as refused:
        await yard.submit({"tasks": [{"name": "a", "type": "code"}, {"name": "b", "type": "code", **taken}]})
    assert refused.value.facts["field"] == "tasks"
    assert [task.id for task in await yard.find()] == [there.id]
    assert await yard.dags.list() == []


@pytest.mark.parametrize("same", [{"idempotency_key": "nightly"}, {"id": MINTED}])
async def test_a_graph_in_which_two_tasks_are_the_same_is_refused(yard: Yard, same: dict[str, str]):
    with pytest.raises(InvalidInput) as refused:
        await yard.submit({"tasks": [{"name": "a", "type": "code", **same}, {"name": "b", "type": "code", **same}]})

    assert refused.value.facts["field"] == f"tasks[1].{next(iter(same))}"
    assert await yard.find() == []


async def test_nor_can_such_a_task_be_added_or_spawned(yard: Yard):
    await yard.enqueue("research", idempotency_key="nightly", priority=90)
    dag = await yard.submit({"tasks": [{"name": "a", "type": "code"}]})
    await given_an_agent(yard)
    held = await claim_that(yard, dag.tasks["a"].id, start=True)
    taken = [{"type": "code", "idempotency_key": "nightly"}]

    with pytest.raises(InvalidInput):
        await yard.dags.add(dag.id, taken)
    with pytest.raises(InvalidInput):
        await yard.tasks.spawn(held.id, held.lease, taken, name="child", wait=True)
    assert (await yard.get(held.id)).status is Status.RUNNING
    assert len((await yard.dags.get(dag.id)).tasks) == 1


async def test_a_graphs_id_is_taken_once(yard: Yard):
    dag = {"id": "dag_01J8K2M00000000000000000ZZ", "tasks": [{"type": "code"}]}
    await yard.submit(dag)

    with pytest.raises(InvalidInput) as refused:
        await yard.submit(dag)
    assert refused.value.facts["field"] == "id"
    assert len(await yard.find()) == 1


async def test_an_output_that_is_handed_in_again_while_it_is_on_its_way_is_accepted_once(yard: Yard):
    number = 2 * WORTH_DECIDING
    agent = await given_an_agent(yard)
    await yard.enqueue_many([{"type": "code"}] * number)
    held = await yard.claim(agent, count=number, start=True)

    first = asyncio.create_task(yard.complete(held[0].id, held[0].lease, "done"))
    await asyncio.sleep(0)  # and so it is on its way when all of them come, this one again
    receipts = await asyncio.gather(first, *(yard.complete(each.id, each.lease, "done") for each in held))

    assert {receipt.status for receipt in receipts} == {"completed"}
    assert receipts[0] == receipts[1]
    assert await happened(yard, "task.completed") == {each.id: 1 for each in held}


async def test_an_id_that_several_callers_give_at_one_moment_is_made_once(yard: Yard):
    mine = f"task_{1:026}"
    made = await asyncio.gather(*(yard.enqueue("code", id=mine) for _ in range(3)), yard.enqueue("code"))

    assert [each.id == mine for each in made] == [True, True, True, False]
    assert sorted(each.created for each in made) == [False, False, True, True]
    assert len(await yard.find()) == 2


async def test_an_id_that_is_given_twice_in_one_batch_is_made_once(yard: Yard):
    chosen = "task_01J00000000000000000000000"

    made = await yard.enqueue_many([{"type": "code", "id": chosen}, {"type": "code", "id": chosen}, {"type": "code"}])

    assert [task.id for task in made[:2]] == [chosen] * 2
    assert [task.created for task in made] == [True, False, True]
