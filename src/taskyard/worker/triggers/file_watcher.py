"""Watched files: what changes in the directories that this process watches fires the triggers for it.

Only names, sizes and times are looked at, never what is in a file. A trigger whose path is in none of the directories
is none of this process's business: who adds a trigger does not decide what is watched.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from taskyard.core.errors import InvalidInput, TaskyardError
from taskyard.features.triggers.rules import FileChange, SourceName, Trigger, matches_file
from taskyard.visible_text import visible
from taskyard.worker.triggers.listener import Listener
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.sources")
AGAIN_AFTER = 1.0  # seconds, where a folder cannot be watched

OVERLAP_NS = 2_000_000_000  # looked at again after a failure: what a change is fired for is known by its key


class SeenFile(NamedTuple):
    """A change of a file, as this machine shows it."""

    path: Path
    change: FileChange
    size: int | None
    modified_ns: int

    @property
    def key(self) -> str:
        """The same for everybody who sees the same change, also where a new file is reported twice."""
        return f"{self.path} {self.modified_ns} {self.size}"

    def data(self, base: Path) -> dict[str, Any]:
        modified = datetime.fromtimestamp(self.modified_ns / 1e9, UTC)
        return {
            "file": {
                "path": str(self.path),
                "name": self.path.name,
                "relative": self.path.relative_to(base).as_posix(),
                "change": self.change.value,
                "size": self.size,
                "modified_at": modified.isoformat().replace("+00:00", "Z"),
            }
        }


class Watcher:
    """Watches folders until asked to stop, whatever happens to them; what is wrong meanwhile is in `problem`."""

    def __init__(self, yard: Yard, folders: Iterable[Path], stop: asyncio.Event, *, debounce_ms: int = 400) -> None:
        self._yard = yard
        self._listener = Listener(yard, SourceName.FILES, stop)
        self._roots = checked(folders)
        self._stop = stop
        self._debounce_ms = debounce_ms
        self._heard_ns = time.time_ns()  # when the system last said what had changed, or that nothing had
        self._is_behind = False  # it failed since: what it would have said is looked for
        self.problem: str | None = None

    async def run(self) -> None:
        """What changes while nobody watches is not seen."""
        while self._roots and not self._stop.is_set():
            try:
                await self._watch()
            except Exception as error:
                self._is_behind = True
                await self._note(f"{type(error).__name__}: {error}")
                logger.exception("the file watcher ended, and is started again")
            await self._pause()
        if self._roots:
            await self._note(None)  # nobody is to watch any more: that is no problem

    async def _watch(self) -> None:
        there = {root: _identity(root) for root in self._roots}
        present = [root for root, identity in there.items() if identity is not None]
        missing = ", ".join(visible(str(root)) for root in self._roots if root not in present)
        if missing and self.problem is None:
            logger.error("not watched, since it is no directory any more: %s", missing)
        await self._note(f"no directory any more: {missing}" if missing else None)
        if not present:
            return
        watching = _awatch()(
            *present, stop_event=self._stop, debounce=self._debounce_ms, rust_timeout=500, yield_on_timeout=True
        )
        async for changes in watching:
            if self._is_behind:
                self._is_behind = False
                await self._tell(await asyncio.to_thread(_changed_since, present, self._heard_ns - OVERLAP_NS))
            # What was added comes before what was modified.
            await self._tell([(FileChange(kind.name), name) for kind, name in sorted(changes)])
            self._heard_ns = time.time_ns()
            if {root: _identity(root) for root in self._roots} != there:
                return  # the system watches what was there before: begin again with what is there now

    async def _tell(self, changes: Iterable[tuple[FileChange, str]]) -> None:
        listening = await self._listener.triggers() if changes else []
        for change, name in changes:
            try:
                seen = _looked_at(Path(name), change)
                if seen is not None:
                    await self._fire(seen, _meant(seen, listening, self._roots))
            except (OSError, ValueError, InvalidInput) as error:  # a link to itself, a name that is no text, too long
                logger.warning("skipped %s: %s", visible(name[:300]), error)

    async def _fire(self, seen: SeenFile, triggers: Iterable[Trigger]) -> None:
        for trigger in triggers:
            await self._listener.fire(trigger, seen.data(_base(trigger)), key=seen.key)

    async def _note(self, problem: str | None) -> None:
        """Keep how it stands where `doctor` finds it. A remote yard keeps nothing of this process."""
        if problem != self.problem:
            with suppress(TaskyardError):
                roots = list(map(str, self._roots))
                await self._yard.local.health.note_watcher(socket.gethostname(), roots, problem)
        self.problem = problem

    async def _pause(self) -> None:
        if self.problem is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), AGAIN_AFTER)


async def watch(yard: Yard, folders: Iterable[Path], stop: asyncio.Event, *, debounce_ms: int = 400) -> None:
    """Watch until asked to stop. What changes while nobody watches is not seen."""
    await Watcher(yard, folders, stop, debounce_ms=debounce_ms).run()


def _changed_since(roots: Iterable[Path], since_ns: int) -> list[tuple[FileChange, str]]:
    """Files that came or changed, each as both: a change has one key, so it fires once. What was deleted is lost."""
    found: list[tuple[FileChange, str]] = []
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                path = f"{folder}/{name}"
                with suppress(OSError):
                    if os.lstat(path).st_ctime_ns >= since_ns:
                        found += [(FileChange.ADDED, path), (FileChange.MODIFIED, path)]
    return found


def _identity(root: Path) -> tuple[int, int] | None:
    """Which directory it is; None where it is none."""
    try:
        found = root.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def _meant(seen: SeenFile, triggers: Iterable[Trigger], roots: Sequence[Path]) -> list[Trigger]:
    """The triggers that wait for such a change, of those whose folder is watched here."""
    return [
        trigger
        for trigger in triggers
        if any(_base(trigger).is_relative_to(root) for root in roots)
        and seen.path.is_relative_to(_base(trigger))
        and matches_file(trigger, seen.path.relative_to(_base(trigger)).as_posix(), seen.change.value)
    ]


def _base(trigger: Trigger) -> Path:
    return Path(str(trigger.settings["path"])).absolute()


def _looked_at(path: Path, change: FileChange) -> SeenFile | None:
    """The file as it is now; None for a folder, and for what is gone again."""
    try:
        # Of what is deleted, the folder tells when.
        shown = (path.parent if change is FileChange.DELETED else path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if change is FileChange.DELETED:
        return SeenFile(path, change, None, shown.st_mtime_ns)
    return None if path.is_dir() else SeenFile(path, change, shown.st_size, shown.st_mtime_ns)


def checked(folders: Iterable[Path]) -> list[Path]:
    """Folders that can be watched by this process; InvalidInput says why not."""
    roots = [folder.absolute() for folder in folders]
    for root in roots:
        if not root.is_dir():
            raise InvalidInput("watch", f"must be a directory, which {root} is not")
    if roots:
        _awatch()
    return roots


def _awatch() -> Any:
    try:
        return import_module("watchfiles").awatch  # an extra
    except ModuleNotFoundError as missing:
        if missing.name != "watchfiles":
            raise
        raise InvalidInput("watch", "needs the file watcher: pip install 'taskyard[watch]'") from missing
