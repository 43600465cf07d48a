"""Who is registered, and how each agent stands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from taskyard.api import calls
from taskyard.cli.terminal import Text, agent_cells
from taskyard.core.errors import TaskyardError
from taskyard.tui.row_table import RowTable
from taskyard.tui.yard_screen import YardScreen


class AgentsScreen(YardScreen):
    PLACE = "Agents"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("z", "drain", "Drain"),
        Binding("u", "resume", "Resume"),
    ]
    CALLS = {"drain": calls.DRAIN, "resume": calls.RESUME}  # noqa: RUF012 - a constant

    def body(self) -> ComposeResult:
        yield Static(id="which")
        yield RowTable("agent", "type", "state", "tasks", "left", "heard", "capabilities", id="agents")

    async def read(self) -> None:
        found, now = await self.yard.agents.list(), self.yard.now()
        empty = "no agents: run one with `taskyard work MODULE:AGENT`"
        self.show_text("#which", Text("" if found else empty, style="dim"))
        self.query_one(RowTable).show_rows([(view.id, agent_cells(view, now)) for view in found])

    async def action_drain(self) -> None:
        await self._act(partial(self.yard.agents.drain, by=self.session.by))

    async def action_resume(self) -> None:
        await self._act(partial(self.yard.agents.resume, by=self.session.by))

    async def _act(self, act: Callable[[str], Awaitable[object]]) -> None:
        if (agent := self.query_one(RowTable).chosen) is None:
            return
        try:
            await act(agent)
        except TaskyardError as refusal:
            self.notify(f"{refusal.code}: {refusal}", severity="error", markup=False)
        await self.renew()
