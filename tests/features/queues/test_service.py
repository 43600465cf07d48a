"""Queues: what waits in them, and how they are paused."""

from taskyard.core.priority import TIERS
from taskyard.yard import Yard
from tests.yards import given_an_agent


async def test_a_paused_queue_hands_nothing_out_until_it_is_resumed(yard: Yard):
    await given_an_agent(yard)
    task = await yard.enqueue("code", queue="slow")
    await yard.queues.pause("slow")
    assert await yard.claim("worker") == []

    await yard.queues.resume("slow")

    assert [held.id for held in await yard.claim("worker")] == [task.id]


async def test_a_queue_is_listed_with_what_waits_and_with_its_settings(yard: Yard):
    await yard.enqueue("code", queue="a")
    await yard.enqueue("report", queue="a")
    await yard.queues.pause("b")

    assert [(each.queue, each.ready, each.paused) for each in await yard.queues.list()] == [
        ("a", 2, False),
        ("b", 0, True),
    ]


async def test_a_preset_of_a_queue_is_that_of_its_new_tasks_alone(yard: Yard):
    before = await yard.enqueue("code", queue="a")
    await yard.queues.set_preset("a", "factory")
    after = await yard.enqueue("code", queue="a")

    assert [(await yard.get(each.id)).preset for each in (before, after)] == ["standard", "factory"]


async def test_waiting_tasks_are_counted_by_tier(yard: Yard):
    for priority in TIERS.values():
        await yard.enqueue("code", priority=priority)

    assert await yard.local.queues.waiting_by_tier() == dict.fromkeys(TIERS, 1)


async def test_a_report_may_be_required_in_one_queue(yard: Yard):
    await yard.queues.set_report_policy(True, queue="a")
    await yard.enqueue("code", queue="b")

    assert {each.queue: each.report_required for each in await yard.queues.list()} == {"a": True, "b": False}
