"""The events of a task as A2A shows them: until the task rests, or as a stream of its states and output."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace

from a2a.server.events.event_queue import Event
from a2a.types.a2a_pb2 import TaskArtifactUpdateEvent, TaskStatusUpdateEvent

from taskyard.a2a import shown_tasks
from taskyard.a2a.live_output import LiveOutput
from taskyard.core.changes import StoredEvent
from taskyard.core.errors import TaskyardError
from taskyard.core.task import Status
from taskyard.features.a2a.rules import AgentTaskState
from taskyard.features.a2a.views import AgentTask
from taskyard.features.streams.views import StreamPage
from taskyard.yard import Yard

LONGEST_LOOK = 30.0  # seconds that one look for something said waits
RESTING = frozenset(
    {Status.PENDING, *(status for status in Status if status.is_final)}
)  # ends, and waits for an answer
STARTED = frozenset({Status.RUNNING, Status.VALIDATING, Status.RETRYING})


class TaskEvents:
    """The events of one task from now on, and what its attempts say, for as long as the reader is wanted."""

    def __init__(self, changes: Yard, task_id: str, after: int, ended: asyncio.Event) -> None:
        self._changes = changes
        self._task_id = task_id
        self._events = changes.tail(after=after, task_id=task_id)
        self._ended = asyncio.ensure_future(ended.wait())
        self._next: asyncio.Future[StoredEvent] | None = None
        self._page: asyncio.Future[StreamPage] | None = None
        self._is_silent = False  # the task has ended, and says no more unless it comes back

    async def next(self, timeout: float | None, *, stream_after: str | None = None) -> StoredEvent | StreamPage | None:
        """The next event, or output behind a place; None where the reader is no longer wanted or that time is over."""
        if self._next is None:
            self._next = asyncio.ensure_future(anext(self._events))
        if self._page is None and stream_after is not None and not self._is_silent:
            page = self._changes.streams.page(self._task_id, after=stream_after, limit=1, wait_sec=LONGEST_LOOK)
            self._page = asyncio.ensure_future(page)
        waited_for = [self._next, self._ended, *(() if self._page is None else (self._page,))]
        await asyncio.wait(waited_for, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if self._page is not None and self._page.done():
            found_page, self._page = self._page.result(), None
            self._is_silent = found_page.is_over
            return found_page
        if not self._next.done():
            return None
        found, self._next, self._is_silent = self._next, None, False
        return found.result()

    async def close(self) -> None:
        self._ended.cancel()
        for waiting in (self._next, self._page):
            if waiting is not None:
                waiting.cancel()
                with suppress(asyncio.CancelledError, StopAsyncIteration, TaskyardError):
                    await waiting
        await self._events.aclose()


async def rested(changes: Yard, yard: Yard, begun: AgentTask, longest: float, ended: asyncio.Event) -> AgentTask:
    """The task once it has ended or asks for something; as it stands where that takes longer."""
    until = asyncio.get_running_loop().time() + longest
    events = TaskEvents(changes, begun.task_id, await changes.local.events.newest(), ended)
    try:
        while True:
            found = await yard.a2a.task(begun.handle)
            left = until - asyncio.get_running_loop().time()
            if found.state.is_final or found.state.is_interrupted or left <= 0 or ended.is_set():
                return found
            while (event := await events.next(left)) is not None and not _is_of_a_state(event):
                left = until - asyncio.get_running_loop().time()
            if event is None:
                return await yard.a2a.task(begun.handle)
    finally:
        await events.close()


async def follow(
    changes: Yard, yard: Yard, begun: AgentTask, base_url: str, ended: asyncio.Event, *, ends_interrupted: bool
) -> AsyncGenerator[Event]:
    """The task, and then each state that it comes to and everything that its worker says, in their order."""
    events = TaskEvents(changes, begun.task_id, await changes.local.events.newest(), ended)
    try:
        found = await yard.a2a.task(begun.handle)
        output = LiveOutput(yard, found, await _ended_attempts(yard, found))
        yield await shown_tasks.task_shown(yard, found, base_url)
        while not (found.state.is_final or (ends_interrupted and found.state.is_interrupted)):
            happened = await events.next(None, stream_after=output.after)
            if happened is None:
                return
            if isinstance(happened, StoredEvent) and (text := _words_of(happened)) is not None:
                message = shown_tasks.agent_message(found, text, f"message-{happened.seq}")
                yield _update(found, shown_tasks.status(found, message))
                continue
            before, found = found, _as_of(happened, found, await yard.a2a.task(begun.handle))
            # The state was read first: all that was said before the task came to rest is in the stream by now.
            updates = await output.updates()
            has_moved, rests = found.state is not before.state, _rests(found)
            if has_moved and not rests:
                yield _update(found, (await shown_tasks.task_shown(yard, found, base_url, history_length=0)).status)
            for update in (*updates, *(output.closing() if rests else ())):
                yield update
            if has_moved and rests:
                async for event in _rested(yard, found, base_url):
                    yield event
    finally:
        await events.close()


async def _ended_attempts(yard: Yard, found: AgentTask) -> int:
    attempts = (await yard.get(found.task_id)).attempts
    return attempts[-1].number if attempts else 0


def _as_of(happened: StoredEvent | StreamPage, known: AgentTask, now: AgentTask) -> AgentTask:
    """The task as it was when that happened. It may have come to rest since: what was said before that comes first."""
    if not _rests(now):
        return now
    if isinstance(happened, StoredEvent):
        if happened.event.status in RESTING:
            return now
        has_started = happened.event.status in STARTED
    else:
        has_started = bool(happened.chunks)
    return replace(now, state=AgentTaskState.WORKING) if has_started else known


def _rests(found: AgentTask) -> bool:
    return found.state.is_final or found.state.is_interrupted


async def _rested(yard: Yard, found: AgentTask, base_url: str) -> AsyncGenerator[Event]:
    """What an end or a question means: artifacts come before the end that they belong to."""
    shown = await shown_tasks.task_shown(yard, found, base_url, history_length=0)
    if found.state is AgentTaskState.COMPLETED:
        for artifact in shown.artifacts:
            yield TaskArtifactUpdateEvent(
                task_id=found.handle, context_id=found.context_id, artifact=artifact, append=False, last_chunk=True
            )
    yield _update(found, shown.status)


def _update(found: AgentTask, status: shown_tasks.TaskStatus) -> TaskStatusUpdateEvent:
    return TaskStatusUpdateEvent(task_id=found.handle, context_id=found.context_id, status=status)


def _is_of_a_state(happened: StoredEvent | StreamPage) -> bool:
    return isinstance(happened, StoredEvent) and happened.event.status is not None


def _words_of(stored: StoredEvent) -> str | None:
    """What a worker said for those who watch."""
    if stored.event.event not in ("task.message", "task.progress"):
        return None
    content = json.loads(stored.event.data or "{}")
    text = content.get("text") or shown_tasks.note_of(content) or shown_tasks.note_of(content.get("progress"))
    return text if isinstance(text, str) and text else None
