"""The statements of the .sql files by name, for one schema; and how several become one.

A round trip costs as much as writing ten rows. So what can be written at once is: each part of a bundle is a statement
of its own in the files, and they travel as one, each as a common table expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from operator import itemgetter
from typing import Any, NamedTuple

from taskyard.core.changes import NewTask
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Attempt, Hot
from taskyard.stores.rows import Row, definition_row
from taskyard.stores.statements import Differing, by_difference, differing, named, text_of

_FILES = ("opening.sql", "writing.sql", "claiming.sql", "removing.sql", "reading.sql")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,47}")
_YARD = re.compile(r"\byard\.")
_PARAMETER = re.compile(r"\$(\d+)")
_TEXTS = frozenset(
    {
        *("id", "workspace", "dag_id", "status", "agent", "runtime", "lease", "progress", "session", "why"),
        *("idempotency_key", "key", "task_id", "outcome", "reason", "error", "details", "model", "verb", "digest"),
    }
)
_DEFINED = ("defined_type", "defined_queue", "defined_agent", "defined_subject", "defined_parent", "defined_body")
_NEW = (*(name for name in Hot._fields if name != "seq"), *_DEFINED)


class Part(NamedTuple):
    """A statement that may travel with others, and its values: one list for each of its arrays."""

    name: str
    sql: str
    values: Sequence[Any]


def columns(rows: Sequence[Row], width: int) -> Sequence[Sequence[Any]]:
    """Rows as one list for each column, as unnest wants them."""
    return list(zip(*rows, strict=True)) if rows else [()] * width


def new_row(task: NewTask) -> Row:
    """The moving row without its number, which the database gives, and what lists are filtered by."""
    row, definition, _ = task
    _, *defined = definition_row(definition)
    return (row[0], *row[2:], *defined)


class Statements:
    def __init__(self, schema: str) -> None:
        if _SCHEMA.fullmatch(schema) is None:
            raise InvalidInput("schema", "must be of lower-case letters, digits and _, and begin with a letter")
        self.schema = schema
        self._sql = named(self.of_schema(text_of("taskyard.stores.postgres", _FILES)))
        self._movers: dict[Differing, tuple[str, itemgetter[Any]] | None] = {}
        self._bundles: dict[tuple[str, ...], str] = {}

    def __getitem__(self, name: str) -> str:
        return self._sql[name]

    def of_schema(self, text: str) -> str:
        for mark, meant in _MARKS.items():
            text = text.replace(mark, meant)
        return _YARD.sub(f"{self.schema}.", text.replace("{schema}", self.schema))

    def begin_claim(self, workspace: str) -> str:
        return self._sql["begin_claim"].replace("{workspace}", str(number_of(workspace)))

    def part(self, name: str, rows: Sequence[Row]) -> Part:
        return Part(name, self._sql[name], columns(rows, 0))

    def moves(self, steps: Iterable[tuple[Hot, Hot]]) -> list[Part]:
        """Write of each row after a step what differs from the row before it, and nothing else."""
        parts: list[Part] = []
        for differs, rows in by_difference(steps).items():
            if (mover := self._mover(differs)) is not None:
                sql, values = mover
                parts.append(Part("change_tasks", sql, columns(list(map(values, rows)), 0)))
        return parts

    def _mover(self, differs: Differing) -> tuple[str, itemgetter[Any]] | None:
        """The update of just these columns, and what takes its values from the row after."""
        if differs not in self._movers:
            places = differing(differs)
            names = [Hot._fields[place] for place in places]
            sql = (
                self._sql["change_tasks"]
                .replace("{columns}", ", ".join(names))
                .replace("{arrays}", _arrays(names, first=2))
                .replace("{assignments}", ", ".join(f"{name} = moved.{name}" for name in names))
            )
            self._movers[differs] = (sql, itemgetter(0, *places)) if places else None
        return self._movers[differs]

    def bundle(self, parts: Sequence[Part], answering: Sequence[str] = ()) -> tuple[str, list[Any]]:
        """One statement of all the parts, with what the answering ones return, and its values."""
        key = (*answering, "", *(part.sql for part in parts))
        if key not in self._bundles:
            self._bundles[key] = _joined(parts, answering)
        return self._bundles[key], [value for part in parts for value in part.values]


def number_of(workspace: str) -> int:
    """The name of a workspace as that of a lock: 32 bits. Two that share one wait for each other, and that is all."""
    return int.from_bytes(sha256(workspace.encode()).digest()[:4], signed=True)


@cache
def statements(schema: str) -> Statements:
    return Statements(schema)


def _joined(parts: Sequence[Part], answering: Sequence[str]) -> str:
    used = 0
    tables: list[str] = []
    for number, part in enumerate(parts):
        sql = _PARAMETER.sub(lambda found, used=used: f"${int(found[1]) + used}", part.sql)
        used += len(part.values)
        # Those that others refer to go by their own name; there may be many that change tasks.
        name = f"{part.name}_{number}" if part.name == "change_tasks" else part.name
        tables.append(f"{name} as (\n{sql}\n)")
    answers = [_ANSWERS[name] for name in answering] or ["select 1 where false"]
    return f"with {', '.join(tables)}\n" + "\nunion all\n".join(answers)


# Ceilings before counters, and both before everything that no answer needs: the order in which they are waited for.
_ANSWERS = {
    "move_limits": "select workspace, name, ceiling, held, spent, false from move_limits",
    "move_counters": "select workspace, name, null::bigint, value, 0::bigint, true from move_counters",
}


def _arrays(names: Iterable[str], first: int = 1) -> str:
    return ", ".join(f"${number}::{_type_of(name)}[]" for number, name in enumerate(names, first))


def _type_of(name: str) -> str:
    if name == "counted":
        return "boolean"
    return "text" if name in _TEXTS or name in _DEFINED else "bigint"


_MARKS = {
    "{hot}": ", ".join(f"task.{name}" for name in Hot._fields),
    "{picked}": ", ".join(f"picked.{name}" for name in Hot._fields),
    "{hot_names}": ", ".join(Hot._fields),
    "{new_names}": ", ".join(_NEW),
    "{new_arrays}": _arrays(_NEW),
    "{attempt_arrays}": _arrays(Attempt._fields),
    "{attempt_excluded}": ", ".join(f"{name} = excluded.{name}" for name in Attempt._fields[2:]),
}
