"""How events become stored figures: page by page, with one commit for several pages.

What was counted and how far that goes are one change set, so every event is counted once, however many processes do
this and whenever one of them dies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from taskyard.core.changes import ChangeSet, Committed, RecordChange, StoredEvent
from taskyard.core.errors import EventsGone
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import RecordKind
from taskyard.core.task import LaneId, TaskId
from taskyard.core.units import Micros, utc_date
from taskyard.features.metrics import rules
from taskyard.features.metrics.folding import BY_QUEUE, AgentTypes, fold
from taskyard.features.metrics.rules import TIME_RESOLUTIONS, MetricTotals, Resolution
from taskyard.ledger.ledger import Ledger

DAYS = "metrics"  # the kind of record that has a day's figures
PACE = "pace"  # that of shorter times
METER = "meter"
TOTAL = "total"
OLD_AT_ONCE = 20  # figures of a pace that go when new ones come
_FINEST = min(TIME_RESOLUTIONS.values(), key=lambda pace: pace.length)


class MeteredBody(TypedDict):
    """Which events are counted: those after `since`, up to `seq`."""

    since: int
    seq: int


METERED = RecordKind(METER, MeteredBody)
CURSOR = (METER, "", "events")  # of the whole yard, so of no workspace
RecordKey = tuple[str, str, str]  # kind, workspace and id
Slots = dict[tuple[str, Micros], MetricTotals]  # by workspace and when the slot of time began


class Counting:
    """Reads the events that are not counted yet, in order, and stores what they add to the figures."""

    def __init__(self, ledger: Ledger, version: int, counted: MeteredBody) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._version = version  # of the cursor: another process may move it
        self._since, self._seq = counted["since"], counted["seq"]
        self._stored = self._seq
        self._slots: Slots = {}
        self._agent_types: AgentTypes | None = None

    async def read(self, limit: int) -> Sequence[StoredEvent]:
        """The events after those that were added."""
        try:
            return await self._store.events(after=self._seq, limit=limit)
        except EventsGone:
            # Some of what came before the last that was pruned may be kept, but not all of it.
            self._since = self._seq = await self._store.pruned()
            return await self._store.events(after=self._seq, limit=limit)

    async def add(self, events: Sequence[StoredEvent]) -> None:
        """Count events that were read last."""
        if self._agent_types is None:
            agents = await self._store.records("agent")
            self._agent_types = {(agent.workspace, agent.id): str(agent.body["type"]) for agent in agents}
        queues = await self._queues_of(events)
        for slot, more in fold(events, self._agent_types, _FINEST.slot, queues).items():
            self._slots.setdefault(slot, MetricTotals()).add(more)
        self._seq = events[-1].seq

    async def store(self) -> bool:
        """Store what was added, if anything was. False: another process was faster, and has counted these events."""
        if self._seq == self._stored:
            return True
        more, now = _by_record(self._slots, self._ledger.now()), self._ledger.now()
        changes = [await self._added(key, more[key]) for key in more]
        changes += await self._outdated(changes)
        seen = RecordChange(*CURSOR, self._version, {"seq": self._seq, "since": self._since})
        committed = await self._ledger.commit_set(ChangeSet(records=(seen, *changes), at=now))
        return isinstance(committed, Committed)

    async def _queues_of(self, events: Sequence[StoredEvent]) -> dict[TaskId, str]:
        """The queues of tasks that are counted by queue, of every workspace."""
        ids: dict[str, list[TaskId]] = {}
        for _, event, _ in events:
            if event.event in BY_QUEUE and event.task_id is not None:
                ids.setdefault(event.workspace, []).append(event.task_id)
        found: dict[TaskId, str] = {}
        for workspace, mine in ids.items():
            found |= await self._queues_in(workspace, mine)
        return found

    async def _queues_in(self, workspace: str, ids: Sequence[TaskId]) -> dict[TaskId, str]:
        """Where the workspace has one queue, without a look at its tasks."""
        lanes = (await self._store.config(workspace, LaneId(0))).lanes
        if len(queues := {lane.queue for lane in lanes.values()}) == 1:
            return dict.fromkeys(ids, *queues)
        hots = await self._store.load(sorted(set(ids)))
        return {id_: lanes[hot.lane].queue for id_, hot in hots.items() if hot.lane in lanes}

    async def _added(self, key: RecordKey, more: MetricTotals) -> RecordChange:
        stored = await self._store.record(*key)
        totals = MetricTotals() if stored is None else rules.totals_of(stored.body)
        totals.add(more)
        body = rules.body_of(totals)
        if key[0] == PACE:
            body["depth"] = await self._depth(key) if stored is None else stored.body["depth"]
        return RecordChange(*key, stored.version if stored else 0, body)

    async def _depth(self, key: RecordKey) -> dict[str, Json] | None:
        """How many tasks have not ended, by status, for a time that has just begun; of one long past nobody knows."""
        _, workspace, name = key
        pace = _resolution_of(name)
        if name != pace.key(pace.slot(self._ledger.now())):
            return None
        return {status.value: number for status, number in (await self._store.depth(workspace)).items()}

    async def _outdated(self, changes: Sequence[RecordChange]) -> list[RecordChange]:
        """The oldest figures of each pace, which make room for those that are new."""
        begun = {
            (each.workspace, _resolution_of(each.id)) for each in changes if each.kind == PACE and each.version == 0
        }
        gone: list[RecordChange] = []
        for workspace, pace in begun:
            first = pace.key(pace.first_kept(self._ledger.now()))
            old = await self._store.page(PACE, workspace, prefix=f"{pace.name}:", below=first, limit=OLD_AT_ONCE)
            gone += [RecordChange(*each[:4], None) for each in old]
        return gone


def _by_record(slots: Slots, now: Micros) -> dict[RecordKey, MetricTotals]:
    """What is to be added to which record: to those of shorter times, to each day's, and to the one for ever."""
    added: dict[RecordKey, MetricTotals] = {}
    for (workspace, at), more in slots.items():
        kept = [pace for pace in TIME_RESOLUTIONS.values() if pace.slot(at) >= pace.first_kept(now)]
        paces = [(PACE, workspace, pace.key(pace.slot(at))) for pace in kept]
        for key in (*paces, (DAYS, workspace, utc_date(at)), (METER, workspace, TOTAL)):
            added.setdefault(key, MetricTotals()).add(more)
    return added


def _resolution_of(name: str) -> Resolution:
    return TIME_RESOLUTIONS[name.partition(":")[0]]
