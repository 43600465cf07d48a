"""The stores that tests run on. A new store is plugged into every suite by one more entry here.

TASKYARD_TEST_STORES names the stores to test, separated by commas; all of them where it says nothing. A store that is
asked for and cannot be made fails its tests.
"""

import os
from collections.abc import Callable
from pathlib import Path

from taskyard.stores.contract import Clock, Store
from taskyard.stores.memory import MemoryStore
from taskyard.stores.sqlite import SqliteStore

Opener = Callable[[], Store]  # each call is another process's view of the same data


def memory(folder: Path, clock: Clock) -> Opener:
    only = MemoryStore(clock=clock)
    return lambda: only


def sqlite(folder: Path, clock: Clock) -> Opener:
    return lambda: SqliteStore(folder / "yard.db", clock=clock)


STORES: dict[str, Callable[[Path, Clock], Opener]] = {"memory": memory, "sqlite": sqlite}


def asked_for() -> list[str]:
    return [name.strip() for name in os.environ.get("TASKYARD_TEST_STORES", ",".join(STORES)).split(",")]


def opener(name: str, folder: Path, clock: Clock) -> Opener:
    assert name in STORES, f"TASKYARD_TEST_STORES asks for {name!r}, and there are only {', '.join(STORES)}"
    return STORES[name](folder, clock)
