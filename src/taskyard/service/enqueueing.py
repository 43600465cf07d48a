"""Putting work in: single tasks, batches, whole graphs, and additions to a graph that exists."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from taskyard.core import dag as dags
from taskyard.core.changes import (
    Ceiling,
    ChangeSet,
    Conflict,
    Taken,
    merged,
    timely,
)
from taskyard.core.errors import Contended, InvalidInput, NotFound, StoreFull
from taskyard.core.planning import Planning
from taskyard.core.task import DagId, Definition, Hot, TaskId, lone_task
from taskyard.core.units import MicroUsd
from taskyard.definition import arguments
from taskyard.features.dags.views import Dag
from taskyard.features.tasks import growth_limits, placement
from taskyard.features.tasks.drafts import agent_named, as_stored
from taskyard.features.tasks.growth import Growing, dag_record
from taskyard.features.tasks.result_views import Enqueued
from taskyard.features.tasks.results import Results
from taskyard.features.tasks.views import Task
from taskyard.ledger.batcher import Batcher
from taskyard.ledger.ledger import TRIES, KeyTaken
from taskyard.ledger.options import Options
from taskyard.ledger.tracing import enqueue_span
from taskyard.ledger.turns import in_turns
from taskyard.stores.contract import Store

BY_DEFAULT = "human:local"
ARRIVALS_AT_ONCE = 500
HEAVIEST = 4_000_000  # characters of what arrives together
WORTH_A_SECOND = 4  # tasks that are not kept waiting for those on their way into the store
T = TypeVar("T")
DAG_FIELDS = frozenset({"title", "tasks", "budget_ceiling_usd", "tags", "id", "inbox"})


class _Arrival(NamedTuple):
    """A task that comes in by itself, and what it was planned on."""

    draft: Definition
    planning: Planning


class Enqueueing(Growing, Results):
    def __init__(self, store: Store, options: Options) -> None:
        super().__init__(store, options)
        # While those of one moment are on their way into the store, the next are drafted, where it gains by that.
        self._arrivals = Batcher(
            self._put_in_together,
            most=ARRIVALS_AT_ONCE,
            weigh=_weight,
            heaviest=HEAVIEST,
            worth_a_second=WORTH_A_SECOND if store.pace.commits > 1 else 0,
            halves=True,
        )

    async def enqueue(self, type: str, *, created_by: str = BY_DEFAULT, **fields: Any) -> Enqueued:
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
        planning, now = await self._planning_new(), self.now()

        def draft_of(fields: Mapping[str, object]) -> Definition:
            dag_id = self._dag_named(fields, planning)
            return self._draft(fields, planning, created_by=created_by, dag_id=dag_id, now=now)

        drafts = await in_turns(draft_of, tasks)
        chosen = {draft.id for draft, fields in zip(drafts, tasks, strict=True) if draft.id in fields.values()}
        for _ in range(TRIES):
            owners = await self._owners(drafts)
            there = await self.store.load(sorted(chosen)) if chosen else {}
            if any(hot.workspace != self.workspace for hot in there.values()):
                raise InvalidInput("id", "is taken")  # by somebody this caller may not even know of
            new = {draft.id for draft in drafts if owners[_claim(draft)] == draft.id and draft.id not in there}
            try:
                # Others may be about to choose the same id, and one set has it only once.
                put_in = self._put_in_apart if chosen else self._put_in
                meant = _depending_on_owners(drafts, owners)
                once = {draft.id: draft for draft in meant if draft.id in new}
                made = await put_in(list(once.values()), planning)
            except KeyTaken:
                continue  # somebody was quicker: now theirs is there to be found
            return await self._answers(meant, owners, made)
        raise Contended(tries=TRIES)

    async def submit(self, dag: Mapping[str, object], *, created_by: str = BY_DEFAULT) -> Dag:
        """Put a whole graph in, or nothing. Its tasks name each other by `name`, or by ids they mint."""
        _refuse_other_fields(dag)

        async def decide() -> tuple[ChangeSet | None, Dag]:
            change_set, made = await self._graphed(dag, created_by=created_by)
            if "id" in dag and await self._is_taken(made.id):
                raise InvalidInput("id", "is taken by another DAG")
            return change_set, made

        with enqueue_span(dag.get("tasks")):
            return await self._land_new(decide)

    async def _graphed(self, dag: Mapping[str, object], *, created_by: str) -> tuple[ChangeSet, Dag]:
        """What a whole graph comes to: the rows to store, and the answer once they are."""
        _refuse_other_fields(dag)
        created_by = arguments.name("created_by", created_by)
        dag_id = arguments.dag_id("id", dag["id"]) if "id" in dag else self._mint_dag()
        planning, now = await self._planning_new(), self.now()
        named = await self._named(dag.get("tasks"), planning, created_by=created_by, dag_id=dag_id, now=now)
        record = dag_record(dag, dag_id, planning, created_by, now)
        ceiling = _ceiling(dag)
        drafts = list(named.values())
        stored = await self._dependencies(drafts)
        births = await self._new_dag(record, drafts, planning, stored, now)
        ceilings = () if ceiling is None else (Ceiling(self.workspace, f"dag:{dag_id}", ceiling),)
        change_set = self._depending(births, stored)._replace(ceilings=ceilings)
        hots = {task.hot.id: task.hot for task in births.tasks}
        tasks = {name: Task(hots[draft.id], draft, created=True) for name, draft in named.items()}
        return change_set, Dag(id=dag_id, tasks=tasks)

    async def _is_taken(self, dag_id: DagId) -> bool:
        """Whether there is such a graph, if only a lone task's, in whichever workspace: their tasks must not mix."""
        if await self.store.record("dag", self.workspace, dag_id) is not None:
            return True
        return bool(await self.store.load([lone_task(dag_id)]) or (await self.store.graph(dag_id)).tasks)

    async def add(self, dag_id: str, tasks: Sequence[Mapping[str, object]], *, created_by: str = BY_DEFAULT) -> Dag:
        """Add tasks to a graph that exists; a finished one goes on.

        They may depend on each other, and on any task of the workspace.
        """
        created_by = arguments.name("created_by", created_by)
        with enqueue_span(tasks):
            return await self._added_tasks(DagId(dag_id), tasks, created_by)

    async def _added_tasks(self, dag_id: DagId, tasks: Sequence[Mapping[str, object]], created_by: str) -> Dag:
        planning, now = await self._planning_new(), self.now()
        named = await self._named(list(tasks), planning, created_by=created_by, dag_id=dag_id, now=now)
        drafts = list(named.values())

        async def decide() -> tuple[ChangeSet, dict[TaskId, Hot]]:
            record = await self.store.record("dag", self.workspace, dag_id)
            if record is None:
                raise NotFound("dag", dag_id)
            stored = await self._dependencies(drafts)
            change_set = self._depending(await self._addition(record, drafts, planning, stored), stored)
            return change_set, {task.hot.id: task.hot for task in change_set.tasks}

        hots = await self._land_new(decide)
        return Dag(
            id=dag_id,
            tasks={
                name: Task(hots[draft.id], as_stored(draft, hots[draft.id]), created=True)
                for name, draft in named.items()
            },
        )

    async def _land_new(self, decide: Callable[[], Awaitable[tuple[ChangeSet | None, T]]]) -> T:
        """Land tasks of a graph. Theirs is not the answer where somebody has their key: the graph needs them all."""
        try:
            return await self._land(decide)
        except KeyTaken as refused:
            raise InvalidInput("tasks", f"uses keys or ids that are taken: {', '.join(sorted(refused.by))}") from None

    async def _put_in(self, drafts: Sequence[Definition], planning: Planning) -> dict[TaskId, Hot]:
        if len(drafts) != 1 or not _is_plain(drafts[0]):
            return await self._put_in_apart(drafts, planning)
        hot = await self._arrivals.ask(_Arrival(drafts[0], planning))
        return {hot.id: hot}

    async def _put_in_together(self, arrivals: Sequence[_Arrival]) -> list[Hot | Exception]:
        """Tasks of several callers in one set. Where that cannot land each goes by itself: none suffers for another."""
        try:
            if all(each.planning is arrivals[0].planning for each in arrivals):
                return [*await self._born([each.draft for each in arrivals], arrivals[0].planning)]
        except (StoreFull, InvalidInput, KeyTaken) as error:
            if len(arrivals) == 1:
                return [error]
        return [answer for each in arrivals for answer in await self._put_in_together([each])]

    async def _born(self, drafts: Sequence[Definition], planning: Planning) -> list[Hot]:
        births = await self._births(drafts, planning, heights={}, done=frozenset(), now=self.now())
        landed = await self._commit(timely(births), at_once=True)
        if isinstance(landed, Conflict):
            # Nothing of theirs can have moved: they came to the store late.
            return list((await self._put_in_apart(drafts, planning)).values())
        if isinstance(landed, Taken):
            raise KeyTaken(landed.by)
        return [task.hot for task in births.tasks]

    async def _put_in_apart(self, drafts: Sequence[Definition], planning: Planning) -> dict[TaskId, Hot]:
        """Lone tasks, additions to DAGs and new DAGs in one set."""
        if not drafts:
            return {}
        if any(draft.depends_on for draft in drafts):
            dags.topological({draft.id: draft.depends_on for draft in drafts})
        new = {group[0].id: self._mint_dag() for group in placement.groups(drafts)}

        async def decide() -> tuple[ChangeSet, dict[TaskId, Hot]]:
            stored = await self._dependencies(drafts)
            sets = [
                await self._put_into(dag_id, mine, planning, stored, is_new=dag_id in new.values())
                for dag_id, mine in placement.placed(drafts, stored, new).items()
            ]
            change_set = self._depending(merged(sets), stored)
            return change_set, {task.hot.id: task.hot for task in change_set.tasks}

        return await self._land(decide)

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
        now = self.now()
        if dag_id is None:
            return await self._births(drafts, planning, heights={}, done=frozenset(), now=now)
        drafts = [draft._replace(dag_id=dag_id) for draft in drafts]
        if is_new:
            fields: dict[str, object] = {"title": drafts[0].title, "tags": drafts[0].tags}
            record = dag_record(fields, dag_id, planning, drafts[0].created_by, now)
            return await self._new_dag(record, drafts, planning, stored, now)
        known = await self.store.record("dag", self.workspace, dag_id)
        if known is None:
            raise InvalidInput("dag_id", f"{dag_id} is unknown: submit a DAG, or leave it out")
        return await self._addition(known, drafts, planning, stored)

    async def _owners(self, drafts: Sequence[Definition]) -> dict[str, TaskId]:
        """Which task each draft comes to: a live one with its key, else the first of the batch that claims it."""
        keys = [draft.idempotency_key for draft in drafts if draft.idempotency_key is not None]
        taken = await self.store.by_key(self.workspace, keys) if keys else {}
        owners = {f"key:{key}": owner for key, owner in taken.items()}
        for draft in drafts:
            owners.setdefault(_claim(draft), draft.id)
        return owners

    async def _answers(
        self,
        drafts: Sequence[Definition],
        owners: Mapping[str, TaskId],
        made: Mapping[TaskId, Hot],
    ) -> list[Enqueued]:
        others = [owner for owner in owners.values() if owner not in made]
        hots = {**made, **(await self.store.load(others) if others else {})}
        definitions = {draft.id: as_stored(draft, made[draft.id]) for draft in drafts if draft.id in made}
        definitions |= await self.store.definitions(others) if others else {}
        new = set(made)

        def answer(draft: Definition) -> Enqueued:
            owner = owners[_claim(draft)]
            created = owner == draft.id and owner in new
            new.discard(owner)  # whoever gives the same id again has not made it
            return Enqueued(hots[owner], definitions[owner], created=created, result=self.result)

        return await in_turns(answer, drafts)


def _is_plain(draft: Definition) -> bool:
    """Whether nothing has to be looked up before it can come in."""
    if draft.dag_id or draft.depends_on or draft.parent_id or draft.rerun_of or draft.idempotency_key:
        return False
    return agent_named(draft.created_by) is None


def _weight(arrival: _Arrival) -> int:
    return len(arrival.draft.prompt) + len(arrival.draft.payload)


def _claim(draft: Definition) -> str:
    """What a draft lays claim to: its key, or else just its id."""
    return f"id:{draft.id}" if draft.idempotency_key is None else f"key:{draft.idempotency_key}"


def _refuse_other_fields(dag: object) -> None:
    if not isinstance(dag, Mapping):
        raise InvalidInput("dag", "must be an object")
    for field in cast(Mapping[object, object], dag):
        if field not in DAG_FIELDS:
            name = str(field)[:100].encode("ascii", "backslashreplace").decode()
            raise InvalidInput(name, f"is not a field of a DAG; those are {', '.join(sorted(DAG_FIELDS))}")


def _depending_on_owners(drafts: Sequence[Definition], owners: Mapping[str, TaskId]) -> Sequence[Definition]:
    """What depends on a task of the batch whose key is taken depends on the task that has it."""
    others = {draft.id: owner for draft in drafts if (owner := owners[_claim(draft)]) != draft.id}
    if not others:
        return drafts
    return [
        draft._replace(depends_on=tuple(dict.fromkeys(others.get(each, each) for each in draft.depends_on)))
        for draft in drafts
    ]


def _ceiling(dag: Mapping[str, object]) -> MicroUsd | None:
    return arguments.money("budget_ceiling_usd", dag.get("budget_ceiling_usd"))
