"""Cancelling tasks, and what depends on them."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core import outcomes, transitions
from taskyard.core.changes import ChangeSet, RecordChange, merged
from taskyard.core.json_value import Json
from taskyard.core.task import DagId, Hot, Status, TaskId, dag_of
from taskyard.definition import arguments
from taskyard.features.attempts.validation.validators import Validators
from taskyard.features.dags import walk
from taskyard.features.dags.lifecycle import Lifecycle
from taskyard.features.dead_letters.reviews import Reviews
from taskyard.features.tasks.answers import Cancelled
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL

CHUNK = 200  # changes that one stored step of a cascade holds at most


class Cancellation:
    def __init__(self, ledger: Ledger, dag_lifecycle: Lifecycle, validators: Validators, reviews: Reviews) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._dag_lifecycle = dag_lifecycle
        self._validators = validators
        self._reviews = reviews

    async def cancel(
        self,
        task_id: str,
        reason: str = "cancelled",
        *,
        cascade: bool | None = None,
        by: str | None = LOCAL,
        dry_run: bool = False,
    ) -> Cancelled:
        """Take a task out of the yard, and by default what depends on it and what it spawned; or only say which."""
        arguments.words("reason", reason)
        root = TaskId(task_id)
        hot = await self._ledger.load(root)
        follows = (await self._ledger.policy_of(hot)).cascades if cascade is None else cascade
        if dry_run:
            return await self._would_cancel(hot, follows=follows)

        async def decide() -> tuple[ChangeSet | None, bool]:
            hot = await self._ledger.load(root)
            if hot.status is Status.CANCELLED:
                return None, False
            step = await self.cancellation(hot, reason, follows=follows, by=by)
            if hot.status is Status.DEAD_LETTERED:  # who cancels a dead letter decides it
                reviewed = await self._reviews.reviewed(hot, "cancel", by or LOCAL, reason)
                step = step._replace(records=(*step.records, reviewed))
            return step, True

        if not await self._ledger.commit_keyed(decide):
            return Cancelled(())
        return Cancelled((root, *(await self.finish_cascade(root) if follows else ())))

    async def _would_cancel(self, hot: Hot, *, follows: bool) -> Cancelled:
        if hot.status is Status.CANCELLED:
            return Cancelled(())
        transitions.allow(hot, "cancel")
        below = await walk.below(self._store, [hot.id] if follows and outcomes.may_be_waited_for(hot) else [])
        return Cancelled((hot.id, *below))

    async def cancellation(self, hot: Hot, reason: str, *, follows: bool, by: str | None = None) -> ChangeSet:
        """The cancelled task, and the intent to cancel what is below it: whoever finds that finishes the cascade."""
        step = await self._validators.cancelled(hot, reason, by)
        if not follows or not outcomes.may_be_waited_for(hot):
            return step
        body: dict[str, Json] = {"root": hot.id, "dag": dag_of(hot)}
        intent = RecordChange("cascade", self._workspace, hot.id, 0, body)
        return step._replace(records=(*step.records, intent))

    async def finish_cascade(self, intent: str) -> list[TaskId]:
        """Cancel what a stored intent is about, each task once, in bounded steps; then forget the intent."""
        record = await self._store.record("cascade", self._workspace, intent)
        if record is None:
            return []
        cancelled: list[TaskId] = []
        while reasons := await walk.left(self._store, record):
            left = list(reasons.items())
            for start in range(0, len(left), CHUNK):
                cancelled += await self._cancel_chunk(left[start : start + CHUNK])
        await self._ledger.forget("cascade", intent)
        await self._dag_lifecycle.settle(DagId(str(record.body["dag"])))
        return cancelled

    async def _cancel_chunk(self, chunk: Sequence[tuple[TaskId, str]]) -> list[TaskId]:
        async def decide() -> tuple[ChangeSet | None, list[TaskId]]:
            hots = await self._store.load([task_id for task_id, _ in chunk])
            steps = [
                await self._validators.cancelled(hots[each], reason)
                for each, reason in chunk
                if not hots[each].status.is_final
            ]
            done = [step.changes[0].after.id for step in steps]
            return (merged(steps) if steps else None), done

        return await self._ledger.commit_keyed(decide, in_cascade=True)
