"""Load, decide, commit, and again where something moved: the only way in which features write change sets."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import TypeVar

from taskyard.core.agent import RegisteredAgent
from taskyard.core.changes import (
    PLANNED_ON,
    Change,
    ChangeSet,
    Committed,
    Conflict,
    Event,
    Lift,
    Record,
    RecordChange,
    Spend,
    Taken,
    timely,
)
from taskyard.core.claiming import ClaimPlan
from taskyard.core.errors import Contended, LeaseLost, NotFound, StoreUnavailable
from taskyard.core.json_value import Json, compact
from taskyard.core.lease import Lease, seal
from taskyard.core.policy import Policy, policy_of
from taskyard.core.task import AgentId, Attempt, DagId, Definition, Hot, Lane, TaskId
from taskyard.core.units import MicroUsd
from taskyard.definition import arguments
from taskyard.ledger.configuration import Configuration
from taskyard.ledger.listeners import Commit, Contributor, Follower
from taskyard.ledger.options import Options
from taskyard.ledger.queue import CommitQueue, Result
from taskyard.stores.contract import OutcomeUnknown, Store

TRIES = 40
RESOLVED_WITHIN = 1.5  # of the time that a call may take: a store is asked what became of a write whose answer was lost
MOST_EVENTS = 10_000  # of one task
PATIENT_AFTER = 3  # conflicts, from which on deciders of this process queue up instead of racing
T = TypeVar("T")
K = TypeVar("K")
Decide = Callable[[], Awaitable[tuple[ChangeSet | None, T]]]


class Ledger:
    """One workspace of a store, as features see it."""

    def __init__(self, store: Store, options: Options, queue: CommitQueue) -> None:
        self.store = store
        self.options = options
        self.workspace = options.workspace
        self.queue = queue  # of the store: workspaces share it
        self.configuration = Configuration(store, options.workspace)
        self.contributors: list[Contributor] = []
        self.followers: list[Follower] = []
        self.ended: Callable[[Sequence[Change]], None] = _nothing  # called with every change that this process stores
        self._patience = asyncio.Lock()
        self._process = f"{token_hex(4)}-"  # what its marks begin with
        self.now = store.now
        self.mint_task = options.mint

    async def mark(self) -> str:
        """Where the yard stands: to be handed to `changed`, so that nothing written since is missed."""
        return await self.changed("", 0)

    async def changed(
        self, mark: str, timeout_sec: float, plan: ClaimPlan | None = None, *, took_all: bool = False
    ) -> str:
        """Return when something may have been written since the mark, by any process, or at the time-out.

        A mark may hold those of several processes, with commas between: each knows its own alone. Where it has none of
        this process, anything may have been written. A plan and `took_all` are those of `Store.changed`.
        """
        now = await self.store.changed(self._own_mark(mark), timeout_sec, plan, took_all=took_all)
        return f"{self._process}{now}"

    def _own_mark(self, mark: str) -> int:
        own = next((each for each in mark.split(",") if each.startswith(self._process)), "")
        number = own.removeprefix(self._process)
        return int(number) if number.isdecimal() else -1

    # Committing

    async def commit(self, decide: Decide[T], *, in_cascade: bool = False) -> T:
        """Decide and commit until nothing moved in between. No set: there is nothing to write."""
        for tried in range(TRIES):
            if tried < PATIENT_AFTER:
                stored, answer = await self._commit_once(decide, timely, in_cascade=in_cascade)
            else:
                async with self._patience:
                    # However late: where a store takes long with everything, this would go on without end.
                    stored, answer = await self._commit_once(decide, lambda late: late, in_cascade=in_cascade)
            if stored:
                return answer
            await asyncio.sleep(self.options.dice() * min(0.001 * 2**tried, 0.05))
        raise Contended(tries=TRIES)

    async def commit_keyed(self, decide: Decide[T], *, in_cascade: bool = False) -> T:
        """Commit a decision that is made anew where somebody takes an idempotency key of it meanwhile."""
        for _ in range(TRIES):
            try:
                return await self.commit(decide, in_cascade=in_cascade)
            except KeyTaken:
                continue
        raise Contended(tries=TRIES)

    async def commit_all(self, sets: Mapping[K, ChangeSet]) -> list[K]:
        """Commit sets that touch no row twice, together; those of these keys were met by something that moved."""
        if not sets:
            return []
        moved: list[K] = []
        whole = [await self._contributed(each) for each in sets.values()]
        try:
            results = await self.queue.commit_now(list(map(timely, whole)))
        except OutcomeUnknown:
            return [key for key, change_set in sets.items() if not await self.is_stored(change_set)]
        for key, change_set, result in zip(sets, whole, results, strict=True):
            if isinstance(result, Committed):
                await self._committed(Commit(change_set, result))
            else:
                moved.append(key)
        return moved

    async def commit_set(self, change_set: ChangeSet, *, is_group: bool = False) -> Result:
        """One set as it is, whatever becomes of it. A group: it was decided on for many, and waits for no others."""
        try:
            if is_group:
                (result,) = await self.queue.commit_now([change_set])
                return result
            return await self.queue.commit(change_set)
        except OutcomeUnknown:
            if await self.is_stored(change_set):
                return Committed({}, ())  # what the counters came to is not known; the sweep finds what they would tell
            raise

    async def _commit_once(
        self, decide: Decide[T], bounded: Callable[[ChangeSet], ChangeSet], *, in_cascade: bool
    ) -> tuple[bool, T]:
        change_set, answer = await decide()
        if change_set is None:
            return True, answer
        change_set = await self._contributed(change_set)
        match await self.commit_set(bounded(change_set)):
            case Conflict():
                return False, answer
            case Taken(by):
                raise KeyTaken(by)
            case Committed() as committed:
                await self._committed(Commit(change_set, committed, in_cascade))
                return True, answer

    async def _contributed(self, change_set: ChangeSet) -> ChangeSet:
        for contributor in self.contributors:
            if contributor.wants(change_set):
                change_set = await contributor.contribute(change_set)
        return change_set

    async def _committed(self, commit: Commit) -> None:
        if any(record.kind in PLANNED_ON for record in commit.change_set.records):
            self.configuration.outdated()
        self.ended(commit.change_set.changes)
        for follower in self.followers:
            await follower.committed(commit)

    async def is_stored(self, change_set: ChangeSet) -> bool:
        """Whether a set is stored whose answer was lost: if the event of its first step is there, all of it is."""
        step = next(iter((*change_set.changes, *change_set.tasks)), None)
        if step is None or step.event.task_id is None:
            return False
        why = StoreUnavailable("what became of the last write cannot be read")
        with suppress(TimeoutError):
            async with asyncio.timeout(RESOLVED_WITHIN * self.options.call_timeout):
                while True:
                    try:
                        found = await self.store.events(after=0, limit=MOST_EVENTS, task_id=step.event.task_id)
                        return any(stored.event == step.event for stored in found)
                    except StoreUnavailable as unavailable:
                        why = unavailable
                        await asyncio.sleep(random.uniform(0.05, 0.5))  # others look for it too
        raise why

    # Records of the workspace

    async def configure(
        self,
        kind: str,
        record_id: str,
        fields: Mapping[str, Json],
        event: str,
        by: str,
        *,
        lifts: tuple[Lift, ...] = (),
        spends: tuple[Spend, ...] = (),
    ) -> None:
        """Change fields of a record, and say who did; nothing where they are so already."""
        record_id = arguments.name(kind, record_id)

        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self.store.record(kind, self.workspace, record_id)
            body = {**(record.body if record else {}), **fields}
            if record is not None and record.body == body:
                return None, None
            change = RecordChange(kind, self.workspace, record_id, 0 if record is None else record.version, body)
            changed = self.audit(event, by, {kind: record_id, **fields})
            return ChangeSet(records=(change,), events=(changed,), lifts=lifts, spends=spends, at=self.now()), None

        await self.commit(decide)

    async def forget(self, kind: str, record_id: str) -> None:
        """Take a record away, if it is there."""

        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self.store.record(kind, self.workspace, record_id)
            if record is None:
                return None, None
            change = RecordChange(kind, self.workspace, record_id, record.version, None)
            return ChangeSet(records=(change,), at=self.now()), None

        await self.commit(decide)

    # Loading

    async def load(self, task_id: TaskId) -> Hot:
        hot = (await self.load_all([task_id])).get(task_id)
        # The workspace is part of every id: another's task is not there.
        if hot is None:
            raise NotFound("task", task_id)
        return hot

    async def load_all(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
        """Those of these tasks that are this workspace's."""
        rows = await self.store.load([each for each in task_ids if _is_id(each)])
        return {task_id: hot for task_id, hot in rows.items() if hot.workspace == self.workspace}

    async def held(self, task_id: TaskId, lease: Lease) -> Hot:
        """The task, for whoever holds it."""
        hot = await self.load(task_id)
        if hot.lease is None or hot.lease != seal(lease):
            raise LeaseLost(task_id)
        return hot

    async def definition(self, task_id: TaskId) -> Definition:
        return (await self.store.definitions([task_id]))[task_id]

    async def policy_of(self, hot: Hot) -> Policy:
        return policy_of(await self.definition(hot.id))

    async def lane_of(self, hot: Hot) -> Lane:
        return await self.configuration.known_lane(hot.lane)

    async def type_of(self, hot: Hot) -> str:
        return (await self.lane_of(hot)).type

    async def replayed(self, hot: Hot, sealed: str, verb: str, digest: str) -> Attempt:
        """The attempt that this very call has ended before; any other call under that lease is too late."""
        for attempt in await self.store.attempts(hot.id):
            if attempt.lease == sealed and attempt.verb == verb and attempt.digest == digest:
                return attempt
        raise LeaseLost(hot.id)

    async def spent(self, hot: Hot) -> MicroUsd:
        """What the attempts of a task that have ended cost."""
        return MicroUsd(sum(attempt.cost for attempt in await self.store.attempts(hot.id)))

    async def judging_of(self, validator: Hot) -> Record | None:
        """The record of the validation that waits for this validator's verdict; None where none does any more."""
        judged = (await self.definition(validator.id)).parent_id
        record = await self.store.record("judging", self.workspace, judged or "")
        return record if record is not None and record.body["validator"] == validator.id else None

    async def maker(self, agent_id: str) -> RegisteredAgent:
        """The agent of this id as it stands now, if only by its name."""
        known = (await self.configuration.fresh()).agents
        return known.get(AgentId(agent_id)) or RegisteredAgent(id=AgentId(agent_id), type=agent_id)

    async def is_free(self, hot: Hot) -> bool:
        """Whether the holder of a task is bound to its DAG no more than people are: orchestrators are not."""
        return hot.agent is None or (await self.maker(hot.agent)).orchestrator

    def mint_dag(self) -> DagId:
        return DagId(self.mint_task().replace("task_", "dag_"))

    def audit(self, event: str, by: str, facts: dict[str, Json], dag_id: DagId | None = None) -> Event:
        """What somebody did with the yard, for those who ask later who it was."""
        data = compact({**facts, "by": by})
        return Event(event, self.workspace, None, dag_id, self.now(), None, None, None, data)


class KeyTaken(Exception):
    """The set was refused because others have these keys or ids."""

    def __init__(self, by: dict[str, TaskId]) -> None:
        super().__init__()
        self.by = by


def pulse(kind: str, workspace: str, id_: str) -> str:
    """The name under which a runtime or an agent is heard of: another workspace may have one of the same id."""
    return f"{kind}:{compact([workspace, id_])}"


def _is_id(text: str) -> bool:
    """What is no text for a store is no id either."""
    return text.isascii() and "\0" not in text


def _nothing(_: Sequence[Change]) -> None:
    """Nobody wants to know."""
