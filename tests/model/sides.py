"""One store and the processes that use it: two of them, each with a yard for every workspace.

Processes reach the store through a door. What goes wrong between them and it goes wrong there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from taskyard.core.changes import ChangeSet, Event
from taskyard.core.errors import StoreUnavailable
from taskyard.core.task import TaskId
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.contract import Store
from taskyard.yard import Yard, local_yard
from tests.model.answers import Answer, answered
from tests.model.steps import ELSEWHERE, HERE, Mishap, Step, task
from tests.storage import give_back, opener, take

SECRET = b"the same on every store, so that leases agree"
PROCESSES = 2
WRITES = frozenset({"commit", "claim", "extend", "touch", "pulse", "lanes", "take_duty", "settle"})
MINTED = 500_000  # ids that the yard mints itself begin here
EVENTS = 10_000
REMEMBERED = 12  # commits that may arrive once more

Sets = Sequence[ChangeSet]
Holds = dict[str, tuple[TaskId, str]]


class Door:
    """A process's way to the store. It counts what passes, and breaks as it was told to."""

    secret = SECRET

    def __init__(self, store: Store, numbers: Iterator[int]) -> None:
        self._store = store
        self.pace = store.pace
        self.numbers = numbers
        self._calls = self._writes = 0
        self._mishap: Mishap | None = None
        self._meanwhile: Callable[[], Awaitable[None]] | None = None
        self.dead = False
        self.bit = False  # whether the mishap came about
        self.committed: list[Sets] = []
        self.delayed: Sets | None = None

    def expect(self, mishap: Mishap | None, meanwhile: Callable[[], Awaitable[None]] | None) -> None:
        self._calls = self._writes = 0
        self._mishap, self._meanwhile, self.bit = mishap, meanwhile, False

    def now(self) -> int:
        return self._store.now()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*arguments: Any, **named: Any) -> Any:
            return await self._pass(name, arguments, named)

        return call

    async def _pass(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if self.dead:
            raise StoreUnavailable("this process is dead")
        mishap, kind = self._mishap, ""
        if mishap is not None:
            if mishap.kind == "meanwhile":
                await self._let_others_in(mishap)
            elif name in WRITES:
                kind = mishap.kind if self._writes == mishap.nth else ""
                self._writes += 1
        if kind == "delayed" and name == "commit":
            self.delayed = arguments[0]
        if kind in ("dies_before", "delayed"):
            self._die()
        answer = await getattr(self._store, name)(*arguments, **named)
        if name == "commit":
            self.committed.append(arguments[0])
        if kind == "dies_after":
            self._die()
        return answer

    async def _let_others_in(self, mishap: Mishap) -> None:
        calls, meanwhile = self._calls, self._meanwhile
        self._calls += 1
        if calls == mishap.nth and meanwhile is not None:
            self.bit = True
            await meanwhile()

    def _die(self) -> None:
        self.dead = self.bit = True
        raise StoreUnavailable("this process has just died")


class Place:
    """Where the store of a side is: one that was used before and is empty again, where that is cheaper."""

    def __init__(self, name: str, folder: Path, clock: ManualClock) -> None:
        self._name, self._folder = name, folder
        take(name, folder)
        self.open = opener(name, folder, clock)

    def leave(self) -> None:
        give_back(self._name, self._folder)


class Side:
    def __init__(self, place: Place) -> None:
        self._place = place
        self.store = place.open()
        self._numbers = count(MINTED)
        self._heard = 0
        self.roll = 0.5
        self.delayed: list[Sets] = []
        self.committed: list[Sets] = []
        self.repeated: Sets = ()
        self.bites = 0
        self.doors: list[Door] = []
        self._yards: list[dict[str, Yard]] = []

    async def open(self) -> None:
        await self.store.open()
        for number in range(PROCESSES):
            self._start(number)

    async def close(self) -> None:
        await self.store.close()
        self._place.leave()

    async def reopen(self) -> None:
        """As after a reboot: nobody has anything in memory any more."""
        await self.store.close()
        self.store = self._place.open()
        self.doors, self._yards = [], []
        await self.open()

    def observer(self, workspace: str) -> Yard:
        """Somebody who only looks: what a process has in memory is the same on all sides, whoever was looked at."""
        return self._yard_on(Door(self.store, self._numbers), workspace)

    async def new_events(self) -> list[Event]:
        """Those since it was last asked."""
        # From the first on where something was pruned meanwhile: a reader that stayed behind would be told so.
        after = self._heard if self._heard >= await self.store.pruned() else 0
        events = await self.store.events(after=after, limit=EVENTS)
        new = [each for each in events if each.seq > self._heard]
        self._heard = max((each.seq for each in new), default=self._heard)
        return [each.event for each in new]

    async def perform(self, step: Step, holds: Holds) -> list[Answer]:
        """What was answered: to the call, and before that to the one that came in between."""
        answers: list[Answer] = []
        door, mishap = self.doors[step.process], step.mishap

        async def meanwhile() -> None:
            if mishap is not None and mishap.step is not None:
                answers.append(await answered(self._call(mishap.step, holds)))

        door.expect(mishap, meanwhile)
        answers.append(await answered(self._call(step, holds)))
        self.bites += door.bit
        door.expect(None, None)
        for number in range(PROCESSES):
            self._look_after(number)
        return answers

    async def _call(self, step: Step, holds: Holds) -> Any:
        self.roll = step.roll
        given = dict(step.given)
        match step.verb:
            case "advance":
                return None  # one clock for all sides: who runs the steps moves it
            case "reopen":
                return await self.reopen()
            case "deliver":
                return await self.store.commit(self.delayed.pop(given["which"]))
            case "again":
                self.repeated = self.committed[int(given["which"])]
                return await self.store.commit(self.repeated)
            case _:
                leased = holds[given.pop("hold")] if "hold" in given else ()
                leased = (given.pop("task_id"), leased[1]) if leased and "task_id" in given else leased
                yard = self._yards[step.process][step.workspace]
                return await attrgetter(step.verb)(yard)(*leased, **given)

    def _look_after(self, process: int) -> None:
        door = self.doors[process]
        self.committed = (self.committed + door.committed)[-REMEMBERED:]
        door.committed = []
        if door.dead:
            if door.delayed is not None:
                self.delayed.append(door.delayed)
            self._start(process)

    def _start(self, number: int) -> None:
        door = Door(self.store, self._numbers)
        yards = {name: self._yard_on(door, name) for name in (HERE, ELSEWHERE)}
        self.doors[number : number + 1] = [door]
        self._yards[number : number + 1] = [yards]

    def _mint(self) -> TaskId:
        """Ids in turn: the same on every store."""
        return task(next(self._numbers))

    def _yard_on(self, door: Door, workspace: str) -> Yard:
        options = Options(workspace=workspace, sweeps=False, dice=lambda: self.roll, mint=self._mint)
        return local_yard(cast(Store, door), options)
