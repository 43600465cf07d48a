"""What a write wakes: the claims that wait for its topics, and those that read a lane from some place on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from taskyard.core.task import LaneId
from taskyard.stores.postgres.fast.claim_cursors import Place
from taskyard.stores.shared.waiters import lane_topic


class Wakeup(NamedTuple):
    ready_from: Mapping[LaneId, Place]  # lanes where tasks became ready, with the first place
    others: frozenset[str] = frozenset()

    def __or__(self, other: Wakeup) -> Wakeup:
        ready_from = dict(self.ready_from)
        for lane, place in other.ready_from.items():
            ready_from[lane] = min(ready_from.get(lane, place), place)
        return Wakeup(ready_from, self.others | other.others)

    @property
    def topics(self) -> frozenset[str]:
        return self.others | {lane_topic(lane) for lane in self.ready_from}


NOTHING = Wakeup({})
