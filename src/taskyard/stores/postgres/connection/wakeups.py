"""What a write may mean to a claim: named, so that a claimer is woken only for what it may take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from taskyard.core.claiming import ClaimPlan, own_ceilings
from taskyard.core.task import LaneId
from taskyard.stores.postgres.fast.claim_cursors import Place


class News(NamedTuple):
    fronts: Mapping[LaneId, Place]  # where something became ready, and the first place of it
    rest: frozenset[str] = frozenset()

    def __or__(self, other: News) -> News:
        fronts = dict(self.fronts)
        for lane, front in other.fronts.items():
            fronts[lane] = min(fronts.get(lane, front), front)
        return News(fronts, self.rest | other.rest)

    @property
    def names(self) -> frozenset[str]:
        return self.rest | {of_lane(lane) for lane in self.fronts}


NONE = News({})


def of_lane(lane: LaneId) -> str:
    """Something is ready there."""
    return str(lane)


def of_plans(workspace: str) -> str:
    """What claims are planned on has changed."""
    return f"{workspace}/"


def of_room(workspace: str, ceiling: str) -> str:
    """Something was given back under an agent's own ceiling. The others park tasks, which are ready again then."""
    return f"{workspace}/{ceiling}"


def wanted_by(plan: ClaimPlan) -> frozenset[str]:
    own = (of_room(plan.workspace, name) for name in own_ceilings(plan))
    return frozenset((of_plans(plan.workspace), *own, *(of_lane(lane.id) for lane in plan.lanes)))
