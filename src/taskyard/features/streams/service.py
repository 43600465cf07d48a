"""Streams: what attempts say while they work, beside the log. Appended under the lease, read from any place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from secrets import token_hex
from time import monotonic
from typing import Any

from taskyard.core.attempt_stream import KEPT_AFTER_END, StreamAppend, StreamEntry
from taskyard.core.errors import InvalidInput, LeaseLost, TaskyardError
from taskyard.core.lease import seal
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.definition import arguments
from taskyard.features.streams import rules
from taskyard.features.streams.rules import NewChunk
from taskyard.features.streams.views import StreamedChunk, StreamPage, StreamReceipt, page_view
from taskyard.ledger.batcher import Batcher
from taskyard.ledger.ledger import Ledger
from taskyard.stores.turns import in_turns, pause

CHUNKS_AT_ONCE = 200
MOST_WAIT = 60.0  # seconds
LOOK_AGAIN = 0.5  # seconds: the end of a task wakes nobody who follows its stream
MOST_APPENDS = 50  # in one write, less than a millisecond: a claim or an end may have to wait for it
HEAVIEST = 4 << 20  # bytes of one write
PRUNED_AT_ONCE = 200  # tasks


class Streams:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._appends = Batcher[StreamAppend, StreamReceipt](
            self._append_all, most=MOST_APPENDS, weigh=_weight, heaviest=HEAVIEST
        )

    async def close(self) -> None:
        await self._appends.close()

    async def append(
        self,
        task_id: str,
        lease: str,
        chunks: Sequence[NewChunk],
        *,
        request_id: str | None = None,
        patient: bool = False,  # noqa: ARG002 - for a server, which has others to serve
    ) -> StreamReceipt:
        """Add what the attempt says to its stream. The same request id again adds nothing.

        An attempt has at most 8 MiB: what is more is not kept, the last chunk says so, and the attempt goes on.
        `patient`: nobody waits for the answer. A server lets other calls go first, for a twentieth of a second at most.
        """
        return await self.add(task_id, lease, rules.entries_of(chunks), request_id)

    async def append_many(self, appends: Sequence[Mapping[str, Any]]) -> list[StreamReceipt | TaskyardError]:
        """The same for many attempts, each for itself. They are checked in turns, and then written together."""
        checked = await in_turns(lambda each: self._checked(**each), appends)
        await pause()
        adding = [self._appends.ask(each) if isinstance(each, StreamAppend) else each for each in checked]
        waiting = [each for each in adding if isinstance(each, asyncio.Future)]
        if waiting:
            await asyncio.wait(waiting)
        return [await _outcome(each) for each in adding]

    async def add(
        self, task_id: str, lease: str, entries: tuple[StreamEntry, ...], request_id: str | None = None
    ) -> StreamReceipt:
        """Entries that were found sound."""
        return await self._appends.ask(self._append_of(task_id, lease, entries, request_id))

    def _checked(
        self,
        task_id: str,
        lease: str,
        chunks: Sequence[NewChunk],
        request_id: str | None = None,
        patient: bool = False,  # noqa: ARG002 - as in `append`
    ) -> StreamAppend | InvalidInput:
        try:
            return self._append_of(task_id, lease, rules.entries_of(chunks), request_id)
        except InvalidInput as refusal:
            return refusal

    def _append_of(
        self, task_id: str, lease: str, entries: tuple[StreamEntry, ...], request_id: str | None
    ) -> StreamAppend:
        request = token_hex(8) if request_id is None else arguments.name("request_id", request_id)
        return StreamAppend(TaskId(task_id), self._ledger.workspace, seal(lease), request, entries)

    async def _append_all(self, appends: Sequence[StreamAppend]) -> list[StreamReceipt | Exception]:
        answers = await self._store.append_streams(appends)
        return [
            StreamReceipt(answer.is_full) if answer.accepted else LeaseLost(each.task_id)
            for each, answer in zip(appends, answers, strict=True)
        ]

    async def page(
        self, task_id: str, *, after: str | None = None, limit: int = CHUNKS_AT_ONCE, wait_sec: float = 0
    ) -> StreamPage:
        """The chunks of a task behind a place, in order. Where there are none yet, it waits for the first."""
        if not 0 <= wait_sec <= MOST_WAIT:
            raise InvalidInput("wait_sec", f"must be from 0 to {MOST_WAIT:g}")
        if not 1 <= limit <= CHUNKS_AT_ONCE:
            raise InvalidInput("limit", f"must be from 1 to {CHUNKS_AT_ONCE}")
        place, until = rules.place_of(after), monotonic() + wait_sec
        while True:
            mark = await self._store.streamed(-1, 0)
            # The task is read first: after its end nothing comes to its stream.
            hot = await self._ledger.load(TaskId(task_id))
            chunks = await self._store.stream(hot.id, place, limit)
            is_over = hot.status.is_final and len(chunks) < limit
            left = until - monotonic()
            page = page_view(chunks, rules.place_text(place), hot.status, is_over=is_over)
            if chunks and not page.chunks and not is_over:
                place = chunks[-1].place  # nobody is shown these
            elif page.chunks or is_over or left <= 0:
                return page
            else:
                await self._store.streamed(mark, min(left, LOOK_AGAIN), hot.id)

    async def follow(self, task_id: str, *, after: str | None = None) -> AsyncGenerator[StreamedChunk, None]:
        """Every chunk of a task behind a place, and each new one as it comes, until the task has ended.

        A reader that was cut off goes on behind the `place` of the last chunk that it got.
        """
        async for page in self.pages(task_id, after=after):
            for chunk in page.chunks:
                yield chunk

    async def pages(
        self, task_id: str, *, after: str | None = None, quiet_sec: float = MOST_WAIT
    ) -> AsyncGenerator[StreamPage, None]:
        """The same in pages; an empty one where nothing was said for so long. The last one is over.

        While chunks come, only they are read: many follow, and a task is looked at when its stream is silent.
        """
        place, hot = rules.place_of(after), await self._ledger.load(TaskId(task_id))
        looked_at = answered_at = monotonic()
        is_final = hot.status.is_final
        while True:
            mark = await self._store.streamed(-1, 0)
            chunks = await self._store.stream(hot.id, place, CHUNKS_AT_ONCE)
            if not chunks and not is_final and monotonic() - looked_at >= LOOK_AGAIN:
                hot, looked_at = await self._ledger.load(hot.id), monotonic()
                if is_final := hot.status.is_final:
                    continue  # what was said before the end comes first
            is_over = is_final and len(chunks) < CHUNKS_AT_ONCE
            if chunks or is_over or monotonic() - answered_at >= quiet_sec:
                yield page_view(chunks, rules.place_text(place), hot.status, is_over=is_over)
                answered_at = monotonic()
            if is_over:
                return
            if chunks:
                place = chunks[-1].place
            if len(chunks) < CHUNKS_AT_ONCE:
                await self._store.streamed(mark, min(LOOK_AGAIN, quiet_sec), hot.id)

    async def prune(self) -> int:
        """Remove the streams of tasks that ended an hour ago or are gone, of all workspaces."""
        after: str | None = ""
        while after is not None:
            after = await self._store.prune_streams(Micros(self._ledger.now() - KEPT_AFTER_END), after, PRUNED_AT_ONCE)
        return 0


async def _outcome(adding: asyncio.Future[StreamReceipt] | InvalidInput) -> StreamReceipt | TaskyardError:
    if isinstance(adding, InvalidInput):
        return adding
    try:
        return await adding
    except TaskyardError as refusal:
        return refusal


def _weight(append: StreamAppend) -> int:
    return sum(len(entry.body) for entry in append.entries)
