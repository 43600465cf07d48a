"""What waits for a person: the questions, longest first, and a form for the answer."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static

from taskyard.api import calls
from taskyard.cli.terminal import Text, approval_cells
from taskyard.features.approvals.views import Approval
from taskyard.tui.person_forms import answer_form, question_text
from taskyard.tui.row_table import RowTable
from taskyard.tui.terminal_session import TerminalSession
from taskyard.tui.yard_screen import TaskChosen, YardScreen


class ApprovalsScreen(YardScreen):
    PLACE = "Approvals"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "answer", "Answer"),
    ]
    CALLS = {"answer": calls.ANSWER}  # noqa: RUF012 - a constant

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session)
        self._waiting: dict[str, Approval] = {}

    def body(self) -> ComposeResult:
        yield Static(id="which")
        yield RowTable("task", "type", "name", "question", "for", "waits", id="approvals")
        yield Static(id="question")

    async def read(self) -> None:
        found, now = await self.yard.approvals.list(), self.yard.now()
        self._waiting = {f"{each.task.id} {each.signal}": each for each in found}
        self.show_text("#which", Text("" if found else "nobody waits for you", style="green"))
        rows = [(key, approval_cells(each, now)) for key, each in self._waiting.items()]
        self.query_one(RowTable).show_rows(rows)
        self._show_question()

    def on_data_table_row_highlighted(self) -> None:
        self._show_question()

    def on_data_table_row_selected(self, chosen: DataTable.RowSelected) -> None:
        self.post_message(TaskChosen(str(chosen.row_key.value).partition(" ")[0]))

    def action_answer(self) -> None:
        if (approval := self._chosen()) is not None:
            self.open_form(answer_form(self.session, approval))

    def _chosen(self) -> Approval | None:
        return self._waiting.get(self.query_one(RowTable).chosen or "")

    def _show_question(self) -> None:
        approval = self._chosen()
        self.show_text("#question", Text() if approval is None else question_text(approval))
