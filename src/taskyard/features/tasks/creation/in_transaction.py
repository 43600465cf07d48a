"""Putting work in as part of the caller's own transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from taskyard.core.errors import InvalidInput
from taskyard.definition.definition import lane_of
from taskyard.definition.task_fields import TaskFields
from taskyard.features.tasks.creation.arrivals import BY_DEFAULT
from taskyard.features.tasks.creation.drafts import Drafts
from taskyard.features.tasks.views import Task
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.tracing import enqueue_span


class ExternalTransactions:
    def __init__(self, ledger: Ledger, drafts: Drafts) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._drafts = drafts

    async def enqueue_in(
        self, connection: Any, type: str, *, created_by: str = BY_DEFAULT, **fields: Unpack[TaskFields]
    ) -> Task:
        """Put one task in through the caller's connection: it commits or vanishes with the caller's transaction.

        The connection is to the yard's own database and has a transaction open. Agents see the task once that commits.
        """
        with enqueue_span([{"type": type, **fields}]):
            return await self._enqueued_in(connection, {"type": type, **fields}, created_by)

    async def _enqueued_in(self, connection: Any, fields: Mapping[str, object], created_by: str) -> Task:
        external = self._store.join(connection)
        planning, now = await self._ledger.configuration.current(), self._ledger.now()
        draft = self._drafts.draft(fields, planning, created_by=created_by, dag_id=None, now=now)
        if draft.depends_on:
            raise InvalidInput("depends_on", "cannot be given here: put the task in on its own, or submit a DAG")
        if draft.idempotency_key is not None:
            owners = await external.by_key(self._workspace, [draft.idempotency_key])
            if owner := owners.get(draft.idempotency_key):
                return Task(await self._ledger.load(owner), await self._ledger.definition(owner))
        lanes = await external.lanes([lane_of(draft, failures=0)])
        births = await self._drafts.births([draft], planning, heights={}, done=frozenset(), lanes=lanes, now=now)
        await external.insert(births.tasks, births.blockers)
        return Task(births.tasks[0].hot, draft, created=True)
