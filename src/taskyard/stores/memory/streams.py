"""Streams of a yard in memory, and those who wait for what is written to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence

from taskyard.core.attempt_stream import (
    REFUSED,
    SEEN_REQUESTS,
    StreamAppend,
    StreamAppended,
    StreamChunk,
    StreamEnd,
    StreamPlace,
    appended,
    may_append,
)
from taskyard.core.claiming import ClaimPlan
from taskyard.core.task import Hot, TaskId
from taskyard.core.units import Micros
from taskyard.stores.memory.tables import Tables
from taskyard.stores.shared.waiters import ANYTHING, Waiters, wanted_topics


class MemoryStreams(ABC):
    """The part of the store that has streams and waiters."""

    def __init__(self) -> None:
        self._waiters, self._stream_waiters = Waiters(), Waiters()

    @property
    @abstractmethod
    def _tables(self) -> Tables: ...

    @abstractmethod
    def now(self) -> Micros: ...

    def wake_all(self) -> None:
        self._waiters.wake()
        self._stream_waiters.wake()

    def _wrote(self) -> None:
        topics, self._tables.topics = self._tables.topics, set()
        self._waiters.wake(topics)

    async def append_streams(self, appends: Sequence[StreamAppend]) -> list[StreamAppended]:
        tables, now = self._tables, self.now()
        last_event = tables.events[-1:]
        answers = [append(tables, each, now) for each in appends]
        self._stream_waiters.wake(frozenset(each.task_id for each in appends))
        if tables.events[-1:] != last_event:
            self._wrote()
        return answers

    async def stream(self, task_id: TaskId, after: StreamPlace, limit: int) -> list[StreamChunk]:
        stored = self._tables.streams.get(task_id, [])
        first = bisect_right(stored, after, key=lambda chunk: chunk.place)
        return stored[first : first + limit]

    async def prune_streams(self, before: Micros, after: str, limit: int) -> str | None:
        return prune(self._tables, before, after, limit)

    async def streamed(self, mark: int, timeout: float, task_id: TaskId | None = None) -> int:
        await self._stream_waiters.wait(mark, timeout, ANYTHING if task_id is None else frozenset({task_id}))
        return self._stream_waiters.mark

    async def changed(self, mark: int, timeout: float, plan: ClaimPlan | None = None, *, took_all: bool = False) -> int:
        wanted = ANYTHING if plan is None else wanted_topics(plan, took_all=took_all)
        if timeout > 0:
            await self._waiters.wait(mark, timeout, wanted)
        _ = self._tables  # a yard that was closed meanwhile refuses
        return self._waiters.mark


def append(tables: Tables, given: StreamAppend, now: Micros) -> StreamAppended:
    hot = tables.hot.get(given.task_id)
    if hot is None or not may_append(hot, given):
        return REFUSED
    stored = tables.streams.setdefault(hot.id, [])
    last = [each for each in stored[-SEEN_REQUESTS:] if each.attempt == hot.attempt]
    answer, chunks, events, _ = appended(given, hot, StreamEnd().behind(last), now)
    stored += chunks
    tables.add_events(events)
    return answer


def prune(tables: Tables, before: Micros, after: str, limit: int) -> str | None:
    behind = sorted(task_id for task_id in tables.streams if task_id > after)
    gone = {task_id for task_id in behind[:limit] if _is_over(tables.hot.get(task_id), before)}
    for task_id in gone:
        del tables.streams[task_id]
    return behind[limit - 1] if len(behind) > limit else None


def _is_over(hot: Hot | None, before: Micros) -> bool:
    return hot is None or (hot.status.is_final and hot.updated_at < before)
