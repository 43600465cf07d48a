"""What claims are planned on, kept in memory and read again when the store says it has moved."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from taskyard.core.planning import Planning, planning_of
from taskyard.core.task import Lane, LaneId
from taskyard.core.units import SECOND, Micros
from taskyard.ledger.sharing import Shared
from taskyard.stores.contract import Store

logger = logging.getLogger("taskyard")
GOOD_FOR = SECOND  # what others changed, such as who is to drain, is known here so long after at the latest


class Configuration:
    """One workspace's configuration, and every lane this process has heard of."""

    def __init__(self, store: Store, workspace: str) -> None:
        self._store = store
        self._workspace = workspace
        self._planning: Planning | None = None
        self._good_until = Micros(0)
        self._changes = 0  # that this process made: what was read before one of them is not good afterwards
        self._refreshed = Shared(self.fresh)
        self.lanes: dict[LaneId, Lane] = {}  # of all workspaces
        self.own_lanes: dict[LaneId, Lane] = {}
        self._ids: dict[Lane, LaneId] = {}
        self._seen = LaneId(0)
        self._yard: str = ""

    async def current(self) -> Planning:
        """As read lately. A claim that was planned on something older is refused by the store."""
        if self._planning is None or self._store.now() >= self._good_until:
            return await self._refreshed.ask()
        return self._planning

    def outdated(self) -> None:
        """This process has changed something itself, and is to know it at once."""
        self._good_until = Micros(0)
        self._changes += 1
        self._refreshed.part()

    async def fresh(self) -> Planning:
        until, changes = Micros(self._store.now() + GOOD_FOR), self._changes
        known = self._planning  # and not what a later read has found, if that one was quicker
        config = await self._store.config(self._workspace, self._seen)
        if known is not None and (config.yard != self._yard or config.epoch < known.epoch):
            logger.warning(
                "workspace %s is not as it was: the store was emptied, or went back to an earlier moment",
                self._workspace,
            )
            self._forget()
            config = await self._store.config(self._workspace, self._seen)
        for lane_id, lane in config.lanes.items():
            self._learn(lane_id, lane)
            self._seen = LaneId(max(self._seen, lane_id))
        self._yard = config.yard
        if changes == self._changes:
            self._good_until = until
        # The same object as long as nothing moved: plans that were made from it stay good.
        if self._planning is None or self._planning.epoch < config.epoch:
            self._planning = planning_of(self._workspace, config.epoch, config.records)
        return self._planning

    def _forget(self) -> None:
        """Nothing that was known of the yard holds any more: ids of lanes least of all."""
        self._planning, self._seen = None, LaneId(0)
        for known in (self.lanes, self.own_lanes, self._ids):
            known.clear()

    async def known_lane(self, lane_id: LaneId) -> Lane:
        if lane_id not in self.lanes:
            await self.fresh()
        return self.lanes[lane_id]

    async def lane_ids(self, lanes: Sequence[Lane]) -> list[LaneId]:
        new = [lane for lane in dict.fromkeys(lanes) if lane not in self._ids]
        if new:
            for lane, lane_id in zip(new, await self._store.lanes(new), strict=True):
                self._learn(lane_id, lane)
        return [self._ids[lane] for lane in lanes]

    def _learn(self, lane_id: LaneId, lane: Lane) -> None:
        self.lanes[lane_id] = lane
        self._ids[lane] = lane_id
        if lane.workspace == self._workspace:
            self.own_lanes[lane_id] = lane
