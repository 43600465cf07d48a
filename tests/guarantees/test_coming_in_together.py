"""Tasks that many callers put in at one moment are stored together, and each is what it would have been alone."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from taskyard.core.changes import ChangeSet, Committed, Conflict, Taken
from taskyard.core.errors import InvalidInput, StoreFull, StoreUnavailable
from taskyard.core.task import LaneId, Status
from taskyard.features.tasks.creation.arrivals import WORTH_A_SECOND
from taskyard.features.tasks.views import Task
from taskyard.stores.contract import Config, Store
from taskyard.yard import Yard, local_yard
from tests.yards import events_of, given_an_agent, states_of

MANY = 40
FEW = 2 * WORTH_A_SECOND - 1  # as many as are not parted


class _Counting:
    """The same store, which says what each commit brings, and may refuse it."""

    def __init__(self, store: Store, *, most: int = 10_000, away: bool = False) -> None:
        self._store = store
        self._most = most
        self._away = away
        self.brought: list[int] = []
        self.reads = 0  # of what claims and new tasks are planned on

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def config(self, workspace: str, after: LaneId) -> Config:
        self.reads += 1
        return await self._store.config(workspace, after)

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        number = sum(len(each.tasks) for each in sets)
        self.brought.append(number)
        if self._away:
            raise StoreUnavailable("it is away")
        if number > self._most:
            raise StoreFull("there is no room for so many")
        return await self._store.commit(sets)


def counting(yard: Yard, **how: Any) -> tuple[Yard, _Counting]:
    store = _Counting(yard.store, **how)
    return local_yard(cast(Store, store), yard.options), store


async def put_in(yard: Yard, number: int = MANY) -> list[Task]:
    return await asyncio.gather(*(yard.enqueue("code", payload={"number": each}) for each in range(number)))


async def test_what_they_are_planned_on_is_read_once_for_all(yard: Yard):
    together, store = counting(yard)

    await put_in(together)  # as the first of this process, and of the workspace

    assert store.reads <= 4
    assert len(store.brought) <= 8  # with the workspace's preset


async def test_what_this_process_changes_while_it_reads_is_known_at_once(yard: Yard, caplog: pytest.LogCaptureFixture):
    together, store = counting(yard)
    read, has_read, go_on = store.config, asyncio.Event(), asyncio.Event()

    async def slowly(workspace: str, after: LaneId) -> Config:
        found = await read(workspace, after)
        if not has_read.is_set():
            has_read.set()
            await go_on.wait()
        return found

    store.config = slowly
    early = asyncio.ensure_future(together.enqueue("code", payload={"when": "before"}))
    await has_read.wait()
    await together.presets.set("loki")
    after = await together.enqueue("code", payload={"when": "after"})
    go_on.set()
    await early
    later = await together.enqueue("code", payload={"when": "later"})

    assert [task.to_dict()["preset"] for task in (after, later)] == ["loki", "loki"]
    assert "not as it was" not in caplog.text


async def test_they_are_stored_together(yard: Yard):
    together, store = counting(yard)
    await together.enqueue("code", payload={"number": "the first, so that the lane is known"})
    store.brought.clear()

    made = await put_in(together)

    assert sum(store.brought) == MANY
    assert len(store.brought) <= 4
    assert all(task.created for task in made)
    assert [task.payload["number"] for task in made] == list(range(MANY))
    for task in made:
        assert await events_of(yard, task.id) == ["task.created"]


async def test_a_few_are_claimed_in_the_order_they_came_in(yard: Yard):
    """Of many, half may overtake the others on their way into the store."""
    await yard.enqueue("code", payload={"number": "the first, so that the lane is known"})
    await put_in(yard, FEW)

    await given_an_agent(yard, max_concurrent_tasks=100)
    _, *held = await yard.claim("worker", count=100)

    assert [task.payload["number"] for task in held] == list(range(FEW))


async def test_what_is_wrong_with_one_is_reported_to_nobody_else(yard: Yard):
    answers = await asyncio.gather(
        yard.enqueue("code"),
        yard.enqueue("code", priority=101),
        yard.enqueue("code", payload={1: 2}),
        yard.enqueue("review", prompt="x"),
        return_exceptions=True,
    )

    assert [isinstance(each, InvalidInput) for each in answers] == [False, True, True, False]
    assert await states_of(yard) == {"ready": {"code": 1, "review": 1}}


async def test_where_there_is_no_room_for_all_each_is_tried_by_itself(yard: Yard):
    cramped, store = counting(yard, most=1)

    made = await put_in(cramped, 6)

    assert len({task.id for task in made}) == 6
    assert store.brought.count(1) == 6
    assert await states_of(yard) == {"ready": {"code": 6}}


async def test_where_the_store_is_away_every_caller_is_notified_and_nothing_is_stored(yard: Yard):
    await yard.enqueue("code")  # the first task of a workspace settles its preset, with a commit of its own
    away, store = counting(yard, away=True)
    await away.agents.list()  # so that the callers have the configuration, and come at one moment

    answers = await asyncio.gather(*(away.enqueue("code") for _ in range(6)), return_exceptions=True)

    assert [type(each) for each in answers] == [StoreUnavailable] * 6
    assert len(store.brought) < 6
    assert await states_of(yard) == {"ready": {"code": 1}}


async def test_of_those_that_choose_one_id_all_get_the_task_that_has_it(yard: Yard):
    chosen = "task_01J00000000000000000000000"

    made = await asyncio.gather(*(yard.enqueue("code", id=chosen) for _ in range(5)), yard.enqueue("code"))

    assert [task.id for task in made[:5]] == [chosen] * 5
    assert sum(task.created for task in made[:5]) == 1
    assert await states_of(yard) == {"ready": {"code": 2}}


async def test_who_goes_away_takes_nothing_back_from_the_others(yard: Yard):
    calls = [asyncio.ensure_future(yard.enqueue("code")) for _ in range(5)]
    await asyncio.sleep(0)
    calls[2].cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)

    assert [isinstance(each, asyncio.CancelledError) for each in answers] == [False, False, True, False, False]
    for task in (each for each in answers if isinstance(each, Task)):
        assert (await yard.get(task.id)).status is Status.READY


async def test_what_an_agent_makes_is_looked_at_by_itself(yard: Yard):
    answers = await asyncio.gather(
        yard.enqueue("code"), yard.enqueue("code", agent="another", created_by="agent:nobody"), return_exceptions=True
    )

    assert isinstance(answers[0], Task)
    assert isinstance(answers[1], Exception)
