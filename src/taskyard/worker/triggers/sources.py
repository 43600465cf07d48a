"""A process that listens to a source and fires the triggers that wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from taskyard.core.errors import InvalidInput
from taskyard.features.triggers.rules import SourceName
from taskyard.features.triggers.source import installed
from taskyard.worker.triggers import file_watcher
from taskyard.worker.triggers.listener import Listener
from taskyard.yard import Yard


async def listen(yard: Yard, source: str, places: Sequence[str], stop: asyncio.Event) -> None:
    """Listen until asked to stop; `InvalidInput` where there is no such source, or not in these places."""
    if (ours := _BUILT_IN.get(source)) is not None:
        await ours(yard, places, stop)
    elif source in _HEARD_BY_THE_YARD:
        raise InvalidInput("source", f"needs no process for {source}: the yard hears of it itself")
    else:
        await installed(source).listen(Listener(yard, source, stop), places)


async def _listen_to_files(yard: Yard, places: Sequence[str], stop: asyncio.Event) -> None:
    await file_watcher.watch(yard, map(Path, places), stop)


_HEARD_BY_THE_YARD = frozenset({SourceName.WEBHOOK, SourceName.DAG, SourceName.RULE})
_BUILT_IN: Mapping[str, Callable[[Yard, Sequence[str], asyncio.Event], Awaitable[None]]] = {
    SourceName.FILES: _listen_to_files,
}
