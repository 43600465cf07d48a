"""Writing new tasks, with their definitions and their places among what is ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

import apsw

from taskyard.core.changes import NewTask
from taskyard.core.task import Hot, Status
from taskyard.stores.copies import TaskCopy
from taskyard.stores.shared import rows
from taskyard.stores.shared.commits.change_sets import owned_key
from taskyard.stores.shared.commits.places import PLACES, Place
from taskyard.stores.sqlite.statements import POSITIONS, TASK_NAMES, multi_row
from taskyard.stores.sqlite.writes.moves import held_row, name_row

Definitions = Mapping[int, rows.Row]  # by the `id` of the definition: rows that were made before the transaction began
_known: Callable[[Hot], rows.Row] = itemgetter(*(POSITIONS[name] for name in TASK_NAMES[2:]))  # without id and seq


def insert_tasks(
    connection: apsw.Connection,
    tasks: Sequence[NewTask | TaskCopy],
    first: int,
    numbers: Sequence[int],
    definitions: Definitions | None = None,
) -> None:
    """Write the tasks, numbered from `first` on. `numbers` are those of the log that have their events; 0: no row."""
    hots = [task.hot for task in tasks]
    numbered = list(enumerate(hots, first))
    logs = (f",{number}" if number else "" for number in numbers)
    known = [(hot.id, seq, *_known(hot), log) for (seq, hot), log in zip(numbered, logs, strict=True)]
    multi_row("insert_tasks").run(connection, known)
    ready = [(hot.lane, 0, 0, hot.rank, seq) for seq, hot in numbered if hot.status is Status.READY]
    multi_row("insert_new_ready").run(connection, ready)
    # No verb puts a task in that is held already.
    others = [(seq, hot) for seq, hot in numbered if hot.status is not Status.READY]
    if held := [(seq, *held_row(hot)[1:], "") for seq, hot in others if PLACES[hot.status] is Place.HELD]:
        multi_row("insert_held").run(connection, held)
    if named := [(seq, hot) for seq, hot in numbered if hot.idempotency_key is not None]:
        names = [name_row(key, seq) for seq, hot in named if (key := owned_key(hot)) is not None]
        multi_row("insert_names").run(connection, names)
    _insert_definitions(connection, tasks, first, definitions)


def _insert_definitions(
    connection: apsw.Connection, tasks: Sequence[NewTask | TaskCopy], first: int, made: Definitions | None
) -> None:
    defined = (
        [made[id(task.definition)] for task in tasks]
        if made
        else rows.format_definitions([task.definition for task in tasks])
    )
    multi_row("insert_definitions").run(connection, [(seq, *row) for seq, row in enumerate(defined, first)])
    tagged = [(seq, task.definition) for seq, task in enumerate(tasks, first) if task.definition.tags]
    if tags := [(definition.workspace, tag, seq) for seq, definition in tagged for tag in definition.tags]:
        multi_row("insert_tags").run(connection, tags)
