"""A ready-made agent that runs tests on outputs: only commands that its own operator allowed, by name.

A task chooses a name and nothing else. What it handed in comes to the command as JSON on standard input, and as files
in the directory that TASKYARD_FILES names. All of that is data.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from time import monotonic
from typing import Any

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.features.artifacts.rules import checked_name
from taskyard.features.attempts.validation.rules import TEST_RUNNER
from taskyard.worker.command import environment
from taskyard.worker.context import Context
from taskyard.worker.control import Fail
from taskyard.worker.fetch import artifacts_among
from taskyard.worker.handlers import Agent
from taskyard.worker.isolation.programs import Program, end, started

LIMIT = 600.0  # seconds
MOST_OUTPUT = 10 << 20  # bytes that a command may print
TAIL = 4000  # characters of them that a verdict shows
MOST_FILES = 1 << 30  # bytes of artifacts that are fetched for it, all together
FILES = "TASKYARD_FILES"  # the variable that says where they are


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What every command of a test runner is held to."""

    work_dir: Path
    limit_sec: float = LIMIT
    most_output: int = MOST_OUTPUT
    most_files: int = MOST_FILES
    passed: Sequence[str] = ()  # names of environment variables that a command sees besides the usual


def judge_by_tests(
    tests: Mapping[str, Sequence[str]],
    *,
    work_dir: str | Path,
    limit_sec: float = LIMIT,
    most_output: int = MOST_OUTPUT,
    most_files: int = MOST_FILES,
    passed: Sequence[str] = (),
    agent: Agent | None = None,
) -> Agent:
    """An agent that judges by running the test that a task names. `tests` are all that it will ever run.

    A command runs in `work_dir`, or in the directory below it that the task was worked on in. The artifacts that it is
    to try are in the directory that TASKYARD_FILES names. Exit status 0 passes.
    """
    directory = Path(work_dir).resolve()
    if not directory.is_dir():
        raise InvalidInput("work_dir", "must be a directory that is there")
    if not tests or not all(name.strip() and words for name, words in tests.items()):
        raise InvalidInput("tests", "must be names, each with the words of a command")
    limits = Limits(
        work_dir=directory, limit_sec=limit_sec, most_output=most_output, most_files=most_files, passed=passed
    )
    runner = agent or Agent(TEST_RUNNER)
    runner.capabilities = {*runner.capabilities, TEST_RUNNER}

    @runner.handles(TEST_RUNNER)
    async def run(task: Context, payload: dict[str, Any]) -> dict[str, Json]:
        words = tests.get(payload["rule"])
        if words is None:
            raise Fail("unknown_test", f"{payload['rule']} is not allowed here; {', '.join(sorted(tests))} are")
        return await _tried(task, payload, words, limits)

    del run
    return runner


async def _tried(task: Context, payload: Mapping[str, Any], words: Sequence[str], limits: Limits) -> dict[str, Json]:
    printed = _Printed(limits.most_output)
    with TemporaryDirectory(prefix="taskyard-") as files, TemporaryFile() as given, printed.pipe() as writing:
        await _lay_out(task, payload["task"]["id"], Path(files), limits.most_files)
        given.write(json.dumps(payload).encode())
        given.seek(0)
        begun = monotonic()
        try:
            process = await started(
                *words,
                stdin=given,
                stdout=writing,
                stderr=asyncio.subprocess.STDOUT,
                cwd=_place(payload, limits.work_dir),
                env=environment(task, limits.passed) | {FILES: files},
            )
        except OSError as error:
            raise Fail("agent_error", f"{words[0]} cannot be run: {error}") from error
        try:
            exceeded = await _waited_for(process, printed, limits)
        finally:
            await end(process)
    return _verdict(process.returncode if exceeded is None else None, exceeded, printed.tail, monotonic() - begun)


async def _lay_out(task: Context, judged: str, directory: Path, most: int) -> None:
    """Fetch what was handed in: what the task made under its name, and so others' where that is not taken yet."""
    handed_in = artifacts_among(await task.inputs())
    if sum(each.size for each in handed_in) > most:
        raise Fail("agent_error", f"the artifacts are more than {most} bytes")
    for each in sorted(handed_in, key=lambda artifact: artifact.task_id != judged):
        path = directory / checked_name(each.name)
        await task.fetch_artifact(each.id, directory / each.id if path.exists() else path)


async def _waited_for(process: Program, printed: _Printed, limits: Limits) -> str | None:
    """Which limit the command met; None where it came to its own end."""
    ended, too_much = asyncio.create_task(process.wait()), asyncio.create_task(printed.too_much.wait())
    try:
        await asyncio.wait([ended, too_much], timeout=limits.limit_sec, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended.cancel()
        too_much.cancel()
    if too_much.done() and not too_much.cancelled():
        return f"printed more than {limits.most_output} bytes"
    return f"took longer than {limits.limit_sec:g} s" if process.returncode is None else None


class _Printed:
    """The end of what a command prints; the rest is let go as it comes.

    A pipe of our own: asyncio's is waited for until everybody whom the command left behind has let go of it too.
    """

    def __init__(self, most: int) -> None:
        self.too_much = asyncio.Event()
        self._most = most
        self._size = 0
        self._kept = b""

    @property
    def tail(self) -> str:
        return self._kept.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}").strip()[-TAIL:]

    @contextmanager
    def pipe(self) -> Generator[int]:
        """The end to print to."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        loop = asyncio.get_running_loop()
        loop.add_reader(reading, self._take, reading)
        try:
            yield writing
        finally:
            os.close(writing)
            while self._take(reading):
                pass
            loop.remove_reader(reading)
            os.close(reading)

    def _take(self, reading: int) -> bool:
        """What has come, if anything has."""
        try:
            part = os.read(reading, 65536)
        except BlockingIOError:
            return False
        self._size += len(part)
        self._kept = (self._kept + part)[-4 * TAIL :]
        if self._size > self._most:
            self.too_much.set()
            return False
        return bool(part)


def _verdict(status: int | None, limit: str | None, tail: str, took: float) -> dict[str, Json]:
    summary = limit or ("passed" if status == 0 else f"exit status {status}")
    return {
        "passed": status == 0,
        "reason": f"{summary}\n{tail}" if tail else summary,
        "exit_status": status,
        "duration_sec": round(took, 3),
    }


def _place(payload: Mapping[str, Any], root: Path) -> Path:
    """Where the task was worked on, if that is one of the places this runner may work in."""
    given = payload["task"].get("work_dir")
    if not isinstance(given, str):
        return root
    place = Path(given).resolve()
    return place if place.is_relative_to(root) and place.is_dir() else root
