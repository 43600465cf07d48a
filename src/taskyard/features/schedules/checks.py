"""What `verify` asks of schedules: one fire for each time, and a place in the agenda for each that waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from taskyard.core.task import Hot, dag_of
from taskyard.features.schedules.agenda import AGENDA, EVERYBODYS, place_of
from taskyard.features.schedules.rules import KIND, schedule_of
from taskyard.ledger.ledger import Ledger

PAGE = 500


class FireChecks:
    def __init__(self, ledger: Ledger) -> None:
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def problems(self, tasks: Collection[Hot]) -> list[str]:
        return [*await self._double_fires(list(tasks)), *await self._agenda_problems()]

    async def _double_fires(self, tasks: list[Hot]) -> list[str]:
        """What one fire of a schedule made is one task, or one graph."""
        runs: defaultdict[str, set[str]] = defaultdict(set)
        for start in range(0, len(tasks), PAGE):
            page = tasks[start : start + PAGE]
            definitions = await self._store.definitions([hot.id for hot in page])
            for hot in page:
                made = definitions.get(hot.id)
                # None: the task was pruned since it was listed.
                if (
                    made is not None
                    and made.created_by.startswith("cron:")
                    and made.trigger_ref
                    and made.rerun_of is None
                ):
                    runs[made.trigger_ref].add(dag_of(hot))
        return [f"{fire} made {', '.join(sorted(made))}" for fire, made in sorted(runs.items()) if len(made) > 1]

    async def _agenda_problems(self) -> list[str]:
        problems: list[str] = []
        for record in await self._store.records(KIND, self._workspace):
            schedule = schedule_of(record)
            if schedule.next_at is None:
                continue
            place = place_of(schedule.next_at, self._workspace, schedule.id)
            if await self._store.record(AGENDA, EVERYBODYS, place) is None:
                problems.append(f"schedule {schedule.id} is due at {schedule.next_at} and in nobody's agenda")
        return problems
