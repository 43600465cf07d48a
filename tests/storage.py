"""The stores that tests run on. A new store is plugged into every suite by one more entry here.

TASKYARD_TEST_STORES names the stores to test, separated by commas; the usual ones where it says nothing. A store that
is asked for and cannot be made fails its tests. What a store needs is loaded with it: many processes of the tests know
one store only.
"""

import asyncio
import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from threading import Thread
from urllib.parse import quote

from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Clock, Store
from taskyard.stores.memory import MemoryStore
from taskyard.stores.sqlite import SqliteStore

_SHARED_MEMORY = Path("/dev/shm")
_ROOM = 2 << 30  # bytes that the files of a whole run may take at a time
Opener = Callable[[], Store]  # each call is another process's view of the same data


def in_memory() -> Path | None:
    """Where files of tests that are about no disk live: they wait for none. None where a machine has no room for it."""
    has_room = _SHARED_MEMORY.is_dir() and shutil.disk_usage(_SHARED_MEMORY).free > _ROOM
    return _SHARED_MEMORY if has_room else None


def memory(folder: Path, clock: Clock) -> Opener:
    only = MemoryStore(clock=clock)
    return lambda: only


def sqlite(folder: Path, clock: Clock) -> Opener:
    return lambda: SqliteStore(folder / "yard.db", clock=clock)


def postgres(name: str) -> Callable[[Path, Clock], Opener]:
    def opener(folder: Path, clock: Clock) -> Opener:
        from taskyard.stores.postgres import PostgresStore  # noqa: PLC0415

        url = url_of(name, folder)
        return lambda: PostgresStore(url, clock=clock)

    return opener


def redis(name: str) -> Callable[[Path, Clock], Opener]:
    def opener(folder: Path, clock: Clock) -> Opener:
        from taskyard.stores.redis import RedisStore  # noqa: PLC0415

        url = url_of(name, folder)
        return lambda: RedisStore(url, clock=clock)

    return opener


STORES: dict[str, Callable[[Path, Clock], Opener]] = {
    "memory": memory,
    "http": memory,  # behind a server: see tests.remote
    "sqlite": sqlite,
    "postgres": postgres("postgres"),
    "postgres18": postgres("postgres18"),
    "pgbouncer": postgres("pgbouncer"),
    "redis": redis("redis"),
    "redis7": redis("redis7"),
    "redis-cluster": redis("redis-cluster"),
}
USUAL = ("memory", "sqlite", "postgres", "redis", "http")


def asked_for() -> list[str]:
    return [name.strip() for name in os.environ.get("TASKYARD_TEST_STORES", ",".join(USUAL)).split(",")]


def opener(name: str, folder: Path, clock: Clock) -> Opener:
    assert name in STORES, f"TASKYARD_TEST_STORES asks for {name!r}, and there are only {', '.join(STORES)}"
    return STORES[name](folder, clock)


def _postgres_url(folder: Path, *, version: int) -> str:
    from tests import servers  # noqa: PLC0415

    return servers.postgres_yard(version, folder)


def _bounced_url(folder: Path) -> str:
    from tests import bouncing  # noqa: PLC0415

    return bouncing.bounced_yard(16, folder)


def _redis_url(folder: Path, *, newer: bool = False) -> str:
    from tests import redis_servers  # noqa: PLC0415

    return redis_servers.redis_yard(folder, newer=newer)


def _cluster_url(folder: Path) -> str:
    from tests import redis_servers  # noqa: PLC0415

    return redis_servers.cluster_yard(folder)


# By its URL a store is opened in another process. Memory has none to share.
URLS: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: f"sqlite:///{quote(str(folder / 'yard.db'))}",
    "postgres": partial(_postgres_url, version=16),
    "postgres18": partial(_postgres_url, version=18),
    "pgbouncer": _bounced_url,
    "redis": _redis_url,
    "redis7": partial(_redis_url, newer=True),
    "redis-cluster": _cluster_url,
}
IN_A_FILE = frozenset({"sqlite"})


def asked_for_by_url() -> list[str]:
    return [name for name in asked_for() if name in URLS]


def asked_for_in_a_file() -> list[str]:
    return [name for name in asked_for() if name in IN_A_FILE]


def url_of(name: str, folder: Path) -> str:
    return URLS[name](folder)


def take(name: str, folder: Path) -> None:
    """Let the yard of this folder be one that was given back, or a copy of a new one: to make it may take long."""
    if name == "sqlite":
        shutil.copy(_new_sqlite_yard(), folder / "yard.db")
    elif name == "postgres":
        from tests import servers  # noqa: PLC0415

        servers.take_postgres(16, folder)


@cache
def _new_sqlite_yard() -> Path:
    """A file in which nothing has happened yet."""
    path = Path(tempfile.mkdtemp(prefix="taskyard-new-", dir=in_memory())) / "yard.db"
    atexit.register(shutil.rmtree, path.parent)

    async def make() -> None:
        store = SqliteStore(path, clock=ManualClock())
        await store.open()
        await store.close()

    making = Thread(target=asyncio.run, args=(make(),))  # beside the loop of the test that asks
    making.start()
    making.join()
    return path


def give_back(name: str, folder: Path) -> None:
    """Let others take the yard of this folder, which nobody uses any more, or remove it."""
    if name == "redis":
        from tests import redis_servers  # noqa: PLC0415

        redis_servers.clear_redis(folder)
    elif name == "postgres":
        from tests import servers  # noqa: PLC0415

        servers.give_back_postgres(16, folder)
