"""Reports of a workspace. Each reads a bounded number of tasks, or of stored days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from taskyard.core.errors import InvalidInput
from taskyard.core.units import DAY, Micros
from taskyard.definition import fields
from taskyard.definition.task_fields import TaskSelection
from taskyard.features.metrics import rules as metric_rules
from taskyard.features.metrics.counting import DAYS
from taskyard.features.metrics.rules import MetricTotals
from taskyard.features.metrics.service import DAYS_KEPT
from taskyard.features.reports import rules
from taskyard.features.reports.rules import AttemptFacts, ReportRequest, Row
from taskyard.features.reports.views import GroupedReport, ReportRow
from taskyard.features.tasks.lookup.queries import Queries
from taskyard.ledger.ledger import Ledger
from taskyard.stores.contract import Filter
from taskyard.stores.turns import in_turns

AT_ONCE = 250
USUAL_DAYS = 7


class Reports:
    def __init__(self, ledger: Ledger, queries: Queries) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._queries = queries

    async def make(
        self,
        *,
        by: str | Sequence[str] = ("type",),
        measures: str | Sequence[str] = rules.USUAL_MEASURES,
        source: str = rules.ATTEMPTS,
        since: str | None = None,
        until: str | None = None,
        **which: Unpack[TaskSelection],
    ) -> GroupedReport:
        """What was done, what it cost and how long it took, by up to three of day, type, agent, model, tag and so on.

        Source `attempts` reads the attempts at the newest 5,000 tasks that match and were put in within the time, and
        says where there are more. Source `days` reads the stored figures of up to 400 days, however much was done, and
        tells apart only what they store. Without a time: the last seven days.
        """
        matching = self._queries.filter(**which)
        narrowed = [*matching.conditions(), *(["type"] if matching.types else [])]
        wanted = rules.asked(_several(by), _several(measures), source, narrowed)
        now = self._ledger.now()
        end = now if until is None else fields.moment(until, "until")
        begin = Micros(max(end - USUAL_DAYS * DAY, 0)) if since is None else fields.moment(since, "since")
        if begin >= end:
            raise InvalidInput("since", "must be before until")
        if source == rules.DAYS:
            days = await self._days(begin, end)
            rows, total = rules.tabulate_days(wanted, days, _labels(matching))
            return _report(source, (begin, end), wanted, rows, total, len(days), is_cut=False)
        facts, read, is_cut = await self._facts(replace(matching, since=begin, until=end))
        rows, total = rules.tabulate(wanted, facts)
        return _report(source, (begin, end), wanted, rows, total, read, is_cut=is_cut)

    async def _days(self, begin: Micros, end: Micros) -> list[tuple[str, MetricTotals]]:
        first, last = rules.dates_between(begin, end)
        stored = await self._store.page(DAYS, self._workspace, below=f"{last}~", limit=DAYS_KEPT)
        return [(each.id, metric_rules.totals_of(each.body)) for each in stored if each.id >= first]

    async def _facts(self, which: Filter) -> tuple[list[AttemptFacts], int, bool]:
        """The attempts at the newest tasks that match; how many tasks were read, and whether there are more."""
        found, read, after = list[AttemptFacts](), 0, 0
        while read < rules.MOST_TASKS:
            page = await self._store.find(which, after=after, limit=AT_ONCE)
            tried = [hot for hot in page if hot.attempt]
            ids = [hot.id for hot in tried]
            definitions = await self._store.definitions(ids) if ids else {}
            histories = await self._store.histories(ids) if ids else {}
            known = [hot for hot in tried if hot.id in definitions]  # and not pruned meanwhile
            for own in await in_turns(
                lambda hot, definitions=definitions, histories=histories: rules.facts_of(
                    hot, definitions[hot.id], histories.get(hot.id, [])
                ),
                known,
            ):
                found += own
            read += len(page)
            if len(page) < AT_ONCE:
                return found, read, False
            after = page[-1].seq
        return found, read, bool(await self._store.find(which, after=after, limit=1))


def _several(given: str | Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given


def _labels(which: Filter) -> dict[str, frozenset[str]]:
    """The labels that stored days are narrowed by; `rules.asked` has refused other conditions."""
    given = {
        "type": which.types,
        "agent": frozenset(filter(None, [which.agent])),
        "reason": frozenset(filter(None, [which.reason])),
    }
    return {name: values for name, values in given.items() if values}


def _report(
    source: str,
    time: tuple[Micros, Micros],
    wanted: ReportRequest,
    rows: Sequence[Row],
    total: Row,
    read: int,
    *,
    is_cut: bool,
) -> GroupedReport:
    return GroupedReport(
        source=source,
        since=time[0],
        until=time[1],
        by=wanted.by,
        measures=wanted.measures,
        rows=tuple(ReportRow(*row) for row in rows[: rules.MOST_ROWS]),
        total=ReportRow(*total),
        read=read,
        is_cut=is_cut,
        rows_left_out=max(len(rows) - rules.MOST_ROWS, 0),
    )
