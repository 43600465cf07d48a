"""Writing the steps of tasks: which rows a step writes follows from where the task is before it and after it.

A task is in `task` all its life. A ready one is in `ready` too, and one that is held in `held`, whose columns count as
long as its row is there. A claim therefore writes no `task`, nor does a heartbeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import compress
from operator import itemgetter, ne
from typing import NamedTuple

import apsw

from taskyard.core.task import Hot, Status
from taskyard.stores.shared.commits.change_sets import owned_key
from taskyard.stores.shared.commits.places import HELD_ONLY, HELD_TOO, PLACES, Place
from taskyard.stores.shared.rows import Row
from taskyard.stores.sqlite.statements import HELD_NAMES, POSITIONS, SQL, json_list, multi_row, update_of

MOST_STEPS = 32  # of a task whose numbers of the log are in its own row
KEY = "key"  # the kind of name that an idempotency key is


class Move(NamedTuple):
    leaves_ready: bool = False
    begins_attempt: bool = False  # a row of `held` comes into being
    keeps_attempt: bool = False  # the row of `held` is written
    ends_attempt: bool = False  # the row of `held` goes, and what it had goes back to `task`
    enters_ready: bool = False


MOVES = {
    (Place.TASK, Place.TASK): Move(),
    (Place.TASK, Place.READY): Move(enters_ready=True),
    (Place.TASK, Place.HELD): Move(begins_attempt=True),  # no verb leads there
    (Place.READY, Place.TASK): Move(leaves_ready=True),
    (Place.READY, Place.READY): Move(leaves_ready=True, enters_ready=True),  # its lane or rank may differ
    (Place.READY, Place.HELD): Move(leaves_ready=True, begins_attempt=True),
    (Place.HELD, Place.HELD): Move(keeps_attempt=True),
    (Place.HELD, Place.READY): Move(ends_attempt=True, enters_ready=True),
    (Place.HELD, Place.TASK): Move(ends_attempt=True),
}


class Step(NamedTuple):
    """A task before a step and after it, and the number of the log that has the event. 0: the step has no event."""

    before: Hot
    after: Hot
    number: int = 0


_TASK_ONLY = tuple(name for name in Hot._fields if name not in {*HELD_TOO, *HELD_ONLY})
_KNOWN = (*_TASK_ONLY, *HELD_TOO)
held_row: Callable[[Hot], Row] = itemgetter(*(POSITIONS[name] for name in HELD_NAMES))  # with the number of the task


def write_steps(connection: apsw.Connection, steps: Sequence[Step]) -> None:
    """Write the steps. A name that one task gives up is free for another task of the same steps."""
    groups: dict[tuple[Status, Status], list[Step]] = {}
    for step in steps:
        groups.setdefault((step.before.status, step.after.status), []).append(step)
    for (before, after), group in groups.items():
        _write_group(connection, MOVES[PLACES[before], PLACES[after]], group)
    if late := [(after.seq, number) for _, after, number in steps if after.version > MOST_STEPS and number]:
        multi_row("insert_task_events").run(connection, late)
    if named := [step for step in steps if step[0].idempotency_key is not None or step[1].idempotency_key is not None]:
        _write_names(connection, named)


def _write_group(connection: apsw.Connection, move: Move, steps: Sequence[Step]) -> None:
    seqs = json_list([step.after.seq for step in steps])
    if move.leaves_ready:
        connection.execute(SQL["remove_ready"], (seqs,))
    if move.begins_attempt:
        multi_row("insert_held").run(connection, [(*held_row(step.after), _numbers_of(step)) for step in steps])
        _update(connection, "change_known", _TASK_ONLY if move.leaves_ready else _KNOWN, steps)
    elif move.keeps_attempt:
        _update(connection, "change_held", HELD_NAMES, steps)
        _update(connection, "change_known", _TASK_ONLY, steps)
    elif move.ends_attempt:
        _update(connection, "end_attempts", _TASK_ONLY, steps, always=HELD_TOO)
        connection.execute(SQL["remove_held"], (seqs,))
    else:
        _update(connection, "change_tasks", _KNOWN, steps)
    if move.enters_ready:
        connection.execute(SQL["insert_ready"], (seqs,))


def _update(
    connection: apsw.Connection,
    statement: str,
    columns: tuple[str, ...],
    steps: Iterable[Step],
    always: tuple[str, ...] = (),
) -> None:
    """Write of each row only the columns that differ, and those that are always written."""
    values = _values_of(columns)
    groups: dict[tuple[bool, ...], list[Step]] = {}
    for step in steps:
        was, is_now = values(step[0]), values(step[1])
        changed = () if was == is_now else tuple(map(ne, was, is_now))
        groups.setdefault(changed, []).append(step)
    for changed, group in groups.items():
        if names := (*compress(columns, changed), *always):
            update, row = update_of(statement, names)
            update.run(connection, [(*row(step[1]), _numbers_of(step)) for step in group])


@cache
def _values_of(columns: tuple[str, ...]) -> Callable[[Hot], Row]:
    return itemgetter(*(POSITIONS[name] for name in columns))


def _numbers_of(step: Step) -> str:
    _, after, number = step
    return f",{number}" if number and after.version <= MOST_STEPS else ""


def _write_names(connection: apsw.Connection, named: Iterable[Step]) -> None:
    moved = [(owned_key(before), owned_key(after), after.seq) for before, after, _ in named]
    given_up = [name_row(key, seq) for key, kept, seq in moved if key is not None and key != kept]
    multi_row("remove_names").run(connection, given_up)
    taken = [name_row(key, seq) for before, key, seq in moved if key is not None and key != before]
    multi_row("insert_names").run(connection, taken)


def name_row(key: tuple[str, str], seq: int) -> Row:
    workspace, name = key
    return workspace, KEY, name, seq
