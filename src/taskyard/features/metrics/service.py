"""The stored figures: events are counted after they were written, never while, so that no shared row is waited for.

What was counted and how far that goes are one change set, so every event is counted once, however many processes do
this and whenever one of them dies.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, TypedDict

from taskyard.core.changes import ChangeSet, Committed, RecordChange, StoredEvent
from taskyard.core.errors import EventsGone
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import RecordKind
from taskyard.core.task import LaneId, TaskId
from taskyard.core.units import DAY, Micros, utc_date
from taskyard.definition import fields
from taskyard.features.metrics import rules as metric_rules
from taskyard.features.metrics.rules import TIME_RESOLUTIONS, MeteredDay, Metrics, MetricTotals, Resolution
from taskyard.ledger.ledger import Ledger

DAYS_KEPT = 400
DAYS = "metrics"  # the kind of record that has a day's figures
PACE = "pace"  # that of shorter times
OLD_AT_ONCE = 20  # figures of a pace that go when new ones come
METER = "meter"
TOTAL = "total"


class MeteredBody(TypedDict):
    """Which events are counted: those after `since`, up to `seq`."""

    since: int
    seq: int


METERED = RecordKind(METER, MeteredBody)
CURSOR = (METER, "", "events")  # of the whole yard, so of no workspace
RecordKey = tuple[str, str, str]  # kind, workspace and id


class Page(NamedTuple):
    """Events that are not counted yet, in order."""

    version: int  # of the cursor that they come after
    since: int  # the number after which no event was left out
    events: Sequence[StoredEvent]


class MetricCounts:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def report(self, *, days: int = 7) -> Metrics:
        """The figures of the last days, today's included, and those since counting began."""
        fields.whole(days, "days", least=0, most=DAYS_KEPT)
        first = utc_date(Micros(self._ledger.now() - (days - 1) * DAY))
        stored = (await self._store.page(DAYS, self._workspace, limit=days))[::-1] if days else ()
        total = await self._store.record(METER, self._workspace, TOTAL)
        return Metrics(
            tuple(MeteredDay(each.id, metric_rules.totals_of(each.body)) for each in stored if each.id >= first),
            MetricTotals() if total is None else metric_rules.totals_of(total.body),
            (await self.counted())[1],
        )

    async def counted(self) -> tuple[int, int]:
        """The events that are counted: those after the first number, up to the second."""
        cursor = await self._store.record(*CURSOR)
        return (0, 0) if cursor is None else (METERED.of(cursor)["since"], METERED.of(cursor)["seq"])

    async def uncounted(self, limit: int) -> Page:
        """What comes next."""
        cursor = await self._store.record(*CURSOR)
        version = 0 if cursor is None else cursor.version
        if cursor is not None:
            after, since = METERED.of(cursor)["seq"], METERED.of(cursor)["since"]
            with suppress(EventsGone):
                return Page(version, since, await self._store.events(after=after, limit=limit))
        # Some of what came before the last that was pruned may be kept, but not all of it.
        since = await self._store.pruned()
        return Page(version, since, await self._store.events(after=since, limit=limit))

    async def count(self, page: Page) -> bool:
        """Whether it was this call that counted them: another process may have been faster."""
        agents = await self._store.records("agent")
        types = {(agent.workspace, agent.id): str(agent.body["type"]) for agent in agents}
        finest = min(TIME_RESOLUTIONS.values(), key=lambda pace: pace.length)
        queues = await self._queues_of(page.events)
        more = _by_record(metric_rules.fold(page.events, types, finest.slot, queues), self._ledger.now())
        changes = [await self._added(key, more[key]) for key in more]
        changes += await self._outdated(changes)
        seen = RecordChange(*CURSOR, page.version, {"seq": page.events[-1].seq, "since": page.since})
        committed = await self._ledger.commit_set(ChangeSet(records=(seen, *changes), at=self._ledger.now()))
        return isinstance(committed, Committed)

    async def _queues_of(self, events: Sequence[StoredEvent]) -> dict[TaskId, str]:
        """The queues of tasks that are counted by queue, of every workspace."""
        ids: dict[str, list[TaskId]] = {}
        for _, event, _ in events:
            if event.task_id is not None and metric_rules.is_of_queue(event):
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
        totals = MetricTotals() if stored is None else metric_rules.totals_of(stored.body)
        totals.add(more)
        body = metric_rules.body_of(totals)
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

    async def first_uncounted(self) -> Micros | None:
        """When the first event happened that has not been counted: what is as young as that may not be pruned."""
        page = await self.uncounted(limit=1)
        return page.events[0].event.at if page.events else None

    def first_day_kept(self) -> str:
        return utc_date(Micros(self._ledger.now() - DAYS_KEPT * DAY))

    async def forget_old_days(self) -> int:
        first = self.first_day_kept()
        old = [each for each in await self._store.records(DAYS) if each.id < first]
        if old:
            gone = tuple(RecordChange(*each[:4], None) for each in old)
            await self._ledger.commit_set(ChangeSet(records=gone, at=self._ledger.now()))
        return len(old)


def _by_record(slots: dict[tuple[str, Micros], MetricTotals], now: Micros) -> dict[RecordKey, MetricTotals]:
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
