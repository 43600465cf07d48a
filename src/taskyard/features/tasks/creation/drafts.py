"""From what a caller asks for to the rows of new tasks: names become ids, rules are checked, nothing is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from taskyard.core import transitions
from taskyard.core.changes import (
    DECISION_GOOD_FOR,
    Blocker,
    ChangeSet,
    Edge,
    NewTask,
    Rescore,
)
from taskyard.core.errors import Forbidden, InvalidInput
from taskyard.core.identifiers import TIME_BLOCKER, task_blocker
from taskyard.core.json_value import is_list, is_mapping, is_sequence
from taskyard.core.planning import Planning
from taskyard.core.priority import rank, rescore_at
from taskyard.core.task import DagId, Definition, Hot, LaneId, TaskId, common_fields
from taskyard.core.units import Micros
from taskyard.definition import arguments
from taskyard.definition.cache import Pattern, Terms, common_shape, pattern_of
from taskyard.definition.definition import born, born_like, define, define_like, fields_given, lane_of, minted
from taskyard.features.agents.rules import refusal
from taskyard.features.attempts.validation.output_checks import check_rule
from taskyard.features.notifications.callbacks import check_callback
from taskyard.features.queues.presets import Presets
from taskyard.features.tasks.creation import growth_limits
from taskyard.features.variants.rules import as_variant
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.tracing import current_trace
from taskyard.outbound import addresses
from taskyard.stores.turns import LONG_TURN, TURN, in_turns, pause

BY_DEFAULT = "human:local"


class Drafts:
    def __init__(self, ledger: Ledger, presets: Presets) -> None:
        self.ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._presets = presets
        self.pattern: Pattern | None = None  # what the last request said, as far as others may say it too

    async def planning_new(self) -> Planning:
        """What new tasks are put in under. With the first of them, the workspace's preset is settled for good."""
        planning = await self.ledger.configuration.current()
        if planning.settings.preset is None:
            planning = await self._presets.first.ask()
        return planning

    def draft(
        self,
        fields: Mapping[str, object],
        planning: Planning,
        *,
        created_by: str,
        dag_id: DagId | None,
        now: Micros,
        under: Definition | None = None,
    ) -> Definition:
        return Drafter(self, planning, Terms(created_by, dag_id), now, under).draft(fields)

    async def named(
        self,
        tasks: object,
        planning: Planning,
        *,
        created_by: str,
        dag_id: DagId | None,
        now: Micros,
        under: Definition | None = None,
    ) -> dict[str, Definition]:
        """The tasks of a graph, with the names they call each other by turned into ids."""
        if not is_list(tasks) or not tasks:
            raise InvalidInput("tasks", "must be a list of at least one task")
        if len(tasks) > growth_limits.MOST_TASKS:
            raise InvalidInput("tasks", f"must be at most {growth_limits.MOST_TASKS} in one call")
        ids: dict[str, TaskId] = {}
        rows: list[Mapping[str, object]] = []
        for index, row in enumerate(tasks):
            if index and index % LONG_TURN == 0:
                await pause()
            if not is_mapping(row):
                raise InvalidInput(f"tasks[{index}]", "must be an object")
            name, task_id = self._name_of(row, index)
            if name in ids:
                raise InvalidInput(f"tasks[{index}].name", f"{name} is used twice")
            ids[name] = task_id
            rows.append(row)
        drafter = Drafter(self, planning, Terms(created_by, dag_id), now, under)
        drafts: dict[str, Definition] = {}
        for index, (name, row) in enumerate(zip(ids, rows, strict=True)):
            if index and index % TURN == 0:
                await pause()
            try:
                drafts[name] = drafter.draft(_with_ids(row, ids[name], ids))
            except InvalidInput as error:
                raise InvalidInput(f"tasks[{index}].{error.facts['field']}", str(error.facts["rule"])) from None
        _refuse_twice(drafts.values())
        return drafts

    def _name_of(self, row: Mapping[str, object], index: int) -> tuple[str, TaskId]:
        given = arguments.task_id(f"tasks[{index}].id", row["id"]) if "id" in row else None
        name = row.get("name", given or f"#{index}")
        if not isinstance(name, str) or not name:
            raise InvalidInput(f"tasks[{index}].name", "must be a text that is not empty")
        return name, given or self.ledger.mint_task()

    async def births(
        self,
        drafts: Sequence[Definition],
        planning: Planning,
        *,
        heights: Mapping[TaskId, int],
        done: frozenset[TaskId],
        now: Micros,
        spawner: Hot | None = None,
        awaited: bool = False,
        lanes: Sequence[LaneId] | None = None,
    ) -> ChangeSet:
        """The rows of new tasks. `done` are dependencies that are completed already."""
        drafts = _dated_anew(drafts, now)
        await self._check_relatives(drafts)
        await self._check_makers(drafts, spawns=spawner is not None)

        def shaped(draft: Definition) -> tuple[tuple[object, ...], Definition, list[str]]:
            names = [task_blocker(each) for each in draft.depends_on if each not in done]
            return (common_fields(draft), heights.get(draft.id, 0), bool(names)), draft, names

        shapes = await in_turns(shaped, drafts, turn=LONG_TURN)
        runs = [list(run) for _, run in groupby(shapes, itemgetter(0))]
        lanes = lanes or await self.ledger.configuration.lane_ids([lane_of(run[0][1], failures=0) for run in runs])
        tasks: list[NewTask] = []
        blockers: list[Blocker] = []
        edges: list[Edge] = []
        for run, lane in zip(runs, lanes, strict=True):
            _, draft, names = run[0]
            later = draft.run_after is not None and draft.run_after > now
            first = born(
                draft,
                planning.policy_for(draft),
                lane=lane,
                blocked=bool(names) or later,
                height=heights.get(draft.id, 0),
                wake_at=draft.run_after if later else None,
                now=now,
            )
            event = transitions.created_event(first, draft.created_by, draft.type)
            for place, (_, draft, names) in enumerate(run):
                if place and place % LONG_TURN == 0:
                    await pause()
                hot, step = first, event
                if place:
                    hot = born_like(first, draft, now=now)
                    step = transitions.created_event_like(event, hot)
                tasks.append(NewTask(hot, draft, step))
                if names or later:
                    all_names = [*names, TIME_BLOCKER] if later else names
                    blockers += [Blocker(hot.id, hot.wait, name) for name in all_names]
                if draft.depends_on or draft.parent_id is not None:
                    edges += _edges(draft, "awaited" if awaited else "spawned")
        return ChangeSet(tasks=tuple(tasks), blockers=tuple(blockers), edges=tuple(edges), at=now)

    async def _check_relatives(self, drafts: Sequence[Definition]) -> None:
        """Where a task is said to come from another, that one is there, and in this workspace."""
        named = {("parent_id", draft.parent_id) for draft in drafts if draft.parent_id is not None}
        named |= {("rerun_of", draft.rerun_of) for draft in drafts if draft.rerun_of is not None}
        if not named:
            return
        there = await self._store.load(sorted({task_id for _, task_id in named}))
        for field, task_id in sorted(named):
            if task_id not in there or there[task_id].workspace != self._workspace:
                raise InvalidInput(field, f"{task_id} is unknown")

    async def _check_makers(self, drafts: Sequence[Definition], *, spawns: bool) -> None:
        """Agents make work within the graph of what they hold, and none for each other: that is for orchestrators."""
        for created_by in {draft.created_by for draft in drafts}:
            if (agent := agent_named(created_by)) is None:
                continue
            addressed = {draft.agent for draft in drafts if draft.created_by == created_by and draft.agent is not None}
            if (why := refusal(await self.ledger.maker(agent), sorted(addressed), spawns=spawns)) is not None:
                raise Forbidden(why)


class Drafter:
    """Drafts the requests of one call, in the trace that is active when the call is made.

    `under` is the task that an agent spawns them from.
    """

    def __init__(
        self, drafts: Drafts, planning: Planning, terms: Terms, now: Micros, under: Definition | None = None
    ) -> None:
        self._drafts = drafts
        self._ledger = drafts.ledger
        self._sizes = drafts.ledger.options.sizes
        self._planning = planning
        self._terms = terms
        self._now = now
        self._under = under
        self._trace = current_trace() or (None if under is None else under.trace)
        self.chosen: set[TaskId] = set()  # the ids that requests named

    def draft(self, fields: Mapping[str, object]) -> Definition:
        """What a request comes to."""
        pattern = self._drafts.pattern
        if (
            pattern is not None
            and self._under is None
            and pattern.fits(common_shape(fields), self._planning, self._terms)
        ):
            task_id = self._id_of(arguments.task_id("id", fields["id"]) if "id" in fields else None)
            definition = define_like(
                pattern.definition, pattern.own, fields, task_id=task_id, now=self._now, sizes=self._sizes
            )
        else:
            definition = self._read(fields)
        if variants := self._planning.variants.get(definition.type):
            definition = as_variant(definition, variants, self._sizes)
        if self._trace is None or definition.trace is not None:
            return definition
        return definition._replace(trace=self._trace)

    def _id_of(self, named: TaskId | None) -> TaskId:
        if named is None:
            return self._ledger.mint_task()
        self.chosen.add(named)
        return named

    def _read(self, fields: Mapping[str, object]) -> Definition:
        """The slow path: every field by its rule."""
        policy = self._planning.policy_of(_queue_of(fields))
        created_by, dag_id, names_dag = self._terms
        ids = minted(fields, policy)
        definition = define(
            fields,
            task_id=self._id_of(ids.task_id),
            workspace=self._ledger.workspace,
            dag_id=ids.dag_id if names_dag else dag_id,
            created_by=created_by,
            now=self._now,
            policy=policy,
            sizes=self._sizes,
        )
        check_rule(definition)
        if definition.callback is not None:
            permitted = addresses.allowed(self._ledger.options.allowed_targets)
            check_callback(definition.callback, permitted, is_spawned=self._under is not None)
        if self._under is not None:
            return growth_limits.placed_under(definition, self._under, fields_given(fields, policy))
        self._drafts.pattern = (
            pattern_of(fields, self._planning, self._terms, policy, definition) or self._drafts.pattern
        )
        return definition


def agent_named(created_by: str) -> str | None:
    """The agent that made a task; None where people did, or what people have set up."""
    kind, _, name = created_by.partition(":")
    return name if kind == "agent" else None


def as_stored(draft: Definition, hot: Hot) -> Definition:
    """The definition, with the time at which its task was stored and the DAG that it was put into."""
    if (draft.created_at, draft.dag_id) == (hot.created_at, hot.dag_id):
        return draft
    return draft._replace(created_at=hot.created_at, dag_id=hot.dag_id)


def _dated_anew(drafts: Sequence[Definition], now: Micros) -> Sequence[Definition]:
    """Drafts that came to nothing for so long that their time would lie before that of tasks stored since."""
    if all(now - draft.created_at <= DECISION_GOOD_FOR for draft in drafts):
        return drafts
    return [draft._replace(created_at=now) for draft in drafts]


def _edges(draft: Definition, kind: str) -> list[Edge]:
    edges = [Edge(parent, draft.id, "depends") for parent in draft.depends_on]
    return edges if draft.parent_id is None else [*edges, Edge(draft.parent_id, draft.id, kind)]


def _with_ids(row: Mapping[str, object], task_id: TaskId, ids: Mapping[str, TaskId]) -> dict[str, object]:
    """The task as the yard knows it: with its id, and with ids where it named its neighbours."""
    fields = {key: value for key, value in row.items() if key != "name"} | {"id": task_id}
    depends = fields.get("depends_on")
    if is_sequence(depends):
        fields["depends_on"] = [_id_of(each, ids) if isinstance(each, str) else each for each in depends]
    return fields


def _id_of(name: str, ids: Mapping[str, TaskId]) -> str:
    if name not in ids and not name.startswith("task_"):
        rule = f"must name a task of the graph, or be task_ and a ULID: {name[:100]} is neither"
        raise InvalidInput("depends_on", rule)
    return ids.get(name, name)


def _queue_of(fields: object) -> str:
    """Where the task goes, as far as that is known before the request is looked at closely."""
    if not is_mapping(fields):
        raise InvalidInput("task", "must be an object")
    queue = fields.get("queue")
    return queue if isinstance(queue, str) else "default"


def _refuse_twice(drafts: Iterable[Definition]) -> None:
    """Each task of a graph is one of its own: no other in it has its id or its key."""
    seen: dict[str, set[str]] = {"id": set(), "idempotency_key": set()}
    for index, draft in enumerate(drafts):
        for field, value in (("id", draft.id), ("idempotency_key", draft.idempotency_key)):
            if value in seen[field]:
                raise InvalidInput(f"tasks[{index}].{field}", "is that of another task of this DAG")
            if value is not None:
                seen[field].add(value)


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
