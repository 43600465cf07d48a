"""Programs that a worker starts: how they are found, and that each ends with everything it started."""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from taskyard.core.errors import InvalidInput
from taskyard.worker.isolation.group_watch import PATIENCE, GroupWatch
from taskyard.worker.process.supervisor import after_the_work, before_the_end

FIELD = "--exec"
_ENDS_WITH_WORKER = Path(__file__).with_name("ends_with_worker.sh")


class _Protocol(asyncio.subprocess.SubprocessStreamProtocol):
    def __init__(self, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit, loop)
        self.has_exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.has_exited.set()


class Program(asyncio.subprocess.Process):
    """A process whose end is known at once. Python's own waits for whatever holds its pipes open, too."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        super().__init__(transport, protocol, asyncio.get_running_loop())
        self._given = transport
        self._has_exited = protocol.has_exited

    async def wait(self) -> int:
        await self._has_exited.wait()
        assert self.returncode is not None
        return self.returncode

    def hang_up(self) -> None:
        """Read nothing more of what it started."""
        self._given.close()


def found(words: Sequence[str], *, elsewhere: bool = False) -> list[str]:
    """The words of a command, with its program as it is found from here: attempts may work in other folders.

    Elsewhere: a path that is not here may be in the folder of an attempt.
    """
    if not words:
        raise InvalidInput(FIELD, "must name a program")
    program = words[0]
    if os.sep not in program:
        if shutil.which(program) is None:
            raise InvalidInput(FIELD, f"{program} is not a program that is installed on this machine")
        return [*words]
    path = Path(program).expanduser().absolute()
    if elsewhere and not path.exists() and not Path(program).is_absolute():
        return [*words]
    if not path.is_file() or not os.access(path, os.X_OK):
        raise InvalidInput(FIELD, f"{program} is not a program that can be run: {path}")
    return [os.fspath(path), *words[1:]]


def ending_with_worker(program: str) -> tuple[str, dict[str, str]]:
    """What to start in place of a program, with which variables, so that it ends when this process does, also by -9.

    For libraries that start a program by its path. Only Linux can do so; elsewhere it is the program itself.
    """
    if sys.platform != "linux" or not os.access(_ENDS_WITH_WORKER, os.X_OK):
        return program, {}
    return os.fspath(_ENDS_WITH_WORKER), {"TASKYARD_PYTHON": sys.executable, "TASKYARD_PROGRAM": program}


async def started(*words: str, limit: int = 1 << 16, control_group: Path | None = None, **options: Any) -> Program:
    """Start a program in a group of its own, so that what it starts ends with it: by `end`, or with this process."""
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(lambda: _Protocol(limit, loop), *words, start_new_session=True, **options)
    )
    try:
        transport, protocol = await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(_kill_unwanted)
        raise
    process = Program(transport, protocol)
    watch.begin(process.pid, control_group)
    return process


def _kill_unwanted(starting: asyncio.Future[tuple[asyncio.SubprocessTransport, _Protocol]]) -> None:
    """Whoever asked for it was cancelled. Python would end the program alone, and wait for all that it has started."""
    if not starting.cancelled() and starting.exception() is None:
        transport, _ = starting.result()
        with suppress(ProcessLookupError):
            os.killpg(transport.get_pid(), signal.SIGKILL)
        transport.close()


watch = GroupWatch()  # of the programs that were started and have not ended
after_the_work.add(watch.part)
before_the_end.add(watch.kill_all)
atexit.register(watch.leave)
os.register_at_fork(after_in_child=watch.leave)


async def end(process: Program) -> None:
    """End the program and everything it started: first ask, then insist."""
    try:
        await _end_group(process)
    finally:
        if process.returncode is not None:
            forget(process)


def forget(process: Program) -> None:
    """It has ended: its number may soon be another's."""
    watch.forget(process.pid)


async def _end_group(process: Program) -> None:
    for number, patience in ((signal.SIGTERM, PATIENCE), (signal.SIGKILL, PATIENCE)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), patience)
            # The leader has gone; what it left behind in its group goes too.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            return
