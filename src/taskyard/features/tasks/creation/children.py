"""Tasks that a task puts into its own DAG, and waits for where it needs their outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from taskyard.core import dag as dags
from taskyard.core import outcomes, transitions
from taskyard.core.changes import ChangeSet, Checkpoint, Count, Record, Spend, expected, merged
from taskyard.core.errors import InvalidInput
from taskyard.core.identifiers import child_blocker, dag_ceiling
from taskyard.core.json_value import Json, compact, is_mapping
from taskyard.core.lease import Lease
from taskyard.core.outcomes import Report
from taskyard.core.task import DagId, Definition, Hot, Status, TaskId, Trait, dag_of
from taskyard.definition import arguments
from taskyard.features.attempts.suspension import Suspension
from taskyard.features.attempts.views import Child
from taskyard.features.tasks.creation.drafts import Drafts
from taskyard.features.tasks.creation.growth import Growth, dag_record, guarded, spawned_children
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.tracing import enqueue_span


class _Spawner(NamedTuple):
    by: str  # whom the tasks are said to be created by
    under: Definition | None  # the task that they may not be better than; None: they may


class Children:
    def __init__(self, ledger: Ledger, suspension: Suspension, drafts: Drafts, growth: Growth) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._suspension = suspension
        self._drafts = drafts
        self._growth = growth

    async def spawn(
        self,
        task_id: str,
        lease: str,
        tasks: Sequence[Mapping[str, object]],
        *,
        name: str,
        wait: bool = False,
    ) -> list[TaskId]:
        """Put tasks into the graph of the task at hand; with `wait`, suspend it until they are done.

        Asked again under the same name, it makes nothing: the first call's tasks are the answer.
        """
        name = arguments.name("name", name)
        with enqueue_span(tasks):
            return await self._spawn(TaskId(task_id), lease, tasks, name, wait=wait)

    async def _spawn(
        self, parent_id: TaskId, lease: str, tasks: Sequence[Mapping[str, object]], name: str, *, wait: bool
    ) -> list[TaskId]:
        planning, now = await self._drafts.planning_new(), self._ledger.now()
        maker = await self.spawner(parent_id)
        rows = [_child_of(parent_id, fields, maker.under) for fields in tasks]
        named = await self._drafts.named(rows, planning, created_by=maker.by, dag_id=None, now=now, under=maker.under)

        async def decide() -> tuple[ChangeSet | None, list[TaskId]]:
            held = await (
                self._suspension.held_until(parent_id, Lease(lease), name)
                if wait
                else self._ledger.held(parent_id, Lease(lease))
            )
            hot = await self._ledger.load(parent_id) if held is None else held
            if (noted := await self._suspension.note(hot, name, _SPAWN)) is not None:
                children = [TaskId(each) for each in spawned_children(noted)]
                return await self._waiting_for(held, name, children) if wait and held else None, children
            drafts = list(named.values())
            change_set = await self.spawned(hot, drafts, name, wait=wait)
            return change_set, [draft.id for draft in drafts]

        return await self._growth.commit_new(decide)

    async def of(self, task_id: str, name: str) -> list[Child] | None:
        """How the tasks spawned under this name ended; None while one of them has not."""
        noted = await self._suspension.note(await self._ledger.load(TaskId(task_id)), name, _SPAWN)
        if noted is None:
            raise InvalidInput("name", f"{name} is not a spawn of {task_id}")
        ids = [TaskId(each) for each in spawned_children(noted)]
        hots, outputs = await self._store.load(ids), await self._store.outputs(ids)
        if not all(hots[each].status.is_final for each in ids):
            return None
        accepted = {each for each in ids if hots[each].status is Status.COMPLETED and each in outputs}
        return [
            Child(each, hots[each].status, json.loads(outputs[each].data) if each in accepted else None) for each in ids
        ]

    async def spawner(self, task_id: TaskId) -> _Spawner:
        """Who spawns from a task. Whether it is still theirs to do so is looked at with the lease."""
        hot = await self._ledger.load(task_id)
        if hot.agent is None:  # nobody holds it, so nothing will come of this
            return _Spawner(f"task:{task_id}", None)
        return _Spawner(
            f"agent:{hot.agent}", None if await self._ledger.is_free(hot) else await self._ledger.definition(task_id)
        )

    async def spawned(self, hot: Hot, drafts: Sequence[Definition], name: str, *, wait: bool) -> ChangeSet:
        now = self._ledger.now()
        transitions.allow(hot, "suspend" if wait else "signal")
        dag_id = dag_of(hot)
        trace = await self._trace_of(hot) if any(draft.trace is None for draft in drafts) else None
        mine = [draft._replace(dag_id=dag_id, trace=draft.trace or trace) for draft in drafts]
        grown = await self._grown(hot, dag_id, mine, awaited=wait)
        if wait:
            grown = guarded(grown, await self._growth.unclosed(hot.id, {draft.id: draft.depends_on for draft in mine}))
        note = Checkpoint(hot.id, name, hot.attempt, compact({"children": [draft.id for draft in mine]}))
        if wait:
            blockers = [child_blocker(draft.id) for draft in mine]
            step = outcomes.suspended(
                hot,
                Report("suspend", name),
                type_=await self._ledger.type_of(hot),
                blockers=blockers,
                wake_at=None,
                now=now,
            )
        elif hot.dag_id is None:
            step = outcomes.adopted(hot, dag_id=dag_id, spent=await self._ledger.spent(hot), now=now)
        else:
            # Nothing of the parent moves; but only the holder of its lease may spawn.
            step = ChangeSet(expects=(expected(hot),), at=now)
        if wait and hot.dag_id is None:
            # A lone task becomes part of a graph in the same step that suspends it, and brings its costs along.
            spent = Spend(hot.workspace, dag_ceiling(dag_id), 0, await self._ledger.spent(hot) + hot.spent)
            step = step._replace(spends=(*step.spends, spent) if spent.spent else step.spends)
        if hot.dag_id is None and hot.traits & Trait.NEEDED:
            grown = grown._replace(counts=(*grown.counts, Count(hot.workspace, dags.needed_name(dag_id), 1)))
        joined = tuple(change._replace(after=change.after._replace(dag_id=dag_id)) for change in step.changes)
        grown = grown._replace(expects=tuple(each for each in grown.expects if each.task_id != hot.id))
        return merged([step._replace(changes=joined), grown])._replace(checkpoints=(note,))

    async def _trace_of(self, hot: Hot) -> str | None:
        """The trace that is continued by what a task spawns while its agent traces nothing."""
        return (await self._ledger.definition(hot.id)).trace

    async def _grown(self, hot: Hot, dag_id: DagId, drafts: Sequence[Definition], *, awaited: bool) -> ChangeSet:
        planning = await self._ledger.configuration.current()
        record = await self._store.record("dag", self._workspace, dag_id)
        if record is None:
            new = dag_record({}, dag_id, planning, drafts[0].created_by, self._ledger.now())
            record = Record("dag", self._workspace, dag_id, 0, cast(dict[str, Json], new.body))
        stored = await self._growth.named_dependencies(drafts)
        if hot.id in stored:
            stored[hot.id] = hot._replace(dag_id=dag_id)  # which it joins in the same step
        grown = await self._growth.addition(record, drafts, planning, stored, parent=hot, awaited=awaited)
        return self._growth.depending(grown, stored)

    async def _waiting_for(self, hot: Hot, name: str, children: Sequence[TaskId]) -> ChangeSet | None:
        """Suspend for children that were spawned before, while one of them is not done."""
        ended = await self._store.load(children)
        blockers = [child_blocker(child) for child in children if not ended[child].status.is_final]
        if not blockers:
            return None
        expects = tuple(expected(ended[child]) for child in children)
        definitions = await self._store.definitions(children)
        closing = await self._growth.unclosed(hot.id, {child: definitions[child].depends_on for child in children})
        step = (await self._suspension.suspended(hot, blockers, None, name, None, new=False))._replace(expects=expects)
        return guarded(step, closing)


_SPAWN = frozenset({"children"})


def _child_of(parent_id: TaskId, fields: object, under: Definition | None) -> object:
    """The task as its parent spawns it; what is no task is left for the rules to refuse."""
    return child_of(parent_id, fields, under) if is_mapping(fields) else fields


def child_of(parent_id: TaskId, fields: Mapping[str, object], under: Definition | None) -> dict[str, object]:
    """What an agent spawns goes into the queue of its own task, where it says nothing of queues."""
    return {**({} if under is None else {"queue": under.queue}), **fields, "parent_id": parent_id}
