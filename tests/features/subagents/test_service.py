"""Background subagents: started and left alone, and their parents hear of their end."""

import pytest

from taskyard.core.errors import InvalidInput, NotFound
from taskyard.yard import Yard
from tests.yards import claim_that, given_an_agent


async def test_a_subagent_goes_from_queued_to_completed(yard: Yard):
    await given_an_agent(yard)
    started = await yard.subagents.start("research", "Compare the vendors", parent="planner")
    assert (await yard.subagents.get(started.task_id)).status == "queued"

    held = await claim_that(yard, started.task_id, start=True)
    assert (await yard.subagents.get(started.task_id)).status == "running"
    await yard.complete(held.id, held.lease, "done")

    assert (await yard.subagents.get(started.task_id)).status == "completed"


@pytest.mark.parametrize(("silent", "items"), [(False, 1), (True, 0)])
async def test_the_parent_gets_one_item_for_the_end_unless_it_is_silent(yard: Yard, silent: bool, items: int):
    await given_an_agent(yard)
    started = await yard.subagents.start("research", "Compare", parent="planner", conversation="c1", silent=silent)
    held = await claim_that(yard, started.task_id, start=True)
    await yard.complete(held.id, held.lease, "done")

    assert len((await yard.inbox.peek("planner", "c1")).items) == items


async def test_the_same_tool_call_again_gets_the_same_subagent(yard: Yard):
    first = await yard.subagents.start("research", "Compare", parent="planner", tool_call_id="call-1")
    again = await yard.subagents.start("research", "Compare", parent="planner", tool_call_id="call-1")
    other = await yard.subagents.start("research", "Compare", parent="planner", tool_call_id="call-2")

    assert again == first
    assert other.task_id != first.task_id


async def test_they_are_listed_by_parent_and_conversation(yard: Yard):
    mine = await yard.subagents.start("research", "Compare", parent="planner", conversation="c1")
    await yard.subagents.start("research", "Compare", parent="planner", conversation="c2")
    await yard.subagents.start("research", "Compare", parent="other", conversation="c1")

    found = await yard.subagents.list(parent="planner", conversation="c1")

    assert [each.task_id for each in found] == [mine.task_id]


async def test_a_task_that_is_no_subagent_is_not_found(yard: Yard):
    task = await yard.enqueue("code")

    with pytest.raises(NotFound):
        await yard.subagents.get(task.id)


async def test_turns_without_sense_are_refused(yard: Yard):
    with pytest.raises(InvalidInput):
        await yard.subagents.start("research", "Compare", parent="planner", max_turns=0)
