"""A runtime may have several processes at a time, its incarnations: each keeps and gives up what it holds itself."""

from typing import Any

import pytest

from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.task import Status
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, claim_that, elapse, given_an_agent

FIRST, SECOND = "a" * 16, "b" * 16


async def given_a_process(yard: Yard, incarnation: str | None, agent: str) -> None:
    await yard.runtimes.register("laptop", incarnation=incarnation, hostname="host", pid=7, version="1")
    await given_an_agent(yard, agent, runtime_id="laptop", incarnation=incarnation)


async def given_work_of(yard: Yard, agent: str, **fields: Any) -> Held:
    task = await yard.enqueue("code", agent=agent, **fields)
    return await claim_that(yard, task.id, by=agent, start=True)


async def given_two_at_work(yard: Yard) -> tuple[Held, Held]:
    await given_a_process(yard, FIRST, "ada")
    await given_a_process(yard, SECOND, "bob")
    return await given_work_of(yard, "ada"), await given_work_of(yard, "bob")


async def statuses(yard: Yard, *held: Held) -> list[Status]:
    return [(await yard.get(each.id)).status for each in held]


async def shown(yard: Yard, held: Held, part: str) -> Any:
    return (await yard.get(held.id)).to_dict()[part]


async def test_a_dead_process_gives_up_only_what_it_held_itself_and_is_forgotten(yard: Yard):
    dead, alive = await given_two_at_work(yard)

    assert await yard.runtimes.orphans("laptop", incarnation=FIRST) == (1, 1)
    assert await statuses(yard, dead, alive) == [Status.RETRYING, Status.RUNNING]
    assert [(view.id, view.incarnation) for view in await yard.runtimes.list()] == [("laptop", SECOND)]
    assert await yard.runtimes.orphans("laptop", incarnation=FIRST) == (0, 0)


async def test_without_an_incarnation_every_process_of_the_runtime_gives_up_what_it_holds(yard: Yard):
    held = await given_two_at_work(yard)
    await given_a_process(yard, None, "cleo")
    alone = await given_work_of(yard, "cleo")

    assert await yard.runtimes.orphans("laptop") == (3, 3)
    assert await statuses(yard, *held, alone) == [Status.RETRYING] * 3


async def test_a_process_that_is_silent_loses_its_tasks_and_its_place_and_the_others_lose_nothing(
    yard: Yard, clock: ManualClock
):
    held = await given_two_at_work(yard)
    for _ in range(4):
        await elapse(yard, clock, 20)
        await yard.runtimes.heartbeat("laptop", incarnation=SECOND)
        for each in held:
            await yard.heartbeat(each.id, each.lease)

    assert await statuses(yard, *held) == [Status.RETRYING, Status.RUNNING]
    assert [view.incarnation for view in await yard.runtimes.list()] == [SECOND]
    with pytest.raises(NotFound):
        await yard.runtimes.heartbeat("laptop", incarnation=FIRST)


@pytest.mark.parametrize(("keep_leases", "kept"), [(True, Status.RUNNING), (False, Status.RETRYING)])
async def test_in_multica_a_heartbeat_extends_what_its_own_process_holds(
    open_yard: OpenYard, clock: ManualClock, keep_leases: bool, kept: Status
):
    yard = await open_yard(preset="multica")
    mine, theirs = await given_two_at_work(yard)
    for _ in range(4):
        await elapse(yard, clock, 20)
        for incarnation in (FIRST, SECOND):
            keeps = keep_leases and incarnation == FIRST
            await yard.runtimes.heartbeat("laptop", incarnation=incarnation, keep_leases=keeps)

    states = [status if status is Status.RUNNING else Status.RETRYING for status in await statuses(yard, mine, theirs)]
    assert states == [kept, Status.RETRYING]


async def test_what_is_shown_names_the_runtime_and_which_process_of_it(yard: Yard):
    await given_a_process(yard, FIRST, "ada")
    held = await given_work_of(yard, "ada")

    claim = await shown(yard, held, "claim")
    assert (claim["runtime_id"], claim["incarnation"]) == ("laptop", FIRST)
    await yard.complete(held.id, held.lease)
    (attempt,) = await shown(yard, held, "history")
    assert (attempt["runtime"], attempt["incarnation"]) == ("laptop", FIRST)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"runtime_id": "laptop", "incarnation": "7"}, "incarnation"),
        ({"incarnation": FIRST}, "incarnation"),
        ({"runtime_id": f"laptop/{FIRST}"}, "runtime_id"),
    ],
)
async def test_a_process_that_is_named_wrongly_is_refused(yard: Yard, given: dict[str, str], field: str):
    with pytest.raises(InvalidInput, match=field):
        await yard.agents.register("ada", **given)  # pyright: ignore[reportArgumentType]
    assert await yard.agents.list() == []
