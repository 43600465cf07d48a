"""The statements of the .sql files by name, for one schema; and how several become one.

A round trip costs as much as writing ten rows. So what can be written at once is: each part of a bundle is a statement
of its own in the files, and they travel as one, each as a common table expression. Where that one statement is all of a
transaction, it looks itself whether the tasks are still as they were.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from taskyard.core.changes import Change, NewTask
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Attempt, Hot
from taskyard.core.units import Micros
from taskyard.stores.postgres.arrays import Columns, by_columns, only_where
from taskyard.stores.shared.rows import Row, format_definitions
from taskyard.stores.shared.sql_files import (
    ChangedColumns,
    group_by_changes,
    parse_statements,
    positions_of,
    read_files,
)

_FILES = ("opening.sql", "writing.sql", "claiming.sql", "removing.sql", "reading.sql")
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


class Part(NamedTuple):
    """A statement that may travel with others, and its values."""

    name: str
    sql: str
    values: Sequence[str | None]


class _Mover(NamedTuple):
    """The update of just some columns, and what takes their values from the row after a step."""

    update: Columns
    values: itemgetter[Any]


def columns(rows: Sequence[Row], width: int) -> Sequence[Sequence[Any]]:
    """Rows as one list for each column, as unnest wants them."""
    return list(zip(*rows, strict=True)) if rows else [()] * width


def new_rows(tasks: Sequence[NewTask]) -> list[Row]:
    """The moving rows without their numbers, which the database gives, and what lists are filtered by."""
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
        self._movers: dict[tuple[str, ChangedColumns], _Mover | None] = {}
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
        return self._sql["lock_plan"].replace("{workspace}", str(number_of(workspace)))

    def part(self, name: str, rows: Sequence[Row]) -> Part:
        if name not in self._parts:
            self._parts[name] = by_columns(self._sql[name])
        statement = self._parts[name]
        return Part(name, statement.sql, statement.values(zip(*rows, strict=True)))

    def moves(self, steps: Iterable[tuple[Hot, Hot]]) -> list[Part]:
        """Write of each row after a step what differs from the row before it, and nothing else."""
        return [
            Part("change_tasks", mover.update.sql, mover.update.values(zip(*rows, strict=True)))
            for mover, rows in self._moved("change_tasks", steps)
        ]

    def guarded_moves(self, changes: Sequence[Change]) -> list[Part]:
        """The same, where the statement looks itself whether the rows are as they were."""
        seen = {change.before.id: change.before.lease_expires_at for change in changes if change.unbeaten}
        parts: list[Part] = []
        steps = ((change.before, change.after) for change in changes)
        for mover, rows in self._moved("change_unmoved_tasks", steps):
            ids, *rest = zip(*rows, strict=True)
            values = mover.update.values((ids, list(map(seen.get, ids)), *rest))
            parts.append(Part("change_unmoved_tasks", mover.update.sql, values))
        return parts

    def _moved(self, name: str, steps: Iterable[tuple[Hot, Hot]]) -> Iterator[tuple[_Mover, list[Row]]]:
        for differs, rows in group_by_changes(steps).items():
            if (mover := self._mover(name, differs)) is not None:
                yield mover, list(map(mover.values, rows))

    def _mover(self, name: str, differs: ChangedColumns) -> _Mover | None:
        if (name, differs) not in self._movers:
            places = positions_of(differs)
            names = [Hot._fields[place] for place in places]
            sql = (
                self._sql[name]
                .replace("{columns}", ", ".join(names))
                .replace("{arrays}", _arrays(names, first=3 if name == "change_unmoved_tasks" else 2))
                .replace("{assignments}", ", ".join(f"{name} = moved.{name}" for name in names))
            )
            self._movers[name, differs] = _Mover(by_columns(sql), itemgetter(0, *places)) if places else None
        return self._movers[name, differs]

    def bundle(self, parts: Sequence[Part], answering: Sequence[str] = ()) -> tuple[str, list[str | None]]:
        """One statement of all the parts, with what the answering ones return, and its values."""
        key = (*answering, "", *(part.sql for part in parts))
        if key not in self._bundles:
            self._bundles[key] = _joined(parts, answering)
        return self._bundles[key], [value for part in parts for value in part.values]

    def whole(
        self, parts: Sequence[Part], answering: Sequence[str], steps: int, until: Micros | None = None
    ) -> tuple[str, list[str | None]]:
        """As a bundle that is all of a transaction: so many tasks must still be as they were, or nothing is written.

        Nor is anything where the locks of these tasks were waited for beyond `until`.
        """
        moves = [part for part in parts if part.name in _NUMBERED]
        if not moves:
            return self.bundle(parts, answering)
        changed = "\nunion all\n".join(f"select id from {_numbered(*move)}" for move in enumerate(moves))
        landed = Part(
            "landed",
            self._sql["landed"].replace("{changed}", changed),
            [str(steps), None if until is None else str(until)],
        )
        rest = [part for part in parts if part.name not in _NUMBERED]
        first = [part.name for part in rest if part.name in _BEFORE_CEILINGS]
        return self.bundle([*moves, landed, *rest], ["landed", *first, *answering])

    def taking(
        self, parts: Sequence[Part], seen: Sequence[Row], workspace: str, epoch: int, slots: int
    ) -> tuple[str, list[str | None]]:
        """As a bundle that is all of a claim. It answers a row, or does nothing where a task is not as it was seen."""
        chosen = self.part("chosen", seen)
        whole = Part("whole", self._sql["whole"], [str(len(seen)), workspace, str(epoch)])
        room = Part("room", self._sql["room"], [str(slots)])
        key = ("taking", "", *(part.sql for part in parts))
        if key not in self._bundles:
            guarded = [part._replace(sql=only_where("exists (select 1 from whole)", part.sql)) for part in parts]
            claim = [chosen, whole, *guarded, room]
            first = [_numbered(*each) for each in enumerate(claim) if each[1].name in _BEFORE_CEILINGS]
            self._bundles[key] = _joined(claim, [*first, "room"])
        return self._bundles[key], [value for part in (chosen, whole, *parts, room) for value in part.values]


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
        tables.append(f"{_numbered(number, part)} as (\n{sql}\n)")
    nothing = (
        "null::int" if "room" in answering else "null, null, null::bigint, null::bigint, null::bigint, null::boolean"
    )
    answers = [_ANSWERS.get(name) or _once_written(name, nothing) for name in answering] or ["select 1 where false"]
    return f"with {', '.join(tables)}\n" + "\nunion all\n".join(answers)


def _once_written(part: str, nothing: str) -> str:
    """No row, but not before all of the part is written."""
    return f"select {nothing} from {part} having count(*) < 0"


def _numbered(number: int, part: Part) -> str:
    """Parts that others refer to go by their own name; there may be many that change tasks."""
    return f"{part.name}_{number}" if part.name in _NUMBERED else part.name


_NUMBERED = ("change_tasks", "change_unmoved_tasks")

# Answers are made in the order in which they are asked for: tasks before ceilings, these before counters. Where the
# statement is all of a transaction, what nobody waits for comes before the ceilings: claims and ends of one agent move
# the same one, and whoever has moved it keeps the others waiting for as long as its statement takes.
_BEFORE_CEILINGS = ("change_tasks", "insert_attempts", "insert_outputs", "insert_events")
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
