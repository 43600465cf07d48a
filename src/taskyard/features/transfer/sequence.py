"""Whether the copies of a file can be stored: in their order, none twice, and each with what it belongs to.

It keeps a number of 64 bits for each task, key and row of the present task, and nothing else.
"""

from __future__ import annotations

from hashlib import blake2b

from taskyard.core.changes import Blocker, Checkpoint, Edge, Limit, Output, Record, Signal, StoredEvent
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import compact
from taskyard.core.task import KEY_DEAD, Attempt, TaskId
from taskyard.stores.copies import (
    START,
    Copy,
    CopyPlace,
    CounterCopy,
    DutyCopy,
    OutboxCopy,
    PrunedEvents,
    PulseCopy,
    TaskCopy,
    TaskPart,
    YardPart,
    YardSecret,
    place_of,
)

_PARTS: dict[type[object], YardPart] = {
    YardSecret: YardPart.SECRET,
    Record: YardPart.RECORDS,
    Limit: YardPart.LIMITS,
    CounterCopy: YardPart.COUNTERS,
    DutyCopy: YardPart.DUTIES,
    PulseCopy: YardPart.PULSES,
    PrunedEvents: YardPart.PRUNED,
    **dict.fromkeys((TaskCopy, Attempt, Output, Checkpoint, Signal, Blocker, Edge), YardPart.TASKS),
    StoredEvent: YardPart.EVENTS,
    OutboxCopy: YardPart.OUTBOX,
}
_ORDER = list(YardPart)
_HISTORY = (TaskCopy, Attempt, Output, Checkpoint, Signal, Blocker, Edge)
_NUMBERED = frozenset({YardPart.TASKS, YardPart.OUTBOX})  # by the store: their order in the file is their order


def part_of(copy: Copy) -> YardPart:
    return _PARTS[type(copy)]


class SequenceCheck:
    """Is shown each copy in turn, and refuses the first one that cannot follow."""

    def __init__(self) -> None:
        self._part = YardPart.SECRET
        self._place: CopyPlace = START
        self._tasks: set[int] = set()
        self._keys: set[int] = set()
        self._task: TaskId | None = None
        self._reached = 0  # of `_HISTORY`
        self._names: set[int] = set()  # of what the present task has

    def take(self, copy: Copy, where: str) -> None:
        part = part_of(copy)
        if _ORDER.index(part) < _ORDER.index(self._part):
            raise InvalidInput(where, f"is out of order: {part} come before {self._part}")
        if part is not self._part:
            self._part, self._place = part, START
        if part not in _NUMBERED:
            self._follow(place_of(copy), where)
        if isinstance(copy, TaskCopy):
            self._take_task(copy, where)
        elif isinstance(copy, TaskPart):
            self._take_history(copy, where)
        elif isinstance(copy, StoredEvent):
            self._check_owner(copy, where)

    def _follow(self, place: CopyPlace, where: str) -> None:
        if place <= self._place:
            raise InvalidInput(where, "comes twice, or out of order")
        self._place = place

    def _take_task(self, copy: TaskCopy, where: str) -> None:
        hot, lane, definition = copy
        # A lone task that spawned is the first of a DAG since. Its definition stays as it was: what was asked for.
        was_alone = definition.dag_id is None
        if (hot.id, hot.workspace) != (definition.id, definition.workspace) or not (
            was_alone or definition.dag_id == hot.dag_id
        ):
            raise InvalidInput(where, "has a definition of another task")
        if lane.workspace != hot.workspace:
            raise InvalidInput(where, "has a lane of another workspace")
        _add(self._tasks, hot.id, where, f"has the id of a task before it, {hot.id}")
        if hot.idempotency_key is not None and hot.status not in KEY_DEAD:
            key = compact([hot.workspace, hot.idempotency_key])
            _add(self._keys, key, where, f"has the idempotency key of a live task before it, {hot.idempotency_key}")
        self._task, self._reached, self._names = hot.id, 0, set()

    def _take_history(self, copy: TaskPart, where: str) -> None:
        owner = copy.parent if isinstance(copy, Edge) else copy.task_id
        if owner != self._task:
            raise InvalidInput(where, f"belongs to {owner}, and follows {self._task or 'no task'}")
        reached = _HISTORY.index(type(copy))
        if reached < self._reached:
            raise InvalidInput(where, f"is out of order among the rows of {owner}")
        self._reached = reached
        if not isinstance(copy, Signal):  # the same signal may come twice
            _add(self._names, compact([reached, *_key(copy)]), where, f"comes twice for {owner}")

    def _check_owner(self, stored: StoredEvent, where: str) -> None:
        task_id = stored.event.task_id
        if task_id is not None and _hashed(task_id) not in self._tasks:
            raise InvalidInput(where, f"is of {task_id}, which is not in the file")


def _key(copy: TaskPart) -> list[str | int]:
    match copy:
        case Attempt():
            return [copy.number]
        case Checkpoint() | Signal():
            return [copy.name]
        case Blocker():
            return [copy.wait, copy.name]
        case Edge():
            return [copy.child, copy.kind]
        case Output():
            return []


def _add(known: set[int], name: str, where: str, rule: str) -> None:
    number = _hashed(name)
    if number in known:
        raise InvalidInput(where, rule)
    known.add(number)


def _hashed(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest())
