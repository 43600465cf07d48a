"""What pages and tables show, over HTTP."""

from __future__ import annotations

from typing import Any

from taskyard.api import calls
from taskyard.client.looking import Looking
from taskyard.core.planning import Settings
from taskyard.wire import reading, showing
from taskyard.wire.showing import Counted, Overview, Relations, Series, SpendReport, TaskRow

_SPELLED = {"dag_id": "dag", "parent_id": "parent", "text": "q"}


class Showing(Looking):
    async def rows(self, **which: Any) -> list[TaskRow]:
        """Tasks that match what `find` takes, newest first, each as one line without anything long."""
        answer = await self._ask(calls.FIND, query={**_query(which), "short": True})
        return showing.rows(answer["tasks"])

    async def count(self, **which: Any) -> Counted:
        """How many tasks match what `find` takes, by status: all of them, or the newest of too many."""
        return Counted(**await self._ask(calls.COUNT, query=_query(which)))

    async def relations(self, task_id: str) -> Relations:
        """What the task depends on, what depends on it, what it spawned or repeats, and who spawned it."""
        return showing.relations(await self._ask_about(calls.RELATIONS, task_id))

    async def settings(self) -> Settings:
        """What the workspace decides for all its tasks."""
        return reading.settings(await self._ask(calls.SETTINGS))

    async def preset(self) -> str:
        """The one that tasks follow whose queue has none of its own."""
        return (await self._ask(calls.WHO))["preset"]

    async def overview(self) -> Overview:
        """What asks for somebody, and how much there is of everything."""
        return showing.overview(await self._ask(calls.OVERVIEW))

    async def series(self, window: str = "1h") -> Series:
        """What came, went and failed, how long it took and what it cost: as the sweep has counted it so far."""
        return showing.series(await self._ask(calls.SERIES, query={"window": window}))

    async def spend_report(self, days: int = 30) -> SpendReport:
        """Where the money of the last days went, as the sweep has counted it so far."""
        return showing.spend_report(await self._ask(calls.SPEND_REPORT, query={"days": days}))


def _query(which: dict[str, Any]) -> dict[str, Any]:
    return {_SPELLED.get(name, name): value for name, value in which.items()}
