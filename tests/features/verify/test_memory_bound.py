"""What `verify` holds at one moment does not grow with the yard: rows are counted as they are handed out and let go."""

from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest

from taskyard.core.changes import Event, StoredEvent
from taskyard.core.task import Attempt, Hot, TaskId
from taskyard.features.verify import log_reading, service
from taskyard.stores.contract import Filter, Graph, Store
from taskyard.yard import Yard, local_yard
from tests.graphs import given_a_graph, task, work_off
from tests.yards import given_an_agent

PAGE = 20
GRAPH = 4


class WatchedObject:
    """Says when nobody holds it any more. A tuple has no weak references."""

    let_go: Callable[[], None] | None = None

    def __del__(self) -> None:
        if self.let_go is not None:
            self.let_go()


class WatchedRow(WatchedObject, Hot): ...


class WatchedEvent(WatchedObject, Event): ...


class WatchedAttempt(WatchedObject, Attempt): ...


class WatchedStore:
    """A store that counts how many rows, events and attempts of those that it answered are still held."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held = 0
        self.most = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _watch(self, each: Any) -> Any:
        self._held += 1
        self.most = max(self.most, self._held)
        each.let_go = self._let_go
        return each

    def _let_go(self) -> None:
        self._held -= 1

    def _rows(self, found: Iterable[Hot]) -> list[Hot]:
        return [self._watch(WatchedRow(*hot)) for hot in found]

    def _events(self, found: Iterable[StoredEvent]) -> list[StoredEvent]:
        return [stored._replace(event=self._watch(WatchedEvent(*stored.event))) for stored in found]

    async def find(self, which: Filter, *, after: int, limit: int) -> list[Hot]:
        return self._rows(await self._store.find(which, after=after, limit=limit))

    async def load(self, task_ids: list[TaskId]) -> dict[TaskId, Hot]:
        return {hot.id: hot for hot in self._rows((await self._store.load(task_ids)).values())}

    async def graph(self, dag_id: Any) -> Graph:
        tasks, edges = await self._store.graph(dag_id)
        return Graph(tuple(self._rows(tasks)), edges)

    async def events(self, **which: Any) -> list[StoredEvent]:
        return self._events(await self._store.events(**which))

    async def events_of(self, task_ids: list[TaskId]) -> list[StoredEvent]:
        return self._events(await self._store.events_of(task_ids))

    async def histories(self, task_ids: list[TaskId]) -> dict[TaskId, list[Attempt]]:
        found = await self._store.histories(task_ids)
        return {
            task_id: [self._watch(WatchedAttempt(*each)) for each in attempts] for task_id, attempts in found.items()
        }


async def given_graphs(yard: Yard, number: int) -> None:
    for _ in range(number):
        await given_a_graph(yard, task("a"), *(task(f"b{each}", "a") for each in range(GRAPH - 1)))


async def most_held(yard: Yard) -> int:
    watched = WatchedStore(yard.store)
    verified = await local_yard(cast(Store, watched), yard.options).verify()
    assert verified.problems == ()
    return watched.most


async def test_verify_holds_no_more_rows_of_a_large_yard_than_of_a_small_one(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(service, "PAGE", PAGE)
    monkeypatch.setattr(log_reading, "PAGE", PAGE)
    await given_an_agent(yard)
    await given_graphs(yard, 30)
    await work_off(yard)
    await given_graphs(yard, 30)
    of_some = await most_held(yard)

    await given_graphs(yard, 120)
    await work_off(yard)
    await given_graphs(yard, 60)
    of_many = await most_held(yard)

    assert of_some >= PAGE, "rows were watched"
    # Two pages with their rows, attempts and events, the rows of the tasks around them, and a graph.
    assert max(of_some, of_many) <= 15 * PAGE


async def test_what_is_kept_for_finding_cycles_does_not_grow_with_what_waits(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
):
    kept: list[int] = []

    def note(where: str, waits: dict[TaskId, set[TaskId]]) -> list[str]:
        kept.append(len(waits))
        return []

    monkeypatch.setattr("taskyard.features.verify.dependencies.cycle_problems", note)
    for _ in range(20):
        await given_a_graph(yard, task("a"), task("b", "a"), task("c", "b"), task("d", "c"))

    assert (await yard.verify()).problems == ()
    assert kept == [0]
