"""The test's end of the line to its children: real processes, each ended by its own pid."""

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from typing import Any

from tests.processes.nursery import ROOT, Forked, nursery

PATIENCE = 60.0  # seconds that a child may be silent when something is expected of it
LONGEST_LINE = 1 << 22


class Member:
    """One child process."""

    def __init__(self, process: asyncio.subprocess.Process | Forked) -> None:
        self._process = process
        self.pid = process.pid

    async def hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            line = await self._process.stdout.readline()
        assert line, f"process {self.pid} ended without a word; its complaint is on the standard error output"
        return json.loads(line)

    def tell(self, **facts: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(facts).encode() + b"\n")

    async def ask(self, verb: str, **arguments: Any) -> Any:
        """Have a puppet make a call on its yard."""
        self.tell(verb=verb, arguments=arguments)
        heard = await self.hear()
        assert "refused" not in heard, heard
        return heard["answer"]

    async def refusal(self, verb: str, **arguments: Any) -> str:
        """The code of the error that a puppet's call is refused with."""
        self.tell(verb=verb, arguments=arguments)
        return (await self.hear())["refused"]

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def ended(self) -> int:
        """Wait until it has ended by itself. Its status, as a shell has it."""
        async with asyncio.timeout(PATIENCE):
            await self._process.communicate()
        assert self._process.returncode is not None
        return self._process.returncode

    async def kill(self) -> None:
        """With -9, as a machine that runs out of memory would."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):  # it has ended by itself, and nobody has told the loop yet
                self.signal(signal.SIGKILL)
        await self._process.communicate()

    def let_go(self) -> None:
        """Say that it is over."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def dismiss(self) -> dict[str, Any]:
        """Say that it is over; the answer is the child's last word."""
        self.let_go()
        last = await self.hear()
        async with asyncio.timeout(PATIENCE):
            assert await self._process.wait() == 0
        return last


class Crew:
    """The children of one test."""

    def __init__(self) -> None:
        self._members: list[Member] = []

    async def start(self, module: str, *arguments: object, hash_seed: int | None = None) -> Member:
        """Run a script of this folder. It is up when this returns."""
        words = (f"tests.processes.{module}", *map(str, arguments))
        if hash_seed is None:
            member = Member(await nursery().fork(*words, limit=LONGEST_LINE))
        else:  # which a process has from its start
            member = Member(
                await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", *words),
                    cwd=ROOT,
                    env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    limit=LONGEST_LINE,
                )
            )
        self._members.append(member)
        assert await member.hear() == {"up": True}
        return member

    async def start_many(self, number: int, module: str, *arguments: object) -> list[Member]:
        return list(await asyncio.gather(*(self.start(module, *arguments) for _ in range(number))))

    async def end(self) -> None:
        for member in self._members:
            await member.kill()
