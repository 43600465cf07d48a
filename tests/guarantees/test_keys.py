"""At most one task of a concurrency key is held, and none that waits for it is forgotten."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from taskyard.core.claiming import PARKED_PER_CLAIM
from taskyard.core.task import Status
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, claim_that, elapse, given_a_running_task, given_an_agent


async def test_one_task_of_a_key_at_a_time(yard: Yard):
    await given_an_agent(yard)
    first = await yard.enqueue("code", concurrency_key="repo")
    second = await yard.enqueue("code", concurrency_key="repo")
    other = await yard.enqueue("code", concurrency_key="elsewhere")

    assert [held.id for held in await yard.claim("worker", count=5)] == [first.id, other.id]
    shown = (await yard.get(second.id)).to_dict()
    assert (shown["status"], shown["blocked_by"]) == ("pending", ["key:repo"])


async def test_who_waits_for_a_key_says_who_has_it(yard: Yard):
    held = await given_a_running_task(yard, concurrency_key="repo")
    waiting = await yard.enqueue("code", concurrency_key="repo")
    await yard.claim("worker")

    (cause,) = (await yard.why(waiting.id)).causes
    assert (cause.kind, cause.facts["held_by"]) == ("concurrency_key", held.id)


async def completed(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.complete(held.id, held.lease)


async def failed(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.fail(held.id, held.lease, "crash")


async def buried(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.fail(held.id, held.lease, "auth_failure")


async def released(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.release(held.id, held.lease)
    await yard.tasks.set_priority(held.id, 100)


async def cancelled(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.cancel(held.id)


async def taken_back(yard: Yard, clock: ManualClock, held: Held) -> None:
    await elapse(yard, clock, 91)


async def asleep(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.attempts.sleep(held.id, held.lease, "nap", 1000)


async def waiting(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.attempts.wait_for(held.id, held.lease, "wait", "go")


async def invalid(yard: Yard, clock: ManualClock, held: Held) -> None:
    await yard.complete(held.id, held.lease, cost_usd=10)  # more than it may cost


@pytest.mark.parametrize(
    "ended", [completed, failed, buried, released, cancelled, taken_back, asleep, waiting, invalid]
)
async def test_however_the_holder_ends_the_next_may_go(
    yard: Yard, clock: ManualClock, ended: Callable[[Yard, ManualClock, Held], Awaitable[None]]
):
    held = await given_a_running_task(yard, concurrency_key="repo", max_cost_usd=5)
    following = await yard.enqueue("code", concurrency_key="repo")
    assert await yard.claim("worker") == []
    await ended(yard, clock, held)

    await claim_that(yard, following.id)


async def test_a_suspended_task_must_have_its_key_again_to_go_on(yard: Yard):
    held = await given_a_running_task(yard, concurrency_key="repo")
    await yard.attempts.wait_for(held.id, held.lease, "wait", "go")
    following = await yard.enqueue("code", concurrency_key="repo")
    running = await claim_that(yard, following.id, start=True)
    await yard.signal(held.id, "go")
    assert await yard.claim("worker") == []

    await yard.complete(running.id, running.lease)
    await claim_that(yard, held.id)


async def test_the_best_of_those_that_wait_goes_next(yard: Yard):
    held = await given_a_running_task(yard, concurrency_key="repo")
    for priority in (70, 20, 50):
        await yard.enqueue("code", concurrency_key="repo", priority=priority)
    assert await yard.claim("worker", count=5) == []
    await yard.complete(held.id, held.lease)

    order: list[int] = []
    while claimed := await yard.claim("worker", start=True):
        order.append(claimed[0].priority)
        await yard.complete(claimed[0].id, claimed[0].lease)
    assert order == [20, 50, 70]


async def test_who_may_not_have_the_best_gets_the_best_it_may_have(yard: Yard):
    held = await given_a_running_task(yard, concurrency_key="repo")
    await given_an_agent(yard, "expert", capabilities=["rust"])
    best = await yard.enqueue("code", concurrency_key="repo", priority=0, required_capabilities=["rust"])
    second = await yard.enqueue("code", concurrency_key="repo", priority=50)
    assert await yard.claim("expert", count=5) == []
    await yard.complete(held.id, held.lease)

    running = await claim_that(yard, second.id, start=True)  # there is nobody about who could take the best
    assert await yard.claim("expert") == []
    await yard.complete(running.id, running.lease)
    await claim_that(yard, best.id, by="expert")


async def test_a_key_belongs_to_its_workspace(yard: Yard, open_yard: OpenYard):
    other = await open_yard(workspace="other")
    await given_a_running_task(yard, concurrency_key="repo")

    await given_a_running_task(other, concurrency_key="repo")


async def test_what_waits_for_a_key_can_be_cancelled_and_leaves_it_alone(yard: Yard):
    held = await given_a_running_task(yard, concurrency_key="repo")
    parked = await yard.enqueue("code", concurrency_key="repo")
    following = await yard.enqueue("code", concurrency_key="repo")
    assert await yard.claim("worker", count=5) == []
    await yard.cancel(parked.id)
    assert await yard.claim("worker") == []

    await yard.complete(held.id, held.lease)
    await claim_that(yard, following.id)


async def test_two_claims_at_once_get_one_of_a_key(yard: Yard, open_yard: OpenYard):
    yards = [yard, *[await open_yard() for _ in range(3)]]
    await given_an_agent(yard)
    for number in range(10):
        for _ in range(4):
            await yard.enqueue("code", concurrency_key=f"repo {number}")
        claims = await asyncio.gather(*(each.claim("worker", count=4) for each in yards))
        assert sum(map(len, claims)) == 1


async def test_a_key_that_is_freed_while_a_claim_meets_it_strands_nobody(yard: Yard, open_yard: OpenYard):
    other = await open_yard()
    await given_an_agent(yard)
    for number in range(20):
        held = await given_a_running_task(yard, concurrency_key=f"repo {number}")
        following = await yard.enqueue("code", concurrency_key=f"repo {number}")
        claimed, _ = await asyncio.gather(other.claim("worker"), yard.complete(held.id, held.lease))

        claimed = claimed or await yard.claim("worker")
        assert [each.id for each in claimed] == [following.id]


async def test_more_than_a_claim_sets_aside_at_once_run_one_after_the_other(yard: Yard, open_yard: OpenYard):
    yards = [yard, *[await open_yard() for _ in range(2)]]
    await given_an_agent(yard)
    await yard.enqueue_many([{"type": "code", "concurrency_key": "repo"} for _ in range(PARKED_PER_CLAIM + 16)])
    running = 0

    async def work(mine: Yard) -> int:
        nonlocal running
        done = 0
        while await mine.find(status=["ready", "pending", "running"], limit=1):
            for held in await mine.claim("worker", count=2, start=True):
                running += 1
                assert running == 1
                await asyncio.sleep(0)
                running -= 1
                await mine.complete(held.id, held.lease)
                done += 1
            await asyncio.sleep(0)  # let the others have a turn
        return done

    async with asyncio.TaskGroup() as group:
        workers = [group.create_task(work(each)) for each in yards]
    assert sum(worker.result() for worker in workers) == PARKED_PER_CLAIM + 16


async def test_keys_of_many_tasks_are_all_served(yard: Yard):
    await given_an_agent(yard)
    keys = [f"repo {number % 7}" for number in range(60)]
    await yard.enqueue_many([{"type": "code", "concurrency_key": key} for key in keys])
    served: Counter[str] = Counter()
    while held := await yard.claim("worker", count=20, start=True):
        assert len({each.concurrency_key for each in held}) == len(held)
        for each in held:
            served[each.concurrency_key or ""] += 1
            await yard.complete(each.id, each.lease)

    assert served == Counter(keys)
    assert (await yard.tasks.stats())[Status.COMPLETED.value] == {"code": 60}
