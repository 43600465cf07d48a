"""What pages and tables show, over HTTP."""

from __future__ import annotations

from typing import Any

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.looking import Looking
from taskyard.features.budgets.views import SettingsView, SpendReport
from taskyard.features.overview.views import Overview, Series
from taskyard.features.tasks.answers import Counted, Relations
from taskyard.features.tasks.rows import TaskRow

_SPELLED = {"dag_id": "dag", "parent_id": "parent", "text": "q"}


class Showing(Looking):
    async def rows(self, **which: Any) -> list[TaskRow]:
        """Tasks that match what `find` takes, newest first, each as one line without anything long."""
        answer = await self._ask(calls.FIND, query={**_query(which), "short": True})
        return read(list[TaskRow], answer["tasks"])

    async def count(self, **which: Any) -> Counted:
        """How many tasks match what `find` takes, by status: all of them, or the newest of too many."""
        return read(Counted, await self._ask(calls.COUNT, query=_query(which)))

    async def relations(self, task_id: str) -> Relations:
        """What the task depends on, what depends on it, what it spawned or repeats, and who spawned it."""
        return read(Relations, await self._ask_about(calls.RELATIONS, task_id))

    async def settings(self) -> SettingsView:
        """What the workspace decides for all its tasks."""
        return read(SettingsView, await self._ask(calls.SETTINGS))

    async def preset(self) -> str:
        """The one that tasks follow whose queue has none of its own."""
        return (await self._ask(calls.WHO))["preset"]

    async def overview(self) -> Overview:
        """What asks for somebody, and how much there is of everything."""
        return read(Overview, await self._ask(calls.OVERVIEW))

    async def series(self, window: str = "1h") -> Series:
        """What came, went and failed, how long it took and what it cost: as the sweep has counted it so far."""
        return read(Series, await self._ask(calls.SERIES, query={"window": window}))

    async def spend_report(self, days: int = 30) -> SpendReport:
        """Where the money of the last days went, as the sweep has counted it so far."""
        return read(SpendReport, await self._ask(calls.SPEND_REPORT, query={"days": days}))


def _query(which: dict[str, Any]) -> dict[str, Any]:
    return {_SPELLED.get(name, name): value for name, value in which.items()}
