"""A process that embeds and is killed leaves everything to the next one."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import taskyard
from taskyard.core.units import SECOND
from taskyard.features.memory.hashing import embed_text
from taskyard.ledger.clock import ManualClock, SystemClock

BIN = Path(sys.executable).parent / "taskyard"


class Endpoint:
    """A model server: it answers nothing while its gate is shut."""

    def __init__(self) -> None:
        self.came, self.gate = asyncio.Event(), asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = next(line.split(":")[1] for line in head.split("\r\n") if line.startswith("content-length"))
            texts = json.loads(await reader.readexactly(int(length)))["input"]
            self.came.set()
            await self.gate.wait()
            rows = [{"index": at, "embedding": embed_text(text)} for at, text in enumerate(texts)]
            answer = json.dumps({"data": rows})
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(answer)}\r\n\r\n{answer}".encode())
            await writer.drain()
        except ConnectionError:
            pass  # who asked is dead
        finally:
            writer.close()


async def test_whoever_is_killed_while_it_embeds_leaves_all_of_it_to_the_next(tmp_path: Path):
    endpoint, url = Endpoint(), f"sqlite:///{tmp_path / 'yard.db'}"
    server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0)
    embedder = f"openai+http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1?model=small"
    async with server:
        async with taskyard.connect(url, sweeps=False) as yard:
            await yard.agents.register("worker", max_concurrent_tasks=3)
            for title in ("Migrate the invoices", "Bake a cake", "Translate the manual"):
                await yard.enqueue("code", title=title, remember=True)
            for held in await yard.claim("worker", count=3, start=True):
                await yard.complete(held.id, held.lease, held.title)
        environment = {**os.environ, "TASKYARD_EMBEDDER": embedder}
        killed = await asyncio.create_subprocess_exec(BIN, "--url", url, "memory", "embed", env=environment)
        await endpoint.came.wait()
        killed.send_signal(signal.SIGKILL)
        await killed.wait()
        endpoint.gate.set()

        async with taskyard.connect(url, sweeps=False, embedder=embedder) as yard:
            assert await yard.memory.catch_up() == 0  # it may be at work still, for all that is known
            assert [job.status.value for job in await yard.memory.embedding_jobs()] == ["pending"] * 3
        a_minute_later = ManualClock()
        a_minute_later.advance(seconds=(SystemClock().now() - a_minute_later.now()) / SECOND + 61)
        async with taskyard.connect(url, sweeps=False, embedder=embedder, clock=a_minute_later) as yard:
            assert await yard.memory.catch_up() == 3
            assert [job.status.value for job in await yard.memory.embedding_jobs()] == ["completed"] * 3
            (hit,) = await yard.memory.search("migrating invoices", limit=1)
            assert hit.summary == "Migrate the invoices"
