"""Tasks that are put in by themselves or in batches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Unpack

from taskyard.core import dag as dags
from taskyard.core.changes import (
    ChangeSet,
    Conflict,
    Taken,
    merged,
    timely,
)
from taskyard.core.errors import Contended, InvalidInput, StoreFull
from taskyard.core.planning import Planning
from taskyard.core.task import DagId, Definition, Hot, TaskId
from taskyard.definition import arguments
from taskyard.definition.cache import Terms
from taskyard.definition.task_fields import TaskFields
from taskyard.features.tasks.creation import growth_limits, placement
from taskyard.features.tasks.creation.drafts import Drafter, Drafts, agent_named, as_stored
from taskyard.features.tasks.creation.growth import Growth, dag_record
from taskyard.features.tasks.lookup.results import Results
from taskyard.features.tasks.result_views import Enqueued
from taskyard.ledger.ledger import TRIES, KeyTaken, Ledger
from taskyard.ledger.tracing import enqueue_span
from taskyard.stores.turns import LONG_TURN, in_turns, pause_if_many

BY_DEFAULT = "human:local"
ARRIVALS_AT_ONCE = 500
HEAVIEST = 4_000_000  # characters of what arrives together
WORTH_A_SECOND = 4  # tasks that are not kept waiting for those on their way into the store


class _Arrival(NamedTuple):
    """A task that comes in by itself, and what it was planned on."""

    draft: Definition
    planning: Planning


class Arrivals:
    def __init__(self, ledger: Ledger, drafts: Drafts, growth: Growth, results: Results) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._drafts = drafts
        self._growth = growth
        self._results = results
        # While those of one moment are on their way into the store, the next are drafted, where it gains by that.
        self._line = ledger.queue.line(
            self._put_in_together,
            most=ARRIVALS_AT_ONCE,
            weigh=_weight,
            heaviest=HEAVIEST,
            worth_a_second=WORTH_A_SECOND if ledger.store.pace.commits > 1 else 0,
            halves=True,
        )

    async def enqueue(self, type: str, *, created_by: str = BY_DEFAULT, **fields: Unpack[TaskFields]) -> Enqueued:
        """Put one task in. Where its key is taken by a live task, that task is the answer (`created` is False).

        The fields are those of docs/reference/task.md, those of `spec` and `spec.constraints` also by their own names.
        """
        (task,) = await self.enqueue_many([{"type": type, **fields}], created_by=created_by)
        return task

    async def enqueue_many(
        self, tasks: Sequence[Mapping[str, object]], *, created_by: str = BY_DEFAULT
    ) -> list[Enqueued]:
        """Put up to 1,000 tasks in, all or none. One whose key or id is taken is answered with the task that has it."""
        created_by = arguments.name("created_by", created_by)
        with enqueue_span(tasks):
            return await self._enqueued(tasks, created_by)

    async def _enqueued(self, tasks: Sequence[Mapping[str, object]], created_by: str) -> list[Enqueued]:
        growth_limits.check_batch(len(tasks))
        planning, now = await self._drafts.planning_new(), self._ledger.now()

        drafter = Drafter(self._drafts, planning, Terms(created_by, None, names_dag=True), now)
        drafts, chosen = await in_turns(drafter.draft, tasks), drafter.chosen
        if len(drafts) == 1 and _is_plain(drafts[0]):
            with suppress(KeyTaken):
                hot = await self._line.ask(_Arrival(drafts[0], planning))
                return [Enqueued(hot, as_stored(drafts[0], hot), created=True, result=self._results.result)]
        for tried in range(TRIES):
            owners = await self._owners(drafts)
            # An id that a caller chose is new, unless the call is made again: the store says so where it is not.
            there = await self._store.load(sorted(chosen)) if chosen and tried else {}
            if any(hot.workspace != self._workspace for hot in there.values()):
                raise InvalidInput("id", "is taken")  # by somebody this caller may not even know of
            await pause_if_many(drafts)
            new = {draft.id for draft in drafts if owners[_claim(draft)] == draft.id and draft.id not in there}
            try:
                meant = _depending_on_owners(drafts, owners)
                once = {draft.id: draft for draft in meant if draft.id in new}
                made = await self.put_in(list(once.values()), planning)
            except KeyTaken:
                continue  # somebody was quicker: now theirs is there to be found
            return await self._answers(meant, owners, made)
        raise Contended(tries=TRIES)

    async def _put_in_together(self, arrivals: Sequence[_Arrival]) -> list[Hot | Exception]:
        """Tasks of several callers in one set. Where that cannot land each goes by itself: none suffers for another."""
        try:
            if _are_like(arrivals):
                return [*await self._born([each.draft for each in arrivals], arrivals[0].planning)]
        except (StoreFull, InvalidInput, KeyTaken) as error:
            if len(arrivals) == 1:
                return [error]
        return [answer for each in arrivals for answer in await self._put_in_together([each])]

    async def _born(self, drafts: Sequence[Definition], planning: Planning) -> list[Hot]:
        births = await self._drafts.births(drafts, planning, heights={}, done=frozenset(), now=self._ledger.now())
        answer = await self._ledger.commit_set(timely(births), is_group=True)
        if isinstance(answer, Conflict):
            # Nothing of theirs can have moved: they came to the store late.
            return list((await self.put_in(drafts, planning)).values())
        if isinstance(answer, Taken):
            raise KeyTaken(answer.by)
        return [task.hot for task in births.tasks]

    async def put_in(
        self,
        drafts: Sequence[Definition],
        planning: Planning,
        beside: Callable[[], Awaitable[ChangeSet]] | None = None,
    ) -> dict[TaskId, Hot]:
        """Lone tasks, additions to DAGs and new DAGs in one set, with what else is to be written with them."""
        if not drafts:
            return {}
        if any(draft.depends_on for draft in drafts):
            dags.topological({draft.id: draft.depends_on for draft in drafts})
        new = {group[0].id: self._ledger.mint_dag() for group in placement.groups(drafts)}

        async def decide() -> tuple[ChangeSet, dict[TaskId, Hot]]:
            await pause_if_many(drafts)
            stored = await self._growth.dependencies(drafts)
            sets = [
                await self._put_into(dag_id, mine, planning, stored, is_new=dag_id in new.values())
                for dag_id, mine in placement.placed(drafts, stored, new).items()
            ]
            if beside is not None:
                sets.append(await beside())
            change_set = self._growth.depending(merged(sets), stored)
            return change_set, {task.hot.id: task.hot for task in change_set.tasks}

        return await self._ledger.commit(decide)

    async def _put_into(
        self,
        dag_id: DagId | None,
        drafts: Sequence[Definition],
        planning: Planning,
        stored: Mapping[TaskId, Hot],
        *,
        is_new: bool,
    ) -> ChangeSet:
        """Tasks of one DAG; or, of none, each by itself."""
        now = self._ledger.now()
        if dag_id is None:
            return await self._drafts.births(drafts, planning, heights={}, done=frozenset(), now=now)
        drafts = [draft._replace(dag_id=dag_id) for draft in drafts]
        if is_new:
            fields: dict[str, object] = {"title": drafts[0].title, "tags": drafts[0].tags}
            record = dag_record(fields, dag_id, planning, drafts[0].created_by, now)
            return await self._growth.new_dag(record, drafts, planning, stored, now)
        known = await self._store.record("dag", self._workspace, dag_id)
        if known is None:
            raise InvalidInput("dag_id", f"{dag_id} is unknown: submit a DAG, or leave it out")
        return await self._growth.addition(known, drafts, planning, stored)

    async def _owners(self, drafts: Sequence[Definition]) -> dict[_Claim, TaskId]:
        """Which task each draft comes to: a live one with its key, else the first of the batch that claims it."""
        keys = [draft.idempotency_key for draft in drafts if draft.idempotency_key is not None]
        taken = await self._store.by_key(self._workspace, keys) if keys else {}
        owners: dict[_Claim, TaskId] = {(key,): owner for key, owner in taken.items()}
        for draft in drafts:
            owners.setdefault(_claim(draft), draft.id)
        return owners

    async def _answers(
        self,
        drafts: Sequence[Definition],
        owners: Mapping[_Claim, TaskId],
        made: Mapping[TaskId, Hot],
    ) -> list[Enqueued]:
        others = [owner for owner in owners.values() if owner not in made]
        hots = {**made, **(await self._store.load(others) if others else {})}
        definitions = {draft.id: as_stored(draft, made[draft.id]) for draft in drafts if draft.id in made}
        definitions |= await self._store.definitions(others) if others else {}
        new = set(made)

        def answer(draft: Definition) -> Enqueued:
            owner = owners[_claim(draft)]
            created = owner == draft.id and owner in new
            new.discard(owner)  # whoever gives the same id again has not made it
            return Enqueued(hots[owner], definitions[owner], created=created, result=self._results.result)

        return await in_turns(answer, drafts, turn=LONG_TURN)


def _is_plain(draft: Definition) -> bool:
    """Whether nothing has to be looked up before it can come in."""
    if draft.dag_id or draft.depends_on or draft.parent_id or draft.rerun_of or draft.idempotency_key:
        return False
    return agent_named(draft.created_by) is None


def _are_like(arrivals: Sequence[_Arrival]) -> bool:
    """Whether they may be in one set: planned on the same, and none twice, under an id that its caller chose."""
    planning, ids = arrivals[0].planning, {each.draft.id for each in arrivals}
    return len(ids) == len(arrivals) and all(each.planning is planning for each in arrivals)


def _weight(arrival: _Arrival) -> int:
    return len(arrival.draft.prompt) + len(arrival.draft.payload)


_Claim = TaskId | tuple[str]


def _claim(draft: Definition) -> _Claim:
    """What a draft lays claim to: its key, or else just its id."""
    return draft.id if draft.idempotency_key is None else (draft.idempotency_key,)


def _depending_on_owners(drafts: Sequence[Definition], owners: Mapping[_Claim, TaskId]) -> Sequence[Definition]:
    """What depends on a task of the batch whose key is taken depends on the task that has it."""
    if not any(draft.depends_on for draft in drafts):
        return drafts
    others = {draft.id: owner for draft in drafts if (owner := owners[_claim(draft)]) != draft.id}
    return [
        draft._replace(depends_on=tuple(dict.fromkeys(others.get(each, each) for each in draft.depends_on)))
        for draft in drafts
    ]
