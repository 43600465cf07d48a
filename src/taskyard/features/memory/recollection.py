"""What a task that refers to `memory:auto` is given: finished tasks like it, and how they ended.

It is looked up once, under the lease of the attempt that first asks, and stored as a step: a retry sees the same.
"""

from __future__ import annotations

import json

from taskyard.core.changes import ChangeSet
from taskyard.core.errors import EmbedderFailed, InvalidInput
from taskyard.core.json_value import Json, compact
from taskyard.core.lease import Lease
from taskyard.core.task import Hot, TaskId
from taskyard.definition import document
from taskyard.features.attempts.notes import Notes
from taskyard.features.attempts.views import Input
from taskyard.features.memory import rules
from taskyard.features.memory.recall import NOT_CONFIGURED, Recall
from taskyard.ledger.ledger import Ledger

MOST_RECALLED = 5


class Recollection:
    def __init__(self, ledger: Ledger, recall: Recall, notes: Notes) -> None:
        self._ledger = ledger
        self._recall = recall
        self._notes = notes

    async def of(self, hot: Hot, lease: str | None) -> list[Input]:
        """What is stored of it; under a lease, it is looked up where nothing is stored yet."""
        if rules.AUTO not in (await self._ledger.definition(hot.id)).context_refs:
            return []
        stored = await self._stored(hot.id)
        if stored is None and lease is not None:
            stored = await self._store(hot, lease, await self._recalled(hot))
        return [] if stored is None else [Input(rules.AUTO, stored, True)]

    async def _stored(self, task_id: TaskId) -> Json:
        rows = await self._ledger.store.checkpoints(task_id)
        return next((json.loads(row.data) for row in rows if row.name == rules.AUTO), None)

    async def _recalled(self, hot: Hot) -> Json:
        """An embedder that fails leaves the agent without memory, and says so: the work itself does not need it."""
        if self._recall.embedder is None:
            return {"tasks": [], "problem": f"embedder {NOT_CONFIGURED}"}
        definition = await self._ledger.definition(hot.id)
        granted = await self._recall.granted_types(hot.agent_type or "", hot.agent)
        try:
            hits = await self._recall.recall(rules.text_of(definition), MOST_RECALLED, granted, but=hot.id)
        except (EmbedderFailed, InvalidInput) as error:
            return {"tasks": [], "problem": str(error)}
        return {"tasks": document.write(hits), "problem": None}

    async def _store(self, hot: Hot, lease: str, recalled: Json) -> Json:
        text = compact(recalled)

        async def decide() -> tuple[ChangeSet | None, Json]:
            held = await self._ledger.held(hot.id, Lease(lease))
            stored = await self._stored(held.id)
            return (self._notes.noted(held, rules.AUTO, text), recalled) if stored is None else (None, stored)

        return await self._ledger.commit(decide)
