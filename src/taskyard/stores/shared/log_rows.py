"""The rows of the event log: the events of one commit and one workspace as one text.

A commit draws one number for its events, and another for each further chunk of them. An event's number is made of its
chunk's number and its place in the chunk, so numbers grow with gaps. A text holds its events column by column, and what
is common to all of them once. This module does not access a store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import repeat
from operator import itemgetter
from threading import Lock
from typing import Any, NamedTuple

from taskyard.core.changes import Event, Labels, StoredEvent
from taskyard.core.json_value import compact
from taskyard.core.task import FINAL, Status, TaskId, lone_dag

PLACES = 1024  # event numbers for each number of the log
_MOST_EVENTS = 512  # of a chunk
_MOST_TEXT = 64_000  # characters of a chunk, of which only `data` is counted
_FORMAT = 1
_LONE = 0  # stands for the DAG of a lone task
_SHORT = 8  # characters in common that are not worth splitting a text for
_STATUSES = {status.value: status for status in Status}
# All that is ever read passes these: without the checks of `_make`, which the columns of a row have passed.
_EVENT: Callable[[Iterable[Any]], Event] = partial(tuple[Any, ...].__new__, Event)
_STORED: Callable[[Iterable[Any]], StoredEvent] = partial(tuple[Any, ...].__new__, StoredEvent)
_NO_LABELS = Labels()
MOST_REMEMBERED = 1 << 19  # characters of rows that this process wrote: their events take some ten times as much


class LogRow(NamedTuple):
    """The events of one chunk that are of one workspace."""

    workspace: str
    at: int  # of the latest event
    owners: int  # tasks, and DAGs with events of no task: the row goes when all of them are removed
    ends: int  # events that say that a task is final
    loose: int  # events of no task and no DAG
    body: str


class Chunk(NamedTuple):
    """Events that share one number of the log."""

    events: Sequence[Event]
    rows: list[LogRow]


def event_number(log_number: int, place: int) -> int:
    return log_number * PLACES + place


def split_number(number: int) -> tuple[int, int]:
    """The number of the log and the place in its chunk."""
    return divmod(number, PLACES)


def split_events(events: Sequence[Event]) -> list[Chunk]:
    """The events of one commit as chunks, in order."""
    return [Chunk(chunk, rows_of(chunk)) for chunk in chunk_events(events)]


def chunk_events(events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    """The events of each chunk, without their rows. Events that follow do not change the chunks of those before."""
    lengths = [len(event.data) if event.data else 0 for event in events]
    first = length = 0
    if len(events) > _MOST_EVENTS or sum(lengths) > _MOST_TEXT:
        for place, more in enumerate(lengths):
            if place - first == _MOST_EVENTS or (length + more > _MOST_TEXT and place > first):
                yield events[first:place]
                first, length = place, 0
            length += more
    if first < len(events):
        yield events[first:]


def rows_of(chunk: Sequence[Event]) -> list[LogRow]:
    """The rows of events that share one number of the log: one for each workspace."""
    workspaces = {event.workspace for event in chunk}
    if len(workspaces) == 1:
        return [_row(chunk, range(len(chunk)))]
    rows: list[LogRow] = []
    for workspace in sorted(workspaces):
        places = [place for place, event in enumerate(chunk) if event.workspace == workspace]
        rows.append(_row([chunk[place] for place in places], places))
    return rows


def _row(events: Sequence[Event], places: Sequence[int]) -> LogRow:
    columns = list(zip(*events, strict=True))
    _, workspaces, tasks, dags, times, _, statuses, _, _ = columns
    owners: set[object] = set(tasks)
    loose = 0
    if None in owners:
        of_no_task = [dag for task, dag in zip(tasks, dags, strict=True) if task is None]
        loose = of_no_task.count(None)
        owners = owners.union(of_no_task) - {None}
    ends = sum(map(statuses.count, FINAL))
    return LogRow(workspaces[0], max(times), len(owners), ends, loose, _encode(columns, places))


def _encode(columns: Sequence[Sequence[Any]], places: Sequence[int]) -> str:
    names, _, tasks, dags, times, versions, statuses, attempts, texts = columns
    shown = [_LONE if task and dag == lone_dag(task) else dag for task, dag in zip(tasks, dags, strict=True)]
    packed = {"event": names, "task": tasks, "at": times, "version": versions, "status": statuses, "attempt": attempts}
    body: dict[str, object] = {"f": _FORMAT, "n": len(names)}
    pack = _packed if len(names) > 1 else _first
    body |= {name: value for name, column in packed.items() if (value := pack(column)) is not None}
    if (dag := pack(shown)) != _LONE:
        body["dag"] = dag
    if (data := _packed_texts(texts)) is not None:
        body["data"] = data
    if places[-1] != len(places) - 1:
        body["place"] = [*places]
    return compact(body)


_first: Callable[[Sequence[object]], object] = itemgetter(0)


def _packed(column: Sequence[object]) -> object:
    """One value, where it is the same for all events."""
    return column[0] if column.count(column[0]) == len(column) else column


def _packed_texts(texts: Sequence[str | None]) -> object:
    """The texts of a batch often differ in a few numbers: what stands before and after these is kept once."""
    packed = _packed(texts)
    if packed is not texts or None in texts:
        return packed
    given = [text or "" for text in texts]
    head = _common_length(given)
    tail = _common_length([text[head:][::-1] for text in given])
    if head + tail < _SHORT:
        return packed
    first = given[0]
    middles = [text[head : len(text) - tail] for text in given]
    return {"head": first[:head], "tail": first[len(first) - tail :], "middles": middles}


def _common_length(texts: Sequence[str]) -> int:
    """How many characters all texts begin with: as many as the first and the last in alphabetical order."""
    first, last = min(texts), max(texts)
    return next((place for place, letter in enumerate(first) if letter != last[place]), len(first))


class _WrittenRows:
    """The events of the rows that this process wrote last, by the texts of the rows. Several threads use it."""

    def __init__(self) -> None:
        self._events: dict[tuple[str | None, str], Sequence[Event]] = {}
        self._length = 0  # of all texts
        self._lock = Lock()

    def add(self, row: LogRow, events: Sequence[Event]) -> None:
        key = row.workspace, row.body
        with self._lock:
            if key in self._events:
                return
            self._events[key] = events
            self._length += len(row.body)
            while self._length > MOST_REMEMBERED:
                oldest = next(iter(self._events))
                del self._events[oldest]
                self._length -= len(oldest[1])

    def find(self, workspace: str | None, body: str) -> Sequence[Event] | None:
        return self._events.get((workspace, body))


_written = _WrittenRows()


def remember_rows(chunk: Chunk) -> None:
    """Spare this process the decoding of a row that it writes.

    The events are found by the whole text of the row, and the text is always read from the store. So whether the row
    was rolled back, written again or removed meanwhile, and by which process, makes no difference.
    """
    if len(chunk.rows) == 1:  # with several workspaces, events have other places in their row than in the chunk
        _written.add(chunk.rows[0], chunk.events)


# Whoever reads the histories of tasks that ended together decodes their row once.
@lru_cache(maxsize=32)
def decode_row(log_number: int, workspace: str | None, body: str) -> tuple[StoredEvent, ...]:
    """The events of a row in order. A row of several workspaces, made by a migration, says of each event which."""
    first = event_number(log_number, 0)
    if (written := _written.find(workspace, body)) is not None:
        return _numbered(range(first, first + len(written)), written)
    read = _read(body)
    number: int = read["n"]
    tasks = [*_spread(read.get("task"), number)]
    rows = zip(
        _spread(read.get("event"), number),
        _spread(read.get("workspace", workspace), number),
        tasks,
        _dags_of(read.get("dag", _LONE), tasks),
        _spread(read.get("at"), number),
        _spread(read.get("version"), number),
        _statuses_of(read.get("status"), number),
        _spread(read.get("attempt"), number),
        _texts_of(read.get("data"), number),
        strict=True,
    )
    return _numbered(_numbers_of(log_number, read), map(_EVENT, rows))


def decode_ends(log_number: int, body: str) -> list[tuple[int, TaskId]]:
    """The numbers of a row's events that say that a task is final, in order, each with its task."""
    read = _read(body)
    number, status = read["n"], read.get("status")
    if (status is None or isinstance(status, str)) and status not in FINAL:
        return []
    rows = zip(_numbers_of(log_number, read), _spread(read.get("task"), number), _spread(status, number), strict=True)
    return [(place, task_id) for place, task_id, status in rows if status in FINAL and task_id is not None]


def last_number_of(log_number: int, body: str, owners: Container[str]) -> int:
    """The number of the last event of a row that is of one of these tasks and DAGs; 0: none is."""
    read = _read(body)
    tasks = [*_spread(read.get("task"), read["n"])]
    dags = [*_dags_of(read.get("dag", _LONE), tasks)] if None in tasks else tasks
    ids = reversed([dag if task is None else task for task, dag in zip(tasks, dags, strict=True)])
    numbers = reversed(_numbers_of(log_number, read))
    return next((number for number, owner in zip(numbers, ids, strict=True) if owner in owners), 0)


def _read(body: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(body)
    if read["f"] != _FORMAT:
        raise ValueError(f"the log has rows of format {read['f']}, which this release does not know")
    return read


def _numbers_of(log_number: int, read: Mapping[str, Any]) -> Sequence[int]:
    """The numbers of the events of a row."""
    first = event_number(log_number, 0)
    return [first + place for place in read["place"]] if "place" in read else range(first, first + read["n"])


def _numbered(numbers: Sequence[int], events: Iterable[Event]) -> tuple[StoredEvent, ...]:
    return tuple(map(_STORED, zip(numbers, events, repeat(_NO_LABELS, len(numbers)), strict=True)))


def _spread(found: Any, number: int) -> Iterable[Any]:
    """The column of a value that was kept once, or as it is."""
    return repeat(found, number) if found is None or isinstance(found, str | int) else found


def _dags_of(found: Any, tasks: Sequence[Any]) -> Iterable[Any]:
    if found == _LONE and None not in tasks:
        return map(lone_dag, tasks)
    dags = zip(tasks, _spread(found, len(tasks)), strict=True)
    return [lone_dag(task) if dag == _LONE and task is not None else dag for task, dag in dags]


def _statuses_of(found: Any, number: int) -> Iterable[Status | None]:
    if found is None:
        return repeat(None, number)
    return repeat(_STATUSES[found], number) if isinstance(found, str) else map(_STATUSES.get, found)


def _texts_of(found: Any, number: int) -> Iterable[str | None]:
    if found is None or isinstance(found, str | list):
        return _spread(found, number)
    head, tail = found["head"], found["tail"]
    return [f"{head}{middle}{tail}" for middle in found["middles"]]


def restored_rows(events: Sequence[StoredEvent]) -> list[tuple[int, int, LogRow]]:
    """Events of another yard as rows: each with its number of the log and the number of its first event."""
    grouped: dict[tuple[int, str], list[StoredEvent]] = {}
    for stored in events:
        grouped.setdefault((split_number(stored.seq)[0], stored.event.workspace), []).append(stored)
    return [(number, some[0].seq, _placed_row(some)) for (number, _), some in grouped.items()]


def _placed_row(events: Sequence[StoredEvent]) -> LogRow:
    return _row([stored.event for stored in events], [split_number(stored.seq)[1] for stored in events])


def keep_events(log_number: int, workspace: str | None, body: str, is_kept: Callable[[Event], bool]) -> list[LogRow]:
    """The row with only these events, at their places. No row: none is kept. A row of several workspaces is split."""
    kept: dict[str, list[StoredEvent]] = {}
    for stored in decode_row(log_number, workspace, body):
        if is_kept(stored.event):
            kept.setdefault(stored.event.workspace, []).append(stored)
    return [_placed_row(each) for each in kept.values()]
