"""A protocol under a path of the server whose library is loaded for its first caller.

To load those of MCP and A2A took two fifths of the processor time in which a server starts; most servers have no caller
of either.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from taskyard.core.errors import InvalidInput
from taskyard.features.tokens.rules import Token
from taskyard.server.mounts.mounted import Mount
from taskyard.yard import Yard


class MountOnDemand:
    """Answers as the mount does that `load` gives the class of."""

    def __init__(self, load: Callable[[], Callable[[], Mount]]) -> None:
        self._load = load
        self._loaded: asyncio.Future[Mount] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._running: Mount | None = None
        self._app: ASGIApp | None = None
        self._is_stopped = False
        self._is_over = asyncio.Event()

    @asynccontextmanager
    async def running(self, app: ASGIApp) -> AsyncGenerator[None]:
        self._app = app
        try:
            yield
        finally:
            self._is_over.set()
            if self._keeping is not None:
                await self._keeping

    def stop(self) -> None:
        self._is_stopped = True
        if self._running is not None:
            self._running.stop()

    async def answer(
        self, scope: Scope, receive: Receive, send: Send, *, yard: Yard, token: Token, shown: str, address: str
    ) -> None:
        mount = await self._mount()
        await mount.answer(scope, receive, send, yard=yard, token=token, shown=shown, address=address)

    async def refusal(self, path: str, error: InvalidInput) -> tuple[int, dict[str, Any]]:
        return await (await self._mount()).refusal(path, error)

    async def _mount(self) -> Mount:
        if self._loaded is None:
            self._loaded = asyncio.get_running_loop().create_future()
            self._keeping = asyncio.create_task(self._keep(self._loaded), name="taskyard mount")
        return await asyncio.shield(self._loaded)  # a caller who leaves does not end what others wait for

    async def _keep(self, loaded: asyncio.Future[Mount]) -> None:
        """Have the mount run until the server ends: its library wants both to be done by the same task."""
        assert self._app is not None, "requests are answered while it is running"
        try:
            mount = (await asyncio.to_thread(self._load))()  # in a thread: other callers are answered meanwhile
            async with mount.running(self._app):
                self._running = mount
                if self._is_stopped:
                    mount.stop()
                loaded.set_result(mount)
                await self._is_over.wait()
        except Exception as error:
            if loaded.done():
                raise
            loaded.set_exception(error)  # each caller hears what is wrong with the library
