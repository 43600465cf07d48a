"""Calls of one moment, answered together: by one commit, or over one request.

There is no timer. An idle batcher begins as soon as the loop has let everybody ask who was about to, so a lone caller
waits for nobody. While one batch is under way the next gathers; where enough have gathered it may begin beside it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from taskyard.stores.shielding import UNCANCELLED

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Callback = Callable[[Answer | BaseException], None]  # called with the answer, and must not raise
Waiting = tuple[Asked, Callback[Answer]]


class Batcher(Generic[Asked, Answer]):
    """Collects what is asked and hands it on in batches. An answer that is an error is raised to who asked."""

    def __init__(
        self,
        answer: Callable[[Sequence[Asked]], Awaitable[Sequence[Answer | Exception]]],
        *,
        most: int,
        weigh: Callable[[Asked], int] | None = None,
        heaviest: int = 0,
        worth_a_second: int = 0,
        halves: bool = False,
    ) -> None:
        self._answer = answer
        self._most = most
        self._weigh = weigh  # None: they are alike
        self._heaviest = heaviest  # together; one that is heavier by itself goes alone
        self._worth_a_second = worth_a_second  # how many begin beside a batch that is under way; 0: they wait for it
        self._halves = halves  # where that many wait twice over, only half of them go first, and the others beside them
        self._waiting: deque[Waiting[Asked, Answer]] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._under_way = 0  # batches

    def ask(self, asked: Asked) -> asyncio.Future[Answer]:
        """The answer, to be awaited. Who is cancelled does not take the question back: it may have been acted on."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, partial(_settle, future)))
        if not self._running or self._is_worth_a_second:
            self._begin()
        return future

    def ask_with_callback(self, asked: Asked, callback: Callback[Answer]) -> None:
        """Have the callback called with the answer, which is cheaper than a future where many are answered at once."""
        self._waiting.append((asked, callback))
        if not self._running or self._is_worth_a_second:
            self._begin()

    @property
    def _is_worth_a_second(self) -> bool:
        return self._under_way == len(self._running) == 1 and 0 < self._worth_a_second <= len(self._waiting)

    def _begin(self) -> None:
        self._running.add(asyncio.create_task(self._run()))

    async def close(self) -> None:
        while self._running:
            await asyncio.wait(self._running)

    async def _run(self) -> None:
        running = asyncio.current_task()
        assert running is not None
        UNCANCELLED.add(running)
        try:
            while self._waiting:
                batch = self._batch()
                self._under_way += 1
                if self._waiting and self._is_worth_a_second:
                    self._begin()
                try:
                    await self._turn(batch)
                finally:
                    self._under_way -= 1
        finally:
            UNCANCELLED.discard(running)
            self._running.discard(running)  # at once: whoever asks next must not take it for one that goes on

    def _batch(self) -> list[Waiting[Asked, Answer]]:
        most = min(len(self._waiting), self._most)
        if self._halves and not self._under_way and 0 < 2 * self._worth_a_second <= len(self._waiting):
            most = min(most, -(-len(self._waiting) // 2))
        if self._weigh is None or most == 1:
            return [self._waiting.popleft() for _ in range(most)]
        batch = [self._waiting.popleft()]
        weight = self._weigh(batch[0][0])
        while self._waiting and len(batch) < most:
            weight += self._weigh(self._waiting[0][0])
            if weight > self._heaviest:
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _turn(self, batch: list[Waiting[Asked, Answer]]) -> None:
        try:
            answers: Sequence[Answer | BaseException] = await self._answer([asked for asked, _ in batch])
        except BaseException as error:
            for _, callback in batch:
                callback(error)
            if not isinstance(error, Exception):
                raise  # to whoever ends this; all else is for those who wait for an answer
        else:
            for (_, callback), answer in zip(batch, answers, strict=True):
                callback(answer)


def _settle(future: asyncio.Future[Answer], answer: Answer | BaseException) -> None:
    if future.done():
        return
    if isinstance(answer, BaseException):
        future.set_exception(answer)
        future.exception()  # a caller that has gone away must not make this an unheard error
    else:
        future.set_result(answer)
