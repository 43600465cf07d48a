"""What an attempt says while it works: gathered for a moment, and written to its stream in one call.

The moments are the same for all attempts of a process, so that what they say goes out together. Those of two processes
are not: a server would get what all its workers have to say at the same instant, since a machine has one clock.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Protocol

from taskyard.core.errors import LeaseLost, TaskyardError
from taskyard.core.json_value import Json, encode, value_of
from taskyard.features.streams.rules import GATHERED_BYTES, GATHERED_FOR, MOST_CHUNK_BYTES, NewChunk
from taskyard.features.streams.views import StreamReceipt

logger = logging.getLogger("taskyard.worker")
PARTING = 5.0  # seconds in which what is left must be written when the attempt ends
MOST_GATHERED = 1 << 20  # characters that wait for a store that is away
MOST_PIECES = 500  # of one call
_PIECE = MOST_CHUNK_BYTES // 4  # characters, each of at most four bytes


_PHASE = random.uniform(0, GATHERED_FOR)  # of this process


def next_moment(now: float, phase: float = _PHASE) -> float:
    """When the attempts of this process write next."""
    return ((now - phase) // GATHERED_FOR + 1) * GATHERED_FOR + phase


class Send(Protocol):
    def __call__(
        self, chunks: Sequence[NewChunk], /, *, request_id: str, patient: bool
    ) -> Awaitable[StreamReceipt]: ...


class AttemptOutput:
    """The chunks of one attempt that are on their way."""

    def __init__(self, name: str, send: Send, on_loss: Callable[[], None]) -> None:
        self._name = name  # of the task, for the log
        self._send = send
        self._on_loss = on_loss  # called when the lease turns out to be lost
        self._waiting: list[NewChunk] = []
        self._characters = 0
        self._unanswered: tuple[list[NewChunk], str] | None = None  # sent, with its request id, and to be sent again
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._is_closed = False

    async def say(self, kind: str, text: str = "", data: Json = None) -> None:
        """Take it; it is written within a quarter of a second. Where much has gathered, it waits for the writing."""
        if self._is_closed or (not text and data is None):
            return
        self._take(kind, text, data)
        if self._characters >= GATHERED_BYTES:
            await self._make_room()
        elif self._timer is None and self._sending is None:
            self._wait_for_the_moment()

    async def _make_room(self) -> None:
        """Write now. While the store is away, some more is gathered, and then the attempt waits for it."""
        while True:
            try:
                return await self.flush()
            except TaskyardError as error:
                logger.warning("%s: its output waits: %s", self._name, error)
                if self._characters < MOST_GATHERED:
                    return None
                await asyncio.sleep(GATHERED_FOR)

    def _take(self, kind: str, text: str, data: Json) -> None:
        last = self._waiting[-1] if self._waiting else None
        if data is not None:
            # As it is now: its handler may change it before it is written.
            value = encode(data, field="chunk", max_bytes=MOST_CHUNK_BYTES)
            self._waiting.append({"kind": kind, "data": value_of(value)})
            self._characters += 256 + len(value)
        elif last is not None and last.get("kind") == kind and len(last.get("text", "")) + len(text) <= _PIECE:
            last["text"] = last.get("text", "") + text
        else:
            for start in range(0, len(text), _PIECE):
                self._waiting.append({"kind": kind, "text": text[start : start + _PIECE]})
        self._characters += len(text)

    def _wait_for_the_moment(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(next_moment(loop.time()), self._begin)

    def _begin(self) -> None:
        self._timer = None
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_in_background(), name=f"output of {self._name}")

    async def _send_in_background(self) -> None:
        try:
            await self.flush(patient=True)
        except TaskyardError as error:
            logger.warning("%s: its output waits: %s", self._name, error)
        finally:
            self._sending = None
            if self._waiting or self._unanswered:
                self._wait_for_the_moment()

    async def flush(self, *, patient: bool = False) -> None:
        """Write what has gathered until now. What cannot be written is kept for the next time.

        Patient: the attempt does not wait for it, so a server may let others go first.
        What is said meanwhile waits for the next moment: it would else go out in as many pieces as calls can be made.
        """
        async with self._lock:
            if self._unanswered is not None:
                await self._send_once(*self._unanswered, patient=patient)
            due = len(self._waiting)
            for start in range(0, due, MOST_PIECES):
                if self._is_closed:
                    return
                number = min(MOST_PIECES, due - start)
                batch, self._waiting = self._waiting[:number], self._waiting[number:]
                self._unanswered = (batch, token_hex(8))
                self._characters = 0  # of what has come since
                await self._send_once(*self._unanswered, patient=patient)

    async def _send_once(self, chunks: list[NewChunk], request_id: str, *, patient: bool) -> None:
        try:
            receipt = await self._send(chunks, request_id=request_id, patient=patient)
        except LeaseLost:
            self._close()
            self._on_loss()
            return
        except TaskyardError as error:
            if error.retryable:
                raise
            logger.warning("%s: some of its output was refused: %s", self._name, error)
            self._unanswered = None
            return
        self._unanswered = None
        if receipt.is_full:
            logger.warning("%s: its output is longer than is kept; the rest of it is left out", self._name)
            self._close()

    async def close(self) -> None:
        """Write the rest, and take nothing more. A store that is away does not hold up the end of the attempt."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            async with asyncio.timeout(PARTING):
                await self.flush()
        except (TaskyardError, TimeoutError) as error:
            logger.warning("%s: the end of its output is lost: %s", self._name, error or "no answer")
        self._close()
        if self._sending is not None:
            self._sending.cancel()
            with suppress(asyncio.CancelledError):
                await self._sending

    def _close(self) -> None:
        self._is_closed = True
        self._waiting, self._unanswered, self._characters = [], None, 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
