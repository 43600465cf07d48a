"""Stores that let something happen at the worst moment, over whichever store a test has."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from taskyard.core.changes import ChangeSet, Committed, Conflict, StoredEvent, Taken
from taskyard.core.claiming import ClaimPlan
from taskyard.core.errors import StoreUnavailable
from taskyard.core.task import AgentId, Hot
from taskyard.stores.contract import Claimed, OutcomeUnknown, Stale, Store
from taskyard.yard import Yard, local_yard

Act = Callable[[], Awaitable[object]]


class ProcessDied(Exception):
    """What a test throws where a process would have been killed: nothing in the yard catches it."""


class _Over:
    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _Meanwhile(_Over):
    def __init__(self, store: Store, act: Act, times: int = 1) -> None:
        super().__init__(store)
        self._act = act
        self._left = times

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        if self._left:
            self._left -= 1
            await self._act()
        return await self._store.commit(sets)


class _WhilePruning(_Meanwhile):
    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        removes = any(each.removals for each in sets)
        return await (super().commit(sets) if removes else self._store.commit(sets))


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
    return local_yard(cast(Store, _Meanwhile(yard.store, act)), yard.options)


def always_while_deciding(yard: Yard, act: Act) -> Yard:
    """The same yard for a caller whose every write is that slow."""
    return local_yard(cast(Store, _Meanwhile(yard.store, act, times=1_000)), yard.options)


def while_pruning(yard: Yard, act: Act) -> Yard:
    """The same yard for a sweep: `act` happens after it has decided what to remove and before that is removed."""
    return local_yard(cast(Store, _WhilePruning(yard.store, act)), yard.options)


def dying_after(yard: Yard, commits: int) -> Yard:
    """The same yard in a process that is killed when it has stored so many changes."""
    return local_yard(cast(Store, _Dying(yard.store, commits)), yard.options)


class _LosingAnAnswer(_Over):
    def __init__(self, store: Store, *, stored: bool, away: int) -> None:
        super().__init__(store)
        self._stored = stored
        self._away = away
        self._is_lost = False

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Committed | Conflict | Taken]:
        if self._is_lost:
            return await self._store.commit(sets)
        self._is_lost = True
        if self._stored:
            await self._store.commit(sets)
        raise OutcomeUnknown("the line went dead")

    async def claim(self, plan: ClaimPlan) -> Claimed | Stale:
        if self._is_lost:
            return await self._store.claim(plan)
        self._is_lost = True
        if self._stored:
            await self._store.claim(plan)
        raise OutcomeUnknown("the line went dead")

    async def events(self, **which: Any) -> list[StoredEvent]:
        if self._is_lost and self._away:
            self._away -= 1
            raise StoreUnavailable("nobody answers")
        return await self._store.events(**which)


def losing_an_answer(yard: Yard, *, stored: bool, away: int = 0) -> Yard:
    """The same yard for a caller whose next write gets no answer; for so many reads after it, nobody answers at all."""
    return local_yard(cast(Store, _LosingAnAnswer(yard.store, stored=stored, away=away)), yard.options)


class _WaitingForAStandby(_Over):
    """The first claim is stored and waits, so the old server does not show it; the second finds that server dead."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._claims = 0

    async def claim(self, plan: ClaimPlan) -> Claimed | Stale:
        self._claims += 1
        if self._claims == 1:
            await self._store.claim(plan)
            raise OutcomeUnknown("the line went dead")
        if self._claims == 2:
            raise StoreUnavailable("the server died, and a standby has taken over")
        return await self._store.claim(plan)

    async def held_under(self, agent: AgentId, stems: Sequence[str]) -> list[Hot]:
        if self._claims == 1:
            return []
        return await self._store.held_under(agent, stems)


def waiting_for_a_standby(yard: Yard) -> Yard:
    """The same yard for a caller whose server dies with a claim that waits for a standby."""
    return local_yard(cast(Store, _WaitingForAStandby(yard.store)), yard.options)
