"""What a yard runs on: a store that this process is connected to, with everything that keeps it swept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from math import inf
from time import monotonic
from typing import Protocol

from taskyard.core.claiming import Pace
from taskyard.core.errors import TaskyardError
from taskyard.core.units import Micros
from taskyard.features.notifications.views import OutboxRun
from taskyard.features.retention.views import Swept
from taskyard.features.tokens.rules import Role
from taskyard.features.transfer.service import refuse_unfinished
from taskyard.ledger.options import Options
from taskyard.outbox import OutboxRunner
from taskyard.stores.contract import Store
from taskyard.sweeper import Sweeper
from taskyard.verbs import Verbs
from taskyard.workspaces import Workspaces

logger = logging.getLogger("taskyard")
SWEEP_EVERY = 1.0  # seconds
SWEPT_LATELY = 5.0
NEEDS_THE_STORE = "names a server, and this needs the store itself: run it with the store's own URL"


class Host(Protocol):
    """Where the verbs of a yard are carried out: here, on a store, or by a server."""

    @property
    def workspace(self) -> str: ...
    @property
    def verbs(self) -> Verbs: ...
    @property
    def pace(self) -> Pace: ...
    @property
    def sweeps(self) -> bool:
        """Whether this process keeps the yard swept."""
        ...

    def now(self) -> Micros: ...
    async def role(self) -> Role:
        """What whoever uses this yard may do in it."""
        ...

    def twin(self) -> Host | None:
        """Another connection to the same yard, for another thread's loop; None where there can be none."""
        ...

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def sweep(self) -> Swept: ...
    async def run_outbox(self) -> OutboxRun: ...


class LocalHost:
    """One workspace of a store."""

    def __init__(self, store: Store, options: Options, workspaces: Workspaces | None = None) -> None:
        self.store = store
        self.options = options
        self.workspace, self.sweeps = options.workspace, options.sweeps
        self.pace, self.now = store.pace, store.now
        self.workspaces = workspaces or Workspaces(store, options)
        self.verbs = self.workspaces.of(options.workspace)
        self.sweeper = Sweeper(self.verbs, self.workspaces.of)
        self._outbox = OutboxRunner(self.sweeper, self.verbs, self.workspaces.of)
        self._keepers: list[asyncio.Task[None]] = []
        self._swept_at = -inf  # by `monotonic`: when it last fell to this process to sweep

    async def role(self) -> Role:
        """Whoever has the store may do everything."""
        return Role.ADMIN

    def beside(self, workspace: str) -> LocalHost:
        """Another workspace of the same store. This host sweeps for it."""
        options = replace(self.options, workspace=workspace, preset=None, sweeps=False)
        return LocalHost(self.store, options, self.workspaces)

    def twin(self) -> LocalHost | None:
        store = self.store.twin()
        if store is None:
            return None
        return LocalHost(store, replace(self.options, preset=None, retention_days=None, sweeps=False))

    async def open(self) -> None:
        await self.store.open()
        try:
            await refuse_unfinished(self.store)
            await self.verbs.presets.agree()
            await self.verbs.retention.agree()
        except BaseException:
            await self.store.close()
            raise
        if self.options.sweeps:
            self._begin_sweeping()

    async def close(self) -> None:
        for keeper in self._keepers:
            keeper.cancel()
        if self._keepers:
            await asyncio.wait(self._keepers)
        self._keepers = []
        await self.workspaces.close()
        await self.store.close()

    async def sweep(self) -> Swept:
        """Do what is due now, in bounded steps. Call it every second, from as many processes as there are."""
        return await self.sweeper.sweep()

    async def run_outbox(self) -> OutboxRun:
        """Do what is due outside the store. Call it every second, from as many processes as there are."""
        return await self._outbox.run()

    def _begin_sweeping(self) -> None:
        # Apart, since housekeeping and what is outside of the store take their time, and leases do not wait for it.
        acts: dict[str, Callable[[], Awaitable[object]]] = {
            "sweep": self._sweep_time,
            "events": partial(self._house, partial(self.sweeper.look_back, at_length=True)),
            "pruning": partial(self._house, partial(self.sweeper.make_room, at_length=True)),
            "outbox": self._outbox.run,
        }
        if (feed := self.verbs.recall.feed) is not None:
            acts["embedding"] = feed.follow
        self._keepers = [
            asyncio.create_task(self._keep(act, name), name=f"taskyard {name}") for name, act in acts.items()
        ]

    async def _sweep_time(self) -> None:
        if await self.sweeper.begin():
            self._swept_at = monotonic()
            await self.sweeper.pass_time()

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
