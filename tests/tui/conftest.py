"""The terminal program on a yard in memory, driven by its keys."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

import pytest
from rich.text import Text
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import DataTable, Static, Tree

from taskyard.features.tokens.rules import Role
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.memory import MemoryStore
from taskyard.tui.terminal_app import TerminalApp
from taskyard.tui.terminal_session import TerminalSession
from taskyard.yard import Yard, local_yard
from tests.yards import given_a_running_task

Opened = Callable[..., AbstractAsyncContextManager["Seen"]]


class Seen:
    """The program as its user sees it."""

    def __init__(self, app: TerminalApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> str:
        """Press these keys, and look."""
        await self.pilot.press(*keys)
        return await self.look()

    async def look(self) -> str:
        """What the screen on top has, once what was begun is done: texts, cells and labels."""
        await self.settled()
        return "\n".join(text for widget in self.app.screen.query(Widget) for text in _texts(widget))

    async def settled(self) -> None:
        reads = [each for each in self.app.workers if each.group in ("renew", "send")]
        if reads:
            await cast(Any, self.app.workers).wait_for_complete(reads)
        await self.pilot.pause()

    async def until(self, is_so: Callable[[str], bool]) -> str:
        """Look again after each turn of the program. The test's own time-out ends a wait in vain."""
        while not is_so(shown := await self.look()):
            await self.pilot.pause(0.02)
        return shown

    def keys(self) -> set[str]:
        """What the footer and the help screen offer."""
        return {each.binding.description for each in self.app.screen.active_bindings.values() if each.enabled}


def _texts(widget: Widget) -> list[str]:
    match widget:
        case Static():
            return [str(widget.visual)]
        case DataTable():
            table = cast("DataTable[Text]", widget)
            return [" | ".join(cell.plain for cell in table.get_row_at(row)) for row in range(table.row_count)]
        case Tree():
            tree = cast("Tree[Any]", widget)
            return [node.label.plain for node in tree._tree_nodes.values() if isinstance(node.label, Text)]  # pyright: ignore[reportPrivateUsage]
        case _:
            return []


async def given_a_question(yard: Yard, schema: dict[str, object] | None = None, **fields: Any) -> str:
    """A task that waits for an answer."""
    held = await given_a_running_task(yard, "release", title="Release 1.4")
    asked = schema or {"type": "boolean"}
    await yard.attempts.ask(held.id, held.lease, "approve", "Ship it?", answer_schema=asked, **fields)
    return held.id


@pytest.fixture
async def yard(clock: ManualClock) -> AsyncGenerator[Yard]:
    async with local_yard(MemoryStore(clock=clock), Options(sweeps=False, dice=lambda: 0.5)) as yard:
        yield yard


@pytest.fixture
def opened(yard: Yard) -> Opened:
    @asynccontextmanager
    async def opened(
        role: Role = Role.ADMIN, *, is_light: bool = False, on: Yard | None = None
    ) -> AsyncGenerator[Seen]:
        app = TerminalApp(TerminalSession(on or yard, role, "human:ada"), is_light=is_light)
        async with app.run_test(size=(80, 24)) as pilot:
            seen = Seen(app, pilot)
            await seen.settled()
            yield seen

    return opened
