"""The reads of the contract, for stores that implement each read as a function of the same name in one module.

This class declares names, types and defaults. Each store decides on which connection and in which thread a read runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from taskyard.core.attempt_stream import StreamChunk, StreamPlace
from taskyard.core.changes import Blocker, Checkpoint, Edge, Labels, Limit, Outbox, Output, Record, Signal, StoredEvent
from taskyard.core.json_value import Json
from taskyard.core.task import AgentId, Attempt, DagId, Definition, Hot, LaneId, RuntimeId, Status, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import FROM_THE_OLDEST, Config, Cursor, Filter, Graph, Near, Prunable, VectorQuery
from taskyard.stores.shared.paging import page_range


class Reads(ABC):
    @abstractmethod
    async def _query(self, name: str, *given: object) -> Any:
        """Run the store's function of this name."""

    async def load(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
        return await self._query("load", task_ids)

    async def definitions(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Definition]:
        return await self._query("definitions", task_ids)

    async def labels(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Labels]:
        return await self._query("labels", task_ids)

    async def outputs(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Output]:
        return await self._query("outputs", task_ids)

    async def attempts(self, task_id: TaskId) -> list[Attempt]:
        return await self._query("attempts", task_id)

    async def histories(self, task_ids: Sequence[TaskId]) -> dict[TaskId, list[Attempt]]:
        return await self._query("histories", task_ids)

    async def checkpoints(self, task_id: TaskId) -> list[Checkpoint]:
        return await self._query("checkpoints", task_id)

    async def signals(self, task_id: TaskId) -> list[Signal]:
        return await self._query("signals", task_id)

    async def blockers(self, task_ids: Sequence[TaskId]) -> list[Blocker]:
        return await self._query("blockers", task_ids)

    async def awaited(self, workspace: str, limit: int) -> list[Blocker]:
        return await self._query("awaited", workspace, limit)

    async def edges(self, parents: Sequence[TaskId]) -> list[Edge]:
        return await self._query("edges", parents)

    async def graph(self, dag_id: DagId) -> Graph:
        return await self._query("graph", dag_id)

    async def begun(self, dag_ids: Sequence[DagId]) -> set[DagId]:
        return await self._query("begun", dag_ids)

    async def stuck(self, dag_id: DagId) -> bool:
        return await self._query("stuck", dag_id)

    async def by_key(self, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]:
        return await self._query("by_key", workspace, keys)

    async def record(self, kind: str, workspace: str, record_id: str) -> Record | None:
        return await self._query("record", kind, workspace, record_id)

    async def named(self, kind: str, workspace: str, ids: Sequence[str]) -> dict[str, Record]:
        return await self._query("named", kind, workspace, ids)

    async def records(self, kind: str, workspace: str | None = None) -> list[Record]:
        return await self._query("records", kind, workspace)

    async def page(
        self, kind: str, workspace: str, *, prefix: str = "", below: str | None = None, limit: int
    ) -> list[Record]:
        return await self._query("page", kind, workspace, page_range(prefix, below, limit))

    async def limits(self, workspace: str, names: Sequence[str] | None) -> dict[str, Limit]:
        return await self._query("limits", workspace, names)

    async def counts(self, workspace: str, names: Sequence[str]) -> dict[str, int]:
        return await self._query("counts", workspace, names)

    async def duty(self, name: str) -> Micros | None:
        return await self._query("duty", name)

    async def pruned(self, workspace: str | None = None) -> int:
        return await self._query("pruned", workspace)

    async def config(self, workspace: str, lanes_above: LaneId) -> Config:
        return await self._query("config", workspace, lanes_above)

    async def pulses(self, prefix: str) -> dict[str, Micros]:
        return await self._query("pulses", prefix)

    async def held(self, *, agent: AgentId | None = None, runtime: RuntimeId | None = None) -> list[Hot]:
        return await self._query("held", agent, runtime)

    async def held_under(self, agent: AgentId, stems: Sequence[str]) -> list[Hot]:
        return await self._query("held_under", agent, stems)

    async def due(self, now: Micros, limit: int) -> list[Hot]:
        return await self._query("due", now, limit)

    async def drifting(self, now: Micros, limit: int) -> list[Hot]:
        return await self._query("drifting", now, limit)

    async def prunable(
        self, before: Micros, limit: int, *, dead_too: bool, after: Cursor = FROM_THE_OLDEST
    ) -> Prunable:
        return await self._query("prunable", before, limit, dead_too, after)

    async def find(self, which: Filter, *, after: int, limit: int) -> list[Hot]:
        return await self._query("find", which, after, limit)

    async def tally(self, workspace: str) -> dict[tuple[Status, str], int]:
        return await self._query("tally", workspace)

    async def depth(self, workspace: str) -> dict[Status, int]:
        return await self._query("depth", workspace)

    async def longest_ready(self, workspace: str) -> Hot | None:
        return await self._query("longest_ready", workspace)

    async def first_ready(self, lanes: Sequence[LaneId], limit: int) -> list[Hot]:
        return await self._query("first_ready", lanes, limit)

    async def ahead(self, lane: LaneId, rank: int, seq: int, limit: int) -> int:
        return await self._query("ahead", lane, rank, seq, limit)

    async def events(
        self, *, after: int, limit: int, workspace: str | None = None, task_id: TaskId | None = None
    ) -> list[StoredEvent]:
        return await self._query("events", after, limit, workspace, task_id)

    async def events_of(self, task_ids: Sequence[TaskId]) -> list[StoredEvent]:
        return await self._query("events_of", task_ids)

    async def newest_events(
        self, *, limit: int, below: int | None = None, workspace: str | None = None, task_id: TaskId | None = None
    ) -> list[StoredEvent]:
        return await self._query("newest_events", limit, below, workspace, task_id)

    async def outbox(self, topic: str, limit: int) -> list[tuple[int, Outbox]]:
        return await self._query("outbox", topic, limit)

    async def health(self) -> dict[str, Json]:
        return await self._query("health")

    async def checks(self) -> list[str]:
        return await self._query("checks")

    async def nearest(self, query: VectorQuery) -> list[Near]:
        return await self._query("nearest", query)

    async def embedded(self, workspace: str, embedder: str, task_ids: Sequence[TaskId]) -> set[TaskId]:
        return await self._query("embedded", workspace, embedder, list(task_ids))

    async def embedding_counts(self, workspace: str) -> dict[str, int]:
        return await self._query("embedding_counts", workspace)

    async def stream(self, task_id: TaskId, after: StreamPlace, limit: int) -> list[StreamChunk]:
        return await self._query("stream", task_id, after, limit)
