"""Queues: what waits in them, and how they are paused, limited and slowed down."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.errors import NotFound
from taskyard.core.policy import preset
from taskyard.core.priority import RANK_UNIT, TIERS, aged
from taskyard.core.throttle import scope, until_of
from taskyard.core.units import to_iso
from taskyard.definition import arguments
from taskyard.features.queues.views import QueueView, ThrottleView
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL

NO_LIMIT = 2**53 - 1  # above every rank, and every number of tasks


class Queues:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def list(self) -> list[QueueView]:
        """The queues that work was ever put into, or that have settings of their own."""
        planning = await self._ledger.configuration.fresh()
        ready = Counter[str]()
        for lane_id, lane in self._ledger.configuration.own_lanes.items():
            ready[lane.queue] += await self._store.ahead(lane_id, NO_LIMIT, 0, NO_LIMIT)
        return [
            QueueView(queue, queue in planning.paused, policy.name, ready[queue], policy.report_required)
            for queue in sorted(ready.keys() | planning.paused | planning.queue_presets.keys() | planning.reporting)
            for policy in (planning.policy_of(queue),)
        ]

    async def pause(self, queue: str, *, by: str = LOCAL) -> None:
        await self._ledger.configure("queue", queue, {"paused": True}, "queue.paused", by)

    async def resume(self, queue: str, *, by: str = LOCAL) -> None:
        await self._ledger.configure("queue", queue, {"paused": False}, "queue.resumed", by)

    async def set_preset(self, queue: str, name: str | None, *, by: str = LOCAL) -> None:
        """Tasks put into this queue from now on follow that preset."""
        fields = {"preset": None if name is None else preset(name).name}
        await self._ledger.configure("queue", queue, fields, "queue.preset", by)

    async def set_report_policy(self, required: bool, *, queue: str | None = None, by: str = LOCAL) -> None:
        """Whether tasks put in from now on are completed only with a decision report: in one queue, or in all.

        What a preset always requires stays required.
        """
        fields = {"report_required": required}
        if queue is None:
            await self._ledger.configure("workspace", self._workspace, fields, "workspace.reports", by)
        else:
            await self._ledger.configure("queue", queue, fields, "queue.reports", by)

    async def waiting_by_tier(self) -> dict[str, int]:
        """Ready tasks, by the tier that what they have become worth is in now."""
        await self._ledger.configuration.fresh()
        now, found = self._ledger.now(), dict.fromkeys(TIERS, 0)
        for lane_id, lane in self._ledger.configuration.own_lanes.items():
            before = [
                await self._store.ahead(lane_id, floor * RANK_UNIT + aged(lane.boost, now), 0, NO_LIMIT)
                for floor in [*TIERS.values()][1:]
            ]
            whole = await self._store.ahead(lane_id, NO_LIMIT, 0, NO_LIMIT)
            for tier, (below, above) in zip(TIERS, pairwise([0, *before, whole]), strict=True):
                found[tier] += max(above - below, 0)  # each is read at its own moment
        return found

    async def throttles(self) -> list[ThrottleView]:
        """What is slowed down now."""
        planning, now = await self._ledger.configuration.fresh(), self._ledger.now()
        views: list[ThrottleView] = []
        for scope_id, record in sorted(planning.throttles.items()):
            if (until := until_of(record)) > now:
                type_, bar, model = scope_id.rpartition("|")
                views.append(ThrottleView(type_ if bar else scope_id, model if bar else None, until))
        return views

    async def lift_throttle(self, type: str, *, model: str | None = None, by: str = LOCAL) -> None:
        """Let a type, or a type with one model, be claimed again before the time that its rate limit asked for.

        Tasks that wait for their provider wait on: each has a time of its own.
        """
        named = None if model is None else arguments.name("model", model)
        id_, author = scope(arguments.name("type", type), named), arguments.name("by", by)

        async def decide() -> tuple[ChangeSet, None]:
            record, now = await self._store.record("throttle", self._workspace, id_), self._ledger.now()
            if record is None or until_of(record) <= now:
                raise NotFound("throttle", id_)
            gone = RecordChange("throttle", self._workspace, id_, record.version, None)
            lifted = self._ledger.audit("throttle.lifted", author, {"throttle": id_, "until": to_iso(until_of(record))})
            return ChangeSet(records=(gone,), events=(lifted,), at=now), None

        await self._ledger.commit(decide)
