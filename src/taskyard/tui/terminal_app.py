"""The program: which screen is shown, and when the yard is read again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from taskyard.cli.terminal import Text
from taskyard.core.errors import TaskyardError
from taskyard.tui.agents_screen import AgentsScreen
from taskyard.tui.approvals_screen import ApprovalsScreen
from taskyard.tui.dag_screens import DagListScreen, DagScreen
from taskyard.tui.dead_letters_screen import DeadLettersScreen
from taskyard.tui.overview_screen import OverviewScreen
from taskyard.tui.task_list_screen import TaskListScreen
from taskyard.tui.task_screen import TaskScreen
from taskyard.tui.terminal_session import TerminalSession
from taskyard.tui.yard_screen import PLACES, DagChosen, TaskChosen, YardScreen, indented

EVERYWHERE = {"↑ ↓ enter": "Choose a row, and open it", "tab": "To the next field"}
RENEWED_WITHIN = 10.0  # seconds: ages are shown, so what nothing has happened to is read again too
BETWEEN = 1.0  # seconds between two looks at a busy yard, at least
SCREENS: dict[str, Callable[[TerminalSession], YardScreen]] = {
    "Overview": OverviewScreen,
    "Tasks": TaskListScreen,
    "DAGs": DagListScreen,
    "Approvals": ApprovalsScreen,
    "Dead letters": DeadLettersScreen,
    "Agents": AgentsScreen,
}


class TerminalApp(App[None]):
    TITLE = "taskyard"
    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "terminal_app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"go('{name}')", name, show=False) for number, name in enumerate(PLACES, 1)),
        Binding("r", "renew", "Read again", show=False),
        Binding("l", "light", "Light or dark", show=False),
        Binding("question_mark", "show_keys", "Help", key_display="?"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, session: TerminalSession, *, is_light: bool = False) -> None:
        super().__init__()
        self._session = session
        self.theme = "textual-light" if is_light else "textual-dark"

    async def on_mount(self) -> None:
        await self.push_screen(OverviewScreen(self._session))
        self.run_worker(self._live(), group="live")

    async def _live(self) -> None:
        """Read the yard again when something was written to it, by any process."""
        yard = self._session.yard
        while True:
            try:
                mark = await yard.mark()
                await self._renew_shown()
                # What is written while the screen is read, or in the second after it, is behind the mark.
                await asyncio.sleep(BETWEEN)
                await yard.changed(mark, RENEWED_WITHIN)
            except TaskyardError:
                await self._renew_shown()  # which shows what is wrong
                await asyncio.sleep(BETWEEN)

    async def _renew_shown(self) -> None:
        if isinstance(self.screen, YardScreen) and self.screen.is_mounted:
            await self.screen.renew()

    async def action_go(self, name: str) -> None:
        while len(self.screen_stack) > 2:  # the first is textual's own, the second a place
            await self.pop_screen()
        app: Any = self
        await app.switch_screen(SCREENS[name](self._session))

    async def action_renew(self) -> None:
        await self._renew_shown()

    def action_light(self) -> None:
        self.theme = "textual-dark" if self.theme == "textual-light" else "textual-light"

    def action_show_keys(self) -> None:
        # Of textual's own keys, those that every list has are named below in one line.
        own = [each for each in self.screen.active_bindings.values() if each.node in (self, self.screen)]
        keys = {self.get_key_display(each.binding): each.binding.description for each in own if each.enabled}
        self.push_screen(KeysScreen({**keys, **EVERYWHERE}))

    async def on_task_chosen(self, message: TaskChosen) -> None:
        await self.push_screen(TaskScreen(self._session, message.task_id))

    async def on_dag_chosen(self, message: DagChosen) -> None:
        await self.push_screen(DagScreen(self._session, message.dag_id))


class KeysScreen(ModalScreen[None]):
    """Every key of the screen below, as far as whoever looks may use it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q", "app.pop_screen", "Close")]

    def __init__(self, keys: dict[str, str]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="form"):
            yield Static(Text("Keys", style="bold"), id="heading")
            yield Static(indented(self._keys, 14), id="keys")
        yield Footer(show_command_palette=False)


async def run_terminal(session: TerminalSession, *, is_light: bool) -> None:
    """Until the user quits."""
    await TerminalApp(session, is_light=is_light).run_async()
