"""Waiting without holding anything: sleeps, signals, and children whose outputs a parent needs.

Each wait has a name. A handler that is run again after it resumed, or after a crash, asks for the same wait by the same
name and finds what it already did.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, cast

from taskyard.core import dag as dags
from taskyard.core import outcomes, transitions
from taskyard.core.changes import ChangeSet, Checkpoint, Count, Expect, Lift, Outbox, Record, Signal, Spend, merged
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact, encode
from taskyard.core.lease import Lease, seal
from taskyard.core.notice import Notice, notice_row
from taskyard.core.outcomes import Report
from taskyard.core.task import DagId, Definition, Hot, Status, TaskId, Trait, dag_of
from taskyard.core.units import Micros, to_iso
from taskyard.definition import arguments
from taskyard.features.attempts.views import Child, Receipt, Waited
from taskyard.features.tasks.growth import dag_record, guarded
from taskyard.ledger.tracing import enqueue_span
from taskyard.service.enqueueing import Enqueueing
from taskyard.service.finishing import Finishing, answered, receipt


class _Spawner(NamedTuple):
    by: str  # whom the tasks are said to be created by
    under: Definition | None  # the task that they may not be better than; None: they may


class Suspending(Enqueueing, Finishing):
    async def sleep(self, task_id: str, lease: str, name: str, duration_sec: float) -> Waited:
        """Wait for a time, without a slot."""
        name = arguments.name("name", name)
        duration = arguments.duration("duration_sec", duration_sec)

        async def decide() -> tuple[ChangeSet | None, Waited]:
            hot = await self._held_until(TaskId(task_id), Lease(lease), name)
            if hot is None:
                return None, Waited(False)
            noted = await self._note(hot, name, _SLEEP)
            until = Micros(self.now() + duration) if noted is None else cast(Micros, noted["until"])
            if until <= self.now():
                return None if noted else self._noted(hot, name, compact({"until": until})), Waited(True)
            return await self._suspended(hot, ["time"], until, name, {"until": until}, new=noted is None), Waited(False)

        return await self._land(decide)

    async def snooze(self, task_id: str, lease: str, duration_sec: float) -> Receipt:
        """Not now: the task comes back after a time, and no attempt is counted."""
        wait = arguments.duration("duration_sec", duration_sec)
        digest = str(wait)

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            hot = await self._load(TaskId(task_id))
            if hot.lease != seal(lease):
                return None, answered(await self._replayed(hot, seal(lease), "snooze", digest))
            until = Micros(self.now() + wait)
            step = outcomes.suspended(
                hot,
                Report("snooze", digest),
                type_=await self._type_of(hot),
                blockers=["time"],
                wake_at=until,
                now=self.now(),
            )
            return step, receipt(step.changes[0].after)

        return await self._land(decide)

    async def wait_for(
        self, task_id: str, lease: str, name: str, signal: str, *, timeout_sec: float | None = None
    ) -> Waited:
        """Wait for a signal. Each wait that is not in vain takes one, in the order they were sent, also from before."""
        name = arguments.name("name", name)
        signal = arguments.name("signal", signal)
        patience = None if timeout_sec is None else arguments.duration("timeout_sec", timeout_sec)

        async def decide() -> tuple[ChangeSet | None, Waited]:
            hot = await self._held_until(TaskId(task_id), Lease(lease), name)
            if hot is None:
                return None, Waited(False)
            noted, now = await self._note(hot, name, _WAIT), self.now()
            sent = [row for row in await self.store.signals(hot.id) if row.name == signal]
            until = None if patience is None else Micros(now + patience)
            place = _place(await self._notes(hot), signal, sent) if noted is None else 0
            note = noted or {"signal": signal, "place": place, "before": len(sent), "until": until}
            until = cast(Micros | None, note["until"])
            heard = _heard(note, sent)
            if heard is None and (until is None or until > now):
                blockers = [f"signal:{signal}"]
                return await self._suspended(hot, blockers, until, name, note, new=noted is None), Waited(False)
            answer = Waited(True, timed_out=True) if heard is None else Waited(True, json.loads(heard.data))
            return None if noted else self._noted(hot, name, compact(dict(note))), answer

        return await self._land(decide)

    async def signal(self, task_id: str, name: str, data: Json = None, *, sent_by: str = "human:local") -> Receipt:
        """Tell a task something it waits for, or will wait for."""
        name = arguments.name("name", name)
        sent_by = arguments.name("sent_by", sent_by)
        text = encode(data, field="data", max_bytes=self.options.sizes.max_payload_bytes)

        async def decide() -> tuple[ChangeSet, Receipt]:
            hot, now = await self._load(TaskId(task_id)), self.now()
            change = transitions.signal(hot, name=name, by=sent_by, now=now)
            row = Signal(hot.id, name, text, sent_by, now)
            lift = Lift(f"signal:{name}", hot.id)
            return ChangeSet(changes=(change,), signals=(row,), lifts=(lift,), at=now), receipt(change.after)

        return await self._land(decide)

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
        planning, now = await self._planning_new(), self.now()
        maker = await self._spawner(parent_id)
        rows = [_child_of(parent_id, fields, maker.under) for fields in tasks]
        named = await self._named(rows, planning, created_by=maker.by, dag_id=None, now=now, under=maker.under)

        async def decide() -> tuple[ChangeSet | None, list[TaskId]]:
            held = await (
                self._held_until(parent_id, Lease(lease), name) if wait else self._held(parent_id, Lease(lease))
            )
            hot = await self._load(parent_id) if held is None else held
            if (noted := await self._note(hot, name, _SPAWN)) is not None:
                children = [TaskId(str(each)) for each in cast(list[Json], noted["children"])]
                return await self._waiting_for(held, name, children) if wait and held else None, children
            drafts = list(named.values())
            change_set = await self._spawned(hot, drafts, name, wait=wait)
            return change_set, [draft.id for draft in drafts]

        return await self._land_new(decide)

    async def children(self, task_id: str, name: str) -> list[Child] | None:
        """How the tasks spawned under this name ended; None while one of them has not."""
        noted = await self._note(await self._load(TaskId(task_id)), name, _SPAWN)
        if noted is None:
            raise InvalidInput("name", f"{name} is not a spawn of {task_id}")
        ids = [TaskId(str(each)) for each in cast(list[Json], noted["children"])]
        hots, outputs = await self.store.load(ids), await self.store.outputs(ids)
        if not all(hots[each].status.is_final for each in ids):
            return None
        accepted = {each for each in ids if hots[each].status is Status.COMPLETED and each in outputs}
        return [
            Child(each, hots[each].status, json.loads(outputs[each].data) if each in accepted else None) for each in ids
        ]

    async def _spawner(self, task_id: TaskId) -> _Spawner:
        """Who spawns from a task. Whether it is still theirs to do so is looked at with the lease."""
        hot = await self._load(task_id)
        if hot.agent is None:  # nobody holds it, so nothing will come of this
            return _Spawner(f"task:{task_id}", None)
        return _Spawner(f"agent:{hot.agent}", None if await self._is_free(hot) else await self._define(task_id))

    async def _spawned(self, hot: Hot, drafts: Sequence[Definition], name: str, *, wait: bool) -> ChangeSet:
        now = self.now()
        transitions.allow(hot, "suspend" if wait else "signal")
        dag_id = dag_of(hot)
        trace = await self._trace_of(hot) if any(draft.trace is None for draft in drafts) else None
        mine = [draft._replace(dag_id=dag_id, trace=draft.trace or trace) for draft in drafts]
        grown = await self._grown(hot, dag_id, mine, awaited=wait)
        if wait:
            grown = guarded(grown, await self._unclosed(hot.id, {draft.id: draft.depends_on for draft in mine}))
        note = Checkpoint(hot.id, name, hot.attempt, compact({"children": [draft.id for draft in mine]}))
        if wait:
            blockers = [f"child:{draft.id}" for draft in mine]
            step = outcomes.suspended(
                hot, Report("suspend", name), type_=await self._type_of(hot), blockers=blockers, wake_at=None, now=now
            )
        elif hot.dag_id is None:
            step = outcomes.adopted(hot, dag_id=dag_id, spent=await self._spent(hot), now=now)
        else:
            # Nothing of the parent moves; but only the holder of its lease may spawn.
            step = ChangeSet(expects=(Expect(hot.id, hot.version),), at=now)
        if wait and hot.dag_id is None:
            # A lone task becomes part of a graph in the same step that suspends it, and brings its costs along.
            spent = Spend(hot.workspace, f"dag:{dag_id}", 0, await self._spent(hot) + hot.spent)
            step = step._replace(spends=(*step.spends, spent) if spent.spent else step.spends)
        if hot.dag_id is None and hot.traits & Trait.NEEDED:
            grown = grown._replace(counts=(*grown.counts, Count(hot.workspace, dags.needed_name(dag_id), 1)))
        joined = tuple(change._replace(after=change.after._replace(dag_id=dag_id)) for change in step.changes)
        grown = grown._replace(expects=tuple(each for each in grown.expects if each.task_id != hot.id))
        return merged([step._replace(changes=joined), grown])._replace(checkpoints=(note,))

    async def _trace_of(self, hot: Hot) -> str | None:
        """The trace that is continued by what a task spawns while its agent traces nothing."""
        return (await self._define(hot.id)).trace

    async def _grown(self, hot: Hot, dag_id: DagId, drafts: Sequence[Definition], *, awaited: bool) -> ChangeSet:
        planning = await self._planning()
        record = await self.store.record("dag", self.workspace, dag_id)
        if record is None:
            new = dag_record({}, dag_id, planning, drafts[0].created_by, self.now())
            record = Record("dag", self.workspace, dag_id, 0, cast(dict[str, Json], new.body))
        stored = await self._named_dependencies(drafts)
        if hot.id in stored:
            stored[hot.id] = hot._replace(dag_id=dag_id)  # which it joins in the same step
        grown = await self._addition(record, drafts, planning, stored, parent=hot, awaited=awaited)
        return self._depending(grown, stored)

    async def _held_until(self, task_id: TaskId, lease: Lease, name: str) -> Hot | None:
        """The task at hand; None where this very call has suspended it before, and its answer may have been lost."""
        hot = await self._load(task_id)
        if hot.lease is not None and hot.lease == seal(lease):
            return hot
        await self._replayed(hot, seal(lease), "suspend", name)
        return None

    async def _waiting_for(self, hot: Hot, name: str, children: Sequence[TaskId]) -> ChangeSet | None:
        """Suspend for children that were spawned before, while one of them is not done."""
        ended = await self.store.load(children)
        blockers = [f"child:{child}" for child in children if not ended[child].status.is_final]
        if not blockers:
            return None
        expects = tuple(Expect(child, ended[child].version) for child in children)
        definitions = await self.store.definitions(children)
        closing = await self._unclosed(hot.id, {child: definitions[child].depends_on for child in children})
        step = (await self._suspended(hot, blockers, None, name, None, new=False))._replace(expects=expects)
        return guarded(step, closing)

    async def _suspended(
        self,
        hot: Hot,
        blockers: list[str],
        wake_at: Micros | None,
        name: str,
        note: Mapping[str, Json] | None,
        *,
        new: bool,
    ) -> ChangeSet:
        type_ = await self._type_of(hot)
        step = outcomes.suspended(
            hot, Report("suspend", name), type_=type_, blockers=blockers, wake_at=wake_at, now=self.now()
        )
        if not new or note is None:
            return step
        noted = step._replace(checkpoints=(Checkpoint(hot.id, name, hot.attempt, compact(dict(note))),))
        # Told once for each wait: a handler that comes back to it after a crash does not ask again.
        return noted._replace(outbox=(_asking(hot, note, step.at),)) if not _WAIT.symmetric_difference(note) else noted

    async def _note(self, hot: Hot, name: str, kind: Set[str]) -> Mapping[str, Json] | None:
        """What is remembered under this name; refused where that is something of another kind."""
        notes = await self._notes(hot)
        if name not in notes:
            return None
        note = notes[name]
        if not isinstance(note, dict) or note.keys() != kind:
            raise InvalidInput("name", f"{name} stands for something else in this task already")
        return note


# What is remembered of each kind of wait, by which they are told apart.
_SLEEP = frozenset({"until"})
_WAIT = frozenset({"signal", "place", "before", "until"})  # before: how many were sent before it began
_SPAWN = frozenset({"children"})


def _asking(hot: Hot, note: Mapping[str, Json], now: Micros) -> Outbox:
    until = cast(Micros | None, note["until"])
    facts: dict[str, Json] = {"signal": note["signal"], "until": None if until is None else to_iso(until)}
    return notice_row(Notice.APPROVAL_WANTED, hot.workspace, facts, at=now, task_id=hot.id)


def _child_of(parent_id: TaskId, fields: object, under: Definition | None) -> object:
    """The task as its parent spawns it; what is no task is left for the rules to refuse."""
    return child_of(parent_id, cast(Mapping[str, object], fields), under) if isinstance(fields, Mapping) else fields


def child_of(parent_id: TaskId, fields: Mapping[str, object], under: Definition | None) -> dict[str, object]:
    """What an agent spawns goes into the queue of its own task, where it says nothing of queues."""
    return {**({} if under is None else {"queue": under.queue}), **fields, "parent_id": parent_id}


def _heard(note: Mapping[str, Json], sent: Sequence[Signal]) -> Signal | None:
    """The signal that a wait took. One that came after its end is not it, however often the handler is run again."""
    place, before, until = cast(tuple[int, int, Micros | None], (note["place"], note["before"], note["until"]))
    if len(sent) <= place:
        return None
    in_time = until is None or place < before or sent[place].at < until
    return sent[place] if in_time else None


def _place(notes: Mapping[str, Json], signal: str, sent: Sequence[Signal]) -> int:
    """Which of the signals sent is the next wait's: the one after the last that was taken."""
    waits = [note for note in notes.values() if isinstance(note, dict) and note.keys() == _WAIT]
    mine = [note for note in waits if note["signal"] == signal]
    return max((cast(int, note["place"]) + (_heard(note, sent) is not None) for note in mine), default=0)
