"""A git worktree for each task of a command agent: kept over its attempts, and cleaned when the task has ended.

    .taskyard/worktrees/NAME         the worktree, on the branch taskyard/NAME
    .taskyard/worktrees/NAME.json    its record: task, repository, branch; locked while an attempt works there

NAME is the task's id where the yard has made that, and a digest of it otherwise. A record is written before its
worktree is made and deleted after it: whatever a crash leaves behind, there is a record of it. Nothing that an agent
has made is thrown away with a worktree: what is uncommitted is committed to the branch first.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO

from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.json_value import compact
from taskyard.core.task import Status
from taskyard.worker.isolation.git import PREFIX, GitFailed, Repository
from taskyard.worker.process.runtime_files import FOLDER, lock_file, open_private, prepare
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.worker")
PATIENCE = 30.0  # seconds to wait for an attempt that is being ended to leave its worktree
EVERY = 60.0  # seconds between looks at all worktrees
LOOK = 0.05  # seconds between looks whether it has
_OURS = re.compile(r"task_[0-9A-Z]{26}")  # nothing that a path, an option or a branch gives a meaning to
_RECORD = ".json"
PLACE = "worktrees"  # below the worker's folder


class Keep(StrEnum):
    """Which worktrees stay when their tasks have ended."""

    NEVER = "never"
    FAILED = "failed"  # those of dead-lettered tasks, for whoever looks into it
    ALWAYS = "always"

    def keeps(self, status: Status) -> bool:
        """Whether the worktree of a task that stands like this stays."""
        if not status.is_final:
            return True
        return self is Keep.ALWAYS or (self is Keep.FAILED and status is Status.DEAD_LETTERED)


class WorktreeTaken(Exception):
    """Another attempt still works there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorktreeRecord:
    """What is known of a worktree, whoever made it."""

    task: str
    git_dir: str
    branch: str
    base: str  # the commit that the branch began at
    keep: Keep
    made: bool = False  # False: whoever made it was stopped before it was whole
    program: int | None = None  # the process that works there, and leads its group
    program_began: str = ""  # in the machine's own count: the number of a process is used again


@dataclass(slots=True)
class Worktree:
    """The worktree of one task, held by this process until `leave`."""

    place: Path
    record: WorktreeRecord
    _file: BinaryIO

    def is_used_by(self, process: int) -> None:
        """Write down the program that works here, so that whoever comes after a crash can end it."""
        self.write(replace(self.record, program=process, program_began=_began(process)))

    def leave(self) -> None:
        """Let the next attempt in."""
        if not self._file.closed:
            if self.place.exists():
                self.write(replace(self.record, program=None, program_began=""))
            self._file.close()

    def make(self, repository: Repository) -> None:
        """Check its branch out, unless that was done before."""
        if self.record.made and self.place.is_dir():
            return
        repository.remove_worktree(self.place)  # what a crash has left of it is not to be trusted
        branch, base = self.record.branch, repository.head()
        tip = repository.tip(branch)
        if tip is not None and branch in repository.worktrees().values():
            # Another runtime has the branch, with an attempt of its own: go on from what is committed there.
            branch, base = f"{branch}-{_digest(os.fspath(self.place), 8)}", tip
            tip = repository.tip(branch)
        self.write(replace(self.record, branch=branch, base=base if tip is None else self.record.base or base))
        repository.add_worktree(self.place, branch, base if tip is None else None)
        self.write(replace(self.record, made=True))

    def remove(self, *, discard: bool = False) -> list[str]:
        """Delete the folder, when what was made there is on a branch; and a branch that has nothing new.

        Says which branches have what was made there.
        """
        repository, branch, further = Repository(Path(self.record.git_dir)), self.record.branch, None
        if Path(self.record.git_dir).is_dir():
            if self.place.is_dir() and self.record.made and not discard:
                further = repository.save(self.place, branch, self.record.base)
            repository.remove_worktree(self.place)
            if repository.tip(branch) == self.record.base:
                repository.delete_branch(branch)
        elif self.place.exists():
            raise GitFailed(f"its repository {self.record.git_dir} is gone; delete {self.place} yourself")
        _record_of(self.place).unlink(missing_ok=True)
        self._file.close()
        return [each for each in (branch, further) if each and repository.has_branch(each)]

    def end_program(self) -> None:
        """End what a worker that was killed has left running here."""
        process = self.record.program
        if process is None or not self.record.program_began or _began(process) != self.record.program_began:
            return
        logger.warning("%s: the program of a worker that has died still runs, and is ended", self.record.task)
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        while _began(process) == self.record.program_began:
            sleep(LOOK)

    def write(self, record: WorktreeRecord) -> None:
        """Store what is known of it now."""
        self.record = record
        text = compact(asdict(record)).encode()
        self._file.seek(0)
        self._file.write(text)
        self._file.truncate()
        self._file.flush()


@dataclass(slots=True, kw_only=True)
class Worktrees:
    """The worktrees that a worker makes of one repository."""

    repository: Repository
    keep: Keep = Keep.FAILED
    folder: Path = FOLDER
    _next_look: float = 0.0  # when all worktrees are looked at again

    async def enter(self, task_id: str) -> Worktree:
        """The task's own worktree, as its earlier attempts left it, or a new one."""
        entering = asyncio.ensure_future(asyncio.to_thread(self._enter, task_id))
        try:
            return await asyncio.shield(entering)
        except asyncio.CancelledError:
            entering.add_done_callback(_let_go)
            raise

    async def tidy(self, yard: Yard, task_id: str) -> None:
        """Remove the task's worktree, if it has ended and no policy keeps it; and now and then those of all tasks.

        A task may end without an attempt: it is cancelled while it waits, or its worker was killed.
        """
        if monotonic() < self._next_look:
            await _tidy_one(yard, _looked_at(self.folder.resolve() / PLACE / name_of(task_id)))
            return
        self._next_look = monotonic() + EVERY
        for found in await asyncio.to_thread(listed, self.folder):
            await _tidy_one(yard, found)

    def _enter(self, task_id: str) -> Worktree:
        prepare(self.folder)
        folder = self.folder.resolve() / PLACE
        folder.mkdir(mode=0o700, exist_ok=True)
        name = name_of(task_id)
        new = WorktreeRecord(
            task=task_id, git_dir=os.fspath(self.repository.git_dir), branch=f"{PREFIX}/{name}", base="", keep=self.keep
        )
        held = _hold(folder / name, new, wait=PATIENCE)
        try:
            if (held.record.task, held.record.git_dir) != (new.task, new.git_dir):
                raise GitFailed(f"{held.place} is of the task {held.record.task} in {held.record.git_dir}")
            held.record = replace(held.record, keep=self.keep)
            held.end_program()
            with _one_at_a_time(folder):
                held.make(self.repository)
        except BaseException:
            held.leave()
            raise
        return held


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundWorktree:
    """A worktree that was looked at from outside."""

    place: Path
    record: WorktreeRecord | None  # None: a folder without one, or one that cannot be read
    is_held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenWorktree:
    """A worktree, and where its task stands."""

    place: Path
    task: str | None
    branch: str | None
    status: Status | None  # None: the yard does not know the task
    is_held: bool
    keep: Keep | None

    @property
    def has_ended(self) -> bool:
        """Whether nobody will work there again."""
        return not self.is_held and (self.status is None or self.status.is_final)

    @property
    def is_left(self) -> bool:
        """Whether it is there by no policy."""
        if not self.has_ended:
            return False
        return self.keep is None or self.status is None or not self.keep.keeps(self.status)


def listed(folder: Path = FOLDER) -> list[FoundWorktree]:
    """Every worktree of this folder, and what is left of one."""
    root = folder.resolve() / PLACE
    if not root.is_dir():
        return []
    names = {each.name.removesuffix(_RECORD) for each in root.iterdir() if not each.name.startswith(".")}
    return [_looked_at(root / name) for name in sorted(names)]


def clean(place: Path, *, discard: bool = False) -> str | None:
    """Remove a worktree that nobody works in. Says which branches have what was made there; None: nothing was."""
    held = _hold(place, None)
    try:
        held.end_program()
        with _one_at_a_time(place.parent):
            return ", ".join(held.remove(discard=discard)) or None
    except BaseException:
        held.leave()
        raise


async def seen(yard: Yard, found: FoundWorktree) -> SeenWorktree:
    """The same worktree, with what the yard knows of its task."""
    record = found.record
    return SeenWorktree(
        place=found.place,
        task=record and record.task,
        branch=record and record.branch,
        status=None if record is None else await standing(yard, record.task),
        is_held=found.is_held,
        keep=record and record.keep,
    )


async def _tidy_one(yard: Yard, found: FoundWorktree) -> None:
    if found.record is None or found.is_held or found.record.keep is Keep.ALWAYS:
        return
    status = await standing(yard, found.record.task)
    if status is None or found.record.keep.keeps(status):
        return
    try:
        await asyncio.to_thread(clean, found.place)
    except WorktreeTaken:
        pass  # whoever has it sees to it
    except (GitFailed, OSError) as error:
        logger.warning("%s: its worktree cannot be removed: %s", found.record.task, error)


async def standing(yard: Yard, task_id: str) -> Status | None:
    """Where the task stands; None where the yard does not know it."""
    try:
        return (await yard.get(task_id)).status
    except (NotFound, InvalidInput):
        return None


def name_of(task_id: str) -> str:
    """The name of a task's worktree and branch. Two tasks never have the same, on no file system."""
    return task_id if _OURS.fullmatch(task_id) else f"task-{_digest(task_id, 32)}"


def _hold(place: Path, new: WorktreeRecord | None, *, wait: float = 0.0) -> Worktree:
    """Lock the record, which is made where there is none and a new one is given."""
    path, deadline = _record_of(place), monotonic() + wait
    while True:
        if new is None and not path.exists():
            if not place.exists():
                raise WorktreeTaken(f"{place} has just been removed")
            raise GitFailed(f"{place} has no record: delete it yourself, if it is not needed")
        file = open_private(path)
        # Whoever removed the worktree meanwhile has deleted the file that this is the lock of.
        if lock_file(file) and path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            if (known := _read(file.read())) is not None:
                return Worktree(place, known, file)
            if new is not None:
                made = Worktree(place, new, file)
                made.write(new)
                return made
            file.close()
            raise GitFailed(f"{path} cannot be read: delete it and {place} yourself, if they are not needed")
        file.close()
        if monotonic() > deadline:
            raise WorktreeTaken(f"another attempt still works in {place}")
        sleep(LOOK)


@contextmanager
def _one_at_a_time(folder: Path) -> Generator[None]:
    """Git's own list of worktrees is not made for changes at the same time."""
    with open_private(folder / ".lock") as file:
        lock_file(file, wait=True)
        yield


def _looked_at(place: Path) -> FoundWorktree:
    try:
        with _record_of(place).open("r+b") as file:
            is_held = not lock_file(file)
            return FoundWorktree(place=place, record=_read(file.read()), is_held=is_held)
    except OSError:
        return FoundWorktree(place=place, record=None, is_held=False)


def _read(text: bytes) -> WorktreeRecord | None:
    """What a crash cut short says nothing."""
    try:
        found = json.loads(text)
        return WorktreeRecord(**(found | {"keep": Keep(found["keep"])}))
    except (ValueError, TypeError, KeyError):
        return None


def _record_of(place: Path) -> Path:
    return place.with_name(place.name + _RECORD)


def _digest(text: str, length: int) -> str:
    return sha256(text.encode()).hexdigest()[:length]


def _began(process: int) -> str:
    """When the process began, where the system says so; empty where it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _let_go(entering: asyncio.Future[Worktree]) -> None:
    if not entering.cancelled() and entering.exception() is None:
        entering.result().leave()
