"""What waits for a person: the questions, longest first, and a form for the answer."""

from __future__ import annotations

import json
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static

from taskyard.api import calls
from taskyard.cli.terminal import Text, approval_cells
from taskyard.core.json_value import Json
from taskyard.features.approvals.views import Approval
from taskyard.tui.form_dialog import FormDialog
from taskyard.tui.row_table import RowTable
from taskyard.tui.terminal_session import TerminalSession
from taskyard.tui.yard_screen import TaskChosen, YardScreen

SIGNAL: Json = {"title": "data of the signal, as JSON", "default": True}


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
        if (approval := self._chosen()) is None:
            return

        async def send(answer: Json) -> None:
            # The wait that was looked at is answered, and no later one of the same name.
            if approval.question is None:
                await self.yard.signal(
                    approval.task.id, approval.signal, answer, sent_by=self.session.by, wait=approval.wait
                )
            else:
                await self.yard.approvals.answer(
                    approval.task.id, approval.signal, answer, wait=approval.wait, by=self.session.by
                )

        schema = SIGNAL if approval.question is None else approval.question.answer_schema
        self.open_form(FormDialog(f"{approval.signal} of {approval.task.id}", _question(approval), schema, send))

    def _chosen(self) -> Approval | None:
        return self._waiting.get(self.query_one(RowTable).chosen or "")

    def _show_question(self) -> None:
        approval = self._chosen()
        self.show_text("#question", Text() if approval is None else _question(approval))


def _question(approval: Approval) -> Text:
    question = approval.question
    if question is None:
        return Text(f"It waits for the signal {approval.signal}.")
    text = Text(question.text)
    if question.context is not None:
        context = question.context
        shown = context if isinstance(context, str) else json.dumps(context, ensure_ascii=False, indent=2)
        text.append(f"\n{shown}", style="dim")
    return text.append(f"\nasked by {question.asked_by}", style="dim")
