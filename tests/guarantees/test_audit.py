"""The audit log on every store: an entry stands or falls with its act, is found, and goes when it is old."""

import asyncio

import pytest

from taskyard.core.errors import IllegalTransition
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, elapse, given_a_dead_letter

BY = {"human:local", "human:ada"}  # beyond a server, the token says who it was


async def test_an_act_and_its_entry_are_stored_together_and_refused_together(open_yard: OpenYard, clock: ManualClock):
    here, other = await open_yard(), await open_yard()
    dead = await given_a_dead_letter(here)
    decided = await asyncio.gather(
        *(yard.dead_letters.resolve(dead.id, "retry", by="human:ada") for yard in (here, other)), return_exceptions=True
    )
    assert [type(each) for each in decided if isinstance(each, Exception)] == [IllegalTransition]

    (entry,) = (await other.audit.list(action="task.revived")).entries
    assert (entry.by in BY, entry.object, entry.facts["resolution"]) == (True, f"task:{dead.id}", "retry")
    clock.advance(seconds=1)
    await other.tasks.set_priority(dead.id, 7, by="human:ada")
    clock.advance(seconds=1)
    await here.cancel(dead.id, "enough", by="human:ada")
    with pytest.raises(IllegalTransition):
        await here.tasks.set_priority(dead.id, 8, by="human:ada")
    found = [each.action for each in (await here.audit.list(object=dead.id)).entries]
    assert found == ["task.cancelled", "task.reprioritised", "task.revived"]


async def test_many_entries_are_read_in_pages_in_the_order_of_time(yard: Yard, clock: ManualClock):
    for number in range(12):
        await yard.queues.pause(f"q{number}", by="human:ada")
        clock.advance(seconds=1)
    seen: list[str | None] = []
    cursor = None
    while True:
        page = await yard.audit.list(action="queue.*", limit=5, cursor=cursor)
        seen += [each.object for each in page.entries]
        if (cursor := page.cursor) is None:
            break

    assert seen == [f"queue:q{number}" for number in reversed(range(12))]


async def test_entries_outlast_the_work_and_go_after_days_of_their_own(yard: Yard, clock: ManualClock):
    task = await yard.enqueue("code")
    await yard.cancel(task.id, by="human:ada")
    clock.advance(seconds=8 * 86_400)
    await elapse(yard, clock, 60)
    assert await yard.find() == []
    assert [each.task_id for each in (await yard.audit.list()).entries] == [task.id]

    await yard.audit.set_policy(20, by="human:ada")
    clock.advance(seconds=15 * 86_400)
    await elapse(yard, clock, 30)
    assert [each.action for each in (await yard.audit.list()).entries] == ["workspace.audit"]
