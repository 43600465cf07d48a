"""Keeps the leases of agents that are models: these forget to send heartbeats.

A lease is kept while tool calls come in: until `KEPT_FOR` seconds after the last one, and never longer than the task
may take. When the process ends, nobody keeps the lease any more and the yard takes the task back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic

from taskyard.core.errors import TaskyardError
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.mcp")
KEPT_FOR = 900.0  # seconds after the last tool call
LONGEST_ATTEMPT = 3600.0  # seconds, where the task does not say how long it may take
SHORTEST_PAUSE = 0.5  # seconds between heartbeats


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLease:
    """A lease that is kept."""

    yard: Yard
    task_id: str
    lease: str
    every: float  # seconds between heartbeats
    patience: float  # seconds that it is kept for after a call
    until: float  # by the clock: the attempt may take no longer
    called_at: float


class LeaseKeeper:
    """Sends heartbeats for the leases that were claimed through this process."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = monotonic,
        any_call_counts: bool = True,  # one client: whatever it calls shows that it is there
    ) -> None:
        self._clock = clock
        self._any_call_counts = any_call_counts
        self._kept: dict[str, KeptLease] = {}
        self._beats: dict[str, asyncio.Task[None]] = {}

    def keep(
        self,
        yard: Yard,
        task_id: str,
        lease: str,
        *,
        lease_sec: float,
        patience: float = KEPT_FOR,
        max_duration_sec: float | None = None,
    ) -> None:
        now = self._clock()
        self._kept[lease] = KeptLease(
            yard=yard,
            task_id=task_id,
            lease=lease,
            every=max(lease_sec / 3, SHORTEST_PAUSE),
            patience=min(patience, KEPT_FOR),
            until=now + (max_duration_sec or LONGEST_ATTEMPT),
            called_at=now,
        )
        if lease not in self._beats:
            self._beats[lease] = asyncio.create_task(self._beat(lease), name=f"taskyard lease {task_id}")

    def called(self, lease: str | None = None) -> None:
        """A tool was called, with this lease or without any."""
        for each in list(self._kept) if self._any_call_counts else [lease] if lease in self._kept else []:
            self._kept[each] = replace(self._kept[each], called_at=self._clock())

    def let_go(self, lease: str) -> None:
        """The attempt is over, or its agent has given it up."""
        self._kept.pop(lease, None)
        if (beat := self._beats.pop(lease, None)) is not None:
            beat.cancel()

    def keeps(self, lease: str) -> bool:
        """Whether the next heartbeat would be sent."""
        return (kept := self._kept.get(lease)) is not None and self._is_due(kept)

    async def ended(self, lease: str) -> None:
        """Wait until nobody keeps the lease any more."""
        if (beat := self._beats.get(lease)) is not None:
            await asyncio.wait([beat])

    async def close(self) -> None:
        """Keep nothing any more. The leases run out by themselves, unless their agent comes back in time."""
        beats = list(self._beats.values())
        for lease in list(self._kept):
            self.let_go(lease)
        await asyncio.gather(*beats, return_exceptions=True)

    def _is_due(self, kept: KeptLease) -> bool:
        """Whether the lease is to be kept any longer."""
        now = self._clock()
        return now < kept.until and now - kept.called_at < kept.patience

    async def _beat(self, lease: str) -> None:
        try:
            while (kept := self._kept.get(lease)) is not None and self._is_due(kept):
                await asyncio.sleep(kept.every)
                if self._kept.get(lease) is not None and not await self._sent(self._kept[lease]):
                    return
        finally:
            self._kept.pop(lease, None)
            self._beats.pop(lease, None)

    async def _sent(self, kept: KeptLease) -> bool:
        """Send a heartbeat; False where the lease is lost, or is not to be kept."""
        if not self._is_due(kept):
            return False
        try:
            answer = await kept.yard.heartbeat(kept.task_id, kept.lease)
        except TaskyardError as error:
            logger.warning("the lease of %s was not kept this time: %s", kept.task_id, error)
            return error.retryable  # otherwise there is nothing left to keep
        return not answer.must_stop
