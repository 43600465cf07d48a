"""The reads of the contract for a store that has them as functions of one module, named alike.

Here is only what a caller sees: names, types and defaults. How a function is run, on which connection and in which
thread, is the store's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from taskyard.core.changes import Blocker, Checkpoint, Edge, Labels, Limit, Outbox, Output, Record, Signal, StoredEvent
from taskyard.core.json_value import Json
from taskyard.core.task import AgentId, Attempt, DagId, Definition, Hot, LaneId, RuntimeId, Status, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import FROM_THE_OLDEST, Config, Cursor, Filter, Graph, Prunable
from taskyard.stores.shared.paging import page_of


class Reads(ABC):
    @abstractmethod
    async def _ask(self, name: str, *given: object) -> Any:
        """Run the read of this name."""

    async def load(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Hot]:
        return await self._ask("load", task_ids)

    async def definitions(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Definition]:
        return await self._ask("definitions", task_ids)

    async def labels(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Labels]:
        return await self._ask("labels", task_ids)

    async def outputs(self, task_ids: Sequence[TaskId]) -> dict[TaskId, Output]:
        return await self._ask("outputs", task_ids)

    async def attempts(self, task_id: TaskId) -> list[Attempt]:
        return await self._ask("attempts", task_id)

    async def histories(self, task_ids: Sequence[TaskId]) -> dict[TaskId, list[Attempt]]:
        return await self._ask("histories", task_ids)

    async def checkpoints(self, task_id: TaskId) -> list[Checkpoint]:
        return await self._ask("checkpoints", task_id)

    async def signals(self, task_id: TaskId) -> list[Signal]:
        return await self._ask("signals", task_id)

    async def blockers(self, task_ids: Sequence[TaskId]) -> list[Blocker]:
        return await self._ask("blockers", task_ids)

    async def awaited(self, workspace: str, limit: int) -> list[Blocker]:
        return await self._ask("awaited", workspace, limit)

    async def edges(self, parents: Sequence[TaskId]) -> list[Edge]:
        return await self._ask("edges", parents)

    async def graph(self, dag_id: DagId) -> Graph:
        return await self._ask("graph", dag_id)

    async def stuck(self, dag_id: DagId) -> bool:
        return await self._ask("stuck", dag_id)

    async def by_key(self, workspace: str, keys: Sequence[str]) -> dict[str, TaskId]:
        return await self._ask("by_key", workspace, keys)

    async def record(self, kind: str, workspace: str, record_id: str) -> Record | None:
        return await self._ask("record", kind, workspace, record_id)

    async def named(self, kind: str, workspace: str, ids: Sequence[str]) -> dict[str, Record]:
        return await self._ask("named", kind, workspace, ids)

    async def records(self, kind: str, workspace: str | None = None) -> list[Record]:
        return await self._ask("records", kind, workspace)

    async def page(
        self, kind: str, workspace: str, *, prefix: str = "", below: str | None = None, limit: int
    ) -> list[Record]:
        return await self._ask("page", kind, workspace, page_of(prefix, below, limit))

    async def limits(self, workspace: str, names: Sequence[str] | None) -> dict[str, Limit]:
        return await self._ask("limits", workspace, names)

    async def counts(self, workspace: str, names: Sequence[str]) -> dict[str, int]:
        return await self._ask("counts", workspace, names)

    async def duty(self, name: str) -> Micros | None:
        return await self._ask("duty", name)

    async def pruned(self, workspace: str | None = None) -> int:
        return await self._ask("pruned", workspace)

    async def config(self, workspace: str, lanes_above: LaneId) -> Config:
        return await self._ask("config", workspace, lanes_above)

    async def pulses(self, prefix: str) -> dict[str, Micros]:
        return await self._ask("pulses", prefix)

    async def held(self, *, agent: AgentId | None = None, runtime: RuntimeId | None = None) -> list[Hot]:
        return await self._ask("held", agent, runtime)

    async def due(self, now: Micros, limit: int) -> list[Hot]:
        return await self._ask("due", now, limit)

    async def drifting(self, now: Micros, limit: int) -> list[Hot]:
        return await self._ask("drifting", now, limit)

    async def prunable(
        self, before: Micros, limit: int, *, dead_too: bool, after: Cursor = FROM_THE_OLDEST
    ) -> Prunable:
        return await self._ask("prunable", before, limit, dead_too, after)

    async def find(self, which: Filter, *, after: int, limit: int) -> list[Hot]:
        return await self._ask("find", which, after, limit)

    async def tally(self, workspace: str) -> dict[tuple[Status, str], int]:
        return await self._ask("tally", workspace)

    async def depth(self, workspace: str) -> dict[Status, int]:
        return await self._ask("depth", workspace)

    async def longest_ready(self, workspace: str) -> Hot | None:
        return await self._ask("longest_ready", workspace)

    async def ahead(self, lane: LaneId, rank: int, seq: int, limit: int) -> int:
        return await self._ask("ahead", lane, rank, seq, limit)

    async def events(
        self, *, after: int, limit: int, workspace: str | None = None, task_id: TaskId | None = None
    ) -> list[StoredEvent]:
        return await self._ask("events", after, limit, workspace, task_id)

    async def outbox(self, topic: str, limit: int) -> list[tuple[int, Outbox]]:
        return await self._ask("outbox", topic, limit)

    async def health(self) -> dict[str, Json]:
        return await self._ask("health")

    async def checks(self) -> list[str]:
        return await self._ask("checks")
