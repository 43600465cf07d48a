"""Numbered, forward-only changes of a stored schema, for every engine that has one.

An engine keeps one row (version, min_reader, min_writer) beside its data, and applies what is outstanding, each step
together with the new row, under a lock that keeps other processes out. Nothing here speaks to a database.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from taskyard.core.errors import SchemaTooNew, SchemaTooOld

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")
_HEADER = re.compile(r"^-- (min_reader|min_writer): (\d+)$", re.MULTILINE)


class Schema(NamedTuple):
    """What is stored, and the oldest release's schema that may still read and write it."""

    version: int
    min_reader: int
    min_writer: int


EMPTY = Schema(0, 0, 0)


class Migration(NamedTuple):
    """One step. Its file says in its first lines who can still work with the schema it leaves."""

    schema: Schema  # after it
    name: str
    sql: str

    @property
    def label(self) -> str:
        return f"{self.schema.version:04} {self.name}"


class State(NamedTuple):
    """What is stored, and the migrations that this release knows: none for a store that needs none."""

    stored: Schema
    known: Sequence[Migration]

    @property
    def is_too_new(self) -> bool:
        """Whether a newer release has changed the schema in a way that this one cannot work with."""
        return max(self.stored.min_reader, self.stored.min_writer) > len(self.known)

    def outstanding(self) -> list[Migration]:
        """What is still to be applied. A newer schema is worked with as long as it says that this release may."""
        if self.is_too_new:
            raise SchemaTooNew(stored=self.stored.version, known=len(self.known))
        return list(self.known[self.stored.version :])

    def require_current(self) -> None:
        """For those who are not to migrate by themselves."""
        if self.outstanding():
            raise SchemaTooOld(stored=self.stored.version, known=len(self.known))


class Schemaless:
    """A store without a schema that could be old or new."""

    async def schema(self) -> State:
        return State(EMPTY, ())

    async def migrate(self) -> None:
        """There is nothing to do."""


def migrations(folder: Path) -> list[Migration]:
    """Those in the folder, in order; numbered from 1 without a gap."""
    named = {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.is_file()}
    found = [
        _migration(int(match[1]), match[2], named[name])
        for name in sorted(named)
        if (match := _FILE.fullmatch(name)) is not None
    ]
    if [each.schema.version for each in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the migrations in {folder} are not numbered from 1 without a gap")
    return found


def _migration(number: int, name: str, sql: str) -> Migration:
    header = dict(_HEADER.findall(sql))
    return Migration(Schema(number, int(header["min_reader"]), int(header["min_writer"])), name, sql)
