"""The stored figures: events are counted after they were written, never while, so that no shared row is waited for.

What was counted and how far that goes land in one set, so every event is counted once, however many processes do this
and whenever one of them dies.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, cast

from taskyard.core import fields, metering
from taskyard.core.changes import ChangeSet, Committed, RecordChange, StoredEvent
from taskyard.core.errors import EventsGone
from taskyard.core.metering import Day, MeteredDay, Metrics, Totals
from taskyard.core.units import DAY, Micros, utc_date
from taskyard.service.engine import Engine

DAYS_KEPT = 400

DAYS = "metrics"  # the kind of record that has a day's figures
METER = "meter"
TOTAL = "total"
CURSOR = (METER, "", "events")  # of the whole yard, so of no workspace


class Page(NamedTuple):
    """Events that are not counted yet, in order."""

    version: int  # of the cursor that they come after
    since: int  # the number after which no event was left out
    events: Sequence[StoredEvent]


class Metering(Engine):
    async def metrics(self, *, days: int = 7) -> Metrics:
        """The figures of the last days, today's included, and those since counting began."""
        fields.whole(days, "days", least=0, most=DAYS_KEPT)
        first = utc_date(Micros(self.now() - (days - 1) * DAY))
        stored = await self.store.records(DAYS, self.workspace) if days else ()
        total = await self.store.record(METER, self.workspace, TOTAL)
        return Metrics(
            tuple(MeteredDay(each.id, metering.totals_of(each.body)) for each in stored if each.id >= first),
            Totals() if total is None else metering.totals_of(total.body),
            (await self._counted())[1],
        )

    async def _counted(self) -> tuple[int, int]:
        """The events that are counted: those after the first number, up to the second."""
        cursor = await self.store.record(*CURSOR)
        return (0, 0) if cursor is None else (cast(int, cursor.body["since"]), cast(int, cursor.body["seq"]))

    async def _uncounted(self, limit: int) -> Page:
        """What comes next."""
        cursor = await self.store.record(*CURSOR)
        version = 0 if cursor is None else cursor.version
        if cursor is not None:
            after, since = (cast(int, cursor.body[name]) for name in ("seq", "since"))
            with suppress(EventsGone):
                return Page(version, since, await self.store.events(after=after, limit=limit))
        # Some of what came before the last that was pruned may be kept, but not all of it.
        since = await self.store.pruned()
        return Page(version, since, await self.store.events(after=since, limit=limit))

    async def _count(self, page: Page) -> bool:
        """Whether it was this call that counted them: another process may have been faster."""
        agents = await self.store.records("agent")
        types = {(agent.workspace, agent.id): str(agent.body["type"]) for agent in agents}
        changes = [await self._added(key, more) for key, more in _by_record(metering.fold(page.events, types)).items()]
        seen = RecordChange(*CURSOR, page.version, {"seq": page.events[-1].seq, "since": page.since})
        landed = await self._committer.commit(ChangeSet(records=(seen, *changes), at=self.now()))
        return isinstance(landed, Committed)

    async def _added(self, key: tuple[str, str, str], more: Totals) -> RecordChange:
        stored = await self.store.record(*key)
        totals = Totals() if stored is None else metering.totals_of(stored.body)
        totals.add(more)
        return RecordChange(*key, stored.version if stored else 0, metering.body_of(totals))

    async def _first_uncounted(self) -> Micros | None:
        """When the first event happened that has not been counted: what is as young as that may not be pruned."""
        page = await self._uncounted(limit=1)
        return page.events[0].event.at if page.events else None

    def _first_day_kept(self) -> str:
        return utc_date(Micros(self.now() - DAYS_KEPT * DAY))

    async def _forget_old_days(self) -> int:
        first = self._first_day_kept()
        old = [each for each in await self.store.records(DAYS) if each.id < first]
        if old:
            gone = tuple(RecordChange(*each[:4], None) for each in old)
            await self._committer.commit(ChangeSet(records=gone, at=self.now()))
        return len(old)


def _by_record(days: dict[Day, Totals]) -> dict[tuple[str, str, str], Totals]:
    """What is to be added to which record: to each day's, and to that of the workspace for ever."""
    added = {(DAYS, *day): totals for day, totals in days.items()}
    for (workspace, _), more in days.items():
        added.setdefault((METER, workspace, TOTAL), Totals()).add(more)
    return added
