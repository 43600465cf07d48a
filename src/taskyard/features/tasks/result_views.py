"""The result of a task: what a producer awaits, the same in this process and beyond a wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Annotated, Any, Protocol

from taskyard.core.errors import InvalidInput, NotFound, TaskCancelled, TaskFailed, TaskGone
from taskyard.core.json_value import Json
from taskyard.core.task import Definition, Hot, Status
from taskyard.definition.view import Hidden
from taskyard.features.tasks.views import Details, Task, lazy

LONGEST_WAIT = 10.0  # seconds that are waited at once


class Get(Protocol):
    def __call__(self, task_id: str, *, wait_sec: float) -> Awaitable[Details]: ...


@lazy
class Enqueued(Task):
    """A task that was just put in. `await task.result()` is its output."""

    _result: Annotated[Callable[..., Any], Hidden()]

    def __init__(self, hot: Hot, definition: Definition, *, created: bool, result: Callable[..., Any]) -> None:
        Task.__init__(self, hot, definition, created=created)
        self._result = result

    def result(self, *, timeout: float | None = None) -> Any:
        """The output, once the task has ended; see `Yard.result`. Without `await` where the yard is a `SyncYard`."""
        return self._result(self.id, timeout=timeout)

    def awaited_by(self, result: Callable[..., Any], *, created: bool | None = None) -> Enqueued:
        """Ask for its result in another way from now on: for whoever has just got it, and has shown it to nobody."""
        self._result = result
        self.created = self.created if created is None else created
        return self


async def result_of(get: Get, task_ids: str | Sequence[str], timeout: float | None) -> Any:
    """The output of one task, or a list of those of many, once they have ended."""
    if timeout is not None and not timeout >= 0:
        raise InvalidInput("timeout", "must be a number of seconds from 0 on, or None")
    until = None if timeout is None else monotonic() + timeout
    if isinstance(task_ids, str):
        return output_of(await _ended(get, task_ids, until))
    return [output_of(await _ended(get, each, until)) for each in task_ids]


def output_of(task: Details) -> Json:
    """The output of a task that has ended; raises what it ended with otherwise."""
    if task.status is Status.COMPLETED:
        return task.result
    if task.status is Status.CANCELLED:
        raise TaskCancelled(task.id, (task.cancelled and task.cancelled.reason) or "")
    failed = [attempt for attempt in task.attempts if attempt.reason is not None]
    last = failed[-1] if failed else None
    raise TaskFailed(task.id, (last and last.reason) or "", (last and last.error) or "")


async def _ended(get: Get, task_id: str, until: float | None) -> Details:
    while True:
        left = LONGEST_WAIT if until is None else max(0.0, until - monotonic())
        try:
            task = await get(task_id, wait_sec=min(left, LONGEST_WAIT))
        except NotFound:
            raise TaskGone(task_id) from None
        if task.status.is_final:
            return task
        if until is not None and monotonic() >= until:
            raise TimeoutError(f"{task_id} is {task.status.value}, and goes on")
