"""The statements of the .sql files by name, for one schema, and bundles of several statements in one.

A round trip costs as much as writing ten rows. Writes are therefore sent in bundles: each part is a statement of the
files, and becomes a common table expression of one statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from taskyard.core.changes import NewTask
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Attempt, Hot
from taskyard.stores.postgres.arrays import Columns, to_columns
from taskyard.stores.shared.rows import Row, format_definitions
from taskyard.stores.shared.sql_files import (
    ChangedColumns,
    group_by_changes,
    parse_statements,
    positions_of,
    read_files,
)

_FILES = ("opening.sql", "writing.sql", "claiming.sql", "removing.sql", "reading.sql", "log.sql")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,47}")
_YARD = re.compile(r"\byard\.")
_PARAMETER = re.compile(r"\$(\d+)")
_TEXTS = frozenset(
    {
        *("id", "workspace", "dag_id", "status", "agent", "agent_type", "runtime", "lease", "progress", "session"),
        "why",
        *("idempotency_key", "key", "task_id", "outcome", "reason", "error", "details", "model", "verb", "digest"),
    }
)
_DEFINED = ("defined_type", "defined_queue", "defined_agent", "defined_subject", "defined_parent", "defined_body")
_NEW = (*(name for name in Hot._fields if name != "seq"), *_DEFINED)


class StatementPart(NamedTuple):
    """A statement that can be part of a bundle, and its values."""

    name: str
    sql: str
    values: Sequence[str | None]


class UpdateStatement(NamedTuple):
    """The update of some columns, and the getter of their values from the row after a change."""

    columns: Columns
    values: itemgetter[Any]


def transpose(rows: Sequence[Row], width: int) -> Sequence[Sequence[Any]]:
    """Rows as one list for each column, as unnest takes them."""
    return list(zip(*rows, strict=True)) if rows else [()] * width


def format_new_tasks(tasks: Sequence[NewTask]) -> list[Row]:
    """The rows of new tasks without `seq`, which the database assigns, and the columns that lists filter by."""
    defined = format_definitions([task.definition for task in tasks])
    return [(row[0], *row[2:], *more[1:]) for (row, _, _), more in zip(tasks, defined, strict=True)]


class Statements:
    def __init__(self, schema: str) -> None:
        if _SCHEMA.fullmatch(schema) is None:
            raise InvalidInput("schema", "must be of lower-case letters, digits and _, and begin with a letter")
        self.schema = schema
        self._sql = parse_statements(self.of_schema(read_files(Path(__file__).parent, _FILES)))
        pick, lock = self._sql["pick"], self._sql["lock_picked"]
        self._sql |= {"pick": pick.replace("{lock}", lock), "look": pick.replace("{lock}", "")}
        self._parts: dict[str, Columns] = {}
        self._movers: dict[tuple[str, ChangedColumns], UpdateStatement | None] = {}
        self._bundles: dict[tuple[str, ...], str] = {}

    def __getitem__(self, name: str) -> str:
        return self._sql[name]

    def of_schema(self, text: str) -> str:
        for mark, meant in _MARKS.items():
            text = text.replace(mark, meant)
        return _YARD.sub(f"{self.schema}.", text.replace("{schema}", self.schema))

    def begin_claim(self, workspace: str) -> str:
        return f"{self._sql['begin']}; {self.lock_plan(workspace)}"

    def lock_plan(self, workspace: str) -> str:
        return self._sql["lock_plan"].replace("{workspace}", str(lock_number(workspace)))

    def part(self, name: str, rows: Sequence[Row]) -> StatementPart:
        if name not in self._parts:
            self._parts[name] = to_columns(self._sql[name])
        statement = self._parts[name]
        return StatementPart(name, statement.sql, statement.values(zip(*rows, strict=True)))

    def updates(self, steps: Iterable[tuple[Hot, Hot]]) -> list[StatementPart]:
        """Write of each row only the columns that differ from the row before."""
        return [
            StatementPart("change_tasks", update.columns.sql, update.columns.values(zip(*rows, strict=True)))
            for update, rows in self.updates_of("change_tasks", steps)
        ]

    def updates_of(self, name: str, steps: Iterable[tuple[Hot, Hot]]) -> Iterator[tuple[UpdateStatement, list[Row]]]:
        for changed, rows in group_by_changes(steps).items():
            if (update := self._update_of(name, changed)) is not None:
                yield update, list(map(update.values, rows))

    def _update_of(self, name: str, changed: ChangedColumns) -> UpdateStatement | None:
        if (name, changed) not in self._movers:
            places = positions_of(changed)
            names = [Hot._fields[place] for place in places]
            sql = (
                self._sql[name]
                .replace("{columns}", ", ".join(names))
                .replace("{arrays}", _arrays(names, first=3 if name == "change_unmoved_tasks" else 2))
                .replace("{assignments}", ", ".join(f"{name} = moved.{name}" for name in names))
            )
            self._movers[name, changed] = UpdateStatement(to_columns(sql), itemgetter(0, *places)) if places else None
        return self._movers[name, changed]

    def cached(self, key: tuple[str, ...], make: Callable[[], str]) -> str:
        """The text of a bundle: made once, then kept."""
        if key not in self._bundles:
            self._bundles[key] = make()
        return self._bundles[key]

    def bundle(self, parts: Sequence[StatementPart], answering: Sequence[str] = ()) -> tuple[str, list[str | None]]:
        """One statement of all the parts, which answers what the answering parts return, and its values."""
        key = (*answering, "", *(part.sql for part in parts))
        if key not in self._bundles:
            self._bundles[key] = join(parts, answering)
        return self._bundles[key], [value for part in parts for value in part.values]


def lock_number(workspace: str) -> int:
    """The number of a workspace's advisory lock: 32 bits. Two workspaces with one number only wait for each other."""
    return int.from_bytes(sha256(workspace.encode()).digest()[:4], signed=True)


@cache
def statements(schema: str) -> Statements:
    return Statements(schema)


def join(parts: Sequence[StatementPart], answering: Sequence[str]) -> str:
    used = 0
    tables: list[str] = []
    for number, part in enumerate(parts):
        sql = _PARAMETER.sub(lambda found, used=used: f"${int(found[1]) + used}", part.sql)
        used += len(part.values)
        tables.append(f"{numbered(number, part)} as (\n{sql}\n)")
    nothing = (
        "null::int" if "room" in answering else "null, null, null::bigint, null::bigint, null::bigint, null::boolean"
    )
    answers = [_ANSWERS.get(name) or _wait_for(name, nothing) for name in answering] or ["select 1 where false"]
    return f"with {', '.join(tables)}\n" + "\nunion all\n".join(answers)


def _wait_for(part: str, nothing: str) -> str:
    """A select without rows that waits until all of the part is written."""
    return f"select {nothing} from {part} having count(*) < 0"


def numbered(number: int, part: StatementPart) -> str:
    """The table expression's name. Other parts refer to most parts by name; updates of tasks may come several times."""
    return f"{part.name}_{number}" if part.name in NUMBERED else part.name


NUMBERED = ("change_tasks", "change_unmoved_tasks")

# PostgreSQL runs the parts in the order of the answers: tasks, ceilings, counters. In a statement that is a whole
# transaction, the rows that no other transaction waits for come before the ceilings: claims and completions of one
# agent move the same ceiling, and others wait for its row until the statement ends.
BEFORE_CEILINGS = ("change_tasks", "insert_attempts", "insert_outputs", "insert_events")
_ANSWERS = {
    "landed": "select null, null, null::bigint, is_whole::bigint, null::bigint, null::boolean from landed",
    "room": "select is_left from room",
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
    "{attempt_names}": ", ".join(Attempt._fields),
    "{attempt_excluded}": ", ".join(f"{name} = excluded.{name}" for name in Attempt._fields[2:]),
}
