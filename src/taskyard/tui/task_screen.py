"""One task: its facts and why it stands where it stands, its attempts, its events, and what it writes just now."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static, TabbedContent, TabPane

from taskyard.api import calls
from taskyard.cli.terminal import Text, attempt_cells, facts_of, one_line, state, title_of
from taskyard.core.changes import StoredEvent
from taskyard.core.errors import TaskyardError
from taskyard.core.json_value import Json
from taskyard.core.task import Status
from taskyard.core.units import to_iso
from taskyard.features.approvals.views import Approval
from taskyard.features.dead_letters.views import DeadLetter
from taskyard.features.streams.views import StreamedChunk, words_of
from taskyard.features.tasks.views import Details
from taskyard.tui.form_dialog import FormDialog
from taskyard.tui.person_forms import answer_form, decision_form
from taskyard.tui.row_table import RowTable
from taskyard.tui.terminal_session import TerminalSession
from taskyard.tui.yard_screen import DagChosen, DetailScreen, indented

MOST_KEPT = 50_000  # characters of a stream that are shown: the newest
WAIT = 20.0  # seconds that one call waits for more of a stream
GATHER = 0.25  # seconds between two looks at a stream that goes on
TRY_AGAIN = 5.0  # seconds, after a call that failed
MOST_EVENTS = 200
CANCEL: Json = {
    "type": "object",
    "properties": {"reason": {"type": "string", "description": "kept with the task"}},
    "required": ["reason"],
}
PRIORITY: Json = {
    "type": "object",
    "properties": {"priority": {"type": "integer", "description": "in the preset's own scale"}},
    "required": ["priority"],
}


class TaskScreen(DetailScreen):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "pane('facts')", "Facts", show=False),
        Binding("a", "pane('attempts')", "Attempts", show=False),
        Binding("e", "pane('events')", "Events", show=False),
        Binding("o", "pane('output')", "Live output", show=False),
        Binding("w", "answer", "Answer"),
        Binding("x", "resolve", "Decide"),
        Binding("g", "graph", "DAG"),
        Binding("c", "cancel", "Cancel"),
        Binding("u", "rerun", "Do again"),
        Binding("i", "priority", "Priority"),
    ]
    CALLS = {  # noqa: RUF012 - a constant
        "answer": calls.ANSWER,
        "resolve": calls.RESOLVE,
        "cancel": calls.CANCEL,
        "rerun": calls.RERUN,
        "priority": calls.PRIORITY,
    }

    def __init__(self, session: TerminalSession, task_id: str) -> None:
        super().__init__(session)
        self.task_id = task_id
        self._details: Details | None = None
        self._waits: list[Approval] = []  # for a person's word
        self._written = Text()

    def body(self) -> ComposeResult:
        yield Static(id="heading")
        with TabbedContent(initial="facts"):
            with TabPane("Facts (f)", id="facts"), VerticalScroll():
                yield Static(id="fact-list")
            with TabPane("Attempts (a)", id="attempts"):
                yield RowTable("attempt", "agent", "outcome", "took", "cost", "reason", id="attempt-list")
            with TabPane("Events (e)", id="events"):
                yield RowTable("at", "event", "status", "data", id="event-list")
            with TabPane("Output (o)", id="output"), VerticalScroll(id="output-scroll"):
                yield Static(id="written")

    def on_mount(self) -> None:
        self.run_worker(self._follow(), group="follow")

    async def read(self) -> None:
        task = self._details = await self.yard.get(self.task_id)
        self._waits = await self.yard.approvals.list(task_id=self.task_id)
        self.refresh_bindings()
        because = (await self.yard.why(self.task_id)).words
        events = await self.yard.events(task_id=self.task_id)
        now = self.yard.now()
        self.show_text("#heading", Text.assemble(state(task.status), f"  {task.id}  ", (title_of(task), "bold")))
        facts = facts_of(task, because, now)
        self.show_text("#fact-list", indented({name or "why": value for name, value in facts.items()}))
        attempts = [(str(attempt.number), attempt_cells(attempt)) for attempt in task.attempts]
        self.query_one("#attempt-list", RowTable).show_rows(attempts)
        newest = list(reversed(events))[:MOST_EVENTS]
        self.query_one("#event-list", RowTable).show_rows([(str(each.seq), _cells(each)) for each in newest])

    def action_pane(self, name: str) -> None:
        self.query_one(TabbedContent).active = name

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Answer and Decide are offered where the task waits for that, and to whom may do so."""
        is_needed = {"answer": bool(self._waits), "resolve": self._letter() is not None}.get(action, True)
        return is_needed and super().check_action(action, parameters)

    def action_answer(self) -> None:
        self.open_form(answer_form(self.session, self._waits[0]))

    def action_resolve(self) -> None:
        if (letter := self._letter()) is not None:
            self.open_form(decision_form(self.session, letter))

    def _letter(self) -> DeadLetter | None:
        task = self._details
        return None if task is None or task.status is not Status.DEAD_LETTERED else DeadLetter(task)

    def action_graph(self) -> None:
        if self._details is not None:
            self.post_message(DagChosen(self._details.dag_id))

    def action_cancel(self) -> None:
        async def send(answer: Json) -> None:
            assert isinstance(answer, dict)
            await self.yard.cancel(self.task_id, str(answer["reason"]), by=self.session.by)

        self.open_form(
            FormDialog("Cancel the task, as its preset says with what depends on it", self._about(), CANCEL, send)
        )

    def action_rerun(self) -> None:
        async def send(_: Json) -> None:
            made = await self.yard.rerun(self.task_id, created_by=self.session.by)
            self.notify(f"put in as {made.id}", markup=False)

        sure: Json = {"type": "boolean", "enum": [True], "default": True, "title": "do it again, as a new task"}
        self.open_form(FormDialog("Do the task again", self._about(), sure, send))

    def action_priority(self) -> None:
        async def send(answer: Json) -> None:
            assert isinstance(answer, dict)
            priority = answer["priority"]
            assert isinstance(priority, int)
            await self.yard.tasks.set_priority(self.task_id, priority, by=self.session.by)

        self.open_form(FormDialog("Move a waiting task forward or back", self._about(), PRIORITY, send))

    def _about(self) -> Text:
        return Text(self.task_id if self._details is None else f"{self.task_id}  {title_of(self._details)}")

    async def _follow(self) -> None:
        """Show what attempts write, until the task has ended. A call that fails is made again, from the same place."""
        after: str | None = None
        while True:
            try:
                page = await self.yard.streams.page(self.task_id, after=after, wait_sec=WAIT)
            except TaskyardError:
                # `renew` shows what is wrong with the yard; here it is only waited for.
                await asyncio.sleep(TRY_AGAIN)
                continue
            for chunk in page.chunks:
                self._write(chunk)
            if page.chunks:
                self._show_written()
            if page.is_over:
                return
            after = page.after
            await asyncio.sleep(GATHER)

    def _write(self, chunk: StreamedChunk) -> None:
        if chunk.restarted:
            self._line(f"attempt {chunk.attempt} begins anew", "bold")
        match chunk.kind:
            case "text" | "stdout":
                self._written.append(chunk.text)
            case "stderr":
                self._written.append(chunk.text, style="red")
            case "cut":
                self._line(chunk.text, "yellow")
            case kind:
                self._line(f"{kind}: {words_of(chunk.data)}", "dim")

    def _line(self, text: str, style: str) -> None:
        if self._written.plain and not self._written.plain.endswith("\n"):
            self._written.append("\n")
        self._written.append(text, style=style).append("\n")

    def _show_written(self) -> None:
        if len(self._written) > MOST_KEPT:
            whole, self._written = self._written, Text()
            self._written.append(whole[-MOST_KEPT:])
        scroll = self.query_one("#output-scroll", VerticalScroll)
        is_at_end = scroll.is_vertical_scroll_end
        self.show_text("#written", self._written.copy())
        if is_at_end:
            scroll.scroll_end(animate=False)


def _cells(stored: StoredEvent) -> tuple[str, ...]:
    event = stored.event
    return to_iso(event.at), event.event, event.status.value if event.status else "", one_line(event.data or "")
