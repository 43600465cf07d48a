"""The five queue files, their lock, and both shapes that they have: a list of tasks, or an object with the key `tasks`.

Nothing here knows a yard. A file is replaced as a whole, under the lock that scripts take with flock.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from taskyard.core.errors import InvalidInput, StoreUnavailable
from taskyard.core.json_value import Json, compact, decode

QUEUES = ("pending", "in-progress", "completed", "dead-letter", "cancelled")
MOST_BYTES = 64 << 20  # of one file
LOCK_WITHIN = 10.0  # seconds, as the scripts wait
_LOOKS = 5  # at a file that is not whole, because somebody writes it without the lock
_BETWEEN_LOOKS = 0.1  # seconds
_POLL = 0.02
Document = dict[str, Json]


class QueuedTask(NamedTuple):
    """A task as a file has it."""

    queue: str
    document: Document


class QueueFiles:
    def __init__(self, folder: Path) -> None:
        """`folder` is .loki, what contains it, or the folder of the queue files itself."""
        root = folder / ".loki" if (folder / ".loki").is_dir() else folder
        is_root = root.name == ".loki" or (root / "queue").is_dir()
        self.folder = root / "queue" if is_root else root
        self.lock_file = (root if is_root else _above(root)) / "state" / "locks" / "queue.lock"
        self._frames: dict[str, Document | None] = {}  # what stands around the tasks; None: nothing, it is a list

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[None]:
        """Hold the lock that scripts take. `StoreUnavailable` where one of them keeps it too long."""
        self.lock_file.parent.mkdir(parents=True, exist_ok=True)
        with self.lock_file.open("a") as lock:
            await _lock(lock.fileno(), self.lock_file)
            yield  # closing the file unlocks it

    async def read(self) -> dict[str, QueuedTask]:
        """All tasks by their ids, in the order of the files. InvalidInput names the file that is wrong."""
        found: dict[str, QueuedTask] = {}
        for queue in QUEUES:
            for document in await self._tasks(queue):
                task_id = document.get("id")
                if not isinstance(task_id, str) or not task_id:
                    raise InvalidInput(f"{queue}.json", "must give each task an id, which is a text")
                if task_id in found:
                    where = found[task_id].queue
                    raise InvalidInput(f"{queue}.json", f"must not have {task_id}, which {where}.json has too")
                found[task_id] = QueuedTask(queue, document)
        return found

    async def _tasks(self, queue: str) -> list[Document]:
        value = await self._value(queue)
        frame = {name: each for name, each in value.items() if name != "tasks"} if isinstance(value, dict) else None
        listed = value.get("tasks") if isinstance(value, dict) else value
        if not isinstance(listed, list):
            raise InvalidInput(f"{queue}.json", "must be a list of tasks, or an object with the key tasks")
        self._frames[queue] = frame
        documents = [each for each in listed if isinstance(each, dict)]
        if len(documents) != len(listed):
            raise InvalidInput(f"{queue}.json", "must have only objects as tasks")
        return documents

    async def _value(self, queue: str) -> Json:
        path = self.folder / f"{queue}.json"
        for look in range(1, _LOOKS + 1):
            try:
                return self._decoded(path, queue)
            except FileNotFoundError:
                return {"tasks": []}
            except InvalidInput:
                if look == _LOOKS:
                    raise
                await asyncio.sleep(_BETWEEN_LOOKS)
        raise AssertionError("the last look raises")

    def _decoded(self, path: Path, queue: str) -> Json:
        if path.stat().st_size > MOST_BYTES:
            raise InvalidInput(f"{queue}.json", f"must have at most {MOST_BYTES} bytes")
        return decode(path.read_bytes(), field=f"{queue}.json")

    def write(self, tasks: Mapping[str, Sequence[Document]]) -> list[str]:
        """Replace the files that differ. Answers which."""
        self.folder.mkdir(parents=True, exist_ok=True)
        written: list[str] = []
        for queue in QUEUES:
            listed: list[Json] = [*tasks.get(queue, ())]
            frame = self._frames.get(queue, {})
            text = compact(listed if frame is None else {**frame, "tasks": listed}) + "\n"
            if _replace(self.folder / f"{queue}.json", text.encode()):
                written.append(queue)
        return written

    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Differs once a file was written."""
        found = ((queue, self.folder / f"{queue}.json") for queue in QUEUES)
        stats = [(queue, path.stat()) for queue, path in found if path.exists()]
        return tuple((queue, each.st_mtime_ns, each.st_size) for queue, each in stats)


def _above(folder: Path) -> Path:
    return folder.parent if folder.name == "queue" else folder


async def _lock(file: int, path: Path) -> None:
    waited = 0.0
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waited >= LOCK_WITHIN:
                raise StoreUnavailable(f"{path} was locked by another process for {LOCK_WITHIN:g} s") from None
            await asyncio.sleep(_POLL)
            waited += _POLL
        else:
            return


def _replace(path: Path, data: bytes) -> bool:
    if path.exists() and path.read_bytes() == data:
        return False
    part = path.with_name(f"{path.name}.tmp")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    return True
