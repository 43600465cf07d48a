"""Exporting a yard into a file, and importing it into an empty store.

An export is of a yard at rest: it is refused where anything but leases and signs of life was written meanwhile. An
import is stored in steps, and each step stores with it how far it is. Until the last one, nobody else opens the yard;
the same file again goes on where the steps ended. At the end, the yard is read again and compared with the file.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from importlib.metadata import version
from typing import Any, BinaryIO, NamedTuple, TypedDict

from taskyard.core.changes import Record, RecordChange, StoredEvent
from taskyard.core.errors import ImportUnfinished, InvalidInput, YardMoved
from taskyard.core.json_value import Json, compact
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import SECOND, to_iso
from taskyard.features.memory.rules import CURSOR
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.features.transfer.export_file import FORMAT, ExportReader, ExportWriter, Header, NumberedCopy
from taskyard.features.transfer.rules import encode_copy
from taskyard.features.transfer.sequence import SequenceCheck, part_of
from taskyard.features.transfer.share import ExportShare, workspace_of
from taskyard.features.transfer.views import Exported, Imported
from taskyard.stores.contract import Store
from taskyard.stores.copies import EVENT_BLOCK, START, Copy, TaskCopy, YardPart, place_after

PAGE = 500  # copies that are read at once
STEP = 1000  # copies that are stored at once, at least
STEP_BYTES = 4 << 20
SWEPT = 10 * SECOND  # a yard that was swept so lately is in use
IMPORT = "import"  # the kind of the record that says how far an import is
# Vectors are not copied: the other store begins with the first event, and makes them again.
OF_ONE_STORE = frozenset({IMPORT, CURSOR})
BEGUN, DONE = "begun", "done"
_KEY = (IMPORT, EVERYWHERE, IMPORT)


class ImportBody(TypedDict):
    """How far an import is: the last line of its file that is stored."""

    state: str
    sha256: str
    began_at: str
    line: int


PROGRESS = RecordKind(IMPORT, ImportBody)
# What a process that only looks on leaves alone. Leases and signs of life move in a yard at rest too.
_AT_REST = frozenset({YardPart.RECORDS, YardPart.LIMITS, YardPart.COUNTERS, YardPart.OUTBOX})


async def refuse_unfinished(store: Store) -> None:
    """Refuse a store that has only a part of an imported yard."""
    record = await store.record(*_KEY)
    if record is not None and PROGRESS.of(record)["state"] == BEGUN:
        raise _unfinished(record)


def _unfinished(record: Record) -> ImportUnfinished:
    progress = PROGRESS.of(record)
    return ImportUnfinished(progress["began_at"], progress["line"])


class Transfer:
    """Moves the yard of one store, which is open."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # Exporting.

    async def export(self, file: BinaryIO, *, workspace: str | None = None, with_secrets: bool = True) -> Exported:
        """Write the yard into a file, or one workspace of it."""
        await refuse_unfinished(self._store)
        newest = await self._newest_event()
        header = Header(FORMAT, version("taskyard"), secrets.token_hex(16), workspace, to_iso(self._store.now()))
        writer, share, seen, held = ExportWriter(file, header), ExportShare(workspace, with_secrets), sha256(), 0
        async for copy in self._copies(YardPart):
            if part_of(copy) in _AT_REST:
                seen.update(_text(copy))
            if share.has(copy):
                writer.add(copy)
                held += isinstance(copy, TaskCopy) and copy.hot.status.is_held
        await self._check_rest(newest, seen.digest())
        ending = writer.finish()
        return Exported(export=header.export, sha256=ending.sha256, counts=ending.counts, held=held)

    async def _check_rest(self, newest: int, seen: bytes) -> None:
        if await self._newest_event() != newest:
            raise YardMoved("tasks")
        again = sha256()
        async for copy in self._copies(_AT_REST):
            again.update(_text(copy))
        if again.digest() != seen:
            raise YardMoved("records")

    async def _newest_event(self) -> int:
        return max((stored.seq for stored in await self._store.newest_events(limit=1)), default=0)

    async def _copies(self, parts: Any = YardPart) -> AsyncIterator[Copy]:
        """All copies of these parts, but what is of this store alone."""
        for part in YardPart:
            after = START
            while part in parts and (page := await self._store.dump(part, after, PAGE)):
                for copy in page:
                    if not (isinstance(copy, Record) and copy.kind in OF_ONE_STORE):
                        yield copy
                if part is YardPart.SECRET:
                    break
                after = place_after(page)

    # Importing.

    async def load(self, file: BinaryIO, name: str) -> Imported:
        """Store the yard of a file. The file is read three times: checked, stored, and compared with what is stored."""
        checked = _checked(file, name)
        progress = await self._begin(checked)
        resumed_after = PROGRESS.of(progress)["line"]
        for step in _steps(ExportReader(file, name), resumed_after):
            progress = await self._store_step(progress, [each.copy for each in step], line=step[-1].line)
        await self._compare(ExportReader(file, name), has_secret="secret" in checked.counts)
        await self._store_step(progress, [], state=DONE)
        return Imported(
            export=checked.header.export,
            counts=checked.counts,
            resumed_after=resumed_after,
            workspaces=checked.workspaces,
        )

    async def _begin(self, checked: _Checked) -> Record:
        record = await self._store.record(*_KEY)
        if record is None:
            await self._check_empty()
            now = to_iso(self._store.now())
            body: dict[str, Json] = {"state": BEGUN, "sha256": checked.sha256, "began_at": now, "line": 0}
            return await self._store_step(Record(*_KEY, 0, body), [])
        if PROGRESS.of(record)["state"] == DONE:
            raise InvalidInput("url", "must name an empty store: an import has ended here")
        if PROGRESS.of(record)["sha256"] != checked.sha256:
            raise _unfinished(record)
        return record

    async def _check_empty(self) -> None:
        for part in (YardPart.RECORDS, YardPart.TASKS, YardPart.EVENTS, YardPart.LIMITS):
            if await self._store.dump(part, START, 1):
                raise InvalidInput("url", f"must name an empty store, and this one has {part}")
        swept = await self._store.duty("sweep")
        if swept is not None and self._store.now() - swept < SWEPT:
            raise InvalidInput("url", "must name a store that is not in use: stop the server or worker that sweeps it")

    async def _store_step(self, progress: Record, copies: list[Copy], **moved: Json) -> Record:
        body = {**progress.body, **moved}
        if not await self._store.restore(copies, RecordChange(*progress[:4], body)):
            raise YardMoved("how far the import is")
        return progress._replace(version=progress.version + 1, body=body)

    async def _compare(self, reader: ExportReader, *, has_secret: bool) -> None:
        """Whether the store has what the file has, and nothing else."""
        wanted = iter(reader)
        async for copy in self._copies():
            if part_of(copy) is YardPart.SECRET and not has_secret:
                continue
            expected = next(wanted, None)
            if expected is None or encode_copy(expected.copy) != encode_copy(copy):
                line = "a row beyond the last line" if expected is None else f"line {expected.line}"
                raise YardMoved(f"{line} of the file, as it is stored,")
        if (missing := next(wanted, None)) is not None:
            raise YardMoved(f"line {missing.line} of the file, as it is stored,")


class _Checked(NamedTuple):
    header: Header
    counts: dict[str, int]
    sha256: str
    workspaces: tuple[str, ...]


def _checked(file: BinaryIO, name: str) -> _Checked:
    """Read the whole file once: nothing is stored of one that is wrong anywhere."""
    reader, sequence, workspaces = ExportReader(file, name), SequenceCheck(), set[str]()
    for line, copy, _ in reader:
        sequence.take(copy, reader.where(line))
        if (workspace := workspace_of(copy)) is not None:
            workspaces.add(workspace)
    assert reader.ending is not None
    return _Checked(reader.header, *reader.ending, tuple(sorted(workspaces)))


def _steps(reader: ExportReader, after: int) -> Iterator[list[NumberedCopy]]:
    """The copies behind this line, as they are stored together. A task is in one step with its history."""
    step: list[NumberedCopy] = []
    size = 0
    for each in reader:
        if each.line <= after:
            continue
        if (len(step) >= STEP or size >= STEP_BYTES) and _may_begin(each.copy, step[-1].copy):
            yield step
            step, size = [], 0
        step.append(each)
        size += each.size
    if step:
        yield step


def _may_begin(copy: Copy, before: Copy) -> bool:
    """Whether a step may begin with this copy."""
    if isinstance(copy, StoredEvent) and isinstance(before, StoredEvent):
        return copy.seq // EVENT_BLOCK != before.seq // EVENT_BLOCK
    return part_of(copy) is not YardPart.TASKS or isinstance(copy, TaskCopy)


def _text(copy: Copy) -> bytes:
    return compact(encode_copy(copy)).encode()
