"""What people and orchestrators do with work that is there: cancel, rerun, resolve dead letters, pause, limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from taskyard.core import breaker as breakers
from taskyard.core import dag as dags
from taskyard.core import outcomes, transitions
from taskyard.core.changes import Ceiling, ChangeSet, Lift, RecordChange, Spend, merged
from taskyard.core.dag import DagStatus
from taskyard.core.errors import DuplicateKey, IllegalTransition, InvalidInput, NotFound
from taskyard.core.json_value import Json
from taskyard.core.policy import policy_of, preset
from taskyard.core.task import DagId, Definition, Hot, Status, TaskId, Trait, dag_of, lone_task
from taskyard.definition import arguments
from taskyard.definition.definition import lane_of, reborn, redefine
from taskyard.definition.fields import whole
from taskyard.features.attempts.output_checks import check_rule
from taskyard.features.attempts.validators import Judging, refuse_validator
from taskyard.features.attempts.views import Receipt
from taskyard.features.breakers.rules import breaker_settings
from taskyard.features.breakers.service import moved
from taskyard.features.breakers.views import BreakerPolicyView, policy_view
from taskyard.features.budgets.views import SettingsView, settings_view
from taskyard.features.dags import walk
from taskyard.features.tasks import growth_limits
from taskyard.features.tasks.answers import Cancelled
from taskyard.features.tasks.drafts import rescored
from taskyard.ledger.ledger import KeyTaken
from taskyard.ledger.options import LOCAL
from taskyard.service.enqueueing import Enqueueing
from taskyard.service.finishing import receipt

CHUNK = 200  # changes that one stored step of a cascade holds at most
RESOLUTIONS = ("retry", "modify_and_retry", "cancel", "escalate")


class Steering(Enqueueing, Judging):
    # Cancelling

    async def cancel(
        self,
        task_id: str,
        reason: str = "cancelled",
        *,
        cascade: bool | None = None,
        by: str | None = None,
        dry_run: bool = False,
    ) -> Cancelled:
        """Take a task out of the yard, and by default what depends on it and what it spawned; or only say which."""
        arguments.words("reason", reason)
        root = TaskId(task_id)
        hot = await self._load(root)
        follows = (await self._policy_of(hot)).cascades if cascade is None else cascade
        if dry_run:
            return await self._would_cancel(hot, follows=follows)

        async def decide() -> tuple[ChangeSet | None, bool]:
            hot = await self._load(root)
            if hot.status is Status.CANCELLED:
                return None, False
            step = await self._cancellation(hot, reason, follows=follows, by=by)
            if hot.status is Status.DEAD_LETTERED:  # who cancels a dead letter decides it
                reviewed = await self._reviewed(hot, "cancel", by or LOCAL, reason)
                step = step._replace(records=(*step.records, reviewed))
            return step, True

        if not await self._land_end(decide):
            return Cancelled(())
        return Cancelled((root, *(await self.finish_cascade(root) if follows else ())))

    async def _would_cancel(self, hot: Hot, *, follows: bool) -> Cancelled:
        if hot.status is Status.CANCELLED:
            return Cancelled(())
        transitions.allow(hot, "cancel")
        below = await walk.below(self.store, [hot.id] if follows and outcomes.may_be_waited_for(hot) else [])
        return Cancelled((hot.id, *below))

    async def _cancellation(self, hot: Hot, reason: str, *, follows: bool, by: str | None = None) -> ChangeSet:
        """The cancelled task, and the intent to cancel what is below it: whoever finds that finishes the cascade."""
        step = await self._cancelled(hot, reason, by)
        if not follows or not outcomes.may_be_waited_for(hot):
            return step
        body: dict[str, Json] = {"root": hot.id, "dag": dag_of(hot)}
        intent = RecordChange("cascade", self.workspace, hot.id, 0, body)
        return step._replace(records=(*step.records, intent))

    async def finish_cascade(self, intent: str) -> list[TaskId]:
        """Cancel what a stored intent is about, each task once, in bounded steps; then forget the intent."""
        record = await self.store.record("cascade", self.workspace, intent)
        if record is None:
            return []
        cancelled: list[TaskId] = []
        while reasons := await walk.left(self.store, record):
            left = list(reasons.items())
            for start in range(0, len(left), CHUNK):
                cancelled += await self._cancel_chunk(left[start : start + CHUNK])
        await self._forget("cascade", intent)
        await self._settle_dag(DagId(str(record.body["dag"])))
        return cancelled

    async def _cancel_chunk(self, chunk: Sequence[tuple[TaskId, str]]) -> list[TaskId]:
        async def decide() -> tuple[ChangeSet | None, list[TaskId]]:
            hots = await self.store.load([task_id for task_id, _ in chunk])
            steps = [
                await self._cancelled(hots[each], reason) for each, reason in chunk if not hots[each].status.is_final
            ]
            done = [step.changes[0].after.id for step in steps]
            return (merged(steps) if steps else None), done

        return await self._land_end(decide, in_cascade=True)

    async def cancel_dag(
        self, dag_id: str, reason: str = "cancelled", *, by: str = LOCAL, dry_run: bool = False
    ) -> Cancelled:
        """Cancel every task of a graph that has not ended; or only say which."""
        arguments.words("reason", reason)
        record = await self.store.record("dag", self.workspace, dag_id)
        if record is None:
            return await self._cancel_lone(DagId(dag_id), reason, by, dry_run=dry_run)
        follows = preset(str(record.body["preset"])).cascades
        intent: dict[str, Json] = {"dag": dag_id, "reason": reason, "follows": follows}
        if dry_run:
            return await self._would_cancel_all(DagId(dag_id), follows=follows)
        await self._configure("cascade", dag_id, intent, "dag.cancelling", by)
        return Cancelled(tuple(await self.finish_cascade(dag_id)))

    async def _would_cancel_all(self, dag_id: DagId, *, follows: bool) -> Cancelled:
        live = [hot.id for hot in (await self.store.graph(dag_id)).tasks if not hot.status.is_final]
        further = await walk.below(self.store, live if follows else [])
        return Cancelled(tuple(dict.fromkeys([*live, *further])))

    async def _cancel_lone(self, dag_id: DagId, reason: str, by: str, *, dry_run: bool) -> Cancelled:
        """A lone task's graph is the task alone."""
        task_id = lone_task(dag_id)
        hot = (await self.store.load([task_id])).get(task_id)
        if hot is None or hot.workspace != self.workspace or hot.dag_id is not None:
            raise NotFound("dag", dag_id)
        return Cancelled(()) if hot.status.is_final else await self.cancel(task_id, reason, by=by, dry_run=dry_run)

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
        by = arguments.name("by", by)
        arguments.words("note", note, most=10_000)

        async def decide() -> tuple[ChangeSet, Receipt]:
            hot = await self._load(TaskId(task_id))
            if hot.status is not Status.DEAD_LETTERED:
                raise IllegalTransition(hot.id, hot.status, "resolve")
            definition = await self._define(hot.id)
            if resolution in ("retry", "modify_and_retry"):
                refuse_validator(hot, definition)
            if spec is not None:
                definition = redefine(definition, spec, policy=policy_of(definition), sizes=self.options.sizes)
                check_rule(definition)
            step = await self._resolution(hot, definition, resolution, by, note)
            reviewed = await self._reviewed(hot, resolution, by, note)
            redefined = (definition,) if spec is not None else ()
            whole = step._replace(records=(*step.records, reviewed), redefined=redefined)
            return whole, receipt(step.changes[0].after)

        try:
            answer = await self._land(decide)
        except KeyTaken as refused:
            ((key, owner),) = refused.by.items()
            raise DuplicateKey(key, owner) from None
        if resolution == "cancel":
            await self.finish_cascade(task_id)
        return answer

    async def _resolution(self, hot: Hot, definition: Definition, resolution: str, by: str, note: str) -> ChangeSet:
        now = self.now()
        if resolution == "cancel":
            follows = (await self._policy_of(hot)).cascades
            return await self._cancellation(hot, note or "dead letter cancelled", follows=follows, by=by)
        if resolution == "escalate":
            return ChangeSet(changes=(transitions.escalate(hot, by=by, note=note, now=now),), at=now)
        (lane,) = await self._lanes([lane_of(definition, failures=0)])
        change = transitions.revive(
            hot, resolution=resolution, by=by, lane=lane, run_after=definition.run_after, now=now
        )
        after = reborn(change.after, definition, policy_of(definition), now=now)
        if after.traits & Trait.KEY_WHILE_WAITING:  # it waits again, and is refused where another does under its key
            after = after._replace(idempotency_key=definition.idempotency_key)
        change = change._replace(after=after)
        counts = dags.counted(hot.workspace, hot.dag_id, hot.status, change.after.status)
        reopened = await self._reopened(hot)
        return reopened._replace(changes=(change,), counts=counts)

    async def _reopened(self, hot: Hot) -> ChangeSet:
        """The graph goes on, and so do those that wait for the task, directly or not.

        Each is written also where it had not ended, so that nobody ends it at the same moment.
        """
        waiting = await walk.waiting_dags(self.store, [hot]) if outcomes.may_be_waited_for(hot) else set[DagId]()
        mine = {*waiting, *(() if hot.dag_id is None else (hot.dag_id,))}
        records = await self.store.named("dag", self.workspace, sorted(mine)) if mine else {}
        moves: list[ChangeSet] = []
        for record in records.values():
            moved = self._dag_moved(record, DagStatus.RUNNING, self.now())
            moves.append(moved if DagStatus(str(record.body["status"])).is_final else moved._replace(events=()))
        return merged([ChangeSet(at=self.now()), *moves])

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
        if record.body["reviewed"]:  # who put it before another person had decided something too
            words = ("resolution", "reviewed_by", "reviewed_at", "note")
            before: dict[str, Json] = {word: record.body[word] for word in words}
            body["earlier"] = [*cast(list[Json], record.body.get("earlier", [])), before]
        return RecordChange("dead", self.workspace, record.id, record.version, body)

    # Otherwise

    async def set_priority(self, task_id: str, priority: int, *, by: str = "human:local") -> Receipt:
        """Move a waiting task within its lane."""
        by = arguments.name("by", by)

        async def decide() -> tuple[ChangeSet, Receipt]:
            hot, now = await self._load(TaskId(task_id)), self.now()
            stored = await self._define(hot.id)
            changed = {"priority": priority}
            definition = redefine(stored, changed, policy=policy_of(stored), sizes=self.options.sizes)
            place = rescored(hot, definition, hot.height, now)
            change = transitions.reprioritise(hot, priority=priority, rank=place.rank, by=by, now=now)
            return ChangeSet(changes=(change,), redefined=(definition,), at=now), receipt(change.after)

        return await self._land(decide)

    # Queues, breakers, workspace

    async def pause_queue(self, queue: str, *, by: str = LOCAL) -> None:
        await self._configure("queue", queue, {"paused": True}, "queue.paused", by)

    async def resume_queue(self, queue: str, *, by: str = LOCAL) -> None:
        await self._configure("queue", queue, {"paused": False}, "queue.resumed", by)

    async def set_queue_preset(self, queue: str, name: str | None, *, by: str = LOCAL) -> None:
        """Tasks put into this queue from now on follow that preset."""
        fields = {"preset": None if name is None else preset(name).name}
        await self._configure("queue", queue, fields, "queue.preset", by)

    async def set_report_policy(self, required: bool, *, queue: str | None = None, by: str = LOCAL) -> None:
        """Whether tasks put in from now on are completed only with a decision report: in one queue, or in all.

        What a preset always requires stays required.
        """
        fields = {"report_required": required}
        if queue is None:
            await self._configure("workspace", self.workspace, fields, "workspace.reports", by)
        else:
            await self._configure("queue", queue, fields, "queue.reports", by)

    async def set_budget(
        self, *, daily_budget_usd: str | float | None = None, default_reserve_usd: str | float = 0, by: str = LOCAL
    ) -> SettingsView:
        """What the workspace may spend in a day, and what a task without a maximum reserves where money is limited."""
        daily = arguments.money("daily_budget_usd", daily_budget_usd)
        reserve = arguments.money("default_reserve_usd", default_reserve_usd) or 0
        limits = await self.store.limits(self.workspace, None)
        dags = [limit.name for limit in limits.values() if limit.name.startswith("dag:") and limit.ceiling is not None]
        # With more money today nothing has to wait for tomorrow's; a claim parks anew what it still cannot pay for. And
        # what reserves less than before may fit into its DAG's.
        await self._configure(
            "workspace",
            self.workspace,
            {"daily_budget": daily, "default_reserve": reserve},
            "workspace.budget",
            by,
            lifts=(Lift("budget:day"),),
            spends=tuple(Spend(self.workspace, name, 0) for name in dags),
        )
        return settings_view((await self._configuration.fresh()).settings)

    async def set_dag_budget(self, dag_id: str, ceiling_usd: str | float | None, *, by: str = LOCAL) -> None:
        """What a graph may spend in all; nothing: no limit. What waited for its money gets another chance."""
        ceiling = arguments.money("ceiling_usd", ceiling_usd)
        name = f"dag:{dag_id}"

        async def decide() -> tuple[ChangeSet, None]:
            if await self.store.record("dag", self.workspace, dag_id) is None:
                raise NotFound("dag", dag_id)
            freed = (Lift(f"budget:{name}"),) if ceiling is None else ()
            told = self._told_by("dag.budget", by, {"budget_ceiling": ceiling}, DagId(dag_id))
            ceilings = (Ceiling(self.workspace, name, ceiling),)
            return ChangeSet(ceilings=ceilings, lifts=freed, events=(told,), at=self.now()), None

        await self._land(decide)

    async def set_dag_limit(self, dag_id: str, max_tasks: int | None, *, by: str = LOCAL) -> None:
        """How many tasks a graph may have in all; nothing: as many as any."""
        most = (
            None if max_tasks is None else whole(max_tasks, "max_tasks", least=1, most=growth_limits.HIGHEST_MOST_TASKS)
        )

        async def decide() -> tuple[ChangeSet, None]:
            record = await self.store.record("dag", self.workspace, dag_id)
            if record is None:
                raise NotFound("dag", dag_id)
            change = RecordChange("dag", self.workspace, dag_id, record.version, {**record.body, "max_tasks": most})
            told = self._told_by("dag.limit", by, {"max_tasks": most}, DagId(dag_id))
            return ChangeSet(records=(change,), events=(told,), at=self.now()), None

        await self._land(decide)

    async def set_breaker_policy(
        self,
        *,
        failure_threshold: int | None = None,
        half_open_after_sec: float | None = None,
        overrides: Mapping[str, int | Mapping[str, int | float]] | None = None,
        cooldownSeconds: float | None = None,  # noqa: N803 - so the preset loki has it
        by: str = LOCAL,
    ) -> BreakerPolicyView:
        """When the workspace's breakers open and let a probe through; `overrides` say what differs for a type.

        It says the whole policy: what is not given is the preset's again. An override is a threshold, or an object with
        `failure_threshold` and `half_open_after_sec` (or `failureThreshold`, `halfOpenAfter`, as loki's files have
        them). `cooldownSeconds`, which those have besides, is read where the time to the probe is absent.
        """
        wait = cooldownSeconds if half_open_after_sec is None else half_open_after_sec
        settings = breaker_settings(failure_threshold, wait, overrides)
        fields = {"breakers": settings.to_body()}
        await self._configure("workspace", self.workspace, fields, "workspace.breakers", by)
        return policy_view(settings)

    async def open_breaker(self, type_: str, *, why: str = "opened by hand", by: str = LOCAL) -> None:
        await self._move_breaker(type_, why, by, opening=True)

    async def close_breaker(self, type_: str, *, why: str = "closed by hand", by: str = LOCAL) -> None:
        await self._move_breaker(type_, why, by, opening=False)

    async def _move_breaker(self, type_: str, why: str, by: str, *, opening: bool) -> None:
        type_ = arguments.name("type", type_)
        arguments.words("why", why)

        async def decide() -> tuple[ChangeSet | None, None]:
            breaker, now = (await self._configuration.fresh()).breaker(type_), self.now()
            if opening == bool(breaker.generation % 2):
                return None, None
            act = breakers.opened if opening else breakers.closed
            return moved(act(breaker, why=why, by=by, now=now), now), None

        await self._land(decide)

    async def _configure(
        self,
        kind: str,
        record_id: str,
        fields: dict[str, Any],
        event: str,
        by: str,
        *,
        lifts: tuple[Lift, ...] = (),
        spends: tuple[Spend, ...] = (),
    ) -> None:
        record_id = arguments.name(kind, record_id)

        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self.store.record(kind, self.workspace, record_id)
            body = cast(dict[str, Json], {**(record.body if record else {}), **fields})
            if record is not None and record.body == body:
                return None, None
            version = 0 if record is None else record.version
            change = RecordChange(kind, self.workspace, record_id, version, body)
            told = self._told_by(event, by, {kind: record_id, **fields})
            return ChangeSet(records=(change,), events=(told,), lifts=lifts, spends=spends, at=self.now()), None

        await self._land(decide)

    async def _forget(self, kind: str, record_id: str) -> None:
        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self.store.record(kind, self.workspace, record_id)
            if record is None:
                return None, None
            change = RecordChange(kind, self.workspace, record_id, record.version, None)
            return ChangeSet(records=(change,), at=self.now()), None

        await self._land(decide)
