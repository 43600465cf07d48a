"""Tasks out of attempts: what they died of, and a form for what a person decides."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static

from taskyard.api import calls
from taskyard.cli.terminal import Text, counted, dead_letter_cells
from taskyard.core.json_value import Json
from taskyard.features.dead_letters.service import RESOLUTIONS
from taskyard.features.dead_letters.views import DeadLetter
from taskyard.tui.form_dialog import FormDialog
from taskyard.tui.row_table import RowTable
from taskyard.tui.terminal_session import TerminalSession
from taskyard.tui.yard_screen import TaskChosen, YardScreen

DECISION: Json = {
    "type": "object",
    "properties": {
        "resolution": {"enum": list(RESOLUTIONS)},
        "reason": {"type": "string", "description": "kept with the decision"},
        "spec": {"type": "object", "description": "with modify_and_retry: the changed fields, as JSON"},
    },
    "required": ["resolution", "reason"],
}


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
        if letter is None:
            return

        async def send(answer: Json) -> None:
            assert isinstance(answer, dict)
            spec = answer.get("spec")
            await self.yard.dead_letters.resolve(
                letter.task.id,
                str(answer["resolution"]),
                by=self.session.by,
                note=str(answer["reason"]),
                spec=spec if isinstance(spec, dict) else None,
            )

        last = letter.task.attempts[-1].error if letter.task.attempts else None
        about = Text.assemble(letter.task.title or letter.task.type, (f"\n{letter.dead.reason}: {last or ''}", "dim"))
        self.open_form(FormDialog(f"Decide {letter.task.id}", about, DECISION, send))
