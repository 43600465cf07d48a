"""How a workspace stands, and its figures over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

from taskyard.core.breaker import BreakerState
from taskyard.core.errors import InvalidInput
from taskyard.core.identifiers import day_ceiling
from taskyard.core.json_value import Json
from taskyard.core.task import Status
from taskyard.core.units import DAY, SECOND, Micros, MicroUsd, from_iso, to_iso, to_usd, utc_date
from taskyard.features.agents.service import Agents
from taskyard.features.agents.views import AgentView
from taskyard.features.breakers.service import Breakers
from taskyard.features.budgets.service import Budgets
from taskyard.features.metrics import rules as metric_rules
from taskyard.features.metrics.counting import DAYS, PACE
from taskyard.features.metrics.rules import TIME_RESOLUTIONS, Histogram, MetricTotals
from taskyard.features.overview.views import (
    DayMoney,
    OldestReady,
    Overview,
    Percentiles,
    Series,
    SeriesShare,
    SilentAgent,
)
from taskyard.features.queues.service import Queues
from taskyard.features.tasks.lookup.queries import MOST_COUNTED, Queries
from taskyard.ledger.ledger import Ledger

LETTERS_AT_ONCE = 500
MOST_LETTERS = 2000  # that are looked at to tell how many wait for a person


class Window(NamedTuple):
    pace: str | None  # None: days
    buckets: int


WINDOWS = {
    "1h": Window("minute", 60),
    "6h": Window("ten-minutes", 36),
    "24h": Window("ten-minutes", 144),
    "7d": Window("hour", 168),
    "14d": Window(None, 14),
    "30d": Window(None, 30),
    "90d": Window(None, 90),
}


class Overviews:
    def __init__(
        self, ledger: Ledger, breakers: Breakers, queries: Queries, queues: Queues, agents: Agents, budgets: Budgets
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._breakers = breakers
        self._queries = queries
        self._queues = queues
        self._agents = agents
        self._budgets = budgets

    async def figures(self) -> Overview:
        """What asks for somebody, and how much there is of everything."""
        now = self._ledger.now()
        tasks = {status: types for status, types in (await self._queries.stats()).items() if types}
        breakers, queues = await self._breakers.list(), await self._queues.list()
        silent = [view for view in await self._agents.list() if view.silent]
        return Overview(
            at=to_iso(now),
            tasks=tasks,
            ready_by_tier=await self._queues.waiting_by_tier(),
            oldest_ready=await self._oldest_ready(),
            dead_unreviewed=await self._unreviewed() if tasks.get(Status.DEAD_LETTERED) else 0,
            approvals=len(await self._store.awaited(self._workspace, MOST_COUNTED)),
            open_breakers=sum(breaker.state is not BreakerState.CLOSED for breaker in breakers),
            throttles=len(await self._queues.throttles()),
            paused_queues=sum(queue.paused for queue in queues),
            silent_agents=[_silent(view) for view in silent],
            day=await self._day(now),
        )

    async def _oldest_ready(self) -> OldestReady | None:
        hot = await self._store.longest_ready(self._workspace)
        if hot is None:
            return None
        definition = await self._ledger.definition(hot.id)
        title = definition.title or definition.prompt[:80]
        return OldestReady(hot.id, title, definition.type, definition.queue, to_iso(hot.updated_at))

    async def _unreviewed(self) -> int:
        """Dead letters on which nobody has decided: of the newest, where there are too many to look at."""
        found, seen, below = 0, 0, None
        while seen < MOST_LETTERS:
            page = await self._store.page("dead", self._workspace, below=below, limit=LETTERS_AT_ONCE)
            found += sum(not record.body["reviewed"] for record in page)
            seen += len(page)
            if len(page) < LETTERS_AT_ONCE:
                break
            below = page[-1].id
        return found

    async def _day(self, now: Micros) -> DayMoney:
        date = utc_date(now)
        limit = (await self._store.limits(self._workspace, [day_ceiling(date)])).get(day_ceiling(date))
        spent, held = (0, 0) if limit is None else (limit.spent, limit.held)
        budget = (await self._budgets.show()).daily_budget
        return DayMoney(
            date, to_usd(MicroUsd(spent)), to_usd(MicroUsd(held)), None if budget is None else to_usd(budget)
        )

    async def series(self, window: str = "1h", *, by: str | None = None) -> Series:
        """What came, went and failed, how long it took and what it cost: as the sweep has counted it so far.

        `by` (type, agent or queue) also counts what was completed, and the attempts that failed, for each of them;
        agents are counted by their type, and failures are not counted by the type of task.
        """
        if window not in WINDOWS:
            raise InvalidInput("window", f"must be one of {', '.join(WINDOWS)}")
        if by is not None and by not in SPLITS:
            raise InvalidInput("by", f"must be one of {', '.join(SPLITS)}")
        pace, number = WINDOWS[window]
        length = DAY if pace is None else TIME_RESOLUTIONS[pace].length
        now = self._ledger.now()
        last = Micros(now - now % length)
        starts = [Micros(last - (number - 1 - place) * length) for place in range(number)]
        stored = await self._figures(pace, number)
        counted = [stored.get(start, _NOTHING) for start in starts]
        totals = [each.totals for each in counted]
        return Series(
            window=window,
            bucket_sec=length // SECOND,
            at=[to_iso(start) for start in starts],
            created=[each.created for each in totals],
            completed=[each.tasks_completed for each in totals],
            failed=[each.tasks_failed for each in totals],
            dead=[each.dead_lettered for each in totals],
            wait_sec=_percentiles([each.waits for each in totals]),
            duration_sec=_percentiles([each.durations for each in totals]),
            spend_usd=[to_usd(each.spent) for each in totals],
            depth=_depths([each.depth for each in counted], await self._store.depth(self._workspace)),
            shares=None if by is None else _shares([SPLITS[by](each) for each in totals]),
        )

    async def _figures(self, pace: str | None, number: int) -> dict[Micros, _Figures]:
        if pace is None:
            days = await self._store.page(DAYS, self._workspace, limit=number)
            return {from_iso(f"{each.id}T00:00:00Z"): _figures(each.body) for each in days}
        slots = await self._store.page(PACE, self._workspace, prefix=f"{pace}:", limit=number)
        return {from_iso(f"{each.id.partition(':')[2]}:00Z"): _figures(each.body) for each in slots}


def _by_agent(totals: MetricTotals) -> _Split:
    return _Split(totals.ended - totals.errors, totals.errors)


class _Split(NamedTuple):
    completed: Counter[str]
    failed: Counter[str]


SPLITS: dict[str, Callable[[MetricTotals], _Split]] = {
    "type": lambda totals: _Split(totals.completed, Counter()),
    "agent": _by_agent,
    "queue": lambda totals: _Split(totals.queue_completed, totals.queue_failed),
}


def _shares(splits: Sequence[_Split]) -> dict[str, SeriesShare]:
    """One series for each name that was counted at all."""
    names = sorted({name for split in splits for counts in split for name in counts})
    return {
        name: SeriesShare([each.completed[name] for each in splits], [each.failed[name] for each in splits])
        for name in names
    }


class _Figures(NamedTuple):
    totals: MetricTotals
    depth: Mapping[str, int] | None


_NOTHING = _Figures(MetricTotals(), None)


def _figures(body: Mapping[str, Json]) -> _Figures:
    return _Figures(metric_rules.totals_of(body), cast("Mapping[str, int] | None", body.get("depth")))


def _percentiles(histograms: Sequence[Histogram]) -> Percentiles:
    return Percentiles(*([each.quantile(share) for each in histograms] for share in (0.5, 0.95, 0.99)))


def _depths(stored: Sequence[Mapping[str, int] | None], now: Mapping[Status, int]) -> dict[str, list[int | None]]:
    """How many there were in each bucket. Nothing is written where nothing happens: then there are as many as before.

    What is stored is of a bucket's beginning. Since the last of them nothing has happened that is not in `now`.
    """
    looks = list(stored)
    written = [place for place, look in enumerate(looks) if look is not None]
    looks[written[-1] if written else -1] = {status.value: number for status, number in now.items()}
    statuses = sorted({status for look in looks for status in look or ()})
    found: dict[str, list[int | None]] = {status: [] for status in statuses}
    last: Mapping[str, int] | None = None
    for look in looks:
        last = last if look is None else look
        for status in statuses:
            found[status].append(None if last is None else last.get(status, 0))
    return found


def _silent(view: AgentView) -> SilentAgent:
    heard = None if view.last_heartbeat is None else to_iso(view.last_heartbeat)
    return SilentAgent(view.id, view.type, heard, view.current_tasks)
