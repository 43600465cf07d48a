"""Streams of a yard that a server has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from taskyard.api import calls
from taskyard.api.codec import error_of, read
from taskyard.client.attempts import Batched, in_batches, objects_of, repeatable
from taskyard.client.remote import over_http
from taskyard.client.transport.batches import Batches, BatchItem
from taskyard.client.transport.call_encoding import Arguments
from taskyard.core.errors import StoreUnavailable, TaskyardError, TooManyListeners
from taskyard.core.json_value import is_object, is_sequence, mended
from taskyard.features.streams.service import MOST_WAIT, Streams
from taskyard.features.streams.views import StreamedChunk, StreamReceipt

if TYPE_CHECKING:
    from taskyard.client.transport.connection import Connection


MOST_FOLLOWED = 100  # streams, each with a connection of its own: half of what the client may have
EVENTS = "text/event-stream"
QUIET = 15.0  # seconds after which a server gives a sign of life


class _NothingCame(Exception):
    """The answer began, and ended or was cut off without a word of the server's."""


class _ChunkReader:
    """Reads chunks out of an answer of server-sent events."""

    def __init__(self) -> None:
        self._rest = b""
        self.is_answered = False  # with a good status, and maybe nothing more
        self.has_begun = False
        self.is_over = False

    def on_answer(self) -> None:
        self.is_answered = True

    def read(self, piece: bytes) -> list[StreamedChunk]:
        """The chunks that are whole by now. `end` is the last event; a problem is raised."""
        *whole, self._rest = (self._rest + piece).split(b"\n\n")
        found: list[StreamedChunk] = []
        for event in whole:
            self.has_begun = True
            lines = _fields(event)
            if lines.get("event") == "problem":
                raise error_of(json.loads(lines["data"]))
            if lines.get("event") == "end":
                self.is_over = True
            elif "data" in lines:
                found.append(read(StreamedChunk, json.loads(lines["data"])))
        return found


def _fields(event: bytes) -> dict[str, str]:
    """The named lines of an event; comments have no name."""
    found: dict[str, str] = {}
    for line in event.split(b"\n"):
        name, _, value = line.partition(b": ")
        if name:
            found[name.decode()] = value.decode()
    return found


def _sendable(given: Arguments) -> Arguments:
    """With texts as a stream keeps them: a server takes no request in which something is no text."""
    chunks = given["chunks"]
    return {**repeatable(given), "chunks": [_mended(each) for each in chunks] if is_sequence(chunks) else chunks}


def _mended(chunk: object) -> object:
    text = chunk.get("text") if is_object(chunk) else None
    return {**chunk, "text": mended(text)} if is_object(chunk) and isinstance(text, str) else chunk


class RemoteStreams(Batched, Streams):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.outgoing = Batches(self._send_one, self._send_many)
        self._followed = 0  # streams that an answer is open for

    append = in_batches(Streams.append, calls.APPEND, prepare=_sendable)
    page = over_http(Streams.page, calls.STREAM)

    async def follow(self, task_id: str, *, after: str | None = None) -> AsyncGenerator[StreamedChunk, None]:
        """By hand: the server sends each chunk as it comes, in one answer. Who is cut off asks again from there.

        Where too many are followed at once, or nothing comes through, pages are asked for, one after the other.
        """
        if self.connection.is_streaming and self._followed < MOST_FOLLOWED:
            self._followed += 1
            try:
                async for chunk in self._follow_answer(task_id, after):
                    yield chunk
                    after = chunk.place
                return
            except (TooManyListeners, _NothingCame):
                pass  # in pages, from where it stopped
            finally:
                self._followed -= 1
        async for chunk in self._follow_pages(task_id, after):
            yield chunk

    async def _follow_answer(self, task_id: str, after: str | None) -> AsyncGenerator[StreamedChunk, None]:
        while True:
            reading = _ChunkReader()
            answer = self.connection.receive(
                calls.STREAM,
                headers={"Accept": EVENTS},
                query={"after": after},
                silence=2 * QUIET,
                on_begin=reading.on_answer,
                task_id=task_id,
            )
            try:
                async with aclosing(answer):
                    async for piece in answer:
                        for chunk in reading.read(piece):
                            yield chunk
                            after = chunk.place
                        if reading.is_over:
                            return
            except StoreUnavailable:
                if not reading.is_answered:  # for as long as the client is patient
                    raise
            if not reading.has_begun:
                raise _NothingCame  # the server ended, or something on the way keeps it to itself

    async def _follow_pages(self, task_id: str, after: str | None) -> AsyncGenerator[StreamedChunk, None]:
        while True:
            page = await self.page(task_id, after=after, wait_sec=MOST_WAIT / 2)
            for chunk in page.chunks:
                yield chunk
            if page.is_over:
                return
            after = page.after

    async def append_many(self, appends: Sequence[Mapping[str, Any]]) -> list[StreamReceipt | TaskyardError]:
        """By hand: what is appended at one moment goes out together as it is."""
        answers = await asyncio.gather(*(self.append(**each) for each in appends), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, TaskyardError):
                raise answer
        return [
            answer for answer in answers if not isinstance(answer, BaseException) or isinstance(answer, TaskyardError)
        ]

    async def _send_one(self, item: BatchItem) -> StreamReceipt:
        body = f"{{{item.members}}}".encode()
        return read(StreamReceipt, await self.connection.ask(calls.APPEND, body, task_id=item.task_id))

    async def _send_many(self, items: Sequence[BatchItem]) -> list[StreamReceipt | TaskyardError]:
        answer = await self.connection.ask(calls.APPEND_MANY, f'{{"appends":{objects_of(items)}}}'.encode())
        return [error_of(each["error"]) if "error" in each else read(StreamReceipt, each) for each in answer["results"]]
