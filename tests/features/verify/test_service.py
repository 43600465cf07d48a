"""Verifying a yard: a sound one has no violation, and what contradicts itself is found."""

from taskyard.core.changes import ChangeSet, Count
from taskyard.core.identifiers import dag_counter
from taskyard.yard import Yard
from tests.yards import given_a_dead_letter, given_a_running_task


async def test_a_yard_with_work_of_every_kind_is_sound(yard: Yard):
    await given_a_dead_letter(yard)
    await given_a_running_task(yard)
    await yard.submit({"tasks": [{"name": "a", "type": "code"}, {"name": "b", "type": "code", "depends_on": ["a"]}]})
    await yard.schedules.add("reports", "every 5 minutes", task={"type": "report"})

    assert (await yard.verify()).ok


async def test_a_counter_that_disagrees_with_the_tasks_is_found(yard: Yard):
    submitted = await yard.submit({"tasks": [{"name": "a", "type": "code"}, {"name": "b", "type": "code"}]})
    store, name = yard.local.ledger.store, dag_counter(submitted.id, "live")
    await store.commit([ChangeSet(counts=(Count(yard.workspace, name, 1),), at=yard.now())])

    found = await yard.verify()

    assert [each for each in found.problems if submitted.id in each]
