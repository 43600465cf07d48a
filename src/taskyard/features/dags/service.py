"""DAGs: submitted, extended, read, limited and cancelled as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

from taskyard.core import dag as dags
from taskyard.core.changes import (
    Ceiling,
    ChangeSet,
    Edge,
    Lift,
    Record,
    RecordChange,
)
from taskyard.core.dag import DagStatus
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.identifiers import budget_blocker, dag_ceiling
from taskyard.core.json_value import Json
from taskyard.core.policy import preset
from taskyard.core.record_kinds import DAG
from taskyard.core.task import DagId, Hot, Status, TaskId, lone_task
from taskyard.core.units import Micros, MicroUsd
from taskyard.definition import arguments
from taskyard.definition.fields import whole
from taskyard.features.dags import listing, walk
from taskyard.features.dags.critical_path import critical_path
from taskyard.features.dags.estimates import Estimates
from taskyard.features.dags.listing import DagFilter
from taskyard.features.dags.views import Dag, DagEstimate, DagInShort, DagPage, DagView, dag_in_short
from taskyard.features.tasks.answers import Cancelled
from taskyard.features.tasks.cancellation import Cancellation
from taskyard.features.tasks.creation import growth_limits
from taskyard.features.tasks.creation.arrivals import BY_DEFAULT
from taskyard.features.tasks.creation.drafts import Drafts, as_stored
from taskyard.features.tasks.creation.growth import Growth, refuse_other_fields
from taskyard.features.tasks.lookup.queries import DEFAULT_LISTED, MOST_LISTED, Queries
from taskyard.features.tasks.lookup.results import Results
from taskyard.features.tasks.task_rows import TaskInShort
from taskyard.features.tasks.views import Task
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL
from taskyard.ledger.tracing import enqueue_span

MOST_LOOKED_AT = 5_000  # graphs, for one page of those that match


class Dags:
    def __init__(
        self,
        ledger: Ledger,
        drafts: Drafts,
        growth: Growth,
        results: Results,
        cancellation: Cancellation,
        queries: Queries,
        estimates: Estimates,
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._drafts = drafts
        self._growth = growth
        self._results = results
        self._cancellation = cancellation
        self._queries = queries
        self._estimates = estimates

    async def submit(self, dag: Mapping[str, object], *, created_by: str = BY_DEFAULT) -> Dag:
        """Put a whole graph in, or nothing. Its tasks name each other by `name`, or by ids they mint."""
        refuse_other_fields(dag)

        async def decide() -> tuple[ChangeSet | None, Dag]:
            change_set, made = await self._growth.graphed(dag, created_by=created_by)
            if "id" in dag and await self._is_taken(made.id):
                raise InvalidInput("id", "is taken by another DAG")
            return change_set, made

        with enqueue_span(dag.get("tasks")):
            return await self._growth.commit_new(decide)

    async def estimate(self, dag: Mapping[str, object], *, created_by: str = BY_DEFAULT) -> DagEstimate:
        """What a graph would cost by the history of its types. It is checked as `submit` checks it, and not stored."""
        _, made = await self._growth.graphed(dag, created_by=created_by)
        return await self._estimates.of(made, arguments.money("budget_ceiling_usd", dag.get("budget_ceiling_usd")))

    async def _is_taken(self, dag_id: DagId) -> bool:
        """Whether there is such a graph, if only a lone task's, in whichever workspace: their tasks must not mix."""
        if await self._store.record("dag", self._workspace, dag_id) is not None:
            return True
        return bool(await self._store.load([lone_task(dag_id)]) or (await self._store.graph(dag_id)).tasks)

    async def add(self, dag_id: str, tasks: Sequence[Mapping[str, object]], *, created_by: str = BY_DEFAULT) -> Dag:
        """Add tasks to a graph that exists; a finished one goes on.

        They may depend on each other, and on any task of the workspace.
        """
        created_by = arguments.name("created_by", created_by)
        with enqueue_span(tasks):
            return await self._added_tasks(DagId(dag_id), tasks, created_by)

    async def _added_tasks(self, dag_id: DagId, tasks: Sequence[Mapping[str, object]], created_by: str) -> Dag:
        planning, now = await self._drafts.planning_new(), self._ledger.now()
        named = await self._drafts.named(list(tasks), planning, created_by=created_by, dag_id=dag_id, now=now)
        drafts = list(named.values())

        async def decide() -> tuple[ChangeSet, dict[TaskId, Hot]]:
            record = await self._store.record("dag", self._workspace, dag_id)
            if record is None:
                raise NotFound("dag", dag_id)
            stored = await self._growth.dependencies(drafts)
            change_set = self._growth.depending(await self._growth.addition(record, drafts, planning, stored), stored)
            return change_set, {task.hot.id: task.hot for task in change_set.tasks}

        hots = await self._growth.commit_new(decide)
        return Dag(
            id=dag_id,
            tasks={
                name: Task(hots[draft.id], as_stored(draft, hots[draft.id]), created=True)
                for name, draft in named.items()
            },
        )

    async def get(self, dag_id: str) -> DagView:
        """A graph with its tasks. A lone task's graph is the task alone."""
        record = await self._store.record("dag", self._workspace, dag_id)
        if record is None:
            return await self._lone(DagId(dag_id))
        graph = await self._store.graph(DagId(dag_id))
        limit = (await self._store.limits(self._workspace, [dag_ceiling(dag_id)])).get(dag_ceiling(dag_id))
        return _dag_view(
            DagId(dag_id),
            record.body,
            await self._queries.in_short(graph.tasks),
            graph.edges,
            ceiling=None if limit is None or limit.ceiling is None else MicroUsd(limit.ceiling),
            spent=MicroUsd(limit.spent if limit else 0),
            reserved=MicroUsd(limit.held if limit else 0),
            now=self._ledger.now(),
        )

    async def tasks(self, dag: DagView) -> list[Task]:
        """The tasks of a graph that was read."""
        hots = await self._store.load([task.id for task in dag.tasks])
        return await self._queries.tasks([hots[task.id] for task in dag.tasks if task.id in hots])

    async def _lone(self, dag_id: DagId) -> DagView:
        task_id = lone_task(dag_id)
        hot = (await self._store.load([task_id])).get(task_id)
        if hot is None or hot.workspace != self._workspace or hot.dag_id is not None:
            raise NotFound("dag", dag_id)
        details = await self._results.get(task_id)
        body: dict[str, Json] = {
            "title": details.title,
            "created_by": details.created_by,
            "tags": list[Json](details.tags),
            "status": _lone_status(hot).value,
        }
        return _dag_view(
            dag_id,
            body,
            await self._queries.in_short([hot]),
            (),
            ceiling=None,
            spent=details.cost,
            reserved=hot.reserved,
            now=self._ledger.now(),
        )

    async def list(
        self, *, limit: int = DEFAULT_LISTED, cursor: str | None = None, **which: Unpack[DagFilter]
    ) -> list[DagInShort]:
        """Stored graphs, the highest id first: of those that the yard named, the newest.

        The cursor is the id of the last one seen. Where a filter is given, at most 5,000 graphs are looked at.
        """
        return (await self.page(limit=limit, cursor=cursor, **which)).dags

    async def page(
        self, *, limit: int = DEFAULT_LISTED, cursor: str | None = None, **which: Unpack[DagFilter]
    ) -> DagPage:
        """The same, with the cursor of the next page, which there may be also after one that is not full."""
        if not 1 <= limit <= MOST_LISTED:
            raise InvalidInput("limit", f"must be from 1 to {MOST_LISTED}")
        wanted, found, seen = listing.asked(**which), list[tuple[Record, DagStatus]](), 0
        size = limit if wanted == listing.EVERYTHING else MOST_LISTED
        while len(found) < limit and seen < MOST_LOOKED_AT:
            records = await self._store.page("dag", self._workspace, below=cursor, limit=size)
            statuses = await self._statuses([each for each in records if listing.matches(wanted, each)])
            seen += len(records)
            for record in records:
                cursor = record.id
                if (status := statuses.get(record.id)) is not None and listing.is_wanted(wanted, status):
                    found.append((record, status))
                    if len(found) == limit:
                        break
            if len(records) < size and (not records or cursor == records[-1].id):
                cursor = None
                break
        return DagPage(await self._in_short(found), cursor)

    async def _statuses(self, records: Sequence[Record]) -> dict[str, DagStatus]:
        stored = {record.id: DagStatus(DAG.of(record)["status"]) for record in records}
        going_on = [DagId(each) for each, status in stored.items() if not status.is_final]
        begun = await self._store.begun(going_on) if going_on else set[DagId]()
        return {each: dags.status_of(status, has_begun=each in begun) for each, status in stored.items()}

    async def _in_short(self, found: Sequence[tuple[Record, DagStatus]]) -> list[DagInShort]:
        limits = await self._store.limits(self._workspace, [dag_ceiling(record.id) for record, _ in found])
        return [dag_in_short(record, limits.get(dag_ceiling(record.id)), status) for record, status in found]

    async def cancel(
        self, dag_id: str, reason: str = "cancelled", *, by: str = LOCAL, dry_run: bool = False
    ) -> Cancelled:
        """Cancel every task of a graph that has not ended; or only say which."""
        arguments.words("reason", reason)
        record = await self._store.record("dag", self._workspace, dag_id)
        if record is None:
            return await self._cancel_lone(DagId(dag_id), reason, by, dry_run=dry_run)
        follows = preset(str(record.body["preset"])).cascades
        intent: dict[str, Json] = {"dag": dag_id, "reason": reason, "follows": follows}
        if dry_run:
            return await self._would_cancel_all(DagId(dag_id), follows=follows)
        await self._ledger.configure("cascade", dag_id, intent, "dag.cancelling", by)
        return Cancelled(tuple(await self._cancellation.finish_cascade(dag_id)))

    async def _would_cancel_all(self, dag_id: DagId, *, follows: bool) -> Cancelled:
        live = [hot.id for hot in (await self._store.graph(dag_id)).tasks if not hot.status.is_final]
        further = await walk.below(self._store, live if follows else [])
        return Cancelled(tuple(dict.fromkeys([*live, *further])))

    async def _cancel_lone(self, dag_id: DagId, reason: str, by: str, *, dry_run: bool) -> Cancelled:
        """A lone task's graph is the task alone."""
        task_id = lone_task(dag_id)
        hot = (await self._store.load([task_id])).get(task_id)
        if hot is None or hot.workspace != self._workspace or hot.dag_id is not None:
            raise NotFound("dag", dag_id)
        return (
            Cancelled(())
            if hot.status.is_final
            else await self._cancellation.cancel(task_id, reason, by=by, dry_run=dry_run)
        )

    async def set_budget(self, dag_id: str, ceiling_usd: str | float | None, *, by: str = LOCAL) -> None:
        """What a graph may spend in all; nothing: no limit. What waited for its money gets another chance."""
        ceiling = arguments.money("ceiling_usd", ceiling_usd)
        name = dag_ceiling(dag_id)

        async def decide() -> tuple[ChangeSet, None]:
            if await self._store.record("dag", self._workspace, dag_id) is None:
                raise NotFound("dag", dag_id)
            freed = (Lift(budget_blocker(name)),) if ceiling is None else ()
            audited = self._ledger.audit("dag.budget", by, {"budget_ceiling": ceiling}, DagId(dag_id))
            ceilings = (Ceiling(self._workspace, name, ceiling),)
            return ChangeSet(ceilings=ceilings, lifts=freed, events=(audited,), at=self._ledger.now()), None

        await self._ledger.commit(decide)

    async def set_limit(self, dag_id: str, max_tasks: int | None, *, by: str = LOCAL) -> None:
        """How many tasks a graph may have in all; nothing: as many as any."""
        most = (
            None if max_tasks is None else whole(max_tasks, "max_tasks", least=1, most=growth_limits.HIGHEST_MOST_TASKS)
        )

        async def decide() -> tuple[ChangeSet, None]:
            record = await self._store.record("dag", self._workspace, dag_id)
            if record is None:
                raise NotFound("dag", dag_id)
            change = RecordChange("dag", self._workspace, dag_id, record.version, {**record.body, "max_tasks": most})
            audited = self._ledger.audit("dag.limit", by, {"max_tasks": most}, DagId(dag_id))
            return ChangeSet(records=(change,), events=(audited,), at=self._ledger.now()), None

        await self._ledger.commit(decide)


def _dag_view(
    dag_id: DagId,
    body: Mapping[str, Json],
    tasks: tuple[TaskInShort, ...],
    edges: tuple[Edge, ...],
    *,
    ceiling: MicroUsd | None,
    spent: MicroUsd,
    reserved: MicroUsd,
    now: Micros,
) -> DagView:
    edges = tuple(dags.within(edges, {hot.id for hot in tasks}))
    depends = [edge for edge in edges if edge.kind == "depends"]
    children, parents = {edge.child for edge in depends}, {edge.parent for edge in depends}
    status = dags.status_of(DagStatus(str(body["status"])), has_begun=any(hot.attempt for hot in tasks))
    counts: dict[Status, int] = {}
    for hot in tasks:
        counts[hot.status] = counts.get(hot.status, 0) + 1
    return DagView(
        id=dag_id,
        title=str(body["title"]),
        status=status,
        counts=counts,
        tasks=tasks,
        edges=edges,
        roots=tuple(hot.id for hot in tasks if hot.id not in children),
        leaves=tuple(hot.id for hot in tasks if hot.id not in parents),
        budget_ceiling=ceiling,
        spent=spent,
        reserved=reserved,
        created_by=str(body["created_by"]),
        tags=tuple(DAG.body(body)["tags"]),
        critical_path=critical_path(tasks, edges, now),
    )


def _lone_status(hot: Hot) -> DagStatus:
    ends = {Status.COMPLETED: DagStatus.COMPLETED, Status.CANCELLED: DagStatus.CANCELLED}
    return ends.get(hot.status, DagStatus.FAILED if hot.status.is_final else DagStatus.RUNNING)
