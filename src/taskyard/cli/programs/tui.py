"""`taskyard tui`: the yard on a whole terminal."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from taskyard.app import Yard
from taskyard.cli.invocation import By, in_yard
from taskyard.core.errors import InvalidInput


def tui(
    context: typer.Context,
    light: Annotated[bool, typer.Option("--light", help="For a terminal with a light background.")] = False,
    by: By = "human:local",
) -> None:
    """Look at the yard on the whole terminal, live: tasks, DAGs, approvals, dead letters, agents."""
    try:
        from taskyard.tui.terminal_app import run_terminal  # noqa: PLC0415
        from taskyard.tui.terminal_session import TerminalSession  # noqa: PLC0415 - what draws it is an extra
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "textual":
            raise
        raise InvalidInput("tui", "needs the library that draws it: pip install 'taskyard[tui]'") from missing

    async def use(yard: Yard) -> None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise InvalidInput("tui", "needs a terminal; `taskyard ls`, `watch` and `dead ls` do without")
        await run_terminal(TerminalSession(yard, await yard.host.role(), by), is_light=light)

    in_yard(context, use)
