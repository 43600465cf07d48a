"""What readers ask: tasks, graphs, events, dead letters, figures."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import Unpack, cast

from taskyard.core import dag as dags
from taskyard.core import outcomes
from taskyard.core.breaker import BreakerState
from taskyard.core.changes import Edge, Limit, Record, StoredEvent
from taskyard.core.claiming import type_money
from taskyard.core.dag import DagStatus
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.identifiers import breaker_counter
from taskyard.core.json_value import Json
from taskyard.core.lease import Lease
from taskyard.core.task import Attempt, DagId, Hot, Status, TaskId, lone_task
from taskyard.core.units import MicroUsd, to_iso
from taskyard.definition import document
from taskyard.features.artifacts.rules import referred
from taskyard.features.artifacts.visibility import Filing
from taskyard.features.attempts.views import Input
from taskyard.features.breakers.views import BreakerView
from taskyard.features.budgets.views import Spend, spend_of
from taskyard.features.dags.views import DagView
from taskyard.features.dead_letters.views import DeadLetter
from taskyard.features.events.feed import EventFeed
from taskyard.features.events.labels import FollowedLabels, with_labels
from taskyard.features.events.rules import EventFilter, Wanted
from taskyard.features.tasks.results import Results
from taskyard.features.tasks.views import Details, Task
from taskyard.ledger.options import Options
from taskyard.stores.contract import Filter, Store

MOST_LISTED = 200
EVENTS_AT_ONCE = 500
INLINED = 1 << 20  # bytes of inputs handed over in all; what is bigger is fetched by reference
DEFAULT_LISTED = 50


class Reading(Results, Filing):
    def __init__(self, store: Store, options: Options) -> None:
        super().__init__(store, options)
        self._feed = EventFeed(self)
        self._labels = FollowedLabels()

    async def history(self, task_id: str) -> list[Attempt]:
        """How the attempts at a task ended, in their order."""
        return await self.store.attempts((await self._load(TaskId(task_id))).id)

    async def find(
        self,
        *,
        status: str | Sequence[str] = (),
        type: str | Sequence[str] = (),
        queue: str | None = None,
        agent: str | None = None,
        subject: str | None = None,
        dag_id: str | None = None,
        parent_id: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        limit: int = DEFAULT_LISTED,
        cursor: int = 0,
    ) -> list[Task]:
        """Tasks, newest first. The cursor is the `seq` of the last one seen."""
        if not 1 <= limit <= MOST_LISTED:
            raise InvalidInput("limit", f"must be from 1 to {MOST_LISTED}")
        which = self._filter(
            status=status,
            type=type,
            queue=queue,
            agent=agent,
            subject=subject,
            dag_id=dag_id,
            parent_id=parent_id,
            tag=tag,
            text=text,
        )
        return await self._tasks(await self.store.find(which, after=cursor, limit=limit))

    def _filter(
        self,
        *,
        status: str | Sequence[str] = (),
        type: str | Sequence[str] = (),
        dag_id: str | None = None,
        parent_id: str | None = None,
        **same: str | None,
    ) -> Filter:
        return Filter(
            workspace=self.workspace,
            statuses=frozenset(_status(word) for word in _several(status)),
            types=frozenset(_several(type)),
            dag_id=None if dag_id is None else DagId(dag_id),
            parent_id=None if parent_id is None else TaskId(parent_id),
            **same,
        )

    async def _tasks(self, hots: Sequence[Hot]) -> list[Task]:
        definitions = await self.store.definitions([hot.id for hot in hots])
        return [Task(hot, definitions[hot.id]) for hot in hots]

    async def dag(self, dag_id: str) -> DagView:
        """A graph with its tasks. A lone task's graph is the task alone."""
        record = await self.store.record("dag", self.workspace, dag_id)
        if record is None:
            return await self._lone(DagId(dag_id))
        graph = await self.store.graph(DagId(dag_id))
        limit = (await self.store.limits(self.workspace, [f"dag:{dag_id}"])).get(f"dag:{dag_id}")
        return _dag_view(
            DagId(dag_id),
            record.body,
            graph.tasks,
            graph.edges,
            ceiling=None if limit is None or limit.ceiling is None else MicroUsd(limit.ceiling),
            spent=MicroUsd(limit.spent if limit else 0),
            reserved=MicroUsd(limit.held if limit else 0),
        )

    async def tasks_of(self, dag: DagView) -> list[Task]:
        """The tasks of a graph that was read."""
        return await self._tasks(dag.tasks)

    async def _lone(self, dag_id: DagId) -> DagView:
        task_id = lone_task(dag_id)
        hot = (await self.store.load([task_id])).get(task_id)
        if hot is None or hot.workspace != self.workspace or hot.dag_id is not None:
            raise NotFound("dag", dag_id)
        details = await self.get(task_id)
        body: dict[str, Json] = {
            "title": details.definition.title,
            "created_by": details.definition.created_by,
            "tags": list[Json](details.definition.tags),
            "status": _lone_status(hot).value,
        }
        return _dag_view(dag_id, body, (hot,), (), ceiling=None, spent=details.cost, reserved=hot.reserved)

    async def dags(self, *, limit: int = DEFAULT_LISTED, cursor: str | None = None) -> list[Record]:
        """Stored graphs, the highest id first: of those that the yard named, the newest.

        The cursor is the id of the last one seen.
        """
        if not 1 <= limit <= MOST_LISTED:
            raise InvalidInput("limit", f"must be from 1 to {MOST_LISTED}")
        return await self.store.page("dag", self.workspace, below=cursor, limit=limit)

    async def inputs(self, task_id: str, lease: str | None = None) -> list[Input]:
        """The outputs of what a task depends on, and what its context refers to.

        Under a validator's lease, also the artifacts of the output that it judges.
        """
        if lease is None:
            return await self._given_to(await self._load(TaskId(task_id)))
        hot = await self._held(TaskId(task_id), Lease(lease))
        return await self._given_to(hot, await self._shown_to(hot))

    async def _given_to(self, reader: Hot, shown: Collection[str] = ()) -> list[Input]:
        definition = await self._define(reader.id)
        wanted: dict[str, TaskId] = {f"task:{each}:output": each for each in definition.depends_on}
        for ref in definition.context_refs:
            kind, _, rest = ref.partition(":")
            if kind == "task" and rest.endswith(":output"):
                wanted[ref] = TaskId(rest.removesuffix(":output"))
        outputs = await self.store.outputs(list(wanted.values()))
        refs = [*definition.context_refs, *shown]
        mine = await self.store.load(list(wanted.values()))
        found: list[Input] = []
        room = INLINED
        for ref, source in wanted.items():
            output, hot = outputs.get(source), mine.get(source)
            if output is None or hot is None or hot.workspace != self.workspace:
                continue
            if hot.status is not Status.COMPLETED:
                continue  # it was handed in, and nobody has accepted it
            room -= len(output.data)
            found.append(Input(ref, json.loads(output.data) if room >= 0 else None, room >= 0))
            refs.extend(output.artifacts)
        return [*found, *await self._files_among(refs, shown)]

    async def _files_among(self, refs: Sequence[str], shown: Collection[str]) -> list[Input]:
        """The artifacts among what is referred to, by reference: what each is, to be read by its id."""
        ids = dict.fromkeys(artifact_id for ref in refs if (artifact_id := referred(ref)) is not None)
        found = await self._visible_among(await self._records_of(ids), shown) if ids else []
        return [Input(each.reference, document.write(each), False) for each in found]

    async def dead_letters(
        self, *, reviewed: bool | None = None, limit: int = MOST_LISTED, cursor: int = 0
    ) -> list[DeadLetter]:
        """Tasks that wait for a person, newest first, with the whole story of their failures.

        The cursor is the `seq` of the last one seen.
        """
        which = self._filter(status=Status.DEAD_LETTERED)
        letters: list[DeadLetter] = []
        while len(letters) < limit:
            page = await self.store.find(which, after=cursor, limit=MOST_LISTED)
            letters += [each for each in await self._letters(page) if reviewed in (None, each.record.body["reviewed"])]
            if len(page) < MOST_LISTED:
                break
            cursor = page[-1].seq
        return letters[:limit]

    async def _letters(self, hots: Sequence[Hot]) -> list[DeadLetter]:
        """All of them with a few reads."""
        ids = [hot.id for hot in hots]
        dead = await self.store.named("dead", self.workspace, [outcomes.dead_id(hot.id, hot.attempt) for hot in hots])
        outputs, histories = await self.store.outputs(ids), await self.store.histories(ids)
        letters: list[DeadLetter] = []
        for task in await self._tasks(hots):
            hot = task.hot
            if (record := dead.get(outcomes.dead_id(hot.id, hot.attempt))) is not None:
                attempts, output = histories.get(hot.id, []), outputs.get(hot.id)
                details = Details(hot, task.definition, attempts=attempts, blockers=[], output=output, dead=record)
                letters.append(DeadLetter(details, record))
        return letters

    async def reviews(self) -> list[Record]:
        """Every decision on a dead letter, in the order they were made."""
        records = await self.store.records("dead", self.workspace)
        made = [each for record in records if record.body["reviewed"] for each in _decisions(record)]
        return sorted(made, key=lambda record: cast(int, record.body["reviewed_at"]))

    # Events

    async def events(
        self, *, after: int = 0, limit: int = EVENTS_AT_ONCE, **wanted: Unpack[Wanted]
    ) -> list[StoredEvent]:
        """Events in order, from the oldest on after which none was pruned; those of one task all.

        Of a graph, a task, a word (`event`: `task.ready`, `task.*`), a `task_type`, an agent or a subject: then the log
        is read on until so many match, or it ends.
        """
        which = EventFilter(**wanted)
        at_once = max(limit, EVENTS_AT_ONCE) if which.is_selective else limit
        found: list[StoredEvent] = []
        while page := await self._page(after, at_once, which.task_id):
            found += filter(which.matches, page) if which.is_selective else page
            if len(found) >= limit or len(page) < at_once:
                break
            after = page[-1].seq
        return found[:limit]

    async def _page(self, after: int, limit: int, task_id: str | None) -> list[StoredEvent]:
        of = None if task_id is None else TaskId(task_id)
        # Some older ones may be left of work that is still there: who read them could not read on.
        first = after if of is not None or after else await self.store.pruned(self.workspace)
        page = await self.store.events(after=first, limit=limit, workspace=self.workspace, task_id=of)
        return await (self._labels.add(self.store, page, after) if of is None else with_labels(self.store, page))

    async def tail(self, *, after: int = 0, **wanted: Unpack[Wanted]) -> AsyncGenerator[StoredEvent, None]:
        """Every event from a sequence number on, and each new one as it comes; none is skipped. Filters as in `events`.

        Any number may follow in one process: the newest events are read once for all of them.
        """
        which = EventFilter(**wanted)
        takes_all = which.takes_all  # nearly always, and many follow
        while True:
            for stored in await self._feed.next(after):
                after = stored.seq
                if takes_all or which.matches(stored):
                    yield stored

    async def breakers(self) -> list[BreakerView]:
        """Breakers that have ever moved, and how they stand now."""
        planning, now = await self._configuration.fresh(), self.now()
        policy = planning.breaker_policy
        records = await self.store.records("breaker", self.workspace)
        moved = [(record, planning.breaker(record.id)) for record in records]
        names = [breaker_counter(breaker.type, breaker.generation) for _, breaker in moved]
        failures = await self.store.counts(self.workspace, names) if names else {}
        views: list[BreakerView] = []
        for (record, breaker), name in zip(moved, names, strict=True):
            state = breaker.state(policy, now)
            views.append(
                BreakerView(
                    record.id,
                    state,
                    to_iso(breaker.half_open_at(policy)) if state is BreakerState.OPEN else None,
                    str(record.body["why"]),
                    None if breaker.opened_at is None else to_iso(breaker.opened_at),
                    failures.get(name, 0),
                    policy.threshold(record.id),
                )
            )
        return views

    async def spending(self) -> list[Spend]:
        """What is reserved and was spent, by agent, by graph and by day; and by type of agents that has a budget."""
        limits = await self.store.limits(self.workspace, None)
        stored = (limit for limit in limits.values() if limit.name.startswith(("agent:", "dag:", "day:")))
        return [spend_of(limit) for limit in sorted((*stored, *await self._type_budgets(limits)))]

    async def _type_budgets(self, limits: Mapping[str, Limit]) -> list[Limit]:
        """A budget of a type is a setting, and what stands against it is counted under its period."""
        planning, now = await self._configuration.fresh(), self.now()
        budgets = {name: planning.agent_type(name).budget for name in planning.type_names()}
        rows = {type_money(name, budget.per, now): budget.amount for name, budget in budgets.items()}
        nothing = Limit(self.workspace, "", None, 0, 0)
        return [
            limits.get(name, nothing)._replace(name=name, ceiling=amount)
            for name, amount in rows.items()
            if amount is not None
        ]

    async def stats(self) -> dict[str, dict[str, int]]:
        """Tasks by status and type. Every status is named, also one in which there are none."""
        figures: dict[str, dict[str, int]] = {status.value: {} for status in Status}
        for (status, type_), count in (await self.store.tally(self.workspace)).items():
            figures[status.value][type_] = count
        return figures


def _dag_view(
    dag_id: DagId,
    body: Mapping[str, Json],
    tasks: tuple[Hot, ...],
    edges: tuple[Edge, ...],
    *,
    ceiling: MicroUsd | None,
    spent: MicroUsd,
    reserved: MicroUsd,
) -> DagView:
    edges = tuple(dags.within(edges, {hot.id for hot in tasks}))
    depends = [edge for edge in edges if edge.kind == "depends"]
    children, parents = {edge.child for edge in depends}, {edge.parent for edge in depends}
    status = DagStatus(str(body["status"]))
    if not status.is_final and not any(hot.attempt for hot in tasks):
        status = DagStatus.PENDING
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
        tags=tuple(str(tag) for tag in cast(list[Json], body["tags"])),
    )


def _decisions(record: Record) -> list[Record]:
    """Each of the decisions on one death as if it were the only one: who escalates one has not the last word."""
    body = dict(record.body)
    earlier = cast(list[dict[str, Json]], body.pop("earlier", []))
    return [record._replace(body={**body, **decision}) for decision in (*earlier, {})]


def _lone_status(hot: Hot) -> DagStatus:
    ends = {Status.COMPLETED: DagStatus.COMPLETED, Status.CANCELLED: DagStatus.CANCELLED}
    return ends.get(hot.status, DagStatus.FAILED if hot.status.is_final else DagStatus.RUNNING)


def _several(words: str | Sequence[str]) -> Sequence[str]:
    return (words,) if isinstance(words, str) else words


def _status(word: str) -> Status:
    try:
        return Status(word)
    except ValueError:
        raise InvalidInput("status", f"must be one of {', '.join(Status)}") from None
