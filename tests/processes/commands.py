"""`taskyard work` as a process that the nursery forks: how it starts by itself is tried in tests/cli and tests/docs."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.processes.nursery import Forked, nursery

WAIT = 60.0


@asynccontextmanager
async def a_worker(url: str, folder: Path, *words: str) -> AsyncGenerator[Forked]:
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    process = await nursery().fork("taskyard", "--url", url, "work", *words, folder=folder)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.wait(), WAIT)
