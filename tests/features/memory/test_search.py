"""What is found, for whom, and what is said about it."""

from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.task import Status, TaskId
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.memory import MemoryStore
from taskyard.yard import Yard, local_yard
from tests.yards import given_a_dead_letter, given_a_running_task


async def given_a_completed_task(yard: Yard, title: str, output: Any = None, **fields: Any) -> TaskId:
    held = await given_a_running_task(yard, title=title, **fields)
    await yard.complete(held.id, held.lease, output)
    return held.id


async def test_the_nearest_task_comes_first_with_how_it_ended(yard: Yard):
    done = await given_a_completed_task(yard, "Migrate the invoice table", {"summary": "Copied 40 rows", "rows": 40})
    dead = await given_a_dead_letter(yard, title="Translate the manual into French")
    await yard.memory.catch_up()

    found = await yard.memory.search("migrating invoices")
    (other,) = await yard.memory.search("translation of manuals", limit=1)

    assert [hit.task_id for hit in found] == [done, dead.id]
    assert (found[0].status, found[0].summary, found[0].agent) == (Status.COMPLETED, "Copied 40 rows", "worker")
    assert (found[0].reason, found[0].error) == (None, None)
    assert found[0].score > found[1].score
    assert (other.task_id, other.status) == (dead.id, Status.DEAD_LETTERED)
    assert (other.reason, other.error, other.summary) == ("crash", "it fell over", None)


async def test_only_tasks_of_the_type_that_is_asked_for_are_found(yard: Yard):
    await given_a_completed_task(yard, "Migrate the table")
    review = await given_a_completed_task(yard, "Review the migration", type_="review")
    await yard.memory.catch_up()

    assert [hit.task_id for hit in await yard.memory.search("migration", type="review")] == [review]
    assert await yard.memory.search("migration", type="none") == []


async def test_workspaces_find_nothing_of_each_other(yard: Yard):
    other = yard.beside("other")
    await other.memory.set_policy(remember=True)
    mine, theirs = await given_a_completed_task(yard, "Migrate"), await given_a_completed_task(other, "Migrate")

    assert await yard.memory.catch_up() == 2  # one worker for all of them
    assert [hit.task_id for hit in await yard.memory.search("Migrate")] == [mine]
    assert [hit.task_id for hit in await other.memory.search("Migrate")] == [theirs]


async def test_a_pruned_task_is_forgotten(yard: Yard, clock: ManualClock):
    await given_a_completed_task(yard, "Migrate the table")
    await yard.memory.catch_up()
    clock.advance(seconds=8 * 86_400)
    counting = await yard.local.metrics.begin()
    await counting.add(await counting.read(1000))
    await counting.store()
    await yard.local.pruning.prune()

    assert await yard.memory.search("Migrate the table") == []
    assert (await yard.memory.state()).vectors == 0


async def test_a_question_without_words_finds_nothing(yard: Yard):
    await given_a_completed_task(yard, "Migrate the table")
    await yard.memory.catch_up()

    assert await yard.memory.search("?!") == []


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"text": " "}, "text"),
        ({"text": "x" * 4097}, "text"),
        ({"text": "x", "limit": 0}, "limit"),
        ({"text": "x", "limit": 51}, "limit"),
        ({"text": "x", "type": ""}, "type"),
    ],
)
async def test_a_question_that_breaks_a_rule_is_refused_by_name(yard: Yard, arguments: dict[str, Any], field: str):
    with pytest.raises(InvalidInput) as refused:
        await yard.memory.search(**arguments)
    assert refused.value.facts["field"] == field


@pytest.mark.parametrize("policy", [{"remember": 1}, {"types": {"code": "yes"}}, {"types": {"": True}}])
async def test_a_policy_that_breaks_a_rule_is_refused_and_the_old_one_stays(yard: Yard, policy: dict[str, Any]):
    with pytest.raises(InvalidInput):
        await yard.memory.set_policy(**policy)
    assert (await yard.memory.policy()).remember is True


async def test_without_an_embedder_nothing_queues_up_and_the_health_report_says_so(clock: ManualClock):
    async with local_yard(MemoryStore(clock=clock), Options(sweeps=False)) as yard:
        assert (await yard.health())["memory_embedder"] == "none, and none is needed"
        await yard.memory.set_policy(types={"code": True})
        await given_a_completed_task(yard, "Migrate the table")

        assert await yard.memory.embedding_jobs() == []
        assert [event.event for event in await yard.memory.agent_events()] == ["task.completed"]
        assert (await yard.health())["memory_embedder"] == "none"
        with pytest.raises(InvalidInput, match="TASKYARD_EMBEDDER"):
            await yard.memory.search("table")
        with pytest.raises(InvalidInput, match="TASKYARD_EMBEDDER"):
            await yard.memory.catch_up()


async def test_jobs_show_what_waits_what_is_done_and_nothing_of_what_is_not_remembered(yard: Yard):
    await given_a_completed_task(yard, "Not this", remember=False)
    first = await given_a_completed_task(yard, "Migrate")
    await yard.memory.catch_up()
    second = await given_a_completed_task(yard, "Translate")

    jobs = await yard.memory.embedding_jobs()
    assert [(job.task_id, job.status) for job in jobs] == [(second, "pending"), (first, "completed")]
    assert {job.embedder for job in jobs} == {"hash:256"}
    events = await yard.memory.agent_events(limit=2)
    assert [event.task_id for event in events] == [second, first]
    assert [event.id for event in events] == [job.id for job in jobs]
    assert events[0].agent_name == "worker"
    assert len(await yard.memory.agent_events(below=events[1].id)) == 1


async def test_the_state_says_how_long_the_first_waits(yard: Yard, clock: ManualClock):
    await given_a_completed_task(yard, "Migrate")
    ended = yard.now()
    clock.advance(seconds=700)
    await given_a_completed_task(yard, "Translate")

    assert (await yard.memory.state()).waiting_since == ended
    assert (await yard.health())["memory_waiting_sec"] == 700
    await yard.memory.catch_up()
    state = await yard.memory.state()
    assert (state.embedder, state.vectors, state.waiting_since) == ("hash:256", 2, None)
