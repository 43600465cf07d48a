"""What `verify` asks of schedules: one fire for each time, and a place in the agenda for each that waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from taskyard.core.task import Hot, dag_of
from taskyard.features.schedules.agenda import AGENDA, EVERYBODYS, place_of
from taskyard.features.schedules.rules import KIND, schedule_of
from taskyard.ledger.ledger import Ledger


class DoubleFires:
    """Is shown all tasks, page by page, and keeps a line for each fire of a schedule."""

    def __init__(self, ledger: Ledger) -> None:
        self._store = ledger.store
        self._runs: dict[str, str] = {}  # the first task or graph that each fire made
        self._more: defaultdict[str, set[str]] = defaultdict(set)

    async def add(self, tasks: Collection[Hot]) -> None:
        definitions = await self._store.definitions([hot.id for hot in tasks])
        for hot in tasks:
            made = definitions.get(hot.id)
            # None: the task was pruned since it was listed.
            if made is None or not made.created_by.startswith("cron:") or not made.trigger_ref or made.rerun_of:
                continue
            run = dag_of(hot)
            if self._runs.setdefault(made.trigger_ref, run) != run:
                self._more[made.trigger_ref].add(run)

    def problems(self) -> list[str]:
        """What one fire of a schedule made is one task, or one graph."""
        return [
            f"{fire} made {', '.join(sorted({self._runs[fire], *more}))}" for fire, more in sorted(self._more.items())
        ]


class FireChecks:
    def __init__(self, ledger: Ledger) -> None:
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def problems(self) -> list[str]:
        """Every schedule that waits for a time has a place in the agenda."""
        problems: list[str] = []
        for record in await self._store.records(KIND, self._workspace):
            schedule = schedule_of(record)
            if schedule.next_at is None:
                continue
            place = place_of(schedule.next_at, self._workspace, schedule.id)
            if await self._store.record(AGENDA, EVERYBODYS, place) is None:
                problems.append(f"schedule {schedule.id} is due at {schedule.next_at} and in nobody's agenda")
        return problems
