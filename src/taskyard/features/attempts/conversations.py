"""Where agents resume their conversations: pinned by an attempt, or gone on with from an earlier task."""

from __future__ import annotations

from contextlib import suppress

from taskyard.core import transitions
from taskyard.core.changes import Change, ChangeSet, RecordChange
from taskyard.core.errors import LeaseLost
from taskyard.core.lease import Lease
from taskyard.core.task import Hot, TaskId, Trait
from taskyard.definition import arguments
from taskyard.features.attempts.conversation import LAST, continued, last_id, last_task, made_last, pinned
from taskyard.features.attempts.endings.failure_path import receipt
from taskyard.features.attempts.views import Receipt
from taskyard.features.tasks.views import Held, stored_task
from taskyard.ledger.ledger import Ledger

_RESUMES = int(Trait.RESUMES)  # a number: this is asked of every claimed task, and flags take their time


class Conversations:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store

    async def pin_session(
        self, task_id: str, lease: str, *, session_id: str | None = None, work_dir: str | None = None
    ) -> Receipt:
        """Remember where the agent's conversation can be resumed. What is not given stays as it was pinned before."""
        if session_id is not None:
            arguments.name("session_id", session_id)
        arguments.words("work_dir", work_dir or "", most=4096)

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            hot = await self._ledger.held(TaskId(task_id), Lease(lease))
            session = pinned(hot.session, session_id=session_id, work_dir=work_dir, runtime=hot.runtime)
            if session == hot.session:
                return None, receipt(hot)
            change = transitions.pin(hot, session=session, now=self._ledger.now())
            return await self._pinning(change), receipt(change.after)

        return await self._ledger.commit(decide)

    async def _pinning(self, change: Change) -> ChangeSet:
        """The pinned session, which is the last one of its subject and agent from now on."""
        hot, records = change.after, tuple[RecordChange, ...]()
        if hot.traits & _RESUMES:
            definition = await self._ledger.definition(hot.id)
            records = made_last(hot, definition, await self._store.record(LAST, hot.workspace, last_id(definition)))
        return ChangeSet(changes=(change,), records=records, at=hot.updated_at)

    async def resumed(self, held: Held) -> Held:
        """The claimed task, with the last session of its subject and agent pinned to it where it resumes that one."""
        hot, definition = stored_task(held)
        if not hot.traits & _RESUMES or hot.session is not None or definition.fresh:
            return held

        async def decide() -> tuple[ChangeSet | None, Hot]:
            hot = await self._ledger.held(held.id, held.lease)
            session = continued(hot, await self._last_with_session(held))
            if session is None:
                return None, hot
            change = transitions.pin(hot, session=session, now=self._ledger.now())
            return await self._pinning(change), change.after

        with suppress(LeaseLost):  # cancelled since it was claimed: the agent hears of that from its first call
            return Held(await self._ledger.commit(decide), definition, held.lease)
        return held

    async def _last_with_session(self, held: Held) -> Hot | None:
        last = last_task(await self._store.record(LAST, self._ledger.workspace, last_id(stored_task(held)[1])))
        return None if last is None else (await self._store.load([last])).get(last)
