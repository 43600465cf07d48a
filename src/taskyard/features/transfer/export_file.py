"""The file of an exported yard: a header, a line for each copy, and an end with counts and the hash of all before it.

A file without its end was cut off. A line is bounded, so that no file makes a reader take more memory than that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import DEEPEST, compact, decode
from taskyard.features.transfer.rules import Document, decode_copy, encode_copy
from taskyard.stores.copies import Copy

FORMAT = 1
MAX_LINE = 64 << 20  # bytes; a payload or an output has at most 1 MiB by default
_DEEPEST = DEEPEST + 4  # a value of the yard, inside its row and line


class Header(NamedTuple):
    format: int
    release: str
    export: str  # an id of this export
    workspace: str | None  # None: all of them
    made_at: str


class Trailer(NamedTuple):
    counts: dict[str, int]
    sha256: str


class ExportWriter:
    """Writes the lines in the order given, and their end."""

    def __init__(self, file: BinaryIO, header: Header) -> None:
        self._file = file
        self._hash = sha256()
        self.counts: Counter[str] = Counter()
        self._write({"taskyard": {**header._asdict()}})

    def add(self, copy: Copy) -> None:
        line = encode_copy(copy)
        self.counts.update([*line])  # its one key is the kind of the row
        self._write(line)

    def finish(self) -> Trailer:
        ending = Trailer(dict(self.counts), self._hash.hexdigest())
        self._write({"end": {**ending._asdict()}})
        return ending

    def _write(self, line: Document) -> None:
        text = f"{compact(line)}\n".encode()
        if len(text) > MAX_LINE:
            raise InvalidInput(f"{next(iter(line))}", f"has a row of more than {MAX_LINE} bytes, which no import takes")
        self._hash.update(text)
        self._file.write(text)


class NumberedCopy(NamedTuple):
    line: int  # the header is line 1
    copy: Copy
    size: int  # bytes of its line


class ExportReader:
    """Reads the lines of a file from its beginning. `ending` is known once all of them were read."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        file.seek(0)
        self._file = file
        self._name = name
        self._hash = sha256()
        self._line = 0
        self._size = 0  # bytes of the last line
        self._counts: Counter[str] = Counter()
        self.ending: Trailer | None = None
        self.header = self._header()

    def where(self, line: int) -> str:
        return f"{self._name} line {line}"

    def __iter__(self) -> Iterator[NumberedCopy]:
        while self.ending is None:
            before = self._hash.hexdigest()
            document = self._next()
            if "end" in document:
                self.ending = self._checked_ending(document, before)
                continue
            self._counts.update([*document])
            yield NumberedCopy(self._line, decode_copy(document, self.where(self._line)), self._size)

    def _header(self) -> Header:
        document = self._next()
        given = document.get("taskyard")
        if not isinstance(given, dict) or given.get("format") != FORMAT:
            raise InvalidInput(self.where(1), f"must be the header of an exported yard of format {FORMAT}")
        values: dict[str, Any] = given
        if set(values) != set(Header._fields):
            raise InvalidInput(self.where(1), f"must have the fields {', '.join(Header._fields)}, and no others")
        return Header(**values)

    def _next(self) -> Document:
        self._line += 1
        text = self._file.readline(MAX_LINE + 1)
        if not text.endswith(b"\n"):
            too_long = len(text) > MAX_LINE
            rule = f"must have at most {MAX_LINE} bytes" if too_long else "is missing: the file was cut off"
            raise InvalidInput(self.where(self._line), rule)
        self._hash.update(text)
        self._size = len(text)
        document = decode(text, field=self.where(self._line), max_depth=_DEEPEST)
        if not isinstance(document, dict):
            raise InvalidInput(self.where(self._line), "must be an object")
        return document

    def _checked_ending(self, document: Document, before: str) -> Trailer:
        where = self.where(self._line)
        given = document["end"]
        values: dict[str, Any] = given if isinstance(given, dict) else {}
        if document.keys() != {"end"} or values.keys() != set(Trailer._fields):
            raise InvalidInput(where, f"must have the fields {', '.join(Trailer._fields)}, and no others")
        ending = Trailer(**values)
        if ending.sha256 != before:
            raise InvalidInput(where, "has another hash than the lines before it: the file was changed")
        if ending.counts != dict(self._counts):
            raise InvalidInput(where, "counts other lines than there are")
        if self._file.read(1):
            raise InvalidInput(where, "must be the last line")
        return ending
