"""What every use case stands on: load, decide, commit, and again where something moved.

The use cases are in the modules beside this one, each a part of `Yard`; none of them decides anything itself.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from taskyard.core import breaker as breakers
from taskyard.core import dag as dags
from taskyard.core import notices, outcomes
from taskyard.core.agent import Agent, AgentType, budget_moved
from taskyard.core.changes import (
    PLANNED_ON,
    Change,
    ChangeSet,
    Committed,
    Conflict,
    Event,
    Outbox,
    Record,
    RecordChange,
    Taken,
    timely,
)
from taskyard.core.dag import DagStatus
from taskyard.core.errors import Contended, LeaseLost, NotFound, StoreUnavailable
from taskyard.core.jsonvalue import compact
from taskyard.core.lease import Lease, seal
from taskyard.core.notices import Notice
from taskyard.core.planning import Planning
from taskyard.core.policy import PRESETS, Policy, policy_of
from taskyard.core.task import KEY_DEAD, AgentId, Attempt, DagId, Definition, Hot, Json, Lane, LaneId, TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.definition.definition import Sizes
from taskyard.features.attempts.handed_out import HandedOut
from taskyard.features.dags import walk
from taskyard.features.inbox import items as inbox_items
from taskyard.features.inbox.feed import announced, is_quiet
from taskyard.ledger.configuration import Configuration
from taskyard.ledger.ids import mint_task
from taskyard.ledger.queue import Committer, Result
from taskyard.stores.contract import OutcomeUnknown, Store
from taskyard.stores.shared.patience import CALL_TIMEOUT

LOCAL = "human:local"  # who acts where nobody says otherwise
TRIES = 40
RESOLVED_WITHIN = 1.5  # of the time that a call may take: a store is asked what became of a write whose answer was lost
MOST_EVENTS = 10_000  # of one task
PATIENT_AFTER = 3  # conflicts, from which on deciders of this process queue up instead of racing
T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a yard is run by this process. What all processes must agree on is stored in it instead."""

    workspace: str = "default"
    preset: str | None = None  # what the process expects to be stored; None: whatever is
    sizes: Sizes = field(default_factory=Sizes)
    retention_days: float | None = None  # to be stored for all processes; None: whatever is stored
    sweeps: bool = True  # keep the yard swept while it is open
    artifacts: str | None = None  # where their contents are, by URL; None: nowhere
    max_artifact_bytes: int = 1 << 30
    allowed_targets: tuple[str, ...] = ()  # hosts and networks that notifications may go to though they are not public
    transcripts: Path = Path("taskyard-transcripts")  # the directory of what background subagents wrote
    dice: Callable[[], float] = random.random
    call_timeout: float = CALL_TIMEOUT  # seconds


class Engine:
    def __init__(self, store: Store, options: Options) -> None:
        self.store = store
        self.options = options
        self.workspace = options.workspace
        self._committer = Committer(store)
        self._configuration = Configuration(store, options.workspace)
        self._patience = asyncio.Lock()
        self._in_hand = HandedOut()

    def now(self) -> Micros:
        return self.store.now()

    async def mark(self) -> int:
        """Where the yard stands: to be handed to `changed`, so that nothing written since is missed."""
        return await self.store.changed(-1, 0)

    async def changed(self, mark: int, timeout_sec: float) -> int:
        """Return when something may have been written since the mark, by any process, or at the time-out."""
        return await self.store.changed(mark, timeout_sec)

    # Landing

    async def _land(
        self, decide: Callable[[], Awaitable[tuple[ChangeSet | None, T]]], *, in_cascade: bool = False
    ) -> T:
        """Decide and commit until nothing moved in between. No set: there is nothing to write."""
        for tried in range(TRIES):
            if tried < PATIENT_AFTER:
                landed, answer = await self._land_once(decide, timely, in_cascade=in_cascade)
            else:
                async with self._patience:
                    # However late: where a store takes long with everything, this would go on without end.
                    landed, answer = await self._land_once(decide, lambda late: late, in_cascade=in_cascade)
            if landed:
                return answer
            await asyncio.sleep(self.options.dice() * min(0.001 * 2**tried, 0.05))
        raise Contended(tries=TRIES)

    async def _land_once(
        self,
        decide: Callable[[], Awaitable[tuple[ChangeSet | None, T]]],
        bounded: Callable[[ChangeSet], ChangeSet],
        *,
        in_cascade: bool,
    ) -> tuple[bool, T]:
        change_set, answer = await decide()
        if change_set is None:
            return True, answer
        if not is_quiet(change_set):
            change_set = await announced(self.store, change_set)
        match await self._commit(bounded(change_set)):
            case Conflict():
                return False, answer
            case Taken(by):
                raise KeyTaken(by)
            case Committed() as committed:
                if any(record.kind in PLANNED_ON for record in change_set.records):
                    self._configuration.outdated()
                self._in_hand.let_go(change_set.changes)
                await self._follow_up(committed)
                if not in_cascade:
                    await self._settle_waiting(change_set)
                return True, answer

    async def _commit(self, change_set: ChangeSet, *, at_once: bool = False) -> Result:
        """Together with what else is waiting, or at once: where it is many together already."""
        try:
            if at_once:
                (result,) = await self.store.commit([change_set])
                return result
            return await self._committer.commit(change_set)
        except OutcomeUnknown:
            if await self._is_stored(change_set):
                return Committed({}, ())  # what the counters came to is not known; the sweep finds what they would tell
            raise

    async def _is_stored(self, change_set: ChangeSet) -> bool:
        """Whether a set landed whose answer was lost: if the event of its first step is there, all of it is."""
        step = next(iter((*change_set.changes, *change_set.tasks)), None)
        if step is None or step.event.task_id is None:
            return False
        why = StoreUnavailable("what became of the last write cannot be read")
        with suppress(TimeoutError):
            async with asyncio.timeout(RESOLVED_WITHIN * self.options.call_timeout):
                while True:
                    try:
                        told = await self.store.events(after=0, limit=MOST_EVENTS, task_id=step.event.task_id)
                        return any(stored.event == step.event for stored in told)
                    except StoreUnavailable as unavailable:
                        why = unavailable
                        await asyncio.sleep(random.uniform(0.05, 0.5))  # others look for it too
        raise why

    async def _land_all(self, sets: Mapping[K, ChangeSet]) -> list[K]:
        """Commit sets that touch no row twice, together; those of these keys were met by something that moved."""
        if not sets:
            return []
        moved: list[K] = []
        told = [each if is_quiet(each) else await announced(self.store, each) for each in sets.values()]
        landed = await self._committer.commit_all(list(map(timely, told)))
        for key, change_set, result in zip(sets, told, landed, strict=True):
            if isinstance(result, Committed):
                self._in_hand.let_go(change_set.changes)
                await self._follow_up(result)
                await self._settle_waiting(change_set)
            else:
                moved.append(key)
        return moved

    async def _follow_up(self, committed: Committed) -> None:
        """What a commit makes worth looking at: a graph that may have ended, a breaker that may trip."""
        if not committed.counts:
            return
        for name, value in committed.counts.items():
            kind, _, rest = name.partition(":")
            stem, _, word = rest.rpartition(":")
            # A graph may have ended when nothing in it is live, or when something in it ended other than well.
            if kind == "dag" and (value == 0 if word == "live" else value > 0 and word in ("dead", "cancelled")):
                await self._settle_dag(DagId(stem))
            elif kind == "breaker" and value:
                await self._look_at_breaker(stem, int(word), value)

    # Graphs

    async def _settle_dag(self, dag_id: DagId) -> bool:
        """Store how the graph ended, if it did and nobody has. The sweep does the same for what a crash left."""

        async def decide() -> tuple[ChangeSet | None, bool]:
            record = await self.store.record("dag", self.workspace, dag_id)
            ended = None if record is None else await self._concluded(dag_id, record)
            return ended, ended is not None

        has_ended = await self._land(decide)
        if has_ended:
            await self._graph_ended(dag_id)
        return has_ended

    async def _graph_ended(self, dag_id: DagId) -> None:
        """What follows the end of a graph; see `event_triggers`. The sweep does it too, where this process does not."""

    async def _concluded(self, dag_id: DagId, record: Record) -> ChangeSet | None:
        names = dags.count_names(dag_id)
        counts = await self.store.counts(self.workspace, list(names.values()))
        got = {word: counts.get(name, 0) for word, name in names.items()}
        policy = PRESETS[str(record.body["preset"])]
        status = dags.conclusion(
            live=got["live"],
            completed=got["completed"],
            dead=got["dead"],
            stuck=got["live"] > 0 and await self._stuck(dag_id),
            first_death_fails=policy.dag_fails_at_first_death,
        )
        if status is None or record.body["status"] == status:
            return None
        return self._dag_moved(record, status, self.now())

    async def _stuck(self, dag_id: DagId) -> bool:
        """Whether nothing in the graph can proceed: all that is live waits for what died or was cancelled, anywhere.

        What a cascade has yet to come to is not left behind.
        """
        if not await self.store.stuck(dag_id):
            return False
        live = {hot.id for hot in (await self.store.graph(dag_id)).tasks if not hot.status.is_final}
        for cascade in await self.store.records("cascade", self.workspace):
            if cascade.body["dag"] == dag_id or live & (await walk.left(self.store, cascade)).keys():
                return False
        above = await walk.above(self.store, live)
        return dags.doomed(above.waits, above.failed()).issuperset(live)

    async def _settle_waiting(self, change_set: ChangeSet) -> None:
        """Store how graphs ended that wait for tasks of others, where one of these died, was cancelled or revived."""
        roots = [change.after for change in change_set.changes if _is_of_a_failure(change)]
        # The end of a cascade settles what it came to.
        if roots and not any(record.kind == "cascade" for record in change_set.records):
            for dag_id in sorted(await walk.waiting_dags(self.store, roots)):
                await self._settle_dag(dag_id)

    def _dag_moved(self, record: Record, status: DagStatus, now: Micros) -> ChangeSet:
        body = {**record.body, "status": status.value, "ended_at": now if status.is_final else None}
        data = compact({"status": status.value, "title": record.body["title"]})
        word = status.value if status.is_final else "reopened"
        event = Event(f"dag.{word}", self.workspace, None, DagId(record.id), now, None, None, None, data)
        change = RecordChange("dag", self.workspace, record.id, record.version, body)
        letter = inbox_items.of_dag(record, status.value, now) if status.is_final else None
        told = self._told_of_failure(record, now) if status is DagStatus.FAILED else ()
        if letter is None:
            return ChangeSet(records=(change,), events=(event,), outbox=told, at=now)
        return ChangeSet(records=(change, letter.record), events=(event, letter.event), outbox=told, at=now)

    def _told_of_failure(self, record: Record, now: Micros) -> tuple[Outbox, ...]:
        facts: dict[str, Json] = {"dag_id": record.id, "title": record.body["title"]}
        return (notices.row(Notice.DAG_FAILED, self.workspace, facts, at=now),)

    # Breakers

    async def _look_at_breaker(self, type_: str, circuit: int, failures: int) -> None:
        async def decide() -> tuple[ChangeSet | None, None]:
            planning = await self._configuration.fresh()
            breaker = planning.breaker(type_)
            if not breakers.trips(breaker, planning.breaker_policy, failures, circuit):
                return None, None
            now = self.now()
            move = breakers.opened(breaker, why=f"{failures} failures in a row", now=now)
            return self._moved(move, now), None

        await self._land(decide)

    def _moved(self, move: breakers.Move, now: Micros) -> ChangeSet:
        return ChangeSet(records=(move.record,), events=(move.event,), counts=move.counts, outbox=move.outbox, at=now)

    def _told_by(self, event: str, by: str, facts: dict[str, Json], dag_id: DagId | None = None) -> Event:
        """What somebody did with the yard, for those who ask later who it was."""
        data = compact({**facts, "by": by})
        return Event(event, self.workspace, None, dag_id, self.now(), None, None, None, data)

    def _told_of_budget(self, before: AgentType, after: AgentType, by: str) -> list[Event]:
        """What a type may spend, from what to what; nothing where that is the same."""
        if before.budget == after.budget:
            return []
        return [self._told_by("agent.budget", by, budget_moved(after.name, before.budget, after.budget))]

    # Loading

    async def _load(self, task_id: TaskId) -> Hot:
        hot = (await self._load_all([task_id])).get(task_id)
        # The workspace is part of every id: another's task is not there.
        if hot is None:
            raise NotFound("task", task_id)
        return hot

    async def _held(self, task_id: TaskId, lease: Lease) -> Hot:
        """The task, for whoever holds it."""
        hot = await self._load(task_id)
        if hot.lease is None or hot.lease != seal(lease):
            raise LeaseLost(task_id)
        return hot

    async def _load_all(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
        """Those of these tasks that are this workspace's."""
        rows = await self.store.load([each for each in task_ids if _is_id(each)])
        return {task_id: hot for task_id, hot in rows.items() if hot.workspace == self.workspace}

    async def _maker(self, agent_id: str | None) -> Agent | None:
        """The agent of this id as it stands now, if only by its name."""
        if agent_id is None:
            return None
        known = (await self._configuration.fresh()).agents
        return known.get(AgentId(agent_id)) or Agent(id=AgentId(agent_id), type=agent_id)

    async def _is_free(self, hot: Hot) -> bool:
        """Whether the holder of a task is bound to its DAG no more than people are: orchestrators are not."""
        maker = await self._maker(hot.agent)
        return maker is None or maker.orchestrator

    async def _define(self, task_id: TaskId) -> Definition:
        return (await self.store.definitions([task_id]))[task_id]

    async def _type_of(self, hot: Hot) -> str:
        return (await self._lane_of(hot)).type

    async def _lane_of(self, hot: Hot) -> Lane:
        return await self._configuration.known_lane(hot.lane)

    async def _policy_of(self, hot: Hot) -> Policy:
        return policy_of(await self._define(hot.id))

    async def _replayed(self, hot: Hot, sealed: str, verb: str, digest: str) -> Attempt:
        """The attempt that this very call has ended before; any other call under that lease is too late."""
        for attempt in await self.store.attempts(hot.id):
            if attempt.lease == sealed and attempt.verb == verb and attempt.digest == digest:
                return attempt
        raise LeaseLost(hot.id)

    async def _spent(self, hot: Hot) -> MicroUsd:
        """What the attempts of a task that have ended cost."""
        return MicroUsd(sum(attempt.cost for attempt in await self.store.attempts(hot.id)))

    async def _planning(self) -> Planning:
        return await self._configuration.current()

    async def _lanes(self, lanes: Sequence[Lane]) -> list[LaneId]:
        return await self._configuration.lane_ids(lanes)

    def _mint_task(self) -> TaskId:
        return mint_task()

    def _mint_dag(self) -> DagId:
        return DagId(self._mint_task().replace("task_", "dag_"))


def _is_of_a_failure(change: Change) -> bool:
    """Whether tasks may wait for this one that cannot proceed as long as it is dead or cancelled."""
    failed = change.after.status in KEY_DEAD or change.before.status in KEY_DEAD
    return failed and outcomes.may_be_waited_for(change.after)


def _is_id(text: str) -> bool:
    """What is no text for a store is no id either."""
    return text.isascii() and "\0" not in text


def pulse(kind: str, workspace: str, id_: str) -> str:
    """The name under which a runtime or an agent is heard of: another workspace may have one of the same id."""
    return f"{kind}:{compact([workspace, id_])}"


class KeyTaken(Exception):
    """The set was refused because others have these keys or ids."""

    def __init__(self, by: dict[str, TaskId]) -> None:
        super().__init__()
        self.by = by
