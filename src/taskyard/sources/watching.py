"""Watched files: what changes in the directories that this process was told to watch fires the triggers for it.

Only names, sizes and times are looked at, never what is in a file. A trigger whose path is in none of the directories
is none of this process's business: who adds a trigger does not decide what is watched.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from taskyard.core.errors import InvalidInput, NotFound, Unavailable
from taskyard.core.trigger import Change, Source, Trigger, matches_file
from taskyard.service.yard import Yard
from taskyard.wire.sources import TriggerView

logger = logging.getLogger("taskyard.sources")
AGAIN_AFTER = 1.0  # seconds, where the yard cannot be reached


class Seen(NamedTuple):
    """A change of a file, as this machine shows it."""

    path: Path
    change: Change
    size: int | None
    modified_ns: int

    @property
    def key(self) -> str:
        """The same for everybody who sees the same change, also where a new file is told of twice."""
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


async def watch(yard: Yard, folders: Iterable[Path], stop: asyncio.Event, *, debounce_ms: int = 400) -> None:
    """Watch until told to stop. What changes while nobody watches is not seen."""
    roots = checked(folders)
    if not roots:
        return
    async for changes in _awatch()(*roots, stop_event=stop, debounce=debounce_ms, rust_timeout=500):
        listening = [view.trigger for view in await _asked(yard, stop)]
        for kind, name in sorted(changes):  # what was added comes before what was modified
            if (seen := _looked_at(Path(name), Change(kind.name))) is not None:
                await _fire_all(yard, seen, _meant(seen, listening, roots), stop)


async def _fire_all(yard: Yard, seen: Seen, triggers: Sequence[Trigger], stop: asyncio.Event) -> None:
    for trigger in triggers:
        data = seen.data(_base(trigger))
        while not stop.is_set():
            try:
                await yard.fire_trigger(trigger.id, data, key=seen.key)
            except NotFound:
                logger.info("trigger %s was removed before it could fire", trigger.id)
            except Unavailable as away:
                await _wait(away, stop)
                continue
            break


async def _asked(yard: Yard, stop: asyncio.Event) -> list[TriggerView]:
    while not stop.is_set():
        try:
            return await yard.triggers()
        except Unavailable as away:
            await _wait(away, stop)
    return []


async def _wait(away: Unavailable, stop: asyncio.Event) -> None:
    logger.warning("the yard cannot be told of changed files, and is tried again: %s", away)
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), AGAIN_AFTER)


def _meant(seen: Seen, triggers: Iterable[Trigger], roots: Sequence[Path]) -> list[Trigger]:
    """The triggers that wait for such a change, of those whose folder is watched here."""
    return [
        trigger
        for trigger in triggers
        if trigger.source is Source.FILES
        and not trigger.paused
        and any(_base(trigger).is_relative_to(root) for root in roots)
        and seen.path.is_relative_to(_base(trigger))
        and matches_file(trigger, seen.path.relative_to(_base(trigger)).as_posix(), seen.change.value)
    ]


def _base(trigger: Trigger) -> Path:
    return Path(str(trigger.settings["path"])).absolute()


def _looked_at(path: Path, change: Change) -> Seen | None:
    """The file as it is now; None for a folder, and for what is gone again."""
    try:
        # Of what is deleted, the folder tells when.
        shown = (path.parent if change is Change.DELETED else path).stat()
    except FileNotFoundError:
        return None
    if change is Change.DELETED:
        return Seen(path, change, None, shown.st_mtime_ns)
    return None if path.is_dir() else Seen(path, change, shown.st_size, shown.st_mtime_ns)


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
