"""Numbered, forward-only changes of a stored schema, for every store that has one.

A store keeps one row (version, min_reader, min_writer) beside its data. It applies outstanding migrations under a lock
that excludes other processes, each migration together with the new row. This module does not access a database.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from taskyard.core.errors import MigrationNeedsStop, SchemaTooNew, SchemaTooOld

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")
_HEADER = re.compile(r"^-- (min_reader|min_writer): (\d+)$", re.MULTILINE)


class Schema(NamedTuple):
    """The stored version, and the oldest versions whose releases may still read and write it."""

    version: int
    min_reader: int
    min_writer: int


EMPTY = Schema(0, 0, 0)


class Migration(NamedTuple):
    """One step. The first lines of its file say which older releases can still work with the schema after it."""

    schema: Schema  # after it
    name: str
    sql: str

    @property
    def label(self) -> str:
        return f"{self.schema.version:04} {self.name}"


class State(NamedTuple):
    """The stored schema, and the migrations that this release knows: none for a store without a schema."""

    stored: Schema
    known: Sequence[Migration]

    @property
    def is_too_new(self) -> bool:
        """Whether a newer release has changed the schema in a way that this one cannot work with."""
        return max(self.stored.min_reader, self.stored.min_writer) > len(self.known)

    def outstanding(self) -> list[Migration]:
        """The migrations still to apply. This release works with a newer schema whose row permits it."""
        if self.is_too_new:
            raise SchemaTooNew(stored=self.stored.version, known=len(self.known))
        return list(self.known[self.stored.version :])

    @property
    def needs_stop(self) -> bool:
        """Whether the migrations still to apply shut out the releases that may be at work on the stored schema."""
        last = [max(each.schema.min_reader, each.schema.min_writer) for each in self.outstanding()]
        return self.stored != EMPTY and max(last, default=0) > self.stored.version

    def require_permitted(self, *, migrates: bool, all_stopped: bool) -> None:
        """Refuse an old schema that this process must not migrate.

        Opening a yard never applies a migration that shuts out others: it says nothing about who is at work.
        """
        if self.needs_stop and not all_stopped:
            raise MigrationNeedsStop(stored=self.stored.version, known=len(self.known))
        if self.outstanding() and not migrates:
            raise SchemaTooOld(stored=self.stored.version, known=len(self.known))


class Schemaless:
    """A store without a versioned schema."""

    async def schema(self) -> State:
        return State(EMPTY, ())

    async def migrate(self) -> None:
        """Do nothing: there is no schema to migrate."""


@cache  # the files are a part of the release: each connection of a process finds the same ones
def read_migrations(folder: Path) -> tuple[Migration, ...]:
    """Read the migrations of a folder, in order. They must be numbered from 1 without a gap."""
    named = {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.is_file()}
    found = [
        _migration(int(match[1]), match[2], named[name])
        for name in sorted(named)
        if (match := _FILE.fullmatch(name)) is not None
    ]
    if [each.schema.version for each in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the migrations in {folder} are not numbered from 1 without a gap")
    return tuple(found)


def _migration(number: int, name: str, sql: str) -> Migration:
    header = dict(_HEADER.findall(sql))
    return Migration(Schema(number, int(header["min_reader"]), int(header["min_writer"])), name, sql)
