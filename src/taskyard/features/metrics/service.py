"""The stored figures: events are counted after they were written, never while, so that no shared row is waited for."""

from __future__ import annotations

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.units import DAY, Micros, utc_date
from taskyard.definition import fields
from taskyard.features.metrics import rules as metric_rules
from taskyard.features.metrics.counting import CURSOR, DAYS, METER, METERED, TOTAL, Counting, MeteredBody
from taskyard.features.metrics.rules import MeteredDay, Metrics, MetricTotals
from taskyard.ledger.ledger import Ledger

DAYS_KEPT = 400


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

    async def begin(self) -> Counting:
        """Go on where counting stopped."""
        cursor = await self._store.record(*CURSOR)
        if cursor is None:
            pruned = await self._store.pruned()
            return Counting(self._ledger, 0, MeteredBody(since=pruned, seq=pruned))
        return Counting(self._ledger, cursor.version, METERED.of(cursor))

    async def first_uncounted(self) -> Micros | None:
        """When the first event happened that has not been counted: what is as young as that may not be pruned."""
        events = await (await self.begin()).read(1)
        return events[0].event.at if events else None

    def first_day_kept(self) -> str:
        return utc_date(Micros(self._ledger.now() - DAYS_KEPT * DAY))

    async def forget_old_days(self) -> int:
        first = self.first_day_kept()
        old = [each for each in await self._store.records(DAYS) if each.id < first]
        if old:
            gone = tuple(RecordChange(*each[:4], None) for each in old)
            await self._ledger.commit_set(ChangeSet(records=gone, at=self._ledger.now()))
        return len(old)
