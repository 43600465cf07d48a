"""Overview: watch, the yard at a glance."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from taskyard.app import Yard
from taskyard.cli.invocation import console_for_people, in_yard
from taskyard.cli.terminal import Text, one_line, short, state, title_of
from taskyard.core.task import Status
from taskyard.features.tasks.views import Task

REFRESH = 0.5  # seconds between looks of `watch`, at most
_EMPTY = Text("the yard is empty", style="dim")


def watch(
    context: typer.Context,
    for_sec: Annotated[float, typer.Option("--for", help="Stop after so many seconds.")] = 0.0,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Tasks shown.")] = 20,
) -> None:
    """Watch the yard live: what runs, how far it is, what waits. Ctrl-C ends it."""

    async def use(yard: Yard) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + for_sec
        with Live(await picture(yard, limit), console=console_for_people(), auto_refresh=False) as live:
            while not for_sec or loop.time() < until:
                mark = await yard.mark()
                live.update(await picture(yard, limit), refresh=True)
                await yard.changed(mark, REFRESH)
                await asyncio.sleep(0.1)  # a busy yard is drawn ten times a second, not a thousand

    in_yard(context, use)


async def picture(yard: Yard, limit: int) -> RenderableType:
    """The yard at a glance."""
    figures = {status: sum(types.values()) for status, types in (await yard.tasks.stats()).items()}
    counts = Text("  ").join(
        Text.assemble(state(Status(word)), f" {figures[word]}") for word in Status if figures.get(word)
    )
    held = await yard.find(status=["claimed", "running", "validating"], limit=limit)
    waiting = await yard.find(status=["ready", "pending", "retrying"], limit=max(limit - len(held), 1))
    rows = [
        (short(task.id), task.type, state(task.status), *_progress(task), title_of(task)) for task in [*held, *waiting]
    ]
    if not rows:
        return Group(counts, Text("nothing runs, and nothing waits", style="dim")) if counts else _EMPTY
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("task", "type", "state", "progress", "", "title"):
        grid.add_column(column)
    for row in rows:
        grid.add_row(*row)
    return Group(counts, Text(""), grid)


def _progress(task: Task) -> tuple[RenderableType, str]:
    if task.claim is None or not task.claim.progress:
        return "", ""
    progress = task.claim.progress
    shown = progress if isinstance(progress, dict) else {"note": progress}
    fraction, note = shown.get("fraction"), str(shown.get("note", ""))
    bar = ProgressBar(total=1, completed=float(fraction), width=16) if isinstance(fraction, int | float) else ""
    return bar, one_line(note)
