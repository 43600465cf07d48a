"""Heartbeats, from a thread of their own with a connection of their own.

A handler that blocks the event loop does not lose its lease. What is left of a lease is measured on the monotonic clock
from before the request was sent, so a worker never believes in a lease that the store has given up.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from time import monotonic

from taskyard.core.errors import TaskyardError
from taskyard.service.yard import Yard
from taskyard.wire.answers import Heartbeat, Told
from taskyard.wire.tasks import Held

logger = logging.getLogger("taskyard.worker")
TICK = 0.2  # seconds between looks at who is due


class Beating:
    """One held task, as its heart sees it."""

    __slots__ = ("due", "expires", "task")

    def __init__(self, task: Held, since: float) -> None:
        self.task = task
        self.prolong(since)

    @property
    def lease(self) -> str:
        return self.task.lease

    def prolong(self, since: float) -> None:
        """The lease counts from here on."""
        spec = self.task.definition
        self.due = since + spec.heartbeat_sec
        self.expires = since + spec.lease_sec


class Heart:
    """Keeps the leases of one worker alive, and passes on what it hears about them, from a thread of its own."""

    def __init__(self, yard: Yard, on_word: Callable[[str, str], object]) -> None:
        self._yard = yard
        self._on_word = on_word  # called with the lease and the word
        self._beating: dict[str, Beating] = {}
        self._lock = threading.Lock()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        twin = self._yard.twin()
        if twin is None:
            # A store that lives in this loop is blocked with it: no sweep can take a lease meanwhile.
            self._task = asyncio.create_task(self._beat(self._yard), name="taskyard heartbeat")
            return
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._beat_apart(twin)), name="taskyard heartbeat", daemon=True
        )
        self._thread.start()

    async def stop(self) -> None:
        self._stopping = True
        if self._task is not None:
            await self._task
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def add(self, task: Held, since: float) -> None:
        """Keep this lease, which was asked for at `since` on the monotonic clock."""
        beating = Beating(task, since)
        with self._lock:
            self._beating[task.lease] = beating

    def remove(self, lease: str) -> None:
        with self._lock:
            self._beating.pop(lease, None)

    async def _beat_apart(self, twin: Yard) -> None:
        async with twin:
            await self._beat(twin)

    async def _beat(self, yard: Yard) -> None:
        while not self._stopping:
            if due := self._due():
                await self._send(yard, due)
            self._give_up()
            await asyncio.sleep(TICK)

    def _due(self) -> list[Beating]:
        now = monotonic()
        with self._lock:
            return [beating for beating in self._beating.values() if beating.due <= now]

    async def _send(self, yard: Yard, due: list[Beating]) -> None:
        asked = monotonic()
        try:
            answers = await yard.heartbeat_many([Heartbeat(each.task.id, each.lease) for each in due])
        except TaskyardError as error:
            logger.warning("heartbeat failed, will be tried again: %s", error)
            return
        for beating, told in zip(due, answers, strict=True):
            self._hear(beating, told, asked)

    def _hear(self, beating: Beating, told: Told, asked: float) -> None:
        if told.must_stop:
            self.remove(beating.lease)
        else:
            beating.prolong(asked)
        for word in told.words:
            self._on_word(beating.lease, word)

    def _give_up(self) -> None:
        """A lease that could not be kept is lost, whatever the store will say when it answers again."""
        now = monotonic()
        with self._lock:
            lost = [beating for beating in self._beating.values() if beating.expires <= now]
        for beating in lost:
            self.remove(beating.lease)
            self._on_word(beating.lease, "lease_lost")
