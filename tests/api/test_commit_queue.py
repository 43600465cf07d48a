"""The queue before a store: what waits is committed in groups, and waits once."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from taskyard.core.changes import ChangeSet, Committed, Conflict, RecordChange, Taken
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.queue import BIG, CommitQueue
from taskyard.stores.memory import MemoryStore
from tests.stores.given import HERE, a_new_task, a_set, completing, given_a_running_task, signalling


class Gated(MemoryStore):
    """Holds each commit back until it is let through, and notes its sets."""

    def __init__(self) -> None:
        super().__init__(clock=ManualClock())
        self.groups: list[int] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        self.groups.append(len(sets))
        await self.gate.wait()
        return await super().commit(sets)


@pytest.fixture
async def store() -> AsyncIterator[Gated]:
    store = Gated()
    await store.open()
    yield store
    await store.close()


def a_record(store: Gated, name: str) -> ChangeSet:
    return a_set(store, records=(RecordChange("kind", HERE, name, 0, {}),))


async def begun(store: Gated, commits: int) -> None:
    async with asyncio.timeout(30):
        while len(store.groups) < commits:  # noqa: ASYNC110 - nothing else goes on in this loop
            await asyncio.sleep(0)


async def test_sets_that_come_while_one_commits_are_committed_together(store: Gated):
    queue = CommitQueue(store)
    store.gate.clear()
    first = asyncio.create_task(queue.commit(a_record(store, "0")))
    await begun(store, 1)

    others = [asyncio.create_task(queue.commit(a_record(store, str(number)))) for number in range(1, 4)]
    await asyncio.sleep(0)
    store.gate.set()

    results = await asyncio.gather(first, *others)
    assert store.groups == [1, 3]
    assert all(isinstance(result, Committed) for result in results)


async def test_of_two_sets_that_guard_one_row_each_has_a_group_of_its_own(store: Gated):
    running = await given_a_running_task(store)
    queue, sets = CommitQueue(store), [completing(store, running), signalling(store, running)]
    store.groups.clear()

    results = await asyncio.gather(*(queue.commit(a_set(store, changes=(change,))) for change in sets))

    assert store.groups == [1, 1]
    assert [type(result) for result in results] == [Committed, Conflict]


async def test_nobody_waits_for_a_big_set_but_big_ones_behind_it(store: Gated):
    queue = CommitQueue(store)
    big, second = [
        a_set(store, tasks=tuple([await a_new_task(store) for _ in range(BIG + 1)])) for _ in ("first", "second")
    ]
    store.gate.clear()
    held_up = [asyncio.create_task(queue.commit(each)) for each in (big, second)]
    await begun(store, 1)
    small = [asyncio.create_task(queue.commit(a_record(store, name))) for name in ("one", "two")]
    await begun(store, 2)
    assert store.groups == [1, 2]

    store.gate.set()
    results = await asyncio.gather(*held_up, *small)
    assert [type(result) for result in results] == [Committed] * 4
    assert store.groups == [1, 2, 1]


async def test_a_line_commits_what_it_decided_on_without_waiting_for_the_sets_of_others(store: Gated):
    queue = CommitQueue(store)

    async def decide(asked: Sequence[str]) -> list[str | Exception]:
        await queue.commit_now([a_record(store, name) for name in asked])
        return [*asked]

    line = queue.line(decide, most=10)
    store.gate.clear()
    single = asyncio.create_task(queue.commit(a_record(store, "single")))
    await begun(store, 1)
    answers = [line.ask(name) for name in ("a", "b")]
    await begun(store, 2)

    store.gate.set()
    assert await asyncio.gather(*answers) == ["a", "b"]
    assert isinstance(await single, Committed)
    assert store.groups == [1, 2]
    assert queue.commits == 2


async def test_closing_lets_every_line_end_and_what_it_decides_on_again(store: Gated):
    queue = CommitQueue(store)

    async def decide(asked: Sequence[str]) -> list[str | Exception]:
        await asyncio.sleep(0)
        return [str(type(await queue.commit(a_record(store, name))).__name__) for name in asked]

    answer = queue.line(decide, most=1).ask("late")
    await queue.close()

    assert answer.done()
    assert await answer == "Committed"
