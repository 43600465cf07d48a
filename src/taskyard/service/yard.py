"""The yard: every use case over one store and one workspace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from math import inf
from time import monotonic
from types import TracebackType
from typing import Self

from taskyard.core.claiming import Pace
from taskyard.core.errors import TaskyardError
from taskyard.features.attempts.claims import Claiming
from taskyard.features.subagents.service import Subagents
from taskyard.features.tasks.bulk import Bulk
from taskyard.features.tasks.in_transaction import Joining
from taskyard.features.tasks.why import Explaining
from taskyard.features.tokens.service import Access
from taskyard.features.verify.health import Health
from taskyard.features.verify.service import Verifying
from taskyard.ledger.options import Options
from taskyard.outbox import Errands
from taskyard.service.showing import Showing
from taskyard.stores.contract import Store

logger = logging.getLogger("taskyard")
SWEEP_EVERY = 1.0  # seconds
SWEPT_LATELY = 5.0


class Yard(Claiming, Subagents, Joining, Errands, Bulk, Showing, Explaining, Verifying, Health, Access):
    """A durable queue of work for agents.

    Use it as an async context manager: `async with taskyard.connect() as yard`. While it is open it sweeps every second
    (leases, delays, housekeeping), unless it was made with `sweeps=False`.
    """

    def __init__(self, store: Store, options: Options) -> None:
        super().__init__(store, options)
        self._keepers: list[asyncio.Task[None]] = []
        self._swept_at = -inf  # by `monotonic`: when it last fell to this process to sweep

    @property
    def pace(self) -> Pace:
        return self.store.pace

    @property
    def sweeps(self) -> bool:
        """Whether this process keeps the yard swept."""
        return self.options.sweeps

    def twin(self) -> Self | None:
        """Another connection to the same yard, for another thread's loop; None where there can be none."""
        store = self.store.twin()
        return (
            None
            if store is None
            else type(self)(store, replace(self.options, preset=None, retention_days=None, sweeps=False))
        )

    async def open(self) -> Self:
        await self.store.open()
        try:
            await self.agree_on_preset()
            await self.agree_on_retention()
        except BaseException:
            await self.store.close()
            raise
        if self.options.sweeps:
            # Apart, since housekeeping and what is outside of the store take their time, and leases do not wait for it.
            acts: dict[str, Callable[[], Awaitable[object]]] = {
                "sweep": self._sweep_time,
                "events": partial(self._house, partial(self._look_back, at_length=True)),
                "pruning": partial(self._house, partial(self._make_room, at_length=True)),
                "errands": self.run_errands,
            }
            self._keepers = [
                asyncio.create_task(self._keep(act, name), name=f"taskyard {name}") for name, act in acts.items()
            ]
        return self

    async def close(self) -> None:
        for keeper in self._keepers:
            keeper.cancel()
        if self._keepers:
            await asyncio.wait(self._keepers)
        self._keepers = []
        await self._feed.close()
        await self._ends.close()
        await self._arrivals.close()
        await self._completions.close()
        await self._committer.close()
        await self.store.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _sweep_time(self) -> None:
        if await self._begin():
            self._swept_at = monotonic()
            await self._pass_time()

    async def _house(self, act: Callable[[], Awaitable[int]]) -> None:
        """Only where this process sweeps: the others need not ask whose duty it is."""
        if monotonic() - self._swept_at < SWEPT_LATELY:
            await act()

    async def _keep(self, act: Callable[[], Awaitable[object]], name: str) -> None:
        while True:
            try:
                await act()
            except TaskyardError as error:
                # The next time finds what this one left; a store that is away comes back or its users hear of it.
                logger.warning("%s failed: %s", name, error)
            await asyncio.sleep(SWEEP_EVERY)
