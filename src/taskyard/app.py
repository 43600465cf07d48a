"""Composition root: the only module that names a concrete store."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from taskyard.core.errors import InvalidInput
from taskyard.core.policy import preset as named_preset
from taskyard.service.clock import SystemClock
from taskyard.service.engine import Options
from taskyard.service.yard import Yard
from taskyard.stores.contract import Clock, Store
from taskyard.stores.memory import MemoryStore
from taskyard.stores.sqlite import SqliteStore

DEFAULT_URL = "sqlite:///taskyard.db"


def connect(
    url: str | None = None,
    *,
    workspace: str = "default",
    preset: str = "standard",
    retention_days: float = 7,
    sweeps: bool = True,
    clock: Clock | None = None,
) -> Yard:
    """A yard on the store that the URL names: `sqlite:///file.db` or `memory://`.

    Without a URL, `TASKYARD_URL` decides, then the default, a SQLite file in the working directory.
    """
    options = Options(
        workspace=workspace,
        preset=named_preset(preset).name,
        retention_days=retention_days,
        sweeps=sweeps,
    )
    return Yard(_store(url or os.environ.get("TASKYARD_URL") or DEFAULT_URL, clock or SystemClock()), options)


def _store(url: str, clock: Clock) -> Store:
    parts = urlsplit(url)
    match parts.scheme:
        case "memory":
            return MemoryStore(clock=clock)
        case "sqlite":
            # sqlite:///name is relative to the working directory, sqlite:////name is absolute.
            path = unquote(parts.path.removeprefix("/"))
            if parts.netloc or not path:
                raise InvalidInput("url", "must be sqlite:///FILE or, for an absolute path, sqlite:////DIRECTORY/FILE")
            return SqliteStore(Path(path), clock=clock)
        case _:
            raise InvalidInput("url", "must begin with sqlite:/// or memory://")
