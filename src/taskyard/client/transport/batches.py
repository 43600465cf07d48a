"""What is asked for while a request is under way goes out together in the next one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from taskyard.core.errors import TaskyardError
from taskyard.ledger.batcher import Batcher

Answer = TypeVar("Answer")
MOST_ITEMS = 500
MOST_CHARACTERS = 2 << 20  # of one request: far from what a server takes, also where each takes four bytes


class BatchItem(NamedTuple):
    """What is to be said about a task."""

    task_id: str
    members: str  # of the JSON object that says it


class Batches(Generic[Answer]):
    """Items of one kind, on their way."""

    def __init__(
        self,
        send_one: Callable[[BatchItem], Awaitable[Answer]],
        send_many: Callable[[Sequence[BatchItem]], Awaitable[Sequence[Answer | TaskyardError]]],
    ) -> None:
        self._send_one = send_one
        self._send_many = send_many
        self._batcher = Batcher[BatchItem, Answer](
            self._answers, most=MOST_ITEMS, weigh=lambda item: len(item.members), heaviest=MOST_CHARACTERS
        )

    async def send(self, item: BatchItem) -> Answer:
        """Send one, together with whatever else is waiting."""
        return await self._batcher.ask(item)

    async def close(self) -> None:
        await self._batcher.close()

    async def _answers(self, items: Sequence[BatchItem]) -> list[Answer | TaskyardError]:
        if len(items) == 1:
            return [await self._alone(items[0])]
        try:
            answers = await self._send_many(items)
        except TaskyardError as error:
            if error.retryable:
                return [error] * len(items)
            # One of them may be at fault for all: it is looked for by halves, so that the others need not go alone.
            half = len(items) // 2
            return [*await self._answers(items[:half]), *await self._answers(items[half:])]
        return [
            await self._alone(item) if isinstance(answer, TaskyardError) and answer.retryable else answer
            for item, answer in zip(items, answers, strict=True)
        ]

    async def _alone(self, item: BatchItem) -> Answer | TaskyardError:
        try:
            return await self._send_one(item)
        except TaskyardError as error:
            return error
