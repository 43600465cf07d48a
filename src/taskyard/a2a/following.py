"""Following a task: until it rests, or as a stream of what becomes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress

from a2a.server.events.event_queue import Event
from a2a.types.a2a_pb2 import TaskArtifactUpdateEvent, TaskStatusUpdateEvent

from taskyard.a2a import shown_tasks
from taskyard.core.changes import StoredEvent
from taskyard.core.errors import EventsGone
from taskyard.features.a2a.rules import AgentTaskState
from taskyard.features.a2a.views import AgentTask
from taskyard.yard import Yard


class TaskEvents:
    """The events of one task from now on, for as long as the reader is wanted."""

    def __init__(self, changes: Yard, task_id: str, after: int, ended: asyncio.Event) -> None:
        self._events = changes.tail(after=after, task_id=task_id)
        self._ended = asyncio.ensure_future(ended.wait())
        self._next: asyncio.Future[StoredEvent] | None = None

    async def next(self, timeout: float | None) -> StoredEvent | None:
        """The next event; None where the reader is no longer wanted, or that time is over."""
        if self._next is None:
            self._next = asyncio.ensure_future(anext(self._events))
        await asyncio.wait([self._next, self._ended], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if not self._next.done():
            return None
        found, self._next = self._next, None
        return found.result()

    async def close(self) -> None:
        self._ended.cancel()
        if self._next is not None:
            self._next.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration, EventsGone):
                await self._next
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
            while (event := await events.next(left)) is not None and event.event.status is None:
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
        yield await shown_tasks.task_shown(yard, found, base_url)
        while not (found.state.is_final or (ends_interrupted and found.state.is_interrupted)):
            stored = await events.next(None)
            if stored is None:
                return
            if (text := _words_of(stored)) is not None:
                message = shown_tasks.agent_message(found, text, f"message-{stored.seq}")
                yield _update(found, shown_tasks.status(found, message))
            elif stored.event.status is not None and (moved := await yard.a2a.task(begun.handle)) != found:
                has_moved, found = moved.state is not found.state, moved
                if has_moved:
                    async for event in _moved(yard, found, base_url):
                        yield event
    finally:
        await events.close()


async def _moved(yard: Yard, found: AgentTask, base_url: str) -> AsyncGenerator[Event]:
    """What a new state means: artifacts come before the end that they belong to."""
    shown = await shown_tasks.task_shown(yard, found, base_url, history_length=0)
    if found.state is AgentTaskState.COMPLETED:
        for artifact in shown.artifacts:
            yield TaskArtifactUpdateEvent(
                task_id=found.handle, context_id=found.context_id, artifact=artifact, append=False, last_chunk=True
            )
    yield _update(found, shown.status)


def _update(found: AgentTask, status: shown_tasks.TaskStatus) -> TaskStatusUpdateEvent:
    return TaskStatusUpdateEvent(task_id=found.handle, context_id=found.context_id, status=status)


def _words_of(stored: StoredEvent) -> str | None:
    """What a worker said for those who watch."""
    if stored.event.event not in ("task.message", "task.progress"):
        return None
    content = json.loads(stored.event.data or "{}")
    text = content.get("text") or shown_tasks.note_of(content) or shown_tasks.note_of(content.get("progress"))
    return text if isinstance(text, str) and text else None
