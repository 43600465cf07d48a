"""The yard: every use case over one store and one workspace."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from types import TracebackType
from typing import Self

from taskyard.core.errors import TaskyardError
from taskyard.service.access import Access
from taskyard.service.bulk import Bulk
from taskyard.service.claiming import Claiming
from taskyard.service.engine import Options
from taskyard.service.health import Health
from taskyard.service.joining import Joining
from taskyard.service.overseeing import Overseeing
from taskyard.service.suspending import Suspending
from taskyard.service.sweeping import Sweeping
from taskyard.service.verify import Verifying
from taskyard.service.why import Explaining
from taskyard.stores.contract import Store

logger = logging.getLogger("taskyard")
SWEEP_EVERY = 1.0  # seconds


class Yard(Claiming, Suspending, Joining, Sweeping, Bulk, Overseeing, Explaining, Verifying, Health, Access):
    """A durable queue of work for agents.

    Use it as an async context manager: `async with taskyard.connect() as yard`. While it is open it sweeps every second
    (leases, delays, housekeeping), unless it was made with `sweeps=False`.
    """

    def __init__(self, store: Store, options: Options) -> None:
        super().__init__(store, options)
        self._sweeper: asyncio.Task[None] | None = None

    def twin(self) -> Self | None:
        """Another connection to the same yard, for another thread's loop; None where there can be none."""
        store = self.store.twin()
        return None if store is None else type(self)(store, replace(self.options, sweeps=False))

    async def open(self) -> Self:
        await self.store.open()
        if self.options.sweeps:
            self._sweeper = asyncio.create_task(self._keep_sweeping(), name="taskyard sweeper")
        return self

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.wait([self._sweeper])
            self._sweeper = None
        await self._completions.close()
        await self._committer.close()
        await self.store.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _keep_sweeping(self) -> None:
        while True:
            try:
                await self.sweep()
            except TaskyardError as error:
                # The next sweep finds what this one left; a store that is away comes back or its users hear of it.
                logger.warning("sweep failed: %s", error)
            await asyncio.sleep(SWEEP_EVERY)
