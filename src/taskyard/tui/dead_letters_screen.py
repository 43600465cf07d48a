"""Tasks out of attempts: what they died of, and a form for what a person decides."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static

from taskyard.api import calls
from taskyard.cli.terminal import Text, counted, dead_letter_cells
from taskyard.features.dead_letters.views import DeadLetter
from taskyard.tui.person_forms import decision_form
from taskyard.tui.row_table import RowTable
from taskyard.tui.terminal_session import TerminalSession
from taskyard.tui.yard_screen import TaskChosen, YardScreen


class DeadLettersScreen(YardScreen):
    PLACE = "Dead letters"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "resolve", "Decide"),
    ]
    CALLS = {"resolve": calls.RESOLVE}  # noqa: RUF012 - a constant

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session)
        self._letters: dict[str, DeadLetter] = {}

    def body(self) -> ComposeResult:
        yield Static(id="which")
        yield RowTable("task", "type", "reason", "fails", "cost", "died", "error", id="letters")

    async def read(self) -> None:
        found, now = await self.yard.dead_letters.list(), self.yard.now()
        self._letters = {letter.task.id: letter for letter in found}
        words = counted(len(found), "dead letter") if found else "no dead letters"
        self.show_text("#which", Text(words, style="dim" if found else "green"))
        self.query_one(RowTable).show_rows([(letter.task.id, dead_letter_cells(letter, now)) for letter in found])

    def on_data_table_row_selected(self, chosen: DataTable.RowSelected) -> None:
        self.post_message(TaskChosen(str(chosen.row_key.value)))

    def action_resolve(self) -> None:
        letter = self._letters.get(self.query_one(RowTable).chosen or "")
        if letter is not None:
            self.open_form(decision_form(self.session, letter))
