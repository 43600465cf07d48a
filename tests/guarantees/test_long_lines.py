"""What nobody may have now does not keep an agent from what is behind it, however long that line is."""

from taskyard.core.claiming import PARKED_PER_CLAIM
from taskyard.yard import Yard
from tests.yards import claim_that, given_an_agent


async def test_a_long_line_of_tasks_for_a_held_key_does_not_hide_what_is_behind_it(yard: Yard):
    await given_an_agent(yard)
    holder = await yard.enqueue("code", concurrency_key="repo")
    await claim_that(yard, holder.id)
    for _ in range(2 * PARKED_PER_CLAIM + 1):
        await yard.enqueue("code", priority=1, concurrency_key="repo")
    behind = await yard.enqueue("code", priority=90)

    held = await yard.claim("worker", count=2)

    assert [each.id for each in held] == [behind.id]
