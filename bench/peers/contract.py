"""What every system that is compared must answer to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

IN_FLIGHT = 16  # calls of one process that wait at the same time
AT_ONCE = 1_000  # jobs of one bulk call
SLOTS = 100  # jobs that a worker process may run at the same time, where the system has such a limit
TEXT = "x" * 170

Done = Callable[[int], None]


def payload(number: int) -> dict[str, Any]:
    """About 200 bytes as JSON, and no two alike."""
    return {"number": number, "text": TEXT}


class Peer(Protocol):
    """One system in one process, on a place of its own that was empty before `prepare`.

    Of the processes that share a place, the producer prepares it; every one opens it before it does anything else.
    """

    blocking: ClassVar[bool] = False  # its calls hold up the event loop, so several at a time need threads

    async def prepare(self) -> None:
        """Make what the system keeps its jobs in."""
        ...

    async def open(self) -> None:
        """Connect."""
        ...

    async def put(self, number: int) -> None:
        """Enqueue one job. It is stored when this returns."""
        ...

    async def put_many(self, numbers: Sequence[int]) -> None:
        """Enqueue them in the fastest way that the system has."""
        ...

    async def work(self, done: Done) -> None:
        """Run jobs until the process is ended. Each calls `done` with its number, once."""
        ...

    async def left(self) -> int:
        """How many jobs are not yet stored as done."""
        ...

    async def close(self) -> None: ...
