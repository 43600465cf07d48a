"""Scores and variants on every store: who follows, what is kept, and what goes with its task."""

from taskyard.ledger.clock import ManualClock
from tests.yards import OpenYard, elapse, given_a_running_task


async def test_variants_reach_other_connections_and_scores_go_with_their_tasks(open_yard: OpenYard, clock: ManualClock):
    here, other = await open_yard(), await open_yard()
    await other.enqueue("test", agent="nobody")  # it has read its configuration
    await here.variants.set("code", [{"name": "only", "prompt": "Think. {prompt}", "payload": {"steps": 3}}])
    clock.advance(seconds=2)

    held = await given_a_running_task(other, "code", agent="worker", prompt="Sort.")
    assert (held.variant, held.prompt, held.payload) == ("only", "Think. Sort.", {"steps": 3})
    await other.complete(held.id, held.lease, cost_usd="0.5")
    await here.scores.add(held.id, "good", 0.25, by="human:ann")
    await here.scores.add(held.id, "good", 0.75, by="human:ann")
    assert [(each.name, each.value, each.by) for each in await other.scores.list(held.id)] == [
        ("good", 0.75, "human:ann")
    ]
    (only,) = (await other.scores.report("code")).variants
    assert (only.name, only.tasks, only.completed, only.total_cost) == ("only", 1, 1, 0.5)
    assert [(each.name, each.mean, each.ever) for each in only.scores] == [("good", 0.75, 1)]

    clock.advance(seconds=8 * 86_400)
    await elapse(here, clock, 60)  # the task goes
    clock.advance(seconds=3_600)
    await elapse(here, clock, 60)  # and its scores
    assert await here.store.page("score", "*", limit=10) == []
    (only,) = (await other.scores.report("code")).variants
    assert [(each.name, each.count, each.ever) for each in only.scores] == [("good", 0, 1)]
