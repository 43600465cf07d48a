"""Any program as an agent: the task as JSON on its standard input, JSON lines on its standard output.

A line is an object whose `type` is progress, message, session, spend, output or fail. Everything else that is printed
is the output, as text, where no `output` line comes. The exit status says how it ended where the program does not.
"""

from __future__ import annotations

import asyncio
import json
import os
from codecs import getincrementaldecoder
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, mended
from taskyard.worker.adapters import Adapter, ProgramAdapter
from taskyard.worker.context import Context
from taskyard.worker.control import Fail, Stopped
from taskyard.worker.gateway.attempt_endpoint import AttemptEndpoint, Gateway
from taskyard.worker.gateway.upstreams import WITHHELD
from taskyard.worker.handlers import Agent
from taskyard.worker.isolation.control_groups import ProgramGroup
from taskyard.worker.isolation.git import CEILING, GitFailed
from taskyard.worker.isolation.limits import ProgramLimits
from taskyard.worker.isolation.programs import Program, end, forget, found, started
from taskyard.worker.isolation.task_worktrees import Worktree, Worktrees, WorktreeTaken

# What a program gets of this process's environment. Keys and tokens are passed only where they are named.
ALWAYS_PASSED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ", "SHELL")
LINE_LIMIT = 1 << 20
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
LAST_WORDS = 4000  # characters of standard error that are kept of a failure
PATIENCE = 5.0  # seconds in which the rest is read of a program that has ended, or is being ended
REASONS = {75: "rate_limit", 77: "auth_failure", 124: "timeout"}  # sysexits' TEMPFAIL and NOPERM; timeout(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program, and what it is given."""

    words: Sequence[str]
    adapter: ProgramAdapter = field(default_factory=Adapter)
    passed: Sequence[str] = ()  # names of environment variables
    most_output: int = 1 << 20
    limits: ProgramLimits = field(default_factory=ProgramLimits)
    worktrees: Worktrees | None = None  # None: it works where the worker was started
    gateway: Gateway | None = None  # None: it calls models by itself

    def check(self) -> Command:
        """The command, with what holds its program to its limits. What would be of no use is refused."""
        limits, words = self.limits.check(), self.words
        if words or isinstance(self.adapter, Adapter):  # another adapter may know its program by itself
            given = words or (self.adapter.command if isinstance(self.adapter, Adapter) else ())
            words = found(given, elsewhere=self.worktrees is not None)
        checked = replace(self, words=words, limits=limits)
        if self.gateway is None:
            return checked
        self.gateway.check()
        if not self.limits.network:
            raise InvalidInput("--no-network", "must not be given with --gateway: the program could not reach it")
        if withheld := sorted(WITHHELD.intersection(self.passed)):
            raise InvalidInput("--env", f"must not name {withheld[0]} with --gateway: the program gets one of its own")
        return checked


@dataclass(slots=True)
class _ProgramOutput:
    """What a program has said so far."""

    text: list[str] = field(default_factory=list[str])
    errors: bytes = b""  # the end of what it printed to standard error
    size: int = 0
    output: Json = None
    has_output: bool = False
    failure: Fail | None = None
    limit: Fail | None = None  # the limit that the kernel ended it for


def command_agent(agent: Agent, command: Command, *types: str) -> Agent:
    """Make a program do the work of an agent, for these types or for all.

    A limit that cannot be enforced on this machine is refused.
    """
    command = command.check()

    @agent.handles(*(types or ("*",)))
    async def run(task: Context) -> Any:
        return await _run(task, command)

    del run
    if command.worktrees is not None:
        agent.settled = command.worktrees.tidy
    return agent


async def _run(task: Context, command: Command) -> Any:
    if command.worktrees is None:
        return await _run_in(task, command, _directory(task.work_dir), None)
    try:
        worktree = await command.worktrees.enter(task.id)
    except (GitFailed, WorktreeTaken, OSError) as error:
        raise Fail("agent_error", f"its worktree cannot be used: {error}") from error
    try:
        # Pinned at once, and not where another task worked whose session this one goes on with.
        await task.session(work_dir=os.fspath(worktree.place))
        return await _run_in(task, command, os.fspath(worktree.place), worktree)
    finally:
        worktree.leave()


async def _run_in(task: Context, command: Command, directory: str | None, worktree: Worktree | None) -> Any:
    if command.gateway is None:
        return _result(*await _end_of(task, command, directory, worktree, None), command.limits)
    endpoint = await command.gateway.open(task)
    try:
        ended = await _end_of(task, command, directory, worktree, endpoint)
    except asyncio.CancelledError:
        if endpoint.ended is None:
            raise
        raise endpoint.ended from None
    finally:
        await endpoint.close()
    if task.stopped is not None:
        raise Stopped(task.stopped)  # by what a call cost that was counted last
    try:
        return _result(*ended, command.limits)
    except Fail as failure:
        raise endpoint.explain(failure) from failure


async def _end_of(
    task: Context,
    command: Command,
    directory: str | None,
    worktree: Worktree | None,
    endpoint: AttemptEndpoint | None,
) -> tuple[int, str, _ProgramOutput]:
    """Run the program to its end: the exit status, the end of standard error, and what it printed."""
    try:
        group = command.limits.new_group()
    except OSError as error:
        raise Fail("agent_error", f"its control group cannot be made: {error}") from error
    try:
        status, errors, printed = await _end_within(task, command, directory, worktree, endpoint, group)
        printed.limit = command.limits.met(group)
    finally:
        if group is not None:
            await asyncio.to_thread(group.remove)
    return status, errors, printed


async def _end_within(  # noqa: PLR0917 - each is something else
    task: Context,
    command: Command,
    directory: str | None,
    worktree: Worktree | None,
    endpoint: AttemptEndpoint | None,
    group: ProgramGroup | None,
) -> tuple[int, str, _ProgramOutput]:
    words = command.adapter.words(command.words, session_id=task.session_id, prompt=task.prompt, model=task.model)
    process = await started(
        *command.limits.words(words, group),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=directory,
        env=environment(task, command.passed) | _place(worktree) | ({} if endpoint is None else endpoint.variables),
        limit=LINE_LIMIT,
        control_group=None if group is None else group.place,
    )
    printed = _ProgramOutput()
    try:
        if worktree is not None:
            worktree.is_used_by(process.pid)
        request = command.adapter.request(await _request(task, directory or task.work_dir), task.prompt)
        async with _timed(command.limits.time_sec), _heard_beside(task, process, command, request, printed) as hearing:
            status = await _until_ended(process, hearing)
            if worktree is not None:
                await end(process)  # what it left behind would go on in a worktree that is removed
            heard, _ = await asyncio.wait([hearing], timeout=PATIENCE)
            for each in heard:
                each.result()
    except BaseException:
        await _in_any_case(_cut_off(process, endpoint))
        raise
    finally:
        process.hang_up()
        forget(process)
    return status, printed.errors.decode("utf-8", "replace"), printed


@asynccontextmanager
async def _heard_beside(
    task: Context, process: Program, command: Command, request: str, printed: _ProgramOutput
) -> AsyncGenerator[asyncio.Future[Any]]:
    """What the program prints is taken until this ends. What it has left running may print for ever."""
    hearing = asyncio.gather(
        _hand_over(process, request), _listen(task, process, command, printed), _last_words(task, process, printed)
    )
    try:
        yield hearing
    finally:
        hearing.cancel()
        await asyncio.wait([hearing])
        with suppress(asyncio.CancelledError):
            hearing.exception()  # who waited for it has got it, or has something worse


async def _until_ended(process: Program, hearing: asyncio.Future[Any]) -> int:
    """The exit status. What goes wrong with what it prints ends the wait for it."""
    waiting = asyncio.ensure_future(process.wait())
    try:
        await asyncio.wait([waiting, hearing], return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            hearing.result()
        return await waiting
    finally:
        waiting.cancel()


@asynccontextmanager
async def _timed(seconds: float | None) -> AsyncGenerator[None]:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise Fail("timeout", f"took longer than {seconds:g} s (--limit-time)") from None


def _place(worktree: Worktree | None) -> dict[str, str]:
    if worktree is None:
        return {}
    return {
        "TASKYARD_WORKTREE": os.fspath(worktree.place),
        "TASKYARD_BRANCH": worktree.record.branch,
        CEILING: os.fspath(worktree.place.parent),  # the worker's folder may be in a repository of its user
    }


async def _request(task: Context, work_dir: str | None) -> dict[str, Json]:
    """What the program gets to know of its task."""
    return {
        "id": task.id,
        "type": task.type,
        "title": task.task.title,
        "attempt": task.attempt,
        "prompt": task.prompt,
        "payload": task.payload,
        "models": list[Json](task.models),
        "inputs": [{"ref": each.ref, "data": each.data} for each in await task.inputs()],
        "previous_attempts": list[Json](await task.previous_attempts()),
        "session": {"session_id": task.session_id, "work_dir": work_dir},
        "subject": task.task.subject,
        "tags": list[Json](task.task.tags),
    }


async def _hand_over(process: Program, request: str) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):  # a program need not read its task
        process.stdin.write(request.encode())
        await process.stdin.drain()
    process.stdin.close()


async def _listen(task: Context, process: Program, command: Command, printed: _ProgramOutput) -> None:
    assert process.stdout is not None
    while True:
        try:
            line = await process.stdout.readline()
        except ValueError:
            raise Fail("invalid_output", f"a line is longer than {LINE_LIMIT} bytes") from None
        if not line:
            return
        text = line.decode("utf-8", "replace")
        printed.size += len(line)
        if printed.size > command.most_output:
            raise Fail("invalid_output", f"more than {command.most_output} bytes were printed")
        messages = command.adapter.understood(_object(text))
        if messages is None:
            printed.text.append(text)
            await task.output.say("stdout", text)
        for message in messages or ():
            if command.gateway is None or message.get("type") != "spend":  # the gateway has counted the calls itself
                await _heard(task, message, printed)


async def _heard(task: Context, message: Mapping[str, Any], printed: _ProgramOutput) -> None:
    match message.get("type"):
        case "progress":
            await task.progress(message.get("fraction"), mended(message.get("note", "")))
        case "message":
            await task.message(mended(message.get("text", "")), kind=mended(message.get("kind", "text")))
        case "session":
            session_id, work_dir = message.get("session_id"), message.get("work_dir")
            if session_id or work_dir:
                await task.session(str(session_id) if session_id else None, work_dir=work_dir)
        case "spend":
            await task.spend(
                message.get("usd"),
                **{each: int(message.get(each) or 0) for each in _TOKENS},
                model=message.get("model"),
            )
        case "output":
            printed.output, printed.has_output = message.get("data"), True
        case "fail":
            printed.failure = Fail(str(message.get("reason") or "agent_error"), str(message.get("error") or ""))
        case _:
            pass


async def _last_words(task: Context, process: Program, printed: _ProgramOutput) -> None:
    """Pass on what it prints to standard error as it comes, and keep the end of it."""
    assert process.stderr is not None
    decoder = getincrementaldecoder("utf-8")("replace")
    while part := await process.stderr.read(65536):
        printed.errors = (printed.errors + part)[-LAST_WORDS:]
        await task.output.say("stderr", decoder.decode(part))


async def _cut_off(process: Program, endpoint: AttemptEndpoint | None) -> None:
    if endpoint is not None:
        await endpoint.close()  # the calls under way cost money: they end before the program does
    await end(process)
    await _let_go(process)


async def _in_any_case(ending: Coroutine[Any, Any, None]) -> None:
    """To the end, however often the attempt is cancelled meanwhile: its heartbeat may hear of the same end again."""
    running = asyncio.ensure_future(ending)
    while not running.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(running)


async def _let_go(process: Program) -> None:
    """Take what is left to be read: only then are its pipes closed. Who escaped its group may hold them open."""
    assert process.stdout is not None
    assert process.stderr is not None
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while await process.stdout.read(65536):
                pass
            while await process.stderr.read(65536):
                pass


def _result(status: int, errors: str, printed: _ProgramOutput, limits: ProgramLimits) -> Json:
    if printed.failure is not None:
        raise printed.failure
    if status:
        if (exceeded := printed.limit or limits.exceeded(status, errors)) is not None:
            raise exceeded
        reason = "crash" if status < 0 or status > 128 else REASONS.get(status, "agent_error")
        ended = f"exit status {status} (limits: {limits})" if str(limits) else f"exit status {status}"
        raise Fail(reason, f"{ended}: {(errors.strip() or ''.join(printed.text).strip())[-LAST_WORDS:]}")
    return printed.output if printed.has_output else "".join(printed.text).strip()


def _directory(work_dir: str | None) -> str | None:
    """Where an earlier attempt worked, if it is still there."""
    return work_dir if work_dir and Path(work_dir).is_dir() else None


def environment(task: Context, passed: Sequence[str]) -> dict[str, str]:
    """What a program is let see of this process's environment, and which task it is for."""
    kept = {name: os.environ[name] for name in (*ALWAYS_PASSED, *passed) if name in os.environ}
    return kept | {"TASKYARD_TASK_ID": task.id, "TASKYARD_ATTEMPT": str(task.attempt), "TASKYARD_TYPE": task.type}


def _object(text: str) -> Mapping[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        found: Json = json.loads(text)
    except (ValueError, RecursionError):  # lists in lists without end are text, too
        return None
    return found if isinstance(found, dict) else None
