"""Reading the whole log once, in order: what is counted in it, and whether every event is of a task that is there."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.changes import StoredEvent
from taskyard.core.errors import EventsGone
from taskyard.core.task import TaskId
from taskyard.core.units import utc_date
from taskyard.features.metrics.counting import DAYS
from taskyard.features.metrics.folding import fold
from taskyard.features.metrics.rules import MetricTotals, totals_of
from taskyard.features.metrics.service import MetricCounts
from taskyard.ledger.ledger import Ledger

PAGE = 2000


class LogReading:
    """Keeps the figures of each day, and nothing of the events."""

    def __init__(self, ledger: Ledger, metrics: MetricCounts) -> None:
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._metrics = metrics
        self._strays: dict[TaskId, None] = {}
        self._since = 0  # the event after which all were counted
        self._stored: dict[str, MetricTotals] = {}  # the figures of each day
        self._metered: dict[str, MetricTotals] = {}  # the same, of the events that are counted
        self.seen = 0

    async def read(self) -> None:
        self._since, counted, self._stored = await self._stored_figures()
        seq = 0
        try:
            while await self.is_whole() and (page := await self._page(seq)):
                self.seen += len(page)
                self._meter([stored for stored in page if stored.seq <= counted])
                await self._note_strays(page)
                seq = page[-1].seq
        except EventsGone:
            pass  # pruned meanwhile: `is_whole` says so from now on

    async def is_whole(self) -> bool:
        """Whether nothing was pruned: else there is no reading all in order."""
        return not await self._store.pruned(self._workspace)

    async def _page(self, after: int) -> Sequence[StoredEvent]:
        return await self._store.events(after=after, limit=PAGE, workspace=self._workspace)

    async def _note_strays(self, page: Sequence[StoredEvent]) -> None:
        named = dict.fromkeys(stored.event.task_id for stored in page if stored.event.version is not None)
        ids = [task_id for task_id in named if task_id is not None]
        there = await self._store.load(ids) if ids else {}
        self._strays |= dict.fromkeys(task_id for task_id in ids if task_id not in there)

    async def _stored_figures(self) -> tuple[int, int, dict[str, MetricTotals]]:
        """Which events were counted, and what they came to: counting goes on also when nothing else moves."""
        while True:
            counted = await self._metrics.counted()
            stored = {each.id: totals_of(each.body) for each in await self._store.records(DAYS, self._workspace)}
            if await self._metrics.counted() == counted:
                return *counted, stored

    def _meter(self, events: Sequence[StoredEvent]) -> None:
        for (_, day), more in fold(events, {}, utc_date).items():
            self._metered.setdefault(day, MetricTotals()).add(more)

    def problems(self) -> list[str]:
        """Of a log that is whole: nothing happened to a task that is not there, and the figures are right."""
        return [*(f"{task_id} has events and no row" for task_id in self._strays), *self._meter_problems()]

    def _meter_problems(self) -> list[str]:
        """The figures of a day are those of its events, where all of them were there to be counted."""
        if self._since:
            return []
        stored = self._stored
        first = self._metrics.first_day_kept()
        days = sorted(day for day in {*self._metered, *stored} if day >= first)
        pairs = [(day, self._metered.get(day, MetricTotals()), stored.get(day, MetricTotals())) for day in days]
        return [
            f"the figures of {day} say {_figures(stored)}, and its events {_figures(counted)}"
            for day, counted, stored in pairs
            if _figures(counted) != _figures(stored)
        ]


def _figures(totals: MetricTotals) -> str:
    """What is counted by events alone, whoever the agents were."""
    return (
        f"{totals.created} created, {totals.tasks_completed} completed, {totals.tasks_failed} failed, "
        f"{totals.dead_lettered} dead"
    )
