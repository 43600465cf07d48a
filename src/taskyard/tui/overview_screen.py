"""The yard at a glance: what asks for somebody first, then figures, then what runs and what waits."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import DataTable, Static

from taskyard.cli.terminal import Text, age, counted, dollars, one_line, short, state, title_of
from taskyard.core.task import Status
from taskyard.core.units import Micros, usd
from taskyard.features.overview.views import Overview
from taskyard.features.tasks.task_rows import TaskRow
from taskyard.tui.row_table import RowTable
from taskyard.tui.terminal_session import TerminalSession
from taskyard.tui.yard_screen import TaskChosen, YardScreen

HELD = ("claimed", "running", "validating")
WAITING = ("retrying", "ready", "pending")
MOST_ROWS = 50


class OverviewScreen(YardScreen):
    PLACE = "Overview"

    def body(self) -> ComposeResult:
        yield Static(id="problems")
        yield Static(id="figures")
        yield RowTable("state", "type", "title", "agent", "progress", "age", "task", id="work")

    async def read(self) -> None:
        figures = await self.yard.overview.figures()
        held = await self.yard.tasks.rows(status=HELD, limit=MOST_ROWS)
        waiting = await self.yard.tasks.rows(status=WAITING, limit=MOST_ROWS)
        now = self.yard.now()
        self.show_text("#problems", Text("\n").join(problems(figures)))
        self.show_text("#figures", _figures(figures, self.session))
        self.query_one(RowTable).show_rows([(row.id, _cells(row, now)) for row in [*held, *waiting]])

    def on_data_table_row_selected(self, chosen: DataTable.RowSelected) -> None:
        self.post_message(TaskChosen(str(chosen.row_key.value)))


def problems(figures: Overview) -> list[Text]:
    """What asks for somebody, the worst first; one line where nothing does."""
    silent = [agent.id for agent in figures.silent_agents]
    found = [
        (figures.dead_unreviewed, "dead letter", "to decide: press 5", "bold red"),
        (figures.approvals, "approval", "to answer: press 4", "bold yellow"),
        (len(silent), "agent", f"silent: {one_line(', '.join(silent))}", "bold red"),
        (figures.open_breakers, "breaker", "open", "bold red"),
        (figures.throttles, "throttle", "after rate limits", "yellow"),
        (figures.paused_queues, "queue", "paused", "yellow"),
    ]
    lines = [
        Text.assemble(("! ", style), (counted(number, noun), style), f" {rest}")
        for number, noun, rest, style in found
        if number
    ]
    return lines or [Text("✓ nothing asks for you", style="green")]


def _figures(figures: Overview, session: TerminalSession) -> Text:
    totals = {status: sum(figures.tasks.get(status.value, {}).values()) for status in Status}
    counts = Text("  ").join(
        Text.assemble(state(status), f" {number}") for status, number in totals.items() if number
    ) or Text("the yard is empty", style="dim")
    day = figures.day
    limit = f" of {dollars(usd(day.budget_usd))}" if day.budget_usd else ""
    money = f"{dollars(usd(day.spent_usd))} spent today{limit}"
    where = f"{session.yard.workspace or 'default'}, as {session.role.value}"
    oldest = figures.oldest_ready
    waits = "" if oldest is None else f"  oldest ready: {one_line(oldest.title) or oldest.type}"
    return Text.assemble(counts, "\n", (f"{where}  {money}{waits}", "dim"))


def _cells(row: TaskRow, now: Micros) -> tuple[str | Text, ...]:
    return (
        state(row.status),
        row.type,
        title_of(row)[:32],
        row.agent or "",
        _progress(row),
        age(row.created_at, now),
        short(row.id),
    )


def _progress(row: TaskRow) -> str:
    if not isinstance(row.progress, dict):
        return "" if row.progress is None else one_line(str(row.progress))
    fraction, note = row.progress.get("fraction"), one_line(str(row.progress.get("note", "")))
    return f"{fraction:.0%} {note}" if isinstance(fraction, int | float) else note
