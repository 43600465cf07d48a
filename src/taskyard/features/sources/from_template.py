"""From a template and what happened to work: the rows of a task or of a whole graph, for others to store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from taskyard.core.changes import ChangeSet
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, object_of
from taskyard.core.task import DagId, TaskId
from taskyard.features.sources import templates
from taskyard.features.tasks.creation.drafts import Drafts
from taskyard.features.tasks.creation.growth import Growth
from taskyard.ledger.ledger import Ledger

Template = dict[str, Json]
Keys = dict[str, TaskId]  # idempotency keys of what was made for the same set


class Cause(NamedTuple):
    """What makes the work, as its tasks will say."""

    by: str  # cron:ID, event:ID
    type: str  # schedule, webhook, files, dag, rule
    ref: str  # the id of the fire
    summary: str

    def trigger(self) -> dict[str, Json]:
        return {"type": self.type, "ref": self.ref, "summary": self.summary[:1000]}


class Made(NamedTuple):
    """The work, not stored yet. No set: a live task has its key, and is the one that is meant."""

    change_set: ChangeSet | None
    task_id: TaskId | None = None
    dag_id: DagId | None = None


class TemplatedWork:
    def __init__(self, ledger: Ledger, drafts: Drafts, growth: Growth) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._drafts = drafts
        self._growth = growth

    async def made(self, template: Mapping[str, Json], values: Mapping[str, Json], cause: Cause, keys: Keys) -> Made:
        """What the template comes to; InvalidInput where that is no sound work."""
        given = object_of(templates.filled(dict(template), values))
        if "task" in given:
            return await self._made_task(object_of(given["task"]), cause, keys)
        return await self._made_graph(object_of(given["dag"]), cause, keys)

    async def _made_task(self, task: dict[str, Json], cause: Cause, keys: Keys) -> Made:
        planning, now = await self._drafts.planning_new(), self._ledger.now()
        asked = {**task, "trigger": cause.trigger()}
        draft = self._drafts.draft(asked, planning, created_by=cause.by, dag_id=None, now=now)
        wanted = [draft.idempotency_key] if draft.idempotency_key is not None else []
        if owners := await self._keys_taken(wanted, keys):
            return Made(None, owners[0])
        births = await self._drafts.births([draft], planning, heights={}, done=frozenset(), now=now)
        keys.update(dict.fromkeys(wanted, draft.id))
        return Made(births, draft.id)

    async def _made_graph(self, dag: dict[str, Json], cause: Cause, keys: Keys) -> Made:
        if isinstance(tasks := dag.get("tasks"), list):
            dag = {**dag, "tasks": [_caused(task, cause) for task in tasks]}
        change_set, made = await self._growth.graphed(dag, created_by=cause.by)
        wanted = {key: task.id for task in made.tasks.values() if (key := task.idempotency_key) is not None}
        if await self._keys_taken(wanted, keys):
            raise InvalidInput("tasks", f"uses keys that are taken: {', '.join(sorted(wanted))}")
        keys.update(wanted)
        return Made(change_set, dag_id=made.id)

    async def _keys_taken(self, wanted: Iterable[str], keys: Keys) -> list[TaskId]:
        """Who has these keys: tasks in the store, and those of the same set."""
        names = list(wanted)
        if not names:
            return []
        stored = await self._store.by_key(self._workspace, names)
        return [owner for name in names if (owner := stored.get(name) or keys.get(name)) is not None]

    async def check(self, template: Template, cause: Cause, values: Mapping[str, Json] | None = None) -> None:
        """Refuse what could never be made. Without values, only what stands in the template itself is checked."""
        await self.made(template if values else templates.without_places(template), values or {}, cause, {})


def template_of(task: object, dag: object) -> Template:
    """What is to be made, of which exactly one must be given; each time it is made anew, so it has no ids."""
    if (task is None) == (dag is None):
        raise InvalidInput("task", "must be given, or else dag, and not both")
    field, given = ("task", task) if dag is None else ("dag", dag)
    made = templates.check(given, field)
    rows = made.get("tasks") if field == "dag" else [made]
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and "id" in row:
            raise InvalidInput(f"{field}.id", "must be left out: a new one is given each time")
    if "id" in made or (field == "task" and "depends_on" in made):
        raise InvalidInput(field, "must have no id and, but for the tasks within a dag, no depends_on")
    return {field: made}


def tasks_of(template: Mapping[str, Json]) -> object:
    """The tasks of a template, as they stand in it."""
    dag = template.get("dag")
    return dag.get("tasks") if isinstance(dag, dict) else [template.get("task")]


def _caused(task: Json, cause: Cause) -> Json:
    return {**task, "trigger": cause.trigger()} if isinstance(task, dict) else task
