"""The events as they come, replayed against the state machine as it is published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from taskyard.core.changes import Event
from taskyard.core.task import Definition, Hot, Status, TaskId
from tests.model.violations import require

_WAITING = frozenset({Status.PENDING, Status.READY, Status.RETRYING})
_HELD = frozenset({Status.CLAIMED, Status.RUNNING})
_JUDGED = frozenset({Status.VALIDATING})
_DEAD = frozenset({Status.DEAD_LETTERED})


class Edge(NamedTuple):
    before: frozenset[Status]
    after: frozenset[Status]  # empty: it stays as it is


# The steps that a task may take, by the events that tell of them.
EDGES: dict[str, Edge] = {
    "task.ready": Edge(frozenset({Status.PENDING, Status.RETRYING}), frozenset({Status.READY})),
    "task.parked": Edge(frozenset({Status.READY}), frozenset({Status.PENDING})),
    "task.claimed": Edge(frozenset({Status.READY}), frozenset({Status.CLAIMED})),
    "task.running": Edge(frozenset({Status.READY, Status.CLAIMED}), frozenset({Status.RUNNING})),
    "task.validating": Edge(frozenset({Status.RUNNING}), _JUDGED),
    "task.completed": Edge(frozenset({Status.RUNNING, Status.VALIDATING}), frozenset({Status.COMPLETED})),
    "task.retrying": Edge(_HELD | _JUDGED, frozenset({Status.RETRYING, Status.READY})),
    "task.dead_lettered": Edge(_HELD | _JUDGED, _DEAD),
    "task.released": Edge(_HELD, frozenset({Status.READY})),
    "task.suspended": Edge(frozenset({Status.RUNNING}), frozenset({Status.PENDING})),
    "task.cancelled": Edge(_WAITING | _HELD | _JUDGED | _DEAD, frozenset({Status.CANCELLED})),
    "task.revived": Edge(_DEAD, frozenset({Status.READY})),
    "task.escalated": Edge(_DEAD, frozenset()),
    "task.signalled": Edge(_WAITING | _HELD, frozenset()),
    "task.adopted": Edge(_HELD, frozenset()),
    "task.needed": Edge(_WAITING | _HELD | _JUDGED | _DEAD | {Status.COMPLETED}, frozenset()),
    "task.reprioritised": Edge(_WAITING, frozenset()),
    "task.relaned": Edge(_WAITING | _HELD | _JUDGED, frozenset()),
    "task.session": Edge(_HELD, frozenset()),
}


class Log:
    def __init__(self) -> None:
        self._status: dict[TaskId, Status] = {}
        self._version: dict[TaskId, int] = {}
        self._attempt: dict[TaskId, int] = {}

    def read(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.task_id is not None and event.version is not None and event.status is not None:
                self._read(event.task_id, event, event.version, event.status, event.attempt or 0)

    def _read(self, task_id: TaskId, event: Event, version: int, status: Status, attempt: int) -> None:
        if event.event == "task.created":
            require(version == 1, "versions begin at 1", f"{event}")
        else:
            require(version == self._version.get(task_id, 0) + 1, "versions have no gap", f"{event}")
            edge, before = EDGES[event.event], self._status[task_id]
            after = edge.after or {before}
            require(before in edge.before and status in after, "only published steps", f"from {before}: {event}")
            claimed = before is Status.READY and status in _HELD
            require(attempt == self._attempt[task_id] + claimed, "one number for each claim", f"{event}")
        self._version[task_id], self._status[task_id], self._attempt[task_id] = version, status, attempt

    def check_probes(self, tasks: Iterable[Hot], definitions: Mapping[TaskId, Definition]) -> None:
        """Of each breaker at most one probe is out."""
        probes = Counter(
            (hot.workspace, definitions[hot.id].type, hot.circuit)
            for hot in tasks
            if hot.status in _HELD | _JUDGED and hot.circuit % 2
        )
        require(all(count == 1 for count in probes.values()), "one probe for each breaker", f"{probes}")
