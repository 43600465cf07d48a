"""Removing what retention no longer keeps: one bounded piece after the other, so that it keeps pace with the drain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from taskyard.core.changes import ChangeSet, Committed, RecordChange, expected
from taskyard.core.dag import DagStatus
from taskyard.core.policy import policy_of, preset
from taskyard.core.task import Hot, Status, Trait
from taskyard.core.units import Micros
from taskyard.features.approvals import rules as approvals
from taskyard.features.artifacts.orphans import OrphanObjects
from taskyard.features.inbox.transcripts import Transcripts
from taskyard.features.metrics.service import MetricCounts
from taskyard.features.retention import rules as retention
from taskyard.features.retention.pruning_pace import PruningPace
from taskyard.features.retention.service import Retention
from taskyard.ledger.ledger import Ledger
from taskyard.stores.contract import FROM_THE_OLDEST

PIECE = 500  # finished tasks that are looked at, and removed in one commit
EVENTS_PIECE = 1_000  # events
MOST_PIECES = 10  # of one step


class PruneStep(NamedTuple):
    """What a bounded step of housekeeping came to."""

    done: int
    more: bool = False  # there is more to do at once


class Pruning:
    def __init__(
        self,
        ledger: Ledger,
        orphan_objects: OrphanObjects,
        metrics: MetricCounts,
        transcripts: Transcripts,
        retention: Retention,
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._orphan_objects = orphan_objects
        self._metrics = metrics
        self._transcripts = transcripts
        self._retention = retention
        self._pruned_through = FROM_THE_OLDEST
        self._events_pruned_through = 0
        self._pace = PruningPace(ledger)

    async def prune(self) -> PruneStep:
        """Remove the next pieces of what is old enough; the answer counts tasks."""
        before = await self._prunable_before()
        tasks = await self._prune_tasks(before)
        return PruneStep(tasks.done, more=await self._prune_events(before) or tasks.more)

    async def _prune_events(self, before: Micros) -> bool:
        """Remove events that go with no task: of agents, breakers, queues, settings. Whether there are more."""
        for _ in range(MOST_PIECES):
            last = await self._store.prune_events(before, self._events_pruned_through, EVENTS_PIECE)
            self._events_pruned_through = last or 0
            if last is None:
                return False
        return True

    async def _prune_tasks(self, before: Micros) -> PruneStep:
        """Remove the next pieces of tasks.

        Each pass goes through the finished tasks once: what has to be kept, such as a DAG with a dead letter, is looked
        at again only by the next pass.
        """
        dead_too = await self._some_prune_dead()
        pruned = 0
        for _ in range(MOST_PIECES):
            size = self._pace.begin_piece(PIECE)
            piece = await self._store.prunable(before, size, dead_too=dead_too, after=self._pruned_through)
            self._pruned_through = piece.cursor or FROM_THE_OLDEST
            removed = await self._remove(piece.tasks)
            pruned += removed
            if piece.cursor is None:
                return PruneStep(pruned)
            await self._pace.rest(removed=removed, kept=len(piece.tasks) - removed)
        return PruneStep(pruned, more=True)

    async def _prunable_before(self) -> Micros:
        before = await self._retention.kept_since()
        uncounted = await self._metrics.first_uncounted()
        return before if uncounted is None else min(before, uncounted)

    async def _remove(self, tasks: Sequence[Hot]) -> int:
        """Remove those of these tasks that no live task needs; the number that went.

        Not by the committer: the removals would delay the commits that wait there with them.
        """
        if not tasks:
            return 0
        plain, groups = await self._unneeded(tasks)
        gone = [*await self._remove_plain(plain), *await self._remove_others(groups)]
        await self._transcripts.drop([record for each in gone for record in each.records])
        return sum(len(each.removals) for each in gone)

    async def _remove_plain(self, hots: Sequence[Hot]) -> list[ChangeSet]:
        """Remove tasks that nothing else is removed with, in one set: a set for each costs as much as the removal."""
        gone = await self._commit_removals([self._removal_of(hots)] if hots else [])
        if gone or not hots:
            return gone
        # One of them moved. The others do not wait for the next pass.
        return await self._commit_removals([self._removal_of([hot]) for hot in hots])

    async def _remove_others(self, groups: Sequence[Sequence[Hot]]) -> list[ChangeSet]:
        unneeded = [group for group in groups if not await self._waits_for_a_person(group)]
        sessions = await self._orphan_objects.sessions_let_go([hot for group in unneeded for hot in group])
        sets = [each for group in unneeded if (each := await self._removal(group, sessions)) is not None]
        return await self._commit_removals(sets)

    async def _commit_removals(self, sets: Sequence[ChangeSet]) -> list[ChangeSet]:
        """Those that were committed: a task that moved meanwhile stays, with its DAG."""
        answers = await self._store.commit(sets) if sets else []
        return [each for each, result in zip(sets, answers, strict=True) if isinstance(result, Committed)]

    async def _unneeded(self, tasks: Sequence[Hot]) -> retention.Doomed:
        edges = await self._store.edges([hot.id for hot in tasks])
        outside = retention.dependents({hot.id: hot for hot in tasks}, edges) if edges else ()
        others = await self._store.load(sorted(outside)) if outside else {}
        return retention.unneeded(tasks, retention.needed(edges, others))

    async def _some_prune_dead(self) -> bool:
        """Whether a workspace or a queue has a preset that does not keep dead letters for a person."""
        records = [*await self._store.records("workspace"), *await self._store.records("queue")]
        return any(preset(str(name)).prunes_dead for record in records if (name := record.body.get("preset")))

    async def _waits_for_a_person(self, tasks: Sequence[Hot]) -> bool:
        """Whether one of them is a dead letter whose own preset keeps it."""
        dead = [hot.id for hot in tasks if hot.status is Status.DEAD_LETTERED]
        definitions = await self._store.definitions(dead) if dead else {}
        return any(not policy_of(each).prunes_dead for each in definitions.values())

    async def _removal(self, group: Sequence[Hot], sessions: Mapping[str, RecordChange]) -> ChangeSet | None:
        """None: tasks have come to the DAG since these were found. The record guards against those that come later."""
        hot, dag = group[0], list[RecordChange]()
        if (
            hot.dag_id is not None
            and (record := await self._store.record("dag", hot.workspace, hot.dag_id)) is not None
        ):
            if not DagStatus(str(record.body["status"])).is_final:
                return None
            dag.append(RecordChange("dag", hot.workspace, record.id, record.version, None))
        return self._removal_of(
            group,
            records=(
                *await self._orphan_objects.files_let_go(group),
                *await self._transcripts.subagents_let_go(group),
                *await self._questions_let_go(group),
                *(sessions[hot.id] for hot in group if hot.id in sessions),
                *dag,
            ),
        )

    async def _questions_let_go(self, group: Sequence[Hot]) -> list[RecordChange]:
        """What these tasks asked people."""
        asked = [hot.id for hot in group if hot.traits & Trait.ASKED]
        found = await self._store.named(approvals.KIND, group[0].workspace, asked) if asked else {}
        return [RecordChange(*record[:4], None) for record in found.values()]

    def _removal_of(self, hots: Sequence[Hot], records: tuple[RecordChange, ...] = ()) -> ChangeSet:
        return ChangeSet(
            expects=tuple(map(expected, hots)),
            removals=tuple(hot.id for hot in hots),
            records=records,
            at=self._ledger.now(),
        )
