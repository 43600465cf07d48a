"""Stores that let something happen at the worst moment, over whichever store a test has."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from taskyard.core.changes import ChangeSet, Committed, Conflict, Taken
from taskyard.service.yard import Yard
from taskyard.stores.contract import Store

Act = Callable[[], Awaitable[object]]


class ProcessDied(Exception):
    """What a test throws where a process would have been killed: nothing in the yard catches it."""


class _Over:
    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _Meanwhile(_Over):
    def __init__(self, store: Store, act: Act) -> None:
        super().__init__(store)
        self._acts = [act]

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        while self._acts:
            await self._acts.pop()()
        return await self._store.commit(sets)


class _Dying(_Over):
    def __init__(self, store: Store, after: int) -> None:
        super().__init__(store)
        self._left = after

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        if self._left == 0:
            raise ProcessDied
        self._left -= 1
        return await self._store.commit(sets)


def while_deciding(yard: Yard, act: Act) -> Yard:
    """The same yard for one slow caller: `act` happens after its next call has decided and before that is stored."""
    return Yard(cast(Store, _Meanwhile(yard.store, act)), yard.options)


def dying_after(yard: Yard, commits: int) -> Yard:
    """The same yard in a process that is killed when it has stored so many changes."""
    return Yard(cast(Store, _Dying(yard.store, commits)), yard.options)
