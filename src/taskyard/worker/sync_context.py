"""A task for handlers and tools that are plain functions, in threads of their own: each call waits for its answer."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from time import time_ns
from typing import TYPE_CHECKING, Any

from taskyard.worker.attempt_spans import step_span
from taskyard.worker.current import within_step
from taskyard.worker.spending import StepCost
from taskyard.worker.steps.step_numbers import Work

if TYPE_CHECKING:
    from taskyard.worker.context import Context

StepName = str | Work  # of a step that has no name, its work


class SyncContext:
    """The same for handlers that are plain functions: each call waits for its answer.

    Made by forwarding, not by hand, so that it cannot fall behind `Context`.
    """

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop

    def step(self, name: StepName, function: Work | None = None, *, spend: StepCost = None) -> Any:
        """As `Context.step`, with the function run here and not in the loop, which it would block."""
        name, function, numbered = self._context.named_step(name, function)
        stored = self._wait(self._context.known_steps())
        name = self._context.numbers.found(name, stored, numbered)
        if name in stored:
            return self._wait(self._context.unpacked_step(stored[name]))
        with self._context.naming(name, numbered), step_span(name), within_step(name):
            began = time_ns()
            result, ran = function(), (began, time_ns())
            return self._wait(self._context.store_step(name, result, spend, ran=ran))

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._context, name)
        if not inspect.iscoroutinefunction(value):
            return value

        def call(*arguments: Any, **named: Any) -> Any:
            return self._wait(value(*arguments, **named))

        return call

    def _wait(self, answer: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(answer, self._loop).result()
