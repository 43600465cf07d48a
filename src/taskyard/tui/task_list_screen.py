"""Tasks, newest first: by state, by words, and by type, agent, tag, subject or DAG."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Input, Static

from taskyard.cli.terminal import Text, age, counted, dollars, short, state, title_of
from taskyard.core.units import Micros
from taskyard.definition.task_fields import TaskFilter
from taskyard.features.tasks.task_rows import TaskRow
from taskyard.tui.row_table import RowTable
from taskyard.tui.terminal_session import TerminalSession
from taskyard.tui.yard_screen import TaskChosen, YardScreen

PAGE = 100
GROUPS = {
    "all": (),
    "waiting": ("pending", "ready", "retrying"),
    "held": ("claimed", "running", "validating"),
    "dead": ("dead_lettered",),
    "done": ("completed", "cancelled"),
}
FIELDS = {"type": "type", "agent": "agent", "tag": "tag", "subject": "subject", "dag": "dag_id"}


class TaskListScreen(YardScreen):
    PLACE = "Tasks"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", key_display="/"),
        Binding("s", "next_group", "State"),
        Binding("n", "older", "Older"),
        Binding("p", "newer", "Newer"),
        Binding("escape", "leave_search", "Leave the search", show=False),
    ]

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session)
        self._group = "all"
        self._cursors = [0]  # where each page up to the one that is shown begins
        self._rows: list[TaskRow] = []

    def body(self) -> ComposeResult:
        yield Input(
            placeholder="words, type:code agent:coder tag:x subject:issue:42 dag:dag_…", id="search", compact=True
        )
        yield Static(id="which")
        yield RowTable("state", "type", "title", "agent", "fails", "cost", "age", "task", id="tasks")

    def on_mount(self) -> None:
        self.query_one(RowTable).focus()

    async def read(self) -> None:
        which = filter_of(self.query_one(Input).value, self._group)
        rows = self._rows = await self.yard.tasks.rows(**which, limit=PAGE, cursor=self._cursors[-1])
        now = self.yard.now()
        page = f", page {len(self._cursors)}" if len(self._cursors) > 1 or len(rows) == PAGE else ""
        self.show_text("#which", Text(f"{self._group}: {counted(len(rows), 'task')}{page}", style="dim"))
        self.query_one(RowTable).show_rows([(row.id, _cells(row, now)) for row in rows])

    def action_search(self) -> None:
        self.query_one(Input).focus()

    def action_leave_search(self) -> None:
        self.query_one(RowTable).focus()

    async def action_next_group(self) -> None:
        names = list(GROUPS)
        self._group = names[(names.index(self._group) + 1) % len(names)]
        await self._from_the_newest()

    async def action_older(self) -> None:
        if len(self._rows) == PAGE:
            self._cursors.append(self._rows[-1].seq)
            await self.renew()

    async def action_newer(self) -> None:
        if len(self._cursors) > 1:
            self._cursors.pop()
            await self.renew()

    async def on_input_submitted(self) -> None:
        await self._from_the_newest()
        self.query_one(RowTable).focus()

    def on_data_table_row_selected(self, chosen: DataTable.RowSelected) -> None:
        self.post_message(TaskChosen(str(chosen.row_key.value)))

    async def _from_the_newest(self) -> None:
        self._cursors = [0]
        await self.renew()


def filter_of(search: str, group: str = "all") -> TaskFilter:
    """What a search asks for. Words without a field before them are one text to be found."""
    which: dict[str, Any] = {"status": GROUPS[group]}
    words: list[str] = []
    for word in search.split():
        name, colon, value = word.partition(":")
        if colon and value and name in FIELDS:
            which[FIELDS[name]] = value
        else:
            words.append(word)
    if words:
        which["text"] = " ".join(words)
    return cast(TaskFilter, which)


def _cells(row: TaskRow, now: Micros) -> tuple[str | Text, ...]:
    return (
        state(row.status),
        row.type,
        (title_of(row) if row.title else row.summary)[:32],
        row.agent or "",
        str(row.failures or ""),
        dollars(row.cost) if row.cost else "",
        age(row.created_at, now),
        short(row.id),
    )
