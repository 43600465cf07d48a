"""Numbered, forward-only changes of a stored schema, for every engine that has one.

An engine keeps one row (version, min_reader, min_writer) beside its data, and applies what `outstanding` gives it, each
together with the new row, under a lock that keeps other processes out. Nothing here speaks to a database.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from taskyard.core.errors import SchemaTooNew

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


def migrations(package: str) -> list[Migration]:
    """Those in the package's folder, in order; numbered from 1 without a gap."""
    named = {entry.name: entry.read_text(encoding="utf-8") for entry in files(package).iterdir() if entry.is_file()}
    found = [
        _migration(int(match[1]), match[2], named[name])
        for name in sorted(named)
        if (match := _FILE.fullmatch(name)) is not None
    ]
    if [each.schema.version for each in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the migrations in {package} are not numbered from 1 without a gap")
    return found


def outstanding(known: Sequence[Migration], stored: Schema) -> list[Migration]:
    """What is still to be applied. A newer schema is worked with as long as it says that this release may."""
    if stored.min_writer > len(known) or stored.min_reader > len(known):
        raise SchemaTooNew(stored=stored.version, known=len(known))
    return list(known[stored.version :])


def _migration(number: int, name: str, sql: str) -> Migration:
    header = dict(_HEADER.findall(sql))
    return Migration(Schema(number, int(header["min_reader"]), int(header["min_writer"])), name, sql)
