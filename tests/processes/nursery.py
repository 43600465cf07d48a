"""Where the processes of tests come from: one process that has loaded the package, and forks itself for each of them.

To load the package and its stores takes most of the processor time of a short process. A child is a process of its own
all the same: it has a pid, opens its own connections, and can be stopped and killed.

`Nursery` is the test's end. As a program, `python -m tests.processes.nursery FD MODULE …`, it loads these modules and
takes requests from a socket: a module to run, its words, its folder and its environment, with three descriptors. It
answers with the pid, and tells the status when the child has ended.
"""

import asyncio
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
LONGEST = 1 << 17  # bytes of a request
LOADED = (
    *("taskyard.app", "taskyard.stores.sqlite", "taskyard.stores.postgres", "taskyard.stores.redis"),
    # What `taskyard work` loads.
    *("taskyard.cli.main", "taskyard.cli.commands.agents", "pydantic.type_adapter", "pydantic.types"),
    "opentelemetry.trace",
)
SHORT = 1 << 16  # bytes of a line that is not said to be longer


class Forked:
    """A process that the nursery forked, with the names that `asyncio.subprocess.Process` has."""

    def __init__(self, nursery: "Nursery", pid: int) -> None:
        self._nursery = nursery
        self._reading: asyncio.ReadTransport
        self.pid = pid
        self.stdin: asyncio.WriteTransport
        self.stdout: asyncio.StreamReader
        self.returncode: int | None = None

    async def attach(self, to_it: int, from_it: int, limit: int) -> None:
        """Have the ends of its pipes."""
        loop, self.stdout = asyncio.get_running_loop(), asyncio.StreamReader(limit=limit)
        self.stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(to_it, "wb", 0))
        protocol = asyncio.StreamReaderProtocol(self.stdout)
        self._reading, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(from_it, "rb", 0))

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def wait(self) -> int:
        if self.returncode is None:
            self.returncode = await asyncio.to_thread(self._nursery.status_of, self.pid)
            self.stdin.close()
            self._reading.close()
        return self.returncode

    async def communicate(self) -> None:
        """Read what it says until its end."""
        await self.stdout.read()
        await self.wait()


class Nursery:
    def __init__(self, loaded: Iterable[str] = LOADED, *, options: Iterable[str] = ()) -> None:
        """What it has loaded, and the options of Python, are those of all that it forks."""
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, *options, "-m", "tests.processes.nursery", str(theirs.fileno()), *loaded],
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self._statuses: dict[int, int] = {}
        self._one_at_a_time = threading.Lock()

    async def fork(
        self,
        module: str,
        *words: str,
        limit: int = SHORT,
        folder: Path = ROOT,
        loads: Iterable[str] = (),
        environment: Mapping[str, str] = os.environ,
        first: Path | None = None,
        hears_errors: bool = False,
    ) -> Forked:
        """Run a module as a program, in a folder.

        What it loads beside itself is loaded once for all that follow. Where a folder is `first`, it looks for modules
        there before anywhere else. Its errors come with its output, or go where those of the tests go.
        """
        (in_, to_it), (from_it, out) = os.pipe(), os.pipe()
        request = {
            "module": module,
            "words": words,
            "loads": [] if first else [*loads, module],
            "folder": str(folder),
            "environment": dict(environment),
            "path": [str(first), str(folder)] if first else [str(folder)],
        }
        try:
            pid = await asyncio.to_thread(self._ask, request, [in_, out, out if hears_errors else 2])
        finally:
            os.close(in_)
            os.close(out)
        forked = Forked(self, pid)
        await forked.attach(to_it, from_it, limit)
        return forked

    def _ask(self, request: dict[str, Any], descriptors: list[int]) -> int:
        with self._one_at_a_time:
            socket.send_fds(self._line, [json.dumps(request).encode()], descriptors)
            while "status" in (answer := self._hear()):
                pass
            return answer["pid"]

    def status_of(self, pid: int) -> int:
        """Wait for the end of a child."""
        while True:
            with self._one_at_a_time:
                if pid in self._statuses:
                    return self._statuses.pop(pid)
                if select.select([self._line], [], [], 0.02)[0]:
                    self._hear()

    def _hear(self) -> dict[str, int]:
        heard = self._line.recv(LONGEST)
        assert heard, "the nursery has ended; its complaint is on the standard error output"
        answer: dict[str, int] = json.loads(heard)
        if "status" in answer:
            self._statuses[answer["pid"]] = answer["status"]
        return answer

    def close(self) -> None:
        self._line.close()
        self._process.wait()


@cache
def nursery() -> Nursery:
    """That of the test session."""
    from tests import servers  # noqa: PLC0415 - the program needs no server

    new = Nursery()
    servers.at_the_end.callback(new.close)
    return new


class _Request(NamedTuple):
    module: str
    words: list[str]
    folder: str
    environment: dict[str, str]
    loads: list[str]
    path: list[str]
    descriptors: list[int]


def _next_request(line: socket.socket) -> _Request:
    """Fork for each request, and return in the child with what it is to run. Where nobody asks any more, it ends."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, _do_nothing)
    signal.set_wakeup_fd(wake)
    while True:
        ready, _, _ = select.select([line, woken], [], [])
        if woken in ready:
            os.read(woken, 1000)
            _report_the_ended(line)
        if line not in ready:
            continue
        sent, descriptors, *_ = socket.recv_fds(line, LONGEST, 3)
        if not sent:
            sys.exit()
        request = _Request(**json.loads(sent), descriptors=descriptors)
        for each in request.loads:
            with suppress(Exception):  # what cannot be loaded is complained of by the child, which tries again
                import_module(each)
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(woken)
            os.close(wake)
            return request
        for each in descriptors:
            os.close(each)
        line.send(json.dumps({"pid": pid}).encode())


def _do_nothing(number: int, frame: object) -> None:
    """What is to be done is done when the loop wakes up."""


def _report_the_ended(line: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        line.send(json.dumps({"pid": pid, "status": os.waitstatus_to_exitcode(status)}).encode())


def _run(request: _Request) -> None:
    for number, descriptor in enumerate(request.descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request.folder)
    sys.path[0:1] = request.path
    os.environ.clear()
    os.environ.update(request.environment)
    sys.argv = [request.module, *request.words]
    runpy.run_module(request.module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    for each in sys.argv[2:]:
        import_module(each)
    gc.collect()
    gc.freeze()  # what is loaded is no garbage; a child that looked for some in it would copy every page of it
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        wanted = _next_request(asked)
    _run(wanted)
