"""Putting work in: single tasks, batches, whole graphs, and additions to a graph that exists."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from ulid import ULID

from taskyard.core import dag as dags
from taskyard.core import outcomes, transitions
from taskyard.core.changes import (
    Blocker,
    Ceiling,
    ChangeSet,
    Count,
    Edge,
    Event,
    Expect,
    NewTask,
    Record,
    RecordChange,
    Rescore,
    merged,
)
from taskyard.core.dag import DagStatus
from taskyard.core.definition import born, define, lane_of, minted
from taskyard.core.errors import Contended, InvalidInput, NotFound
from taskyard.core.jsonvalue import compact
from taskyard.core.planning import Planning
from taskyard.core.priority import rank, rescore_at
from taskyard.core.task import WAITING, DagId, Definition, Hot, Json, Status, TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.service import arguments
from taskyard.service.engine import TRIES, Engine, KeyTaken
from taskyard.service.validation import check_rule
from taskyard.service.views import Task

BY_DEFAULT = "human:local"
T = TypeVar("T")
DAG_FIELDS = frozenset({"title", "tasks", "budget_ceiling_usd", "tags", "id"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dag:
    """A graph that was submitted: its id, and its tasks by the names they were submitted under."""

    id: DagId
    tasks: Mapping[str, Task]


class Enqueueing(Engine):
    async def enqueue(self, type: str, *, created_by: str = BY_DEFAULT, **fields: Any) -> Task:
        """Put one task in. Where its key is taken by a live task, that task is the answer (`created` is False).

        The fields are those of PRODUCT section 3, those of `spec` and `spec.constraints` also by their own names.
        """
        (task,) = await self.enqueue_many([{"type": type, **fields}], created_by=created_by)
        return task

    async def enqueue_many(self, tasks: Sequence[Mapping[str, object]], *, created_by: str = BY_DEFAULT) -> list[Task]:
        """Put many tasks in, all or none. One whose key or id is taken is answered with the task that has it."""
        arguments.name("created_by", created_by)
        planning, now = await self._planning(), self.now()
        drafts = [self._draft(fields, planning, created_by=created_by, dag_id=None, now=now) for fields in tasks]
        chosen = {draft.id for draft, fields in zip(drafts, tasks, strict=True) if draft.id in fields.values()}
        if sum(bool(draft.depends_on) for draft in drafts) > 1:
            raise InvalidInput("depends_on", "may be given for one task of a batch; submit a DAG for more")
        for _ in range(TRIES):
            owners = await self._owners(drafts)
            there = await self.store.load(sorted(chosen)) if chosen else {}
            if any(hot.workspace != self.workspace for hot in there.values()):
                raise InvalidInput("id", "is taken")  # by somebody this caller may not even know of
            new = {draft.id: draft for draft in drafts if owners[_claim(draft)] == draft.id and draft.id not in there}
            try:
                made = await self._put_in(list(new.values()), planning)
            except KeyTaken:
                continue  # somebody was quicker: now theirs is there to be found
            return await self._answers(drafts, owners, made, planning)
        raise Contended(tries=TRIES)

    async def submit(self, dag: Mapping[str, object], *, created_by: str = BY_DEFAULT) -> Dag:
        """Put a whole graph in, or nothing. Its tasks name each other by `name`, or by ids they mint."""
        _refuse_other_fields(dag)
        arguments.name("created_by", created_by)
        dag_id = arguments.dag_id("id", dag["id"]) if "id" in dag else DagId(f"dag_{ULID()}")
        planning, now = await self._planning(), self.now()
        named = self._named(dag.get("tasks"), planning, created_by=created_by, dag_id=dag_id, now=now)
        record = dag_record(dag, dag_id, planning, created_by, now)
        ceiling = _ceiling(dag)
        drafts = list(named.values())
        parents = {draft.id: set(draft.depends_on) for draft in drafts}
        _refuse_unknown(parents)
        heights = dags.heights(parents)
        births = await self._births(drafts, planning, heights=heights, done=frozenset(), now=now)
        event = Event(
            "dag.created", self.workspace, None, dag_id, now, None, None, None, compact({"tasks": len(drafts)})
        )
        change_set = replace(
            births,
            records=(record,),
            counts=(Count(self.workspace, f"dag:{dag_id}:live", len(drafts)),),
            ceilings=() if ceiling is None else (Ceiling(self.workspace, f"dag:{dag_id}", ceiling),),
            events=(event,),
        )

        async def decide() -> tuple[ChangeSet | None, None]:
            if "id" in dag and await self._is_taken(dag_id):
                raise InvalidInput("id", "is taken by another DAG")
            return change_set, None

        await self._land_new(decide)
        hots = {task.hot.id: task.hot for task in births.tasks}
        return Dag(
            id=dag_id,
            tasks={
                name: Task(hots[draft.id], draft, planning.policy_of(draft.queue), created=True)
                for name, draft in named.items()
            },
        )

    async def _is_taken(self, dag_id: DagId) -> bool:
        """Whether there is such a graph, if only a lone task's, in whichever workspace: their tasks must not mix."""
        if await self.store.record("dag", self.workspace, dag_id) is not None:
            return True
        return bool(await self.store.load([transitions.lone_task(dag_id)]) or (await self.store.graph(dag_id)).tasks)

    async def add(self, dag_id: str, tasks: Sequence[Mapping[str, object]], *, created_by: str = BY_DEFAULT) -> Dag:
        """Add tasks to a graph that exists; a finished one goes on. They may depend on each other and on its tasks."""
        arguments.name("created_by", created_by)
        planning, now = await self._planning(), self.now()
        named = self._named(list(tasks), planning, created_by=created_by, dag_id=DagId(dag_id), now=now)
        drafts = list(named.values())

        async def decide() -> tuple[ChangeSet, dict[TaskId, Hot]]:
            record = await self.store.record("dag", self.workspace, dag_id)
            if record is None:
                raise NotFound("dag", dag_id)
            change_set = await self._addition(record, drafts, planning)
            return change_set, {task.hot.id: task.hot for task in change_set.tasks}

        hots = await self._land_new(decide)
        return Dag(
            id=DagId(dag_id),
            tasks={
                name: Task(hots[draft.id], draft, planning.policy_of(draft.queue), created=True)
                for name, draft in named.items()
            },
        )

    async def _land_new(self, decide: Callable[[], Awaitable[tuple[ChangeSet | None, T]]]) -> T:
        """Land tasks of a graph. Theirs is not the answer where somebody has their key: the graph needs them all."""
        try:
            return await self._land(decide)
        except KeyTaken as refused:
            raise InvalidInput("tasks", f"uses keys or ids that are taken: {', '.join(sorted(refused.by))}") from None

    # Drafting

    def _draft(
        self,
        fields: Mapping[str, object],
        planning: Planning,
        *,
        created_by: str,
        dag_id: DagId | None,
        now: Micros,
    ) -> Definition:
        policy = planning.policy_of(_queue_of(fields))
        task_id = minted(fields, policy).task_id or self._mint_task()
        definition = define(
            fields,
            task_id=task_id,
            workspace=self.workspace,
            dag_id=dag_id,
            created_by=created_by,
            now=now,
            policy=policy,
            sizes=self.options.sizes,
        )
        check_rule(definition)
        return definition

    def _named(
        self, tasks: object, planning: Planning, *, created_by: str, dag_id: DagId | None, now: Micros
    ) -> dict[str, Definition]:
        """The tasks of a graph, with the names they call each other by turned into ids."""
        if not isinstance(tasks, list) or not tasks:
            raise InvalidInput("tasks", "must be a list of at least one task")
        rows = cast(list[object], tasks)
        if len(rows) > self.options.sizes.max_dag_tasks:
            raise InvalidInput("tasks", f"must be at most {self.options.sizes.max_dag_tasks}")
        ids: dict[str, TaskId] = {}
        for index, row in enumerate(rows):
            name, task_id = self._name_of(row, index)
            if name in ids:
                raise InvalidInput(f"tasks[{index}].name", f"{name} is used twice")
            ids[name] = task_id
        drafts: dict[str, Definition] = {}
        for index, (name, row) in enumerate(zip(ids, cast(list[Mapping[str, object]], rows), strict=True)):
            try:
                drafts[name] = self._draft(
                    _with_ids(row, ids[name], ids), planning, created_by=created_by, dag_id=dag_id, now=now
                )
            except InvalidInput as error:
                raise InvalidInput(f"tasks[{index}].{error.facts['field']}", str(error.facts["rule"])) from None
        _refuse_twice(drafts.values())
        return drafts

    def _name_of(self, row: object, index: int) -> tuple[str, TaskId]:
        if not isinstance(row, Mapping):
            raise InvalidInput(f"tasks[{index}]", "must be an object")
        fields = cast(Mapping[str, object], row)
        given = arguments.task_id(f"tasks[{index}].id", fields["id"]) if "id" in fields else None
        name = fields.get("name", given or f"#{index}")
        if not isinstance(name, str) or not name:
            raise InvalidInput(f"tasks[{index}].name", "must be a text that is not empty")
        return name, given or self._mint_task()

    # Births

    async def _births(
        self,
        drafts: Sequence[Definition],
        planning: Planning,
        *,
        heights: Mapping[TaskId, int],
        done: frozenset[TaskId],
        now: Micros,
        awaited: bool = False,
    ) -> ChangeSet:
        """The rows of new tasks. `done` are dependencies that are completed already."""
        await self._check_relatives(drafts)
        lanes = await self._lanes([lane_of(draft, failures=0) for draft in drafts])
        tasks: list[NewTask] = []
        blockers: list[Blocker] = []
        edges: list[Edge] = []
        for draft, lane in zip(drafts, lanes, strict=True):
            waits = [f"task:{each}" for each in draft.depends_on if each not in done]
            later = draft.run_after is not None and draft.run_after > now
            names = [*waits, "time"] if later else waits
            hot = born(
                draft,
                planning.policy_of(draft.queue),
                lane=lane,
                blocked=bool(names),
                height=heights.get(draft.id, 0),
                wake_at=draft.run_after if later else None,
                now=now,
            )
            tasks.append(NewTask(hot, draft, transitions.created_event(hot, draft.created_by, draft.type)))
            blockers += [Blocker(hot.id, hot.wait, name) for name in names]
            edges += [Edge(parent, hot.id, "depends") for parent in draft.depends_on]
            if draft.parent_id is not None:
                edges.append(Edge(draft.parent_id, hot.id, "awaited" if awaited else "spawned"))
        return ChangeSet(tasks=tuple(tasks), blockers=tuple(blockers), edges=tuple(edges), at=now)

    async def _check_relatives(self, drafts: Sequence[Definition]) -> None:
        """Where a task is said to come from another, that one is there, and in this workspace."""
        said = [("parent_id", draft.parent_id) for draft in drafts] + [("rerun_of", draft.rerun_of) for draft in drafts]
        named = {(field, task_id) for field, task_id in said if task_id is not None}
        there = await self.store.load(sorted({task_id for _, task_id in named})) if named else {}
        for field, task_id in sorted(named):
            if task_id not in there or there[task_id].workspace != self.workspace:
                raise InvalidInput(field, f"{task_id} is unknown")

    async def _put_in(self, drafts: Sequence[Definition], planning: Planning) -> dict[TaskId, Hot]:
        """Lone tasks in one set; those that depend on something join its graph in the same one."""
        if not drafts:
            return {}

        async def decide() -> tuple[ChangeSet, dict[TaskId, Hot]]:
            now = self.now()
            joining = [draft for draft in drafts if draft.depends_on]
            lone = await self._births(
                [draft for draft in drafts if not draft.depends_on], planning, heights={}, done=frozenset(), now=now
            )
            sets = [lone, *[await self._joined(draft, planning, now) for draft in joining]]
            change_set = merged(sets)
            return change_set, {task.hot.id: task.hot for task in change_set.tasks}

        return await self._land(decide)

    async def _joined(self, draft: Definition, planning: Planning, now: Micros) -> ChangeSet:
        """A task that depends on existing ones becomes part of their graph."""
        parents = await self._parents(draft)
        dag_ids = {hot.dag_id for hot in parents.values() if hot.dag_id is not None}
        if len(dag_ids) > 1:
            raise InvalidInput("depends_on", "must all be in one DAG")
        if dag_ids:
            record = await self.store.record("dag", self.workspace, dag_ids.pop() or "")
            if record is None:
                raise InvalidInput("depends_on", "refers to a DAG that is gone")
            return await self._addition(record, [replace(draft, dag_id=DagId(record.id))], planning)
        return await self._new_graph(draft, list(parents.values()), planning, now)

    async def _new_graph(self, draft: Definition, parents: Sequence[Hot], planning: Planning, now: Micros) -> ChangeSet:
        """Something depends on lone tasks: they and it are a graph from now on."""
        dag_id = transitions.lone_dag(parents[0].id)
        record = dag_record({}, dag_id, planning, draft.created_by, now)
        adopted = merged(
            [outcomes.adopted(hot, dag_id=dag_id, spent=await self._spent(hot), now=now) for hot in parents]
        )
        done = frozenset(hot.id for hot in parents if hot.status is Status.COMPLETED)
        births = await self._births([replace(draft, dag_id=dag_id)], planning, heights={}, done=done, now=now)
        live = sum(hot.status is not Status.COMPLETED for hot in parents)
        return replace(
            births,
            changes=adopted.changes,
            spends=adopted.spends,
            records=(record,),
            counts=(
                Count(self.workspace, f"dag:{dag_id}:live", live + 1),
                Count(self.workspace, f"dag:{dag_id}:completed", len(parents) - live),
            ),
            rescores=await self._rescored({hot.id: 1 for hot in parents if hot.status in WAITING}, parents, now),
        )

    async def _parents(self, draft: Definition) -> dict[TaskId, Hot]:
        parents = await self.store.load(draft.depends_on)
        for dependency in draft.depends_on:
            hot = parents.get(dependency)
            if hot is None or hot.workspace != self.workspace:
                raise InvalidInput("depends_on", f"{dependency} is unknown")
            if hot.status is Status.CANCELLED:
                raise InvalidInput("depends_on", f"{dependency} is cancelled, so this would wait for ever")
        return parents

    async def _addition(
        self,
        record: Record,
        drafts: Sequence[Definition],
        planning: Planning,
        *,
        parent: Hot | None = None,
        awaited: bool = False,
    ) -> ChangeSet:
        """New tasks in an existing graph. The graph's version guards it, so that two additions cannot close a cycle."""
        now, dag_id = self.now(), DagId(record.id)
        graph = await self.store.graph(dag_id)
        # A lone task that spawns is the first of its graph, which is not stored as one yet.
        there = {hot.id: hot for hot in ((*graph.tasks, parent) if parent else graph.tasks)}
        self._check_dependencies(drafts, there, dag_id)
        parents: dict[TaskId, set[TaskId]] = {task_id: set() for task_id in there}
        parents |= dags.waits_for(graph.edges)
        parents |= {draft.id: set(draft.depends_on) for draft in drafts}
        if parent is not None and awaited:
            parents[parent.id] = parents[parent.id] | {draft.id for draft in drafts}
        finished = {hot.id for hot in there.values() if hot.status.is_final}
        heights = dags.heights(parents, finished)
        done = frozenset(hot.id for hot in there.values() if hot.status is Status.COMPLETED)
        births = await self._births(drafts, planning, heights=heights, done=done, awaited=awaited, now=now)
        used = {dependency for draft in drafts for dependency in draft.depends_on} & set(there)
        rising = {
            hot.id: heights[hot.id] for hot in there.values() if hot.status in WAITING and heights[hot.id] != hot.height
        }
        body: dict[str, Json] = {**record.body, "status": DagStatus.RUNNING.value, "ended_at": None}
        reopened = DagStatus(str(record.body["status"])).is_final
        event = Event("dag.reopened", self.workspace, None, dag_id, now, None, None, None, None)
        return replace(
            births,
            expects=tuple(Expect(each, there[each].version) for each in sorted(used)),
            records=(RecordChange("dag", self.workspace, dag_id, record.version, body),),
            counts=(Count(self.workspace, f"dag:{dag_id}:live", len(drafts) + (record.version == 0)),),
            rescores=await self._rescored(rising, there.values(), now),
            events=(event,) if reopened else (),
        )

    def _check_dependencies(self, drafts: Sequence[Definition], there: Mapping[TaskId, Hot], dag_id: DagId) -> None:
        new = {draft.id for draft in drafts}
        for draft in drafts:
            for dependency in draft.depends_on:
                if dependency not in new and dependency not in there:
                    raise InvalidInput("depends_on", f"{dependency} is unknown in {dag_id}")
                if dependency in there and there[dependency].status is Status.CANCELLED:
                    raise InvalidInput("depends_on", f"{dependency} is cancelled, so this would wait for ever")

    async def _rescored(self, heights: Mapping[TaskId, int], tasks: Iterable[Hot], now: Micros) -> tuple[Rescore, ...]:
        """The new places of tasks with more hanging below them than before."""
        definitions = await self.store.definitions(list(heights))
        return tuple(rescored(hot, definitions[hot.id], heights[hot.id], now) for hot in tasks if hot.id in heights)

    # Answers

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
        planning: Planning,
    ) -> list[Task]:
        others = [owner for owner in owners.values() if owner not in made]
        hots = {**made, **(await self.store.load(others) if others else {})}
        definitions = {draft.id: draft for draft in drafts if draft.id in made}
        definitions |= await self.store.definitions(others) if others else {}
        answers: list[Task] = []
        for draft in drafts:
            owner = owners[_claim(draft)]
            policy = planning.policy_of(definitions[owner].queue)
            created = owner == draft.id and owner in made
            answers.append(Task(hots[owner], definitions[owner], policy, created=created))
        return answers


def _claim(draft: Definition) -> str:
    """What a draft lays claim to: its key, or else just its id."""
    return f"id:{draft.id}" if draft.idempotency_key is None else f"key:{draft.idempotency_key}"


def _with_ids(row: Mapping[str, object], task_id: TaskId, ids: Mapping[str, TaskId]) -> dict[str, object]:
    """The task as the yard knows it: with its id, and with ids where it named its neighbours."""
    fields = {key: value for key, value in row.items() if key != "name"} | {"id": task_id}
    depends = fields.get("depends_on")
    if isinstance(depends, list | tuple):
        named = cast(Iterable[object], depends)
        fields["depends_on"] = [ids.get(each, each) if isinstance(each, str) else each for each in named]
    return fields


def _queue_of(fields: object) -> str:
    """Where the task goes, as far as that can be told before the request is looked at closely."""
    if not isinstance(fields, Mapping):
        raise InvalidInput("task", "must be an object")
    queue = cast(Mapping[str, object], fields).get("queue")
    return queue if isinstance(queue, str) else "default"


def _refuse_other_fields(dag: object) -> None:
    if not isinstance(dag, Mapping):
        raise InvalidInput("dag", "must be an object")
    for field in cast(Mapping[object, object], dag):
        if field not in DAG_FIELDS:
            name = str(field)[:100].encode("ascii", "backslashreplace").decode()
            raise InvalidInput(name, f"is not a field of a DAG; those are {', '.join(sorted(DAG_FIELDS))}")


def _refuse_twice(drafts: Iterable[Definition]) -> None:
    """Each task of a graph is one of its own: no other in it has its id or its key."""
    seen: dict[str, set[str]] = {"id": set(), "idempotency_key": set()}
    for index, draft in enumerate(drafts):
        for field, value in (("id", draft.id), ("idempotency_key", draft.idempotency_key)):
            if value in seen[field]:
                raise InvalidInput(f"tasks[{index}].{field}", "is that of another task of this DAG")
            if value is not None:
                seen[field].add(value)


def _refuse_unknown(parents: Mapping[TaskId, set[TaskId]]) -> None:
    for task, depends_on in parents.items():
        for dependency in depends_on:
            if dependency not in parents:
                raise InvalidInput("depends_on", f"{dependency}, which {task} needs, is not in this DAG")


def _ceiling(dag: Mapping[str, object]) -> MicroUsd | None:
    return arguments.money("budget_ceiling_usd", dag.get("budget_ceiling_usd"))


def dag_record(
    fields: Mapping[str, object], dag_id: DagId, planning: Planning, created_by: str, now: Micros
) -> RecordChange:
    tags = arguments.names("tags", cast(Iterable[str], fields.get("tags", ())), most=50, longest=100)
    body: dict[str, Json] = {
        "title": arguments.words("title", fields.get("title", "")),
        "tags": list[Json](tags),
        "created_by": created_by,
        "created_at": now,
        "status": DagStatus.RUNNING.value,
        "ended_at": None,
        "preset": planning.policy_of("default").name,
    }
    return RecordChange("dag", planning.workspace, dag_id, 0, body)


def rescored(hot: Hot, definition: Definition, height: int, now: Micros) -> Rescore:
    """A waiting task's place in its lane as of now."""
    place = rank(
        priority=definition.priority,
        boost=definition.boost,
        created_at=definition.created_at,
        height=height,
        deadline=definition.deadline,
        now=now,
    )
    again = None if definition.deadline is None else rescore_at(definition.deadline, now)
    return Rescore(hot.id, place, height, again)
