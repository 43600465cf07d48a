"""Transcripts of background subagents: what is stored of their tasks, as files that can be read while they work.

A file holds JSON lines, each with the sequence number of the event it is made from. It says itself how far it goes, so
whoever comes next writes what is missing, and two who come at once write nothing twice.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from taskyard.core.changes import ChangeSet, Record, RecordChange, StoredEvent
from taskyard.core.errors import NotFound
from taskyard.core.json_value import Json, compact
from taskyard.core.task import FINAL, Hot, TaskId, Trait
from taskyard.definition import document
from taskyard.definition.fields import task_id as checked_id
from taskyard.features.events.views import event_view
from taskyard.ledger.ledger import MOST_EVENTS, Ledger

logger = logging.getLogger("taskyard")
TAIL = 4096  # bytes that the last line is looked for in, at first
_SHOWN = ("seq", "at", "event", "payload")


class Transcripts:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    def file_of(self, task_id: str) -> Path:
        """Where the transcript of a task is: in the one directory that this process writes them to."""
        return self._ledger.options.transcripts.absolute() / f"{checked_id(task_id, 'task_id')}.jsonl"

    async def read(self, task_id: str) -> list[dict[str, Json]]:
        """The lines of a subagent's transcript, as they are stored, wherever its file is."""
        subagent = await self._store.record("subagent", self._workspace, task_id)
        if subagent is None:
            raise NotFound("subagent", task_id)
        return [_first_line(subagent), *await self._lines(TaskId(task_id), 0)]

    async def write(self, task_id: str) -> bool:
        """Bring a subagent's file up to date. A disk that is full or away is left to the next who comes."""
        subagent = await self._store.record("subagent", self._workspace, task_id)
        if subagent is None:
            return True
        file = self.file_of(task_id)
        try:
            seen = await asyncio.to_thread(_last_seq, file)
            lines = [_first_line(subagent)] if seen is None else []
            lines += await self._lines(TaskId(task_id), seen or 0)
            await asyncio.to_thread(_append, file, lines)
        except OSError as error:
            logger.warning("transcript %s is behind: %s", file, error)
            return False
        return True

    async def keep_up(self, transcript: Record) -> None:
        """Write on, and be done with it once the task has ended: the events of its end are older than that state."""
        task_id = TaskId(transcript.id)
        hot = (await self._ledger.load_all([task_id])).get(task_id)
        if await self.write(task_id) and (hot is None or hot.status in FINAL):
            ended = RecordChange(*transcript[:4], None)
            await self._ledger.commit_set(ChangeSet(records=(ended,), at=self._ledger.now()))

    async def _lines(self, task_id: TaskId, after: int) -> list[dict[str, Json]]:
        events = await self._store.events(after=after, limit=MOST_EVENTS, task_id=task_id)
        return [await self._line(stored) for stored in events]

    async def _line(self, stored: StoredEvent) -> dict[str, Json]:
        view = document.write(event_view(stored))
        line = {name: view[name] for name in _SHOWN}
        if stored.event.event == "task.completed" and stored.event.task_id is not None:
            output = (await self._store.outputs([stored.event.task_id])).get(stored.event.task_id)
            line["output"] = None if output is None else json.loads(output.data)
        return line

    async def subagents_let_go(self, tasks: Sequence[Hot]) -> tuple[RecordChange, ...]:
        """What is stored of subagents whose tasks are pruned."""
        changes: list[RecordChange] = []
        for hot in tasks:
            for kind in ("subagent", "transcript") if hot.traits & Trait.WATCHED else ():
                record = await self._store.record(kind, hot.workspace, hot.id)
                changes += [] if record is None else [RecordChange(*record[:4], None)]
        return tuple(changes)

    async def drop(self, gone: Sequence[RecordChange]) -> None:
        for change in gone:
            if change.kind == "subagent":
                await asyncio.to_thread(self.file_of(change.id).unlink, missing_ok=True)


def _first_line(subagent: Record) -> dict[str, Json]:
    facts = ("subagent_id", "type", "description", "prompt", "parent", "conversation")
    return {"seq": 0, "event": "subagent.started", "payload": {name: subagent.body[name] for name in facts}}


def _last_seq(file: Path) -> int | None:
    """How far a file goes; None where there is none, or nothing in it."""
    try:
        with file.open("rb") as opened:
            return _ending(opened).seq
    except FileNotFoundError:
        return None


def _append(file: Path, lines: Sequence[dict[str, Json]]) -> None:
    """Add what is not there yet. Files of subagents are for their owner alone, and a link is never followed."""
    from fcntl import LOCK_EX, flock  # noqa: PLC0415 - not every system has it, and the rest works there

    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+b") as opened:
        flock(opened, LOCK_EX)  # until it is closed
        ending = _ending(opened)
        new = [line for line in lines if ending.seq is None or _seq_of(line) > ending.seq]
        opened.truncate(ending.whole)
        opened.seek(ending.whole)
        opened.write("".join(f"{compact(line)}\n" for line in new).encode())


def _seq_of(line: dict[str, Json]) -> int:
    seq = line["seq"]
    return seq if isinstance(seq, int) else 0


class _Ending(NamedTuple):
    seq: int | None  # of the last whole line
    whole: int  # bytes of whole lines: what a crash left of another comes after them


def _ending(opened: BinaryIO) -> _Ending:
    size, length = opened.seek(0, os.SEEK_END), TAIL
    while True:
        opened.seek(max(size - length, 0))
        tail = opened.read()
        end = tail.rfind(b"\n")
        start = tail.rfind(b"\n", 0, max(end, 0))
        if start >= 0 or length >= size:
            break
        length *= 2  # a line may be long
    seq = json.loads(tail[start + 1 : end])["seq"] if end >= 0 else None
    return _Ending(seq, size - len(tail) + end + 1)
