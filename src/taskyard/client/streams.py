"""Streams of a yard that a server has."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from taskyard.api import calls
from taskyard.api.codec import error_of, read
from taskyard.client.attempts import Batched, in_batches, objects_of
from taskyard.client.remote import over_http
from taskyard.client.transport.batches import Batches, BatchItem
from taskyard.client.transport.call_encoding import Arguments
from taskyard.core.errors import TaskyardError
from taskyard.features.streams.service import Streams
from taskyard.features.streams.views import StreamReceipt

if TYPE_CHECKING:
    from taskyard.client.transport.connection import Connection


def _repeatable(given: Arguments) -> Arguments:
    return {**given, "request_id": given["request_id"] or token_hex(8)}


class RemoteStreams(Batched, Streams):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.outgoing = Batches(self._send_one, self._send_many)

    append = in_batches(Streams.append, calls.APPEND, prepare=_repeatable)
    page = over_http(Streams.page, calls.STREAM)
    follow = Streams.follow  # it reads pages

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
