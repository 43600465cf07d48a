"""What pages and tables show: rows, counts, how the workspace stands, figures over time, where the money went.

Nothing here reads all tasks to answer: what is counted comes from the stored figures, from an index, or is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from taskyard.core.breaker import BreakerState
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.task import Hot, Status, TaskId
from taskyard.core.units import DAY, SECOND, Micros, MicroUsd, from_iso, to_iso, to_usd, utc_date
from taskyard.features.agents.service import Roster
from taskyard.features.agents.views import AgentView
from taskyard.features.artifacts.visibility import Filing
from taskyard.features.budgets.views import DagShare, SettingsView, Share, Spend, SpendReport, settings_view
from taskyard.features.metrics import rules as metric_rules
from taskyard.features.metrics.rules import PACES, Histogram, Totals
from taskyard.features.metrics.service import DAYS, PACE, Metering
from taskyard.features.overview.views import DayMoney, OldestReady, Overview, Percentiles, Series, SilentAgent
from taskyard.features.tasks.answers import Counted, Relations, Total
from taskyard.features.tasks.rows import TaskRow, row_of
from taskyard.service.overseeing import Overseeing
from taskyard.service.reading import MOST_LISTED
from taskyard.stores.contract import Filter

MOST_COUNTED = 10_000
MOST_TOTAL = 1_000  # of a list: beyond that it is enough to know that there are more
COUNTED_AT_ONCE = 1000
MOST_SHARES = 20
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


class Showing(Overseeing, Roster, Metering, Filing):
    # Lists

    async def rows(self, **which: Any) -> list[TaskRow]:
        """Tasks that match what `find` takes, newest first, each as one line without anything long."""
        tasks = await self.find(**which)
        costs = await self.costs_of([task.hot for task in tasks])
        return [row_of(task, costs[task.id]) for task in tasks]

    async def costs_of(self, hots: Sequence[Hot]) -> dict[TaskId, MicroUsd]:
        """All attempts at each task together, the one under way included."""
        tried = [hot.id for hot in hots if hot.attempt]
        histories = await self.store.histories(tried) if tried else {}
        return {
            hot.id: MicroUsd(
                sum(attempt.cost for attempt in histories.get(hot.id, ())) + (hot.spent if hot.status.is_held else 0)
            )
            for hot in hots
        }

    async def count(self, **which: Any) -> Counted:
        """How many tasks match what `find` takes, by status: all of them, or the newest of too many.

        Every status is named, also one in which there are none.
        """
        wanted = self._filter(**which)
        if wanted == Filter(workspace=self.workspace):
            return Counted({status: sum(types.values()) for status, types in (await self.stats()).items()}, False)
        counts, seen, after = Counter[str](dict.fromkeys(map(str, Status), 0)), 0, 0
        while seen < MOST_COUNTED:
            page = await self.store.find(wanted, after=after, limit=COUNTED_AT_ONCE)
            counts.update(hot.status.value for hot in page)
            seen += len(page)
            if len(page) < COUNTED_AT_ONCE:
                return Counted(dict(counts), False)
            after = page[-1].seq
        return Counted(dict(counts), True)

    async def total(self, **which: Any) -> Total:
        """How many tasks match what `find` takes, counted up to a number."""
        found = await self.store.find(self._filter(**which), after=0, limit=MOST_TOTAL + 1)
        return Total(min(len(found), MOST_TOTAL), len(found) > MOST_TOTAL)

    async def relations(self, task_id: str) -> Relations:
        """What the task depends on, what depends on it, what it spawned or repeats, and who spawned it."""
        hot = await self._load(TaskId(task_id))
        definition = await self._define(hot.id)
        edges = await self.store.edges([hot.id])
        children = await self.store.find(Filter(workspace=self.workspace, parent_id=hot.id), after=0, limit=MOST_LISTED)
        groups: dict[str, list[TaskId]] = {
            "dependencies": list(definition.depends_on),
            "dependents": [edge.child for edge in edges if edge.kind == "depends"],
            "children": [child.id for child in reversed(children)],
            "parent": [definition.parent_id] if definition.parent_id else [],
            "rerun_of": [definition.rerun_of] if definition.rerun_of else [],
        }
        rows = await self._rows_by_id([each for ids in groups.values() for each in ids[:MOST_LISTED]])
        found = {name: [rows[each] for each in ids if each in rows] for name, ids in groups.items()}
        return Relations(
            found["dependencies"],
            found["dependents"],
            found["children"],
            next(iter(found["parent"]), None),
            next(iter(found["rerun_of"]), None),
        )

    async def _rows_by_id(self, task_ids: Sequence[TaskId]) -> dict[TaskId, TaskRow]:
        hots = [hot for hot in (await self.store.load(task_ids)).values() if hot.workspace == self.workspace]
        costs = await self.costs_of(hots)
        return {task.id: row_of(task, costs[task.id]) for task in await self._tasks(hots)}

    # How it stands

    async def settings(self) -> SettingsView:
        """What the workspace decides for all its tasks."""
        return settings_view((await self._configuration.fresh()).settings)

    async def preset(self) -> str:
        """The one that tasks follow whose queue has none of its own."""
        return (await self._planning()).preset

    async def overview(self) -> Overview:
        """What asks for somebody, and how much there is of everything."""
        now = self.now()
        tasks = {status: types for status, types in (await self.stats()).items() if types}
        breakers, queues = await self.breakers(), await self.queues()
        silent = [view for view in await self.agents() if view.silent]
        return Overview(
            at=to_iso(now),
            tasks=tasks,
            ready_by_tier=await self.waiting_by_tier(),
            oldest_ready=await self._oldest_ready(),
            dead_unreviewed=await self._unreviewed() if tasks.get(Status.DEAD_LETTERED) else 0,
            approvals=len(await self.store.awaited(self.workspace, MOST_COUNTED)),
            open_breakers=sum(breaker.state is not BreakerState.CLOSED for breaker in breakers),
            throttles=len(await self.throttles()),
            paused_queues=sum(queue.paused for queue in queues),
            silent_agents=[_silent(view) for view in silent],
            day=await self._day(now),
        )

    async def _oldest_ready(self) -> OldestReady | None:
        hot = await self.store.longest_ready(self.workspace)
        if hot is None:
            return None
        definition = await self._define(hot.id)
        title = definition.title or definition.prompt[:80]
        return OldestReady(hot.id, title, definition.type, definition.queue, to_iso(hot.updated_at))

    async def _unreviewed(self) -> int:
        """Dead letters on which nobody has decided: of the newest, where there are too many to look at."""
        found, seen, below = 0, 0, None
        while seen < MOST_LETTERS:
            page = await self.store.page("dead", self.workspace, below=below, limit=LETTERS_AT_ONCE)
            found += sum(not record.body["reviewed"] for record in page)
            seen += len(page)
            if len(page) < LETTERS_AT_ONCE:
                break
            below = page[-1].id
        return found

    async def _day(self, now: Micros) -> DayMoney:
        date = utc_date(now)
        limit = (await self.store.limits(self.workspace, [f"day:{date}"])).get(f"day:{date}")
        spent, held = (0, 0) if limit is None else (limit.spent, limit.held)
        budget = (await self.settings()).daily_budget
        return DayMoney(
            date, to_usd(MicroUsd(spent)), to_usd(MicroUsd(held)), None if budget is None else to_usd(budget)
        )

    # Figures over time

    async def series(self, window: str = "1h") -> Series:
        """What came, went and failed, how long it took and what it cost: as the sweep has counted it so far."""
        if window not in WINDOWS:
            raise InvalidInput("window", f"must be one of {', '.join(WINDOWS)}")
        pace, number = WINDOWS[window]
        length = DAY if pace is None else PACES[pace].length
        now = self.now()
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
            depth=_depths([each.depth for each in counted], await self.store.depth(self.workspace)),
        )

    async def _figures(self, pace: str | None, number: int) -> dict[Micros, _Figures]:
        if pace is None:
            days = await self.store.page(DAYS, self.workspace, limit=number)
            return {from_iso(f"{each.id}T00:00:00Z"): _figures(each.body) for each in days}
        slots = await self.store.page(PACE, self.workspace, prefix=f"{pace}:", limit=number)
        return {from_iso(f"{each.id.partition(':')[2]}:00Z"): _figures(each.body) for each in slots}

    # Money

    async def spend_report(self, days: int = 30) -> SpendReport:
        """Where the money of the last days went, as the sweep has counted it so far."""
        metered = (await self.metrics(days=days)).days
        total = Totals()
        for day in metered:
            total.add(day.totals)
        dearest = await self._rows_by_id([TaskId(each) for each, _ in total.dearest.most_common(MOST_SHARES)])
        return SpendReport(
            since=utc_date(Micros(self.now() - (days - 1) * DAY)),
            until=utc_date(self.now()),
            total_usd=to_usd(total.spent),
            by_day=[Share(day.date, to_usd(day.totals.spent)) for day in metered],
            by_model=_shares(total, lambda labels: labels.model),
            by_type=_shares(total, lambda labels: labels.type),
            by_agent=_shares(total, lambda labels: labels.agent),
            by_dag=await self._dag_shares(),
            dearest=list(dearest.values()),
        )

    async def _dag_shares(self) -> list[DagShare]:
        limits = [each for each in await self.spending() if each.name.startswith("dag:") and each.spent]
        dearest = sorted(limits, key=lambda limit: -limit.spent)[:MOST_SHARES]
        titles = await self.store.named("dag", self.workspace, [_dag_of(limit) for limit in dearest])
        return [
            DagShare(dag, str(titles[dag].body["title"]) if dag in titles else "", to_usd(limit.spent))
            for limit in dearest
            for dag in [_dag_of(limit)]
        ]


class _Figures(NamedTuple):
    totals: Totals
    depth: Mapping[str, int] | None


_NOTHING = _Figures(Totals(), None)


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


def _shares(total: Totals, label: Callable[[metric_rules.CostLabels], str]) -> list[Share]:
    spent = Counter[str]()
    for labels, cost in total.costs.items():
        spent[label(labels)] += cost
    return [Share(name, to_usd(MicroUsd(cost))) for name, cost in spent.most_common(MOST_SHARES)]


def _dag_of(limit: Spend) -> str:
    return limit.name.removeprefix("dag:")


def _silent(view: AgentView) -> SilentAgent:
    heard = None if view.last_heartbeat is None else to_iso(view.last_heartbeat)
    return SilentAgent(view.id, view.type, heard, view.current_tasks)
