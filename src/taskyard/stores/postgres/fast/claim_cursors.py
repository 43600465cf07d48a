"""Where the claims of this process go on in a lane, so as not to walk over what they have taken before.

What was claimed stays in the index until it is vacuumed, and a stranger's open transaction can put that off for hours.
So a lane that much was taken from is looked at from where the last claim ended; a second later, from its beginning.
What becomes ready in front of that place is told by this process's own writes and by the hints of others, and found at
once; a hint that was lost costs it that second. Where there is not enough behind the place, the claim looks in front of
it too, so nothing is ever said not to be there. See decision 0010.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from taskyard.core.task import Hot, LaneId

Place = tuple[int, int]  # rank and seq

LAST = 2**62  # instead of the number that a new task does not have yet
_MANY = 1_000  # tasks taken from a lane: fewer are walked over without being noticed
_GOOD_FOR = 1.0  # seconds


@dataclass(slots=True)
class _Lane:
    taken: int = 0
    place: Place | None = None
    until: float = 0.0  # when it is to be looked at from its beginning again
    mark: int = 0  # when something was last heard of that may be in front


class Floors:
    def __init__(self) -> None:
        self.mark = 0
        self._lanes: dict[LaneId, _Lane] = {}

    def places(self, lanes: Iterable[LaneId]) -> dict[LaneId, Place]:
        """Where to begin, in those of the lanes that are not to be looked at from their beginning."""
        now = monotonic()
        known = ((lane_id, self._lanes.get(lane_id)) for lane_id in lanes)
        return {id_: lane.place for id_, lane in known if lane is not None and lane.place and now < lane.until}

    def took(self, tasks: Sequence[Hot], behind: Container[LaneId], mark: int) -> None:
        """These were claimed, by a claim that began at the mark and looked at these lanes only behind their places."""
        places: dict[LaneId, Place] = {}
        for hot in tasks:
            lane = self._lanes.setdefault(hot.lane, _Lane())
            lane.taken += 1
            places[hot.lane] = max(places.get(hot.lane, (hot.rank, hot.seq)), (hot.rank, hot.seq))
        for lane_id, place in places.items():
            lane = self._lanes[lane_id]
            lane.place = place if lane.taken >= _MANY and lane.mark <= mark else None
            if lane_id not in behind:
                lane.until = monotonic() + _GOOD_FOR

    def hear(self, fronts: Mapping[LaneId, Place]) -> None:
        """Something is ready there, and nothing of it is in front of these places."""
        self.mark += 1
        for lane_id, front in fronts.items():
            lane = self._lanes.get(lane_id)
            if lane is not None and (lane.place is None or front < lane.place):
                lane.place, lane.mark = None, self.mark

    def forget(self) -> None:
        """Anything may be ready anywhere."""
        self.hear(dict.fromkeys(self._lanes, (-LAST, 0)))
