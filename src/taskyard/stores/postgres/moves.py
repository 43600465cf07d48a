"""The steps of tasks as statements: where the row that guards a task is before a step, and where after it.

A step is made of few statements over at most three tables. The first of them guards the others: it finds the task only
where it still is, at the version that the step was decided on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import compress
from operator import itemgetter, ne
from typing import Any, NamedTuple

from taskyard.core.task import Hot
from taskyard.stores.postgres.arrays import Columns, to_columns
from taskyard.stores.postgres.statements import OF_HELD, OF_TASK, StatementPart, Statements, arrays
from taskyard.stores.shared.commits.places import HELD_TOO, PLACES, Place
from taskyard.stores.shared.sql_files import ChangedColumns, group_by_changes

# What a step is made of, by where the task is before it and after it.
MOVES: dict[tuple[Place, Place], tuple[str, ...]] = {
    (Place.TASK, Place.TASK): ("guard_task",),
    (Place.TASK, Place.READY): ("guard_task", "enter_ready"),
    (Place.TASK, Place.HELD): ("guard_task", "enter_held"),
    (Place.READY, Place.TASK): ("leave_ready", "change_task"),
    (Place.READY, Place.READY): ("change_ready", "change_task"),
    (Place.READY, Place.HELD): ("leave_ready", "enter_held", "change_task_of_held"),
    (Place.HELD, Place.TASK): ("leave_held", "change_task"),
    (Place.HELD, Place.READY): ("leave_held", "change_task", "enter_ready"),
    (Place.HELD, Place.HELD): ("change_held", "change_task_of_held"),
}
_WRITES_TASK = frozenset({"guard_task", "change_task", "change_task_of_held"})
_TASK_ALONE = tuple(name for name in OF_TASK if name not in HELD_TOO)
_PLACE = {name: place for place, name in enumerate(Hot._fields)}


Kind = tuple[Place, Place, ChangedColumns]  # of steps that are made of the same statements


class Step(NamedTuple):
    before: Hot
    after: Hot
    rank: int  # that the task has now: it moves without a version
    chunk: int | None  # of the log with its event, where the task's row says so
    expiring: int | None  # when the lease must still end


class _Statement(NamedTuple):
    name: str
    sql: str


class _Group(NamedTuple):
    """The statements of all steps that are alike."""

    moved: Columns
    guarding: itemgetter[Any]  # of those in `_FACTS` that are needed
    values: Callable[[Hot], tuple[Any, ...]]  # of the columns that the rows after the steps give
    statements: Sequence[_Statement]


class Moves:
    """The statements of steps, each made once."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql
        self._groups: dict[tuple[object, ...], _Group] = {}

    def parts(self, steps: Iterable[Step], first: int) -> list[StatementPart]:
        """The statements of these steps. Their names in the bundle are numbered from `first` on."""
        by_kind: dict[Kind, list[Step]] = {}
        for step in steps:
            before, after = step[:2]
            was, now = PLACES[before.status], PLACES[after.status]
            compared = _COMPARED[was, now]
            were, are = compared(before), compared(after)
            kind = was, now, () if were == are else tuple(map(ne, were, are))
            by_kind.setdefault(kind, []).append(step)
        parts: list[StatementPart] = []
        for number, (kind, group) in enumerate(by_kind.items(), first):
            parts += self._parts_of(kind, group, number)
        return parts

    def _parts_of(self, kind: Kind, steps: Sequence[Step], number: int) -> list[StatementPart]:
        group = self._groups.get((*kind, number))
        if group is None:
            group = self._groups[*kind, number] = self._made(*kind, number)
        rows = [(*group.guarding(_guarding(step)), *group.values(step.after)) for step in steps]
        return [
            StatementPart(f"moved_{number}", *group.moved.fill(rows)),
            *(StatementPart(name, sql, ()) for name, sql in group.statements),
        ]

    def _made(self, before: Place, after: Place, changed: ChangedColumns, number: int) -> _Group:
        of_task, of_held = _written(before, after, changed)
        guarding = [*_ALWAYS, *_WAS[before], *(_NOW if after is Place.READY else ())]
        columns = [*of_task, *(name for name in of_held if name not in of_task)]
        given = [*guarding, *columns]
        moved = _moved(self._sql, given[1:])
        verbs = [verb for verb in MOVES[before, after] if verb != "change_task_of_held" or of_task]
        statements = [
            _Statement(
                f"{verb}_{number}",
                self._sql[verb]
                .replace("{found_ready}", self._sql["found_ready"])
                .replace("{moved}", f"moved_{number}")
                .replace("{guard}", f"{verbs[0]}_{number}")
                .replace("{assignments}", _assigned(of_task if verb in _WRITES_TASK else of_held)),
            )
            for verb in verbs
        ]
        chosen = itemgetter(*map(_FACTS.index, guarding))
        return _Group(to_columns(moved), chosen, _getter([_PLACE[name] for name in columns]), statements)


def _guarding(step: Step) -> tuple[object, ...]:
    """The values of `_FACTS`."""
    before, after, rank, chunk, expiring = step
    placed = after.rank if after.rank != before.rank else rank
    return before.seq, before.version, chunk, expiring, before.lane, rank, after.lane, placed, after.version


@cache
def moves_of(sql: Statements) -> Moves:
    return Moves(sql)


def beats(sql: Statements, steps: Iterable[tuple[Hot, Hot]], first: int) -> list[StatementPart]:
    """Writes of heartbeats, which change neither the version nor the place of a task."""
    parts: list[StatementPart] = []
    for number, (changed, rows) in enumerate(group_by_changes(steps).items(), first):
        names = [name for name in OF_HELD if changed[_PLACE[name]]]
        if names:
            columns, values = to_columns(_moved(sql, names)), _getter([_PLACE[name] for name in names])
            given = columns.fill([(hot.seq, *values(hot)) for hot in rows])
            text = sql["beat"].replace("{moved}", f"moved_{number}").replace("{assignments}", _assigned(names))
            parts += [StatementPart(f"moved_{number}", *given), StatementPart(f"beat_{number}", text, ())]
    return parts


def is_guard(part: StatementPart) -> bool:
    """Whether the part answers the tasks that were found as they were expected."""
    return part.name.startswith(_GUARDS)


# What the statements know of a step besides the columns that it writes, and what is needed where the task was and is.
_FACTS = (
    *("seq", "was_version", "chunk", "was_expiring", "was_lane", "was_rank", "now_lane", "now_rank", "now_version"),
)
_ALWAYS = ("seq", "was_version", "chunk")
_WAS = {Place.TASK: (), Place.READY: ("was_lane", "was_rank"), Place.HELD: ("was_expiring",)}
_NOW = ("now_lane", "now_rank", "now_version")
_GUARDS = tuple({f"{verbs[0]}_" for verbs in MOVES.values()})


def _written(before: Place, after: Place, changed: ChangedColumns) -> tuple[list[str], list[str]]:
    """The columns of `task` and of `held` that a step writes, of which some of `_compared` changed; empty: none did."""
    moved = set(compress(_compared(before, after), changed))
    if after is Place.HELD:
        of_held = list(OF_HELD) if before is not Place.HELD else [name for name in OF_HELD if name in moved]
        return [name for name in _TASK_ALONE if name in moved], of_held
    # What `task` says of a held task may be old.
    stale = HELD_TOO if before is Place.HELD else ()
    return [name for name in OF_TASK if name in moved or name in stale], []


def _compared(before: Place, after: Place) -> Sequence[str]:
    """The columns that a step writes only where they differ: the others are always written, or never."""
    if before is Place.HELD and after is Place.HELD:
        return *_TASK_ALONE, *OF_HELD
    return _TASK_ALONE if Place.HELD in (before, after) else OF_TASK


def _moved(sql: Statements, names: Sequence[str]) -> str:
    return sql["moved"].replace("{arrays}", arrays(names, first=2)).replace("{columns}", ", ".join(names))


def _assigned(names: Iterable[str]) -> str:
    return "".join(f"{name} = moved.{name}, " for name in names)


def _getter(places: Sequence[int]) -> Callable[[Hot], tuple[Any, ...]]:
    """What picks the values at these places as a tuple, however many they are."""
    if len(places) > 1:
        return itemgetter(*places)

    def few(hot: Hot) -> tuple[Any, ...]:
        return tuple(hot[place] for place in places)

    return few


_COMPARED = {kind: _getter([_PLACE[name] for name in _compared(*kind)]) for kind in MOVES}
