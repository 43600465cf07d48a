"""What the yard's own events set off: graphs that ended, and figures that turned bad.

A process that ends a graph fires what waits for that at once; the sweep, which reads every event, fires what it did not
live to fire. Both know the end by the same id, so it fires once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from taskyard.core import dag as dags
from taskyard.core import transitions
from taskyard.core.changes import ChangeSet, Record, RecordChange, StoredEvent
from taskyard.core.dag import DagStatus
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import DAG
from taskyard.core.task import DagId, Definition, Hot, Status, TaskId, lone_dag, lone_task
from taskyard.core.units import SECOND, Micros, to_iso
from taskyard.features.sources import fires
from taskyard.features.triggers import figures
from taskyard.features.triggers.rules import KIND, SourceName, Trigger, names_of, trigger_of
from taskyard.features.triggers.service import LISTENING
from taskyard.features.triggers.trigger_firing import Occurrence, TriggerFiring
from taskyard.ledger.ledger import Ledger

GOOD_FOR = SECOND  # a trigger that others added is known here so long after at the latest
HANDED_ON = 1 << 20  # characters of outputs that a template may name; those that are bigger go by reference
MOST_LEAVES = 100
_ENDED = {f"dag.{status.value}": status for status in DagStatus if status.is_final}
_LONE = {
    transitions.EVENTS["complete"]: DagStatus.COMPLETED,
    transitions.EVENTS["cancel"]: DagStatus.CANCELLED,
    transitions.EVENTS["bury"]: DagStatus.FAILED,
}


class DagEnd(NamedTuple):
    """A graph that ended, or a lone task, which is its own."""

    dag_id: DagId
    status: DagStatus
    at: Micros


class EventTriggers:
    def __init__(self, ledger: Ledger, trigger_firing: TriggerFiring) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._trigger_firing = trigger_firing
        self._listening: tuple[Micros, list[Trigger]] = (Micros(0), [])

    async def _listeners(self, source: SourceName) -> list[Trigger]:
        """The triggers that listen to this, as read lately."""
        until, known = self._listening
        if self._ledger.now() >= until:
            known = [trigger_of(record) for record in await self._store.records(KIND, self._workspace)]
            self._listening = Micros(self._ledger.now() + GOOD_FOR), known
        return [trigger for trigger in known if trigger.is_listening and trigger.source == source]

    async def follow(self, events: Sequence[StoredEvent]) -> int:
        """Fire what these events of this workspace set off, where nobody has. They may be handed over again."""
        self._listening = (Micros(0), [])  # what was added before an event happened must not be missed
        fired = 0
        passed: dict[str, str] = {}
        if await self._listeners(SourceName.DAG):
            for ended in filter(None, map(_ended, events)):
                fired += await self._notice_end(ended, passed)
        for trigger_id, why in passed.items():
            await self._pass_over(trigger_id, why)
        for trigger in await self._listeners(SourceName.RULE):
            fired += await self._watch(trigger, events)
        return fired

    async def dag_ended(self, dag_id: DagId) -> None:
        if not await self._listeners(SourceName.DAG):
            return
        record = await self._store.record("dag", self._workspace, dag_id)
        if record is not None and (at := DAG.of(record)["ended_at"]) is not None:
            await self._notice_end(DagEnd(dag_id, DagStatus(DAG.of(record)["status"]), at), {})

    async def _notice_end(self, ended: DagEnd, passed: dict[str, str]) -> int:
        """Fire who listens to such an end; `passed` gets the reasons why others do not."""
        fired = 0
        end: _End | None = None
        for trigger in await self._listeners(SourceName.DAG):
            if ended.at < trigger.created_at or ended.status.value not in names_of(trigger.settings, "status"):
                continue
            end = end or await self._end_of(ended)
            if end is None:
                break  # it is pruned by now
            if (why_not := _not_meant(trigger, end)) is not None:
                passed[trigger.id] = f"{ended.dag_id} {ended.status.value}: {why_not}"
            elif not await self._has_fired(trigger, ended):
                fired += await self._fire_at_end(trigger, ended, end)
        return fired

    async def _has_fired(self, trigger: Trigger, ended: DagEnd) -> bool:
        fire_id = f"{trigger.fires_as}/{fires.key_at(ended.at, ended.dag_id)}"
        return await self._store.record(fires.KIND, self._workspace, fire_id) is not None

    async def _fire_at_end(self, trigger: Trigger, ended: DagEnd, end: _End) -> bool:
        values, chain = await self._values_of(ended, end), await self._chain(end)
        why = f"{ended.dag_id} {ended.status.value}"
        happened = Occurrence(values, why, ended.at, ended.dag_id, chain=chain)
        return await self._trigger_firing.fire_at(trigger, happened) is not None

    async def _end_of(self, ended: DagEnd) -> _End | None:
        record = await self._store.record("dag", self._workspace, ended.dag_id)
        if record is None:
            return await self._lone_end(lone_task(ended.dag_id))
        graph = await self._store.graph(ended.dag_id)
        within = dags.within(graph.edges, {hot.id for hot in graph.tasks})
        depends = [edge for edge in within if edge.kind == "depends"]
        parents, children = {edge.parent for edge in depends}, {edge.child for edge in depends}
        leaves = [hot for hot in graph.tasks if hot.id not in parents][:MOST_LEAVES]
        roots = [hot.id for hot in graph.tasks if hot.id not in children][:1]
        definitions = await self._store.definitions([*(hot.id for hot in leaves), *roots])
        return _End(record.body, leaves, definitions, roots[0] if roots else None)

    async def _lone_end(self, task_id: TaskId) -> _End | None:
        hot = (await self._ledger.load_all([task_id])).get(task_id)
        if hot is None:
            return None
        definition = await self._ledger.definition(task_id)
        body: dict[str, Json] = {
            "title": definition.title,
            "tags": list[Json](definition.tags),
            "created_by": definition.created_by,
        }
        return _End(body, [hot], {task_id: definition}, task_id)

    async def _values_of(self, ended: DagEnd, end: _End) -> dict[str, Json]:
        """The graph, and the outputs of the tasks that nothing in it depends on."""
        done = [hot.id for hot in end.leaves if hot.status is Status.COMPLETED]
        stored = await self._store.outputs(done)
        room = HANDED_ON
        outputs: list[Json] = []
        by_type: dict[str, Json] = {}
        for task_id in done:
            text = stored[task_id].data if task_id in stored else "null"
            room -= len(text)
            outputs.append(json.loads(text) if room >= 0 else None)
            by_type[end.definitions[task_id].type] = outputs[-1]
        return {
            "dag": {
                "id": ended.dag_id,
                "status": ended.status.value,
                "ended_at": to_iso(ended.at),
                **{name: end.body[name] for name in ("title", "tags", "created_by")},
            },
            "outputs": outputs,
            "output": outputs[-1] if outputs else None,
            "output_of": by_type,
            "refs": [f"task:{task_id}:output" for task_id in done],
        }

    async def _chain(self, end: _End) -> int:
        """How many fires led to the graph: one more than to the fire that made it, where one did."""
        first = None if end.root is None else end.definitions[end.root]
        if first is None or first.trigger_ref is None:
            return 0
        record = await self._store.record(fires.KIND, self._workspace, first.trigger_ref)
        return 0 if record is None else fires.fire_of(record).chain + 1

    async def _pass_over(self, trigger_id: str, why: str) -> None:
        """Note the last thing that was none of its business: for who wonders why it did not fire."""
        record = await self._store.record(LISTENING, self._workspace, trigger_id)
        version = 0 if record is None else record.version
        row = RecordChange(LISTENING, self._workspace, trigger_id, version, {"passed_over": why})
        await self._ledger.commit_set(ChangeSet(records=(row,), at=self._ledger.now()))

    async def _watch(self, trigger: Trigger, events: Sequence[StoredEvent]) -> bool:
        """Let a rule see what attempts came to, and fire it where their mean is bad: once in its window at most."""
        rules = figures.rule_of(trigger.settings)
        since = [each for each in events if each.event.at >= trigger.created_at]

        async def decide() -> tuple[ChangeSet | None, bool]:
            record = await self._store.record(LISTENING, self._workspace, trigger.id)
            before, now = figures.seen_in(record), self._ledger.now()
            seen = figures.watched(rules, before, since)
            quiet = figures.quiet_until(rules, seen)
            fires_now = figures.is_bad(rules, seen) and (quiet is None or quiet <= now)
            if seen == before and not fires_now:
                return None, False
            if not fires_now:
                return ChangeSet(records=(self._saw(trigger, record, seen),), at=now), False
            after = figures.RuleState(seq=seen.seq, fired_at=now)
            fire, made = await self._trigger_firing.decide(trigger, _bad(rules, seen, now))
            work = made.change_set or ChangeSet(at=now)
            new = (fire.stored(self._workspace), self._saw(trigger, record, after))
            return work._replace(records=(*work.records, *new)), True

        return await self._ledger.commit_keyed(decide)

    def _saw(self, trigger: Trigger, record: Record | None, seen: figures.RuleState) -> RecordChange:
        version = 0 if record is None else record.version
        return RecordChange(LISTENING, self._workspace, trigger.id, version, seen.body())


class _End(NamedTuple):
    body: Mapping[str, Json]  # of the graph's record
    leaves: Sequence[Hot]
    definitions: Mapping[TaskId, Definition]
    root: TaskId | None


def _ended(stored: StoredEvent) -> DagEnd | None:
    event = stored.event
    if event.dag_id is None:
        return None
    if event.task_id is None:
        status = _ENDED.get(event.event)
        return None if status is None else DagEnd(event.dag_id, status, event.at)
    is_lone = event.dag_id == lone_dag(event.task_id)
    status = _LONE.get(event.event) if is_lone else None
    return None if status is None else DagEnd(event.dag_id, status, event.at)


def _not_meant(trigger: Trigger, end: _End) -> str | None:
    """Why the graph is none that the trigger listens to; None where it is one."""
    settings, body = trigger.settings, end.body
    if body["created_by"] == f"event:{trigger.id}":
        return "it was made by this trigger, which does not start itself"
    if settings["tag"] is not None and settings["tag"] not in DAG.body(body)["tags"]:
        return f"it has no tag {settings['tag']}"
    if settings["title"] is not None and settings["title"] != body["title"]:
        return f"its title is not {settings['title']}"
    types = {end.definitions[hot.id].type for hot in end.leaves}
    if settings["type"] is not None and settings["type"] not in types:
        return f"it does not end in a task of type {settings['type']}"
    return None


def _bad(rules: figures.FigureRule, seen: figures.RuleState, now: Micros) -> Occurrence:
    of = "" if rules.type is None else f" of type {rules.type}"
    why = f"{rules.measure.value} is {seen.mean} over {len(seen.values)} attempts{of}, above {rules.above:g}"
    values: dict[str, Json] = {
        "rule": {
            "measure": rules.measure.value,
            "type": rules.type,
            "mean": seen.mean,
            "above": rules.above,
            "attempts": len(seen.values),
            "why": why,
        }
    }
    return Occurrence(values, why, now, "")
