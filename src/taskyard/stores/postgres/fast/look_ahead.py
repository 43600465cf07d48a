"""Fast path, a fifth of the time of a drain: the look of a claim is made while the claim before it is written.

It applies if the claim before took all that it asked for, a hundred tasks or more, from lanes with a cursor, and the
next one asks for tasks of the same lanes. The slow path looks when it is asked (`optimistic_claim`).

The look begins behind the last task that was taken. It locks nothing, and the statement that takes the tasks checks
each version, so a look that is old can only be in vain. What one server has shown is taken from no other: the statement
is not sent if a connection was opened since. The look is not used either if a task has become ready meanwhile that
might come before one of those seen, if the cursors were reset, or if fewer tasks were seen than are asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from time import monotonic
from typing import NamedTuple

from taskyard.core import claiming
from taskyard.core.changes import Limit
from taskyard.core.claiming import Choice, ClaimPlan, PlannedLane
from taskyard.core.errors import TaskyardError
from taskyard.core.identifiers import slots_ceiling
from taskyard.core.task import LaneId
from taskyard.core.units import Micros
from taskyard.stores.postgres import claims
from taskyard.stores.postgres.claims import SearchState
from taskyard.stores.postgres.connection.pool import Pool
from taskyard.stores.postgres.fast.claim_cursors import LAST, ClaimCursors, Place
from taskyard.stores.postgres.fast.statement_runner import StatementRunner

WORTH_A_LOOK = 100  # tasks of a claim: of fewer, the look is short
_LARGEST = 2**20  # characters of the definitions of a claim: as much again is held here
_NOT_FOR = 1.0  # seconds after a look that was in vain


class Seen(NamedTuple):
    """What a look has found."""

    epoch: int
    found: SearchState
    changes: int  # of the pool: a connection that was opened since may be to another server


class _Ahead(NamedTuple):
    """A look that is under way or was made."""

    looking: asyncio.Task[Seen]
    workspace: str
    lanes: tuple[PlannedLane, ...]
    cursors: Mapping[LaneId, Place]
    readied: Mapping[LaneId, Place]  # where tasks have become ready since it began


class LookAhead:
    """One look at a time, which the next claim uses or leaves."""

    def __init__(self, runner: StatementRunner, pool: Pool, cursors: ClaimCursors, now: Callable[[], Micros]) -> None:
        self._runner = runner
        self._pool = pool
        self._now = now
        self._cursors = cursors
        self._ahead: _Ahead | None = None
        self.looking: set[asyncio.Task[Seen]] = set()
        self._not_before = 0.0

    async def close(self) -> None:
        self._ahead = None
        if self.looking:
            await asyncio.wait(self.looking)

    def begin(self, plan: ClaimPlan, choice: Choice, found: SearchState, cursors: Mapping[LaneId, Place]) -> None:
        """Look for the next claim, if this choice is all that was asked for and the next is likely to want as much."""
        if len(choice.taken) < max(len(plan.leases), WORTH_A_LOOK) or self.looking or monotonic() < self._not_before:
            return
        last = {change.before.lane: (change.before.rank, change.before.seq) for change in choice.taken}
        if not cursors.keys() >= last.keys() or sum(map(len, found.bodies.values())) > _LARGEST:
            return
        behind = {**cursors, **last}
        looking = asyncio.create_task(self._look(plan, behind))
        self.looking.add(looking)
        looking.add_done_callback(self._looked)
        self._ahead = _Ahead(looking, plan.workspace, plan.lanes, behind, self._cursors.watch())

    async def _look(self, plan: ClaimPlan, behind: Mapping[LaneId, Place]) -> Seen:
        epoch, found = await self._runner.read_unlocked(lambda on: claims.look(on, plan, behind))
        return Seen(epoch, found, self._pool.changes)

    def _looked(self, looking: asyncio.Task[Seen]) -> None:
        self.looking.discard(looking)
        if not looking.cancelled():
            looking.exception()  # whoever looks next finds out for itself

    def drop(self) -> None:
        """What was seen is not as it was."""
        self._ahead = None
        self._not_before = monotonic() + _NOT_FOR

    async def choice(self, plan: ClaimPlan, cursors: Mapping[LaneId, Place]) -> tuple[Choice, Seen] | None:
        """The core's choice of what was seen. None: nothing was, or not what this claim has to see."""
        ahead, self._ahead = self._ahead, None
        if ahead is None or (ahead.workspace, ahead.lanes, ahead.cursors) != (plan.workspace, plan.lanes, cursors):
            return None
        try:
            seen = await ahead.looking
        except TaskyardError:
            return None
        epoch, found, _ = seen
        if epoch != plan.epoch or claiming.is_outdated(plan, self._now()) or _is_overtaken(found, ahead):
            return None
        # The slots were read while others were taken and given back. The statement that takes the tasks checks them.
        slots = slots_ceiling(plan.agent)
        found.limits[slots] = Limit(plan.workspace, slots, None, 0, 0)
        choice = claims.choose(plan, found)
        return None if choice.parked or len(choice.taken) < min(len(plan.leases), plan.slots) else (choice, seen)


def _is_overtaken(found: SearchState, ahead: _Ahead) -> bool:
    """Whether a task may have become ready before one of those seen."""
    lanes = {lane.id for lane in ahead.lanes}
    seen = {lane: (tasks[-1].rank, tasks[-1].seq) for lane, tasks in found.tasks.items()}
    return any(front < seen.get(lane, (LAST, 0)) for lane, front in ahead.readied.items() if lane in lanes)
