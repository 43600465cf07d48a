"""Telling clients that a resource has changed, or a task that they follow.

Each yard is read by one reader, whoever listens to it: `EventReader`. It begins with the first listener and ends with
the last one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager, suppress

from taskyard.core.changes import Event
from taskyard.core.errors import TaskyardError
from taskyard.core.task import Status
from taskyard.mcp.short_answers import task_uri
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.mcp")
OVERVIEW, DEAD_LETTERS = "yard://overview", "yard://dead-letters"
AGAIN = 1.0  # seconds until the log is read again after an error

_AFTER_DEATH = frozenset({"task.revived", "task.escalated", "task.dead_lettered"})


def touched(event: Event) -> set[str]:
    """The addresses whose content an event has changed."""
    uris = {OVERVIEW}
    if event.task_id is not None:
        uris |= {task_uri(event.task_id), f"{task_uri(event.task_id)}/why"}
    if event.dag_id is not None:
        uris.add(f"yard://dags/{event.dag_id}")
    if event.event in _AFTER_DEATH or event.status is Status.DEAD_LETTERED:
        uris.add(DEAD_LETTERS)
    return uris


class UpdateListener:
    """Somebody who waits for some addresses to change. What changes twice before it is heard of is sent once."""

    def __init__(self, uris: Iterable[str]) -> None:
        self._wanted = frozenset(uris)
        self._changed: dict[str, None] = {}
        self._woken = asyncio.Event()
        self._is_over = False

    def want(self, uris: Iterable[str]) -> None:
        self._wanted = frozenset(uris)

    def tell(self, uris: set[str]) -> None:
        self._changed.update(dict.fromkeys(sorted(uris & self._wanted)))
        if self._changed:
            self._woken.set()

    def end(self) -> None:
        self._is_over = True
        self._woken.set()

    async def next(self) -> list[str]:
        """The addresses that have changed; none once the reader has ended."""
        while not self._is_over:
            await self._woken.wait()
            self._woken.clear()
            changed, self._changed = list(self._changed), {}
            if changed:
                return changed
        return []


class EventReader:
    """The one reader of a yard's events in this process."""

    def __init__(self, yard: Yard) -> None:
        self._yard = yard
        self._listeners: set[UpdateListener] = set()
        self._reading: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def listening(self, uris: Iterable[str]) -> AsyncGenerator[UpdateListener]:
        """Hear of these addresses, from now on, while the block runs."""
        listener = UpdateListener(uris)
        async with self.delivering(listener):
            yield listener

    @asynccontextmanager
    async def delivering(self, listener: UpdateListener) -> AsyncGenerator[None]:
        self._listeners.add(listener)
        if self._reading is None:
            begun = asyncio.get_running_loop().create_future()
            self._reading = asyncio.create_task(self._read(lambda: begun.done() or begun.set_result(None)))
            await asyncio.wait([begun, self._reading], return_when=asyncio.FIRST_COMPLETED)
        try:
            yield
        finally:
            self._listeners.discard(listener)
            if not self._listeners:
                await self.close()

    async def close(self) -> None:
        if (reading := self._reading) is not None:
            self._reading = None
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading

    async def _read(self, begun: Callable[[], object]) -> None:
        after: int | None = None
        while True:
            try:
                events = self._yard.host.verbs.events
                after = await events.newest() if after is None else after
                begun()
                async for stored in events.tail(after=after):
                    after = stored.seq
                    uris = touched(stored.event)
                    for listener in list(self._listeners):
                        listener.tell(uris)
            except TaskyardError as error:
                logger.warning("resources are not followed for now: %s", error)
                begun()
                after = None if error.code == "events_gone" else after
                await asyncio.sleep(AGAIN)
