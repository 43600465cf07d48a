"""The topics of a write that a waiting claim may depend on, so that a claimer is woken only for work it may take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from taskyard.core.claiming import ClaimPlan, own_ceilings
from taskyard.core.task import LaneId
from taskyard.stores.postgres.fast.claim_cursors import Place


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


def lane_topic(lane: LaneId) -> str:
    """The topic of ready tasks in a lane."""
    return str(lane)


def plan_topic(workspace: str) -> str:
    """The topic of changes to what claims are planned on."""
    return f"{workspace}/"


def ceiling_topic(workspace: str, ceiling: str) -> str:
    """The topic of room under an agent's own ceiling. Other ceilings park tasks, which become ready again instead."""
    return f"{workspace}/{ceiling}"


def wanted_topics(plan: ClaimPlan) -> frozenset[str]:
    own = (ceiling_topic(plan.workspace, name) for name in own_ceilings(plan))
    return frozenset((plan_topic(plan.workspace), *own, *(lane_topic(lane.id) for lane in plan.lanes)))
