"""Where the systems work: each sample gets a place of its own, new and empty."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import ExitStack, asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from bench.peers.lineup import Store, System
from bench.peers.servers import DURABLE, postgres_server, redis_client, redis_server, yard_server

TOLD = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers")


class Places:
    def __init__(self, folder: Path, servers: dict[Store, str]) -> None:
        self._folder = folder
        self._servers = servers
        self._serial = count(1)

    @asynccontextmanager
    async def new(self, system: System) -> AsyncGenerator[str]:
        name = f"{re.sub('[^a-z0-9]', '_', system.name)}_{next(self._serial)}"
        kinds = {
            Store.POSTGRES: self._database,
            Store.REDIS: self._emptied,
            Store.SQLITE: self._new_folder,
            Store.HTTP: self._served,
        }
        async with kinds[system.store](name) as place:
            yield system.place.format(place)

    @asynccontextmanager
    async def _database(self, name: str) -> AsyncGenerator[str]:
        server = self._servers[Store.POSTGRES]
        await _execute(server, f"create database {name}")
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl()
        finally:
            await _execute(server, f"drop database {name} with (force)")

    @asynccontextmanager
    async def _emptied(self, _: str) -> AsyncGenerator[str]:
        with redis_client(self._servers[Store.REDIS]) as client:
            client.flushall()
        yield self._servers[Store.REDIS]

    @asynccontextmanager
    async def _new_folder(self, name: str) -> AsyncGenerator[str]:
        folder = self._folder / name
        folder.mkdir()
        yield str(folder)

    @asynccontextmanager
    async def _served(self, name: str) -> AsyncGenerator[str]:
        async with self._new_folder(name) as folder, yard_server(f"sqlite:///{folder}/yard.db") as address:
            yield address

    async def durability(self) -> dict[str, str]:
        """What the stores promise of a job that is stored, as they say themselves."""
        told: dict[str, str] = {}
        for store, url in self._servers.items():
            told[store] = await _postgres_settings(url) if store is Store.POSTGRES else _redis_settings(url)
        full = "journal_mode=wal synchronous=full"
        return told | {Store.SQLITE: f"{full}, every system", Store.HTTP: f"{full}, a server of its own"}


@contextmanager
def places(stores: Iterable[Store]) -> Generator[Places]:
    """Servers for these stores, in a temporary folder, while the block lasts."""
    starters = {Store.POSTGRES: postgres_server, Store.REDIS: redis_server}
    with TemporaryDirectory(prefix="taskyard-bench-", ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        servers = {
            store: stack.enter_context(starters[store](Path(folder))) for store in set(stores) if store in starters
        }
        yield Places(Path(folder), servers)


async def _execute(url: str, statement: str) -> None:
    connection: Any = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def _postgres_settings(url: str) -> str:
    connection: Any = await asyncpg.connect(url)
    try:
        return " ".join([f"{name}={await connection.fetchval(f'show {name}')}" for name in TOLD])
    finally:
        await connection.close()


def _redis_settings(url: str) -> str:
    with redis_client(url) as client:
        version: str = client.info("server")["redis_version"]
    return " ".join([f"redis={version}", *(f"{name[2:]}={value!r}" for name, value in _pairs(DURABLE))])


def _pairs(words: tuple[str, ...]) -> list[tuple[str, str]]:
    return list(zip(words[::2], words[1::2], strict=True))
