"""Fast path, 90 % of a claim's look at the server while a foreign transaction is open: it skips dead index entries.

A claim begins in a lane where this process's last claim ended. It applies after 1,000 claimed tasks of a lane, for one
second. The slow path reads from the beginning of the lane: 10.8 ms instead of 1.0 for a look at 100 tasks, after 30,000
claimed ones and under such a transaction. Without one it saves up to 5 %, since the server forgets dead entries.

PostgreSQL keeps claimed tasks in the index until a vacuum, which a foreign open transaction can delay for hours. A task
that becomes ready before the cursor resets the cursor: this process's own writes and the notifications of others name
its place. After a lost notification it waits for that second. A claim that finds too few tasks behind the cursor reads
from the beginning, so no claim ever misses all of the ready tasks.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from taskyard.core.task import Hot, LaneId

Place = tuple[int, int]  # rank and seq

LAST = 2**62  # stands for the seq that a new task does not have yet
_MANY = 1_000  # tasks taken from a lane: reading over fewer entries costs little
_GOOD_FOR = 1.0  # seconds


@dataclass(slots=True)
class _Lane:
    taken: int = 0
    place: Place | None = None
    until: float = 0.0  # when to read the lane from its beginning again
    mark: int = 0  # when a task last became ready before the cursor


class ClaimCursors:
    def __init__(self) -> None:
        self.mark = 0
        self._lanes: dict[LaneId, _Lane] = {}
        self._readied: dict[LaneId, Place] = {}  # since the last watch began

    def positions(self, lanes: Iterable[LaneId]) -> dict[LaneId, Place]:
        """The cursors of the lanes that have one."""
        now = monotonic()
        known = ((lane_id, self._lanes.get(lane_id)) for lane_id in lanes)
        return {id_: lane.place for id_, lane in known if lane is not None and lane.place and now < lane.until}

    def note_taken(self, tasks: Sequence[Hot], cursors: Container[LaneId], mark: int) -> None:
        """A claim took these tasks. It began at the mark, and read the lanes of `cursors` only behind their cursors."""
        lanes = {hot.lane for hot in tasks}
        for lane_id in lanes:
            own = tasks if len(lanes) == 1 else [hot for hot in tasks if hot.lane == lane_id]
            lane = self._lanes.setdefault(lane_id, _Lane())
            lane.taken += len(own)
            place = max([(hot.rank, hot.seq) for hot in own])
            lane.place = place if lane.taken >= _MANY and lane.mark <= mark else None
            if lane_id not in cursors:
                lane.until = monotonic() + _GOOD_FOR

    def note_ready(self, ready_from: Mapping[LaneId, Place]) -> None:
        """Tasks became ready in these lanes, the first of them at these places."""
        self.mark += 1
        for lane_id, front in ready_from.items():
            self._readied[lane_id] = min(self._readied.get(lane_id, front), front)
            lane = self._lanes.get(lane_id)
            if lane is not None and (lane.place is None or front < lane.place):
                lane.place, lane.mark = None, self.mark

    def watch(self) -> Mapping[LaneId, Place]:
        """The first places where tasks become ready from now on. The next watch ends this one."""
        self._readied = {}
        return self._readied

    def clear(self) -> None:
        """Reset all cursors: any task may have become ready."""
        self.note_ready(dict.fromkeys(self._lanes, (-LAST, 0)))
