"""What all screens have in common: the line of places, the keys, and reading the yard again when it has changed."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.message import Message
from textual.screen import Screen
from textual.visual import VisualType
from textual.widgets import Footer, Static

from taskyard.api.calls import Call
from taskyard.cli.terminal import Text
from taskyard.core.errors import TaskyardError
from taskyard.tui.form_dialog import FormDialog
from taskyard.tui.terminal_session import TerminalSession

PLACES = ("Overview", "Tasks", "DAGs", "Approvals", "Dead letters", "Agents")


class TaskChosen(Message):
    """Somebody wants to see a task."""

    def __init__(self, task_id: str) -> None:
        super().__init__()
        self.task_id = task_id


class DagChosen(Message):
    """Somebody wants to see a DAG."""

    def __init__(self, dag_id: str) -> None:
        super().__init__()
        self.dag_id = dag_id


class YardScreen(Screen[None]):
    """One look at the yard. `read` is called when it is shown, and again whenever the yard has changed."""

    PLACE: ClassVar[str] = ""
    CALLS: ClassVar[Mapping[str, Call]] = {}  # the call that an action makes; who may not make it does not see the key

    def __init__(self, session: TerminalSession) -> None:
        super().__init__()
        self.session = session
        self.yard = session.yard
        self._reading = asyncio.Lock()

    def compose(self) -> ComposeResult:
        places = Text(no_wrap=True)
        for number, name in enumerate(PLACES, 1):
            places.append(f" {number} {name} ", style="reverse" if name == self.PLACE else "")
        yield Static(places, id="places")
        yield from self.body()
        yield Static(id="trouble")
        yield Footer(show_command_palette=False)

    @abstractmethod
    def body(self) -> ComposeResult:
        """What is between the line of places and the keys."""

    @abstractmethod
    async def read(self) -> None:
        """Read the yard, and show it."""

    async def renew(self) -> None:
        """Read again. What goes wrong is shown, and the next change of the yard is the next try."""
        async with self._reading:
            try:
                await self._read_and_report()
            except NoMatches:
                if self.display:
                    raise
                # Somebody left the screen while it was read: its parts are gone, and nobody looks at it.

    async def _read_and_report(self) -> None:
        trouble = ""
        try:
            await self.read()
        except TaskyardError as error:
            trouble = f"{error.code}: {error}"
        line = self.query_one("#trouble", Static)
        line.update(Text(trouble, style="bold red"))
        line.display = bool(trouble)

    def on_screen_resume(self) -> None:
        self.run_worker(self.renew(), group="renew", exclusive=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - textual's
        call = self.CALLS.get(action)
        return call is None or self.session.may(call)

    def open_form(self, form: FormDialog) -> None:
        screen: Any = self
        screen.app.push_screen(form)

    def show_text(self, selector: str, text: VisualType) -> None:
        self.query_one(selector, Static).update(text)


class DetailScreen(YardScreen):
    """A screen above another one, which escape goes back to."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "app.pop_screen", "Back")]


def indented(facts: Mapping[str, Any], width: int = 10) -> Text:
    """Facts by name, one below the other."""
    lines = Text()
    for name, value in facts.items():
        lines.append(f"{name:<{width}}", style="dim").append(value if isinstance(value, Text) else str(value))
        lines.append("\n")
    return lines
