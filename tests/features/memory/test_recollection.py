"""What a task that refers to `memory:auto` is given."""

from typing import Any, cast

import pytest

from taskyard.core.errors import EmbedderFailed, LeaseLost
from taskyard.core.task import TaskId
from taskyard.features.memory import recall
from taskyard.ledger.options import Options
from taskyard.stores.memory import MemoryStore
from taskyard.yard import Yard, local_yard
from tests.yards import given_a_running_task


async def given_a_past(yard: Yard, *titles: str, type_: str = "code") -> list[TaskId]:
    ids: list[TaskId] = []
    for title in titles:
        held = await given_a_running_task(yard, type_, title=title)
        await yard.complete(held.id, held.lease, f"{title}: done")
        ids.append(held.id)
    await yard.memory.catch_up()
    return ids


async def recalled(yard: Yard, task_id: str, lease: str | None = None) -> Any:
    (given,) = [each for each in await yard.tasks.inputs(task_id, lease) if each.ref == "memory:auto"]
    return cast(Any, given.data)


async def given_one_that_recalls(yard: Yard, **fields: Any) -> Any:
    return await given_a_running_task(yard, title="Migrate the orders", context_refs=["memory:auto"], **fields)


async def test_a_task_is_given_finished_tasks_like_it_with_how_they_ended(yard: Yard):
    migration, _ = await given_a_past(yard, "Migration of invoices", "Bake a cake")
    held = await given_one_that_recalls(yard)

    found = await recalled(yard, held.id, held.lease)
    assert found["problem"] is None
    assert found["tasks"][0]["task_id"] == migration
    assert found["tasks"][0]["summary"] == "Migration of invoices: done"


async def test_a_retry_sees_the_same_whatever_has_ended_since(yard: Yard):
    await given_a_past(yard, "Bake a cake")
    held = await given_one_that_recalls(yard)
    first = await recalled(yard, held.id, held.lease)
    await yard.release(held.id, held.lease)
    (again,) = await yard.claim("worker", start=True)
    await given_a_past(yard, "Migration of orders")

    assert again.id == held.id
    assert await recalled(yard, again.id, again.lease) == first
    assert await recalled(yard, again.id) == first  # and so do those who look on
    assert list(await yard.attempts.checkpoints(held.id)) == ["memory:auto"]


async def test_nothing_is_looked_up_without_the_lease(yard: Yard):
    held = await given_one_that_recalls(yard)

    assert await yard.tasks.inputs(held.id) == []
    with pytest.raises(LeaseLost):
        await yard.tasks.inputs(held.id, "another")
    assert await yard.attempts.checkpoints(held.id) == {}


async def test_an_agent_gets_only_tasks_of_types_that_it_was_granted(yard: Yard):
    (mine,) = await given_a_past(yard, "Migration of invoices")
    await given_a_past(yard, "Migration of secrets", type_="secret")
    await yard.agents.register("granted", max_concurrent_tasks=5)
    await yard.tokens.create("t", "agent", agent="granted", types=["code"])
    held = await given_one_that_recalls(yard, by="granted")

    assert [hit["task_id"] for hit in (await recalled(yard, held.id, held.lease))["tasks"]] == [mine]
    hits = await yard.local.recall.search_as("granted", None, "Migration of secrets")
    assert [hit.task_id for hit in hits] == [mine]
    assert await yard.local.recall.search_as("granted", None, "Migration", type="secret") == []


async def test_a_task_does_not_recall_itself(yard: Yard):
    held = await given_one_that_recalls(yard, max_attempts=1)
    await yard.fail(held.id, held.lease, "crash")
    await yard.memory.catch_up()
    await yard.dead_letters.resolve(held.id, "retry", by="human:ada")
    (again,) = await yard.claim("worker", start=True)

    assert (await recalled(yard, again.id, again.lease))["tasks"] == []


async def test_an_embedder_that_fails_leaves_the_task_without_memory_and_says_so(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
):
    async def fail(*_: object) -> None:
        raise EmbedderFailed("nobody answers")

    monkeypatch.setattr(recall, "asked", fail)
    held = await given_one_that_recalls(yard)

    found = await recalled(yard, held.id, held.lease)
    assert found["tasks"] == []
    assert "nobody answers" in found["problem"]


async def test_without_an_embedder_the_task_gets_a_problem(clock: Any):
    async with local_yard(MemoryStore(clock=clock), Options(sweeps=False)) as yard:
        held = await given_one_that_recalls(yard)

        assert "TASKYARD_EMBEDDER" in (await recalled(yard, held.id, held.lease))["problem"]
