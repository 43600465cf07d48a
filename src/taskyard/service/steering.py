"""What people and orchestrators do with work that is there: cancel, rerun, resolve dead letters, pause, limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from taskyard.core import breaker as breakers
from taskyard.core import dag as dags
from taskyard.core import outcomes, transitions
from taskyard.core.changes import ChangeSet, RecordChange, merged
from taskyard.core.dag import DagStatus
from taskyard.core.definition import lane_of, redefine
from taskyard.core.errors import DuplicateKey, IllegalTransition, InvalidInput, NotFound
from taskyard.core.planning import Settings
from taskyard.core.policy import PRESETS, preset
from taskyard.core.task import DagId, Definition, Hot, Json, Status, TaskId
from taskyard.core.units import usd
from taskyard.service.engine import KeyTaken
from taskyard.service.enqueueing import Enqueueing, rescored
from taskyard.service.finishing import receipt
from taskyard.service.validation import check_rule
from taskyard.service.views import Receipt, Task

CHUNK = 200  # changes that one stored step of a cascade holds at most
RESOLUTIONS = ("retry", "modify_and_retry", "cancel", "escalate")


class Cancelled(NamedTuple):
    task_ids: tuple[TaskId, ...]  # the task itself first; empty where it was cancelled already


class Steering(Enqueueing):
    # Cancelling

    async def cancel(self, task_id: str, reason: str = "cancelled", *, cascade: bool | None = None) -> Cancelled:
        """Take a task out of the yard, and by default what depends on it and what it spawned."""
        root = TaskId(task_id)
        hot = await self._load(root)
        follows = (await self._policy_of(hot)).cascades if cascade is None else cascade

        async def decide() -> tuple[ChangeSet | None, bool]:
            hot = await self._load(root)
            if hot.status is Status.CANCELLED:
                return None, False
            step = outcomes.cancelled(hot, type_=await self._type_of(hot), reason=reason, now=self.now())
            if not follows or hot.dag_id is None:
                return step, True
            # Stored with the root: whoever finds it later finishes what a crash left.
            intent = RecordChange("cascade", self.workspace, root, 0, {"root": root})
            return replace(step, records=(intent,)), True

        if not await self._land(decide):
            return Cancelled(())
        return Cancelled((root, *(await self.finish_cascade(root) if follows and hot.dag_id else ())))

    async def finish_cascade(self, root: TaskId) -> list[TaskId]:
        """Cancel everything below a cancelled task, each once, in bounded steps; then forget the intent."""
        cancelled: list[TaskId] = []
        while below := await self._below(root):
            for start in range(0, len(below), CHUNK):
                cancelled += await self._cancel_chunk(below[start : start + CHUNK])
        await self._forget("cascade", root)
        return cancelled

    async def _below(self, root: TaskId) -> list[tuple[TaskId, TaskId]]:
        """What is left to cancel under a cancelled task, each with the parent it is cancelled for."""
        found: dict[TaskId, TaskId] = {}
        seen, frontier = {root}, [root]
        while frontier:
            edges = await self.store.edges(frontier)
            new = {edge.child: edge.parent for edge in edges if edge.child not in seen}
            seen |= new.keys()
            hots = await self.store.load(list(new))
            live = [child for child, hot in hots.items() if not hot.status.is_final]
            found |= {child: new[child] for child in live}
            # An earlier try may have cancelled a part: what hangs below that part is still to be found.
            frontier = live + [child for child, hot in hots.items() if hot.status is Status.CANCELLED]
        return list(found.items())

    async def _cancel_chunk(self, chunk: Sequence[tuple[TaskId, TaskId]]) -> list[TaskId]:
        async def decide() -> tuple[ChangeSet | None, list[TaskId]]:
            hots = await self.store.load([child for child, _ in chunk])
            steps = [
                outcomes.cancelled(
                    hots[child],
                    type_=await self._type_of(hots[child]),
                    reason=f"parent {parent} cancelled",
                    now=self.now(),
                )
                for child, parent in chunk
                if not hots[child].status.is_final
            ]
            done = [step.changes[0].after.id for step in steps]
            return (merged(steps) if steps else None), done

        return await self._land(decide)

    async def cancel_dag(self, dag_id: str, reason: str = "cancelled") -> Cancelled:
        """Cancel every task of a graph that has not ended."""
        graph = await self.store.graph(DagId(dag_id))
        mine = [hot for hot in graph.tasks if hot.workspace == self.workspace]
        if not mine:
            raise NotFound("dag", dag_id)
        done: list[TaskId] = []
        for hot in mine:
            if not hot.status.is_final:
                done += await self._cancel_one(hot.id, reason)
        return Cancelled(tuple(done))

    async def _cancel_one(self, task_id: TaskId, reason: str) -> list[TaskId]:
        async def decide() -> tuple[ChangeSet | None, list[TaskId]]:
            hot = await self._load(task_id)
            if hot.status.is_final:
                return None, []
            step = outcomes.cancelled(hot, type_=await self._type_of(hot), reason=reason, now=self.now())
            return step, [task_id]

        return await self._land(decide)

    # Dead letters

    async def resolve(
        self,
        task_id: str,
        resolution: str,
        *,
        by: str,
        note: str = "",
        spec: Mapping[str, object] | None = None,
    ) -> Receipt:
        """Decide a dead letter: retry, modify_and_retry (with a changed spec), cancel or escalate."""
        if resolution not in RESOLUTIONS:
            raise InvalidInput("resolution", f"must be one of {', '.join(RESOLUTIONS)}")
        if (resolution == "modify_and_retry") != (spec is not None):
            raise InvalidInput("spec", "goes with modify_and_retry, and only with it")

        async def decide() -> tuple[ChangeSet, Receipt]:
            hot = await self._load(TaskId(task_id))
            if hot.status is not Status.DEAD_LETTERED:
                raise IllegalTransition(hot.id, hot.status, "resolve")
            definition = await self._define(hot.id)
            if spec is not None:
                definition = redefine(definition, spec, policy=PRESETS[definition.preset], sizes=self.options.sizes)
                check_rule(definition)
            step = await self._resolution(hot, definition, resolution, by, note)
            reviewed = await self._reviewed(hot, resolution, by, note)
            redefined = (definition,) if spec is not None else ()
            whole = replace(step, records=(*step.records, reviewed), redefined=redefined)
            return whole, receipt(step.changes[0].after)

        try:
            return await self._land(decide)
        except KeyTaken as refused:
            ((key, owner),) = refused.by.items()
            raise DuplicateKey(key, owner) from None

    async def _resolution(self, hot: Hot, definition: Definition, resolution: str, by: str, note: str) -> ChangeSet:
        now = self.now()
        if resolution == "cancel":
            return outcomes.cancelled(hot, type_=definition.type, reason=note or "dead letter cancelled", now=now)
        if resolution == "escalate":
            return ChangeSet(changes=(transitions.escalate(hot, by=by, note=note, now=now),), at=now)
        (lane,) = await self._lanes([lane_of(definition, failures=0)])
        change = transitions.revive(hot, resolution=resolution, by=by, lane=lane, now=now)
        place = rescored(hot, definition, hot.height, now)
        change = change._replace(
            after=change.after._replace(
                rank=place.rank,
                rescore_at=place.rescore_at,
                max_attempts=definition.max_attempts,
                reserve=definition.max_cost,
                run_sec=definition.max_duration_sec,
            )
        )
        counts = dags.counted(hot.workspace, hot.dag_id, hot.status, Status.READY)
        return ChangeSet(changes=(change,), counts=counts, records=await self._reopened(hot), at=now)

    async def _reopened(self, hot: Hot) -> tuple[RecordChange, ...]:
        record = None if hot.dag_id is None else await self.store.record("dag", self.workspace, hot.dag_id)
        if record is None:
            return ()
        body: dict[str, Json] = {**record.body, "status": DagStatus.RUNNING.value, "ended_at": None}
        return (RecordChange("dag", self.workspace, record.id, record.version, body),)

    async def _reviewed(self, hot: Hot, resolution: str, by: str, note: str) -> RecordChange:
        record = await self.store.record("dead", self.workspace, outcomes.dead_id(hot.id, hot.attempt))
        if record is None:
            raise NotFound("dead letter", hot.id)
        body: dict[str, Json] = {
            **record.body,
            "reviewed": True,
            "resolution": resolution,
            "reviewed_by": by,
            "reviewed_at": self.now(),
            "note": note,
        }
        return RecordChange("dead", self.workspace, record.id, record.version, body)

    # Again, and otherwise

    async def rerun(self, task_id: str, *, created_by: str = "human:local") -> Task:
        """Do a finished task again as a new task with a fresh session. The old one stays as it is."""
        hot = await self._load(TaskId(task_id))
        if not hot.status.is_final:
            raise IllegalTransition(hot.id, hot.status, "rerun")
        definition = await self._define(hot.id)
        draft = replace(
            definition,
            id=self._mint_task(),
            rerun_of=hot.id,
            parent_id=None,
            dag_id=None,
            depends_on=(),
            idempotency_key=None,
            session_id=None,
            work_dir=None,
            fresh=True,
            run_after=None,
            created_at=self.now(),
            created_by=created_by,
            trigger_type="manual_rerun",
        )
        planning = await self._planning()
        made = await self._put_in([draft], planning)
        return Task(made[draft.id], draft, planning.policy_of(draft.queue), created=True)

    async def set_priority(self, task_id: str, priority: int, *, by: str = "human:local") -> Receipt:
        """Move a waiting task within its lane."""

        async def decide() -> tuple[ChangeSet, Receipt]:
            hot, now = await self._load(TaskId(task_id)), self.now()
            policy = await self._policy_of(hot)
            definition = redefine(
                await self._define(hot.id), {"priority": priority}, policy=policy, sizes=self.options.sizes
            )
            place = rescored(hot, definition, hot.height, now)
            change = transitions.reprioritise(hot, priority=priority, rank=place.rank, by=by, now=now)
            return ChangeSet(changes=(change,), redefined=(definition,), at=now), receipt(change.after)

        return await self._land(decide)

    # Queues, breakers, workspace

    async def pause_queue(self, queue: str) -> None:
        await self._configure("queue", queue, {"paused": True})

    async def resume_queue(self, queue: str) -> None:
        await self._configure("queue", queue, {"paused": False})

    async def set_queue_preset(self, queue: str, name: str | None) -> None:
        """Tasks put into this queue from now on follow that preset."""
        await self._configure("queue", queue, {"preset": None if name is None else preset(name).name})

    async def set_budget(
        self, *, daily_budget_usd: str | float | None = None, default_reserve_usd: str | float = 0
    ) -> Settings:
        """What the workspace may spend in a day, and what a task without a maximum reserves where money is limited."""
        try:
            daily = None if daily_budget_usd is None else usd(daily_budget_usd)
            reserve = usd(default_reserve_usd)
        except ValueError as error:
            raise InvalidInput("daily_budget_usd", str(error)) from None
        await self._configure("workspace", self.workspace, {"daily_budget": daily, "default_reserve": reserve})
        return (await self._configuration.fresh()).settings

    async def open_breaker(self, type_: str, *, why: str = "opened by hand") -> None:
        await self._move_breaker(type_, why, opening=True)

    async def close_breaker(self, type_: str, *, why: str = "closed by hand") -> None:
        await self._move_breaker(type_, why, opening=False)

    async def _move_breaker(self, type_: str, why: str, *, opening: bool) -> None:
        async def decide() -> tuple[ChangeSet | None, None]:
            breaker, now = (await self._configuration.fresh()).breaker(type_), self.now()
            if opening == bool(breaker.generation % 2):
                return None, None
            act = breakers.opened if opening else breakers.closed
            return self._moved(act(breaker, why=why, now=now), now), None

        await self._land(decide)

    async def _configure(self, kind: str, record_id: str, fields: dict[str, Any]) -> None:
        if not record_id or "\0" in record_id or len(record_id) > 255:
            raise InvalidInput(kind, "must be a name of 1 to 255 characters")

        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self.store.record(kind, self.workspace, record_id)
            body = cast(dict[str, Json], {**(record.body if record else {}), **fields})
            if record is not None and record.body == body:
                return None, None
            version = 0 if record is None else record.version
            change = RecordChange(kind, self.workspace, record_id, version, body)
            return ChangeSet(records=(change,), at=self.now()), None

        await self._land(decide)

    async def _forget(self, kind: str, record_id: str) -> None:
        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self.store.record(kind, self.workspace, record_id)
            if record is None:
                return None, None
            change = RecordChange(kind, self.workspace, record_id, record.version, None)
            return ChangeSet(records=(change,), at=self.now()), None

        await self._land(decide)
