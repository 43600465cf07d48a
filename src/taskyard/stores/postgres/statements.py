"""The statements of the .sql files by name, for one schema, and bundles of several statements in one.

A round trip costs as much as writing ten rows. Writes are therefore sent in bundles: each part is a statement of the
files, and becomes a common table expression of one statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from taskyard.core.changes import NewTask
from taskyard.core.errors import InvalidInput
from taskyard.core.named_rows import new_row
from taskyard.core.task import LET_GO, Attempt, Hot, Status
from taskyard.stores.copies import TaskCopy
from taskyard.stores.postgres.arrays import Columns, to_columns
from taskyard.stores.shared.commits.places import HELD_ONLY, HELD_TOO, PLACES, Place
from taskyard.stores.shared.rows import STATUSES, Row, format_definitions
from taskyard.stores.shared.sql_files import parse_statements, read_files
from taskyard.stores.turns import in_pieces, pause_if_many

_FILES = (
    *("opening.sql", "writing.sql", "moving.sql", "blocking.sql", "claiming.sql", "removing.sql", "reading.sql"),
    *("log.sql", "checks.sql", "embeddings.sql", "copying.sql", "streams.sql", "lists.sql"),
)
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,47}")
_YARD = re.compile(r"\byard\.")
_PARAMETER = re.compile(r"\$(\d+)")
_TEXTS = frozenset(
    {
        *("id", "workspace", "dag_id", "status", "agent", "agent_type", "runtime", "lease", "progress", "session"),
        *("why", "idempotency_key", "key", "task_id", "outcome", "reason", "error", "details", "model", "verb"),
        *("digest", "data", "artifacts", "decision_report", "tokens_cached"),
    }
)
_DEFINED = ("defined_type", "defined_queue", "defined_agent", "defined_subject", "defined_parent", "defined_body")
OF_TASK = tuple(name for name in Hot._fields if name not in HELD_ONLY)  # the columns of `task`
OF_HELD = (*HELD_TOO, *HELD_ONLY)
_NEW = (*(name for name in OF_TASK if name != "seq"), *_DEFINED)
_OUTPUT = ("data", "artifacts", "decision_report")


class StatementPart(NamedTuple):
    """A statement that can be part of a bundle, and its values."""

    name: str
    sql: str
    values: Sequence[str | None]


def transpose(rows: Sequence[Row], width: int) -> Sequence[Sequence[Any]]:
    """Rows as one list for each column, as unnest takes them."""
    return list(zip(*rows, strict=True)) if rows else [()] * width


def _new_rows(tasks: Sequence[tuple[NewTask | TaskCopy, int | None]]) -> list[Row]:
    """The rows of new tasks without `seq`, which the database assigns, and the columns that lists filter by."""
    defined = format_definitions([task.definition for task, _ in tasks])
    return [(*_new_row(task.hot), *more[1:], chunk) for (task, chunk), more in zip(tasks, defined, strict=True)]


_new_row = itemgetter(*(Hot._fields.index(name) for name in _NEW if name not in _DEFINED))
_held_only = itemgetter(*(Hot._fields.index(name) for name in HELD_ONLY))


def _new_held(tasks: Sequence[NewTask | TaskCopy]) -> list[Row]:
    """What the rows in `held` have besides, for new tasks that are held already, by their places."""
    held = ((place, task.hot) for place, task in enumerate(tasks, 1) if PLACES[task.hot.status] is Place.HELD)
    return [(place, *_held_only(hot)) for place, hot in held]


def drawing_part(sql: Statements, chunks: int) -> StatementPart:
    """The part of a whole statement that draws the numbers for so many chunks of events."""
    if chunks == 1:
        return StatementPart("drawn", sql["drawing"], ())
    return StatementPart("drawn", sql["drawing_many"], [str(chunks)])


async def new_task_parts(
    sql: Statements, tasks: Sequence[NewTask | TaskCopy], chunks: Sequence[int | None]
) -> list[StatementPart]:
    """The statements that put new tasks in, of which `drawn` has the numbers of the chunks."""
    rows = await in_pieces(_new_rows, list(zip(tasks, chunks, strict=True)))
    await pause_if_many(rows)
    hots = [task.hot for task in tasks]
    wanted = ["insert_tasks", "insert_definitions"]
    wanted += ["insert_ready"] if any(hot.status is Status.READY for hot in hots) else []
    wanted += ["insert_names"] if any(hot.idempotency_key is not None for hot in hots) else []
    parts = [await sql.part_in_turns("new_tasks", rows)]
    parts += [StatementPart(name, sql[name], ()) for name in wanted]
    tags = [(place, tag) for place, task in enumerate(tasks, 1) for tag in task.definition.tags]
    more = {"insert_held": _new_held(tasks), "insert_new_tags": tags}
    return [*parts, *(sql.part(name, values) for name, values in more.items() if values)]


class Statements:
    def __init__(self, schema: str) -> None:
        if _SCHEMA.fullmatch(schema) is None:
            raise InvalidInput("schema", "must be of lower-case letters, digits and _, and begin with a letter")
        self.schema = schema
        self._sql = parse_statements(self.of_schema(read_files(Path(__file__).parent, _FILES)))
        pick, lock = self._sql["pick"], self._sql["lock_picked"]
        self._sql |= {"pick": pick.replace("{lock}", lock), "look": pick.replace("{lock}", "")}
        self._parts: dict[str, Columns] = {}
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
        return StatementPart(name, *self._columns(name).fill(rows))

    async def part_in_turns(self, name: str, rows: Sequence[Row]) -> StatementPart:
        return StatementPart(name, *await self._columns(name).fill_in_turns(rows))

    def _columns(self, name: str) -> Columns:
        if name not in self._parts:
            self._parts[name] = to_columns(self._sql[name])
        return self._parts[name]

    def cached(self, key: tuple[str, ...], make: Callable[[], str]) -> str:
        """The text of a bundle: made once, then kept."""
        if key not in self._bundles:
            self._bundles[key] = make()
        return self._bundles[key]

    def bundle(self, parts: Sequence[StatementPart], answering: Sequence[str] = ()) -> tuple[str, list[str | None]]:
        """One statement of all the parts, which answers what the answering parts return, and its values."""
        key = (*answering, "", *(text for part in parts for text in part[:2]))
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
    for part in parts:
        sql = _PARAMETER.sub(lambda found, used=used: f"${int(found[1]) + used}", part.sql)
        used += len(part.values)
        tables.append(f"{part.name} as (\n{sql}\n)")
    nothing = (
        "null::int" if "room" in answering else "null, null, null::bigint, null::bigint, null::bigint, null::boolean"
    )
    answers = [_ANSWERS.get(name) or _wait_for(name, nothing) for name in answering] or ["select 1 where false"]
    return f"with {', '.join(tables)}\n" + "\nunion all\n".join(answers)


def _wait_for(part: str, nothing: str) -> str:
    """A select without rows that waits until all of the part is written."""
    return f"select {nothing} from {part} having count(*) < 0"


# PostgreSQL runs the parts in the order of the answers: tasks, ceilings, counters. In a statement that is a whole
# transaction, the rows that no other transaction waits for come before the ceilings: claims and completions of one
# agent move the same ceiling, and others wait for its row until the statement ends.
BEFORE_CEILINGS = ("insert_attempts", "insert_log")
_ANSWERS = {
    "unchanged": "select null, null, null::bigint, is_whole::bigint, null::bigint, null::boolean from unchanged",
    "room": "select is_left from room",
    "move_limits": "select workspace, name, ceiling, held, spent, false from move_limits",
    "move_counters": "select workspace, name, null::bigint, value, 0::bigint, true from move_counters",
}


def arrays(names: Iterable[str], first: int = 1) -> str:
    return ", ".join(f"${number}::{_type_of(name)}[]" for number, name in enumerate(names, first))


def _type_of(name: str) -> str:
    if name == "counted":
        return "boolean"
    return "text" if name in _TEXTS or name in _DEFINED else "bigint"


def _read(name: str) -> str:
    """A column of a task's row, from `held` where there is such a row."""
    if name in HELD_TOO:
        return f"case when held.seq is null then task.{name} else held.{name} end as {name}"
    if name not in HELD_ONLY:
        return f"task.{name}"
    return f"held.{name}" if LET_GO[name] is None else f"coalesce(held.{name}, 0) as {name}"


_ENDED = Attempt._fields[1:]  # all but the task's id, instead of which its number is stored
_MARKS = {
    "{tasks}": "(yard.task left join yard.held on held.seq = task.seq)",
    "{hot}": ", ".join(map(_read, Hot._fields)),
    "{ready_hot}": ", ".join(f"task.{name}" for name in OF_TASK),
    "{payable}": ", ".join(f"payable.{name}" for name in OF_TASK),
    "{picked}": ", ".join(f"picked.{name}" for name in OF_TASK),
    "{task_names}": ", ".join(OF_TASK),
    "{held_names}": ", ".join(OF_HELD),
    "{moved_held}": ", ".join(f"moved.{name}" for name in OF_HELD),
    "{held_only}": ", ".join(HELD_ONLY),
    "{held_only_arrays}": arrays(HELD_ONLY, first=2),
    "{new_held}": ", ".join(f"new_tasks.{name}" if name in HELD_TOO else f"given.{name}" for name in OF_HELD),
    "{new_names}": ", ".join(_NEW),
    "{new_arrays}": arrays((*_NEW, "chunk")),
    "{attempt_arrays}": arrays((*Attempt._fields, *_OUTPUT)),
    "{attempt_names}": ", ".join(_ENDED),
    "{attempt_given}": ", ".join(f"given.{name}" for name in _ENDED),
    "{attempt_columns}": ", ".join(f"attempt.{name}" for name in _ENDED),
    "{attempt_excluded}": ", ".join(f"{name} = excluded.{name}" for name in _ENDED[1:]),
}

_blank = tuple(LET_GO.values())
_from_task = itemgetter(*(((*OF_TASK, *HELD_ONLY).index(name)) for name in Hot._fields))
_TASK_STATUS = OF_TASK.index("status")


def parse_ready(row: Row) -> Hot:
    """The row of a task that is not held, from its columns in `task`."""
    values = [*row, *_blank]
    values[_TASK_STATUS] = STATUSES[values[_TASK_STATUS]]
    return new_row(Hot, _from_task(values))
