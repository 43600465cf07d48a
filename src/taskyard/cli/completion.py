"""What a shell offers when Tab is pressed: tasks, DAGs, agents and types of the yard that the line is about.

A shell that completes runs the program at every Tab, so it is asked once, for little, and not for long. Without a yard,
or with one that does not answer in time, nothing is offered and nothing is said. Nothing here makes a yard.

Some shells evaluate what is offered, so a name that somebody chose is offered only where it is a plain word.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import typer

from taskyard.app import Yard, connect, missing_file
from taskyard.cli.settings import settings
from taskyard.cli.terminal import short
from taskyard.core.errors import TaskyardError

LONGEST = 1.0  # second that a line may wait
MOST = 50
SAFE_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@/-]*")

Offered = list[tuple[str, str]]  # a word, and what the shell shows beside it


def tasks(context: typer.Context, incomplete: str) -> Offered:
    """The newest tasks: by the end of their ids, as lists show them, or whole where the line has begun so."""
    is_whole = incomplete != "" and "task_".startswith(incomplete[:5])

    async def use(yard: Yard) -> Offered:
        rows = await yard.tasks.rows(limit=MOST)
        return [(row.id if is_whole else _as_begun(short(row.id), incomplete), row.status) for row in rows]

    return _fitting(_asked(context, use), incomplete)


def _as_begun(end: str, incomplete: str) -> str:
    """Commands take the end of an id in either case, but a shell offers only what goes on with the line."""
    return end.lower() if incomplete.islower() else end


def dags_and_tasks(context: typer.Context, incomplete: str) -> Offered:
    if not incomplete.startswith("d"):
        return tasks(context, incomplete)

    async def use(yard: Yard) -> Offered:
        return [(each.id, each.status.value) for each in await yard.dags.list(limit=MOST)]

    return _fitting(_asked(context, use), incomplete)


def dags(context: typer.Context, incomplete: str) -> Offered:
    return dags_and_tasks(context, incomplete or "dag_")


def agents(context: typer.Context, incomplete: str) -> Offered:
    """Ids of agents, and their types."""

    async def use(yard: Yard) -> Offered:
        views = await yard.agents.list()
        types = [(type_, "all of the type") for type_ in sorted({view.type for view in views})]
        return [*types, *((view.id, view.status.value) for view in views)]

    return _fitting(_asked(context, use), incomplete)


def types(context: typer.Context, incomplete: str) -> Offered:
    """Types of the tasks that are there."""

    async def use(yard: Yard) -> Offered:
        return [
            (type_, "")
            for type_ in sorted({type_ for counts in (await yard.tasks.stats()).values() for type_ in counts})
        ]

    return _fitting(_asked(context, use), incomplete)


def queues(context: typer.Context, incomplete: str) -> Offered:
    async def use(yard: Yard) -> Offered:
        return [(view.queue, "paused" if view.paused else "") for view in await yard.queues.list()]

    return _fitting(_asked(context, use), incomplete)


def _fitting(offered: Iterable[tuple[str, str]], incomplete: str) -> Offered:
    fitting = {word: beside for word, beside in offered if word.startswith(incomplete) and SAFE_WORD.fullmatch(word)}
    return list(fitting.items())[:MOST]


def _asked(context: typer.Context, use: Callable[[Yard], Awaitable[Offered]]) -> Offered:
    # No callback is run for a line that is not whole, so the settings are read from the line here.
    given: dict[str, Any] = context.find_root().params
    try:
        chosen = settings(**{name: given.get(name) for name in ("url", "url_file", "workspace", "preset")})
        return [] if missing_file(chosen.url) else asyncio.run(_answered(chosen.url, chosen.options, use))
    except (TaskyardError, OSError, TimeoutError):
        return []  # what is wrong is shown when the line is run


async def _answered(url: str, options: dict[str, Any], use: Callable[[Yard], Awaitable[Offered]]) -> Offered:
    hurried: dict[str, Any] = {**options, "call_timeout_sec": LONGEST, "sweeps": False, "migrate": False}
    async with asyncio.timeout(LONGEST), connect(url, **hurried) as yard:
        return await use(yard)
