"""What an agent stores and says while it works: results of steps, and messages for those who watch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Unpack

from taskyard.core import transitions
from taskyard.core.changes import ChangeSet, Checkpoint, Event, StoredEvent, expected
from taskyard.core.errors import LeaseLost
from taskyard.core.json_value import Json, compact
from taskyard.core.lease import Lease
from taskyard.core.task import (
    Hot,
    TaskId,
    dag_of,
)
from taskyard.definition import arguments
from taskyard.features.artifacts.service import Artifacts
from taskyard.features.attempts.step_facts import EVENT, facts_given, step_views
from taskyard.features.attempts.views import StepFacts, StepView
from taskyard.features.budgets import prices
from taskyard.features.budgets.spend import NOTHING, Reported, reported
from taskyard.features.budgets.views import Spent
from taskyard.features.streams.rules import message_entry
from taskyard.features.streams.service import Streams
from taskyard.ledger.ledger import Ledger

EVENTS_AT_ONCE = 500


class Notes:
    def __init__(self, ledger: Ledger, artifacts: Artifacts, streams: Streams) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._artifacts = artifacts
        self._streams = streams

    async def checkpoint(
        self, task_id: str, lease: str, name: str, data: Json, *, step: StepFacts | None = None, **spent: Unpack[Spent]
    ) -> Json:
        """Store the result of a named step once, and answer with the one that is stored.

        What the attempt has cost so far is stored in the same change; `step` says what this step alone took and cost.
        """
        name = arguments.name("name", name)
        await prices.load([spent.get("model"), None if step is None else step.get("model")])
        totals, own = reported(**spent), facts_given(step)
        text = await self._artifacts.fitting(task_id, lease, name, data)

        async def decide() -> tuple[ChangeSet | None, Json]:
            hot = await self._ledger.held(TaskId(task_id), Lease(lease))
            for stored in await self._store.checkpoints(hot.id):
                if stored.name == name:
                    return None, json.loads(stored.data)
            return self.noted(hot, name, text, totals, own), data

        return await self._ledger.commit(decide)

    async def checkpoints(self, task_id: str) -> dict[str, Json]:
        """What is remembered of the task's steps and waits, by their names."""
        return await self.of(await self._ledger.load(TaskId(task_id)))

    async def of(self, hot: Hot) -> dict[str, Json]:
        return {row.name: json.loads(row.data) for row in await self._store.checkpoints(hot.id)}

    async def steps(self, task_id: str) -> list[StepView]:
        """The steps whose results are stored: when each began and ended, and what it cost, where that is known."""
        hot = await self._ledger.load(TaskId(task_id))
        rows = await self._store.checkpoints(hot.id)
        events: list[StoredEvent] = []
        while rows and (page := await self._store.events(after=_last(events), limit=EVENTS_AT_ONCE, task_id=hot.id)):
            events += page
        return step_views(rows, events)

    async def message(self, task_id: str, lease: str, message: Json, *, request_id: str | None = None) -> None:
        """Something the agent said or did, for those who watch: a chunk of its stream, and an event.

        The same request id again adds neither.
        """
        most = self._ledger.options.sizes.max_output_bytes
        try:
            await self._streams.add(task_id, lease, (message_entry(message, "message", most),), request_id)
        except LeaseLost:
            await self._ledger.load(TaskId(task_id))  # not found, where it is another workspace's
            raise

    def noted(
        self,
        hot: Hot,
        name: str,
        text: str,
        totals: Reported = NOTHING,
        own: Mapping[str, Json] = MappingProxyType({}),
    ) -> ChangeSet:
        """A step's result, guarded by the version: whoever lost the lease is behind."""
        row, now = Checkpoint(hot.id, name, hot.attempt, text), self._ledger.now()
        if totals != NOTHING:
            change = transitions.step(hot, own={"step": name, **own}, totals=totals.fields, now=now)
            return ChangeSet(changes=(change,), checkpoints=(row,), at=now)
        facts = compact({"step": name, "agent": hot.agent, **own})
        event = Event(EVENT, hot.workspace, hot.id, dag_of(hot), now, None, None, hot.attempt, facts)
        return ChangeSet(expects=(expected(hot),), checkpoints=(row,), events=(event,), at=now)


def _last(events: Sequence[StoredEvent]) -> int:
    return events[-1].seq if events else 0
