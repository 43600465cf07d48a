"""Composition root: the only module that names a concrete store."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from taskyard.core.errors import InvalidInput
from taskyard.core.policy import preset as named_preset
from taskyard.portal import SyncYard
from taskyard.service import yard as service
from taskyard.service.clock import ManualClock, SystemClock
from taskyard.service.engine import Options
from taskyard.stores.contract import Clock, Store
from taskyard.stores.memory import MemoryStore
from taskyard.stores.sqlite import SqliteStore
from taskyard.worker.agent import Agent
from taskyard.worker.draining import drain
from taskyard.worker.runner import GRACE, Worker

DEFAULT_URL = "sqlite:///taskyard.db"


class Yard(service.Yard):
    """A durable queue of work for agents, and the agents that work on it.

    `async with taskyard.connect() as yard: ...`. While open it sweeps every second (leases, delays, housekeeping).
    """

    manual_clock: ManualClock | None = None

    async def work(self, *agents: Agent, grace_sec: float = GRACE) -> None:
        """Run these agents until the process is asked to stop."""
        await asyncio.gather(*(Worker(self, agent, grace_sec=grace_sec).run() for agent in agents))

    async def drain(self, *agents: Agent) -> int:
        """Run these agents here until nothing is left for them, and say how many attempts that took.

        On a manual clock, delays and sleeps pass at once.
        """
        return await drain(self, agents, clock=self.manual_clock)


def connect(
    url: str | None = None,
    *,
    workspace: str = "default",
    preset: str = "standard",
    retention_days: float = 7,
    sweeps: bool = True,
    clock: Clock | None = None,
) -> Yard:
    """A yard on the store that the URL names: `sqlite:///file.db`, `postgresql://host/database` or `memory://`.

    Without a URL, `TASKYARD_URL` decides, then the default, a SQLite file in the working directory.
    """
    options = Options(
        workspace=workspace,
        preset=named_preset(preset).name,
        retention_days=retention_days,
        sweeps=sweeps,
    )
    yard = Yard(_store(url or os.environ.get("TASKYARD_URL") or DEFAULT_URL, clock), options)
    yard.manual_clock = clock if isinstance(clock, ManualClock) else None
    return yard


def connect_sync(url: str | None = None, **options: Any) -> SyncYard:
    """The same for callers without an event loop: `with taskyard.connect_sync() as yard: yard.enqueue("code")`."""
    return SyncYard(lambda: connect(url, **options))


def _store(url: str, given: Clock | None) -> Store:
    parts = urlsplit(url)
    clock = given or SystemClock()
    match parts.scheme:
        case "memory":
            return MemoryStore(clock=clock)
        case "postgresql" | "postgres":
            return _postgres_store(url, given)
        case "sqlite":
            # sqlite:///name is relative to the working directory, sqlite:////name is absolute.
            path = unquote(parts.path.removeprefix("/"))
            if parts.netloc or not path:
                raise InvalidInput("url", "must be sqlite:///FILE or, for an absolute path, sqlite:////DIRECTORY/FILE")
            return SqliteStore(Path(path), clock=clock)
        case _:
            raise InvalidInput("url", "must begin with sqlite:///, postgresql:// or memory://")


def _postgres_store(url: str, given: Clock | None) -> Store:
    """On the database's own clock, where none was given: machines that share a yard need not agree on the time."""
    try:
        from taskyard.stores.postgres import PostgresStore  # noqa: PLC0415 - its driver is an extra
    except ModuleNotFoundError as missing:
        if missing.name != "asyncpg":
            raise
        raise InvalidInput("url", "needs the PostgreSQL driver: pip install 'taskyard[postgres]'") from missing
    return PostgresStore(url, clock=given)
