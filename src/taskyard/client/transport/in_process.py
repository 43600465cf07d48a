"""Hosts of callers within the process that serves them: their requests go into the application without a network.

Whatever speaks another protocol under a path of the server works with such a host. So each caller may do there what
their token allows over HTTP, and nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import httpx

from taskyard.client.host import RemoteHost
from taskyard.client.transport.connection import Connection

HERE = "http://127.0.0.1"  # a name that every server answers to; no network is asked
MOST_CALLERS = 256  # whose connections are kept open
PATIENCE = 15.0  # seconds that a call within this process may take, beside what it waits for


class CallerHosts:
    """The hosts of those who asked last, each by the text of their token and where they call from."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._hosts: OrderedDict[tuple[str, str], RemoteHost] = OrderedDict()

    async def of(self, shown: str, address: str, workspace: str) -> RemoteHost:
        key = shown, address
        if key not in self._hosts:
            if len(self._hosts) >= MOST_CALLERS:
                await self._hosts.popitem(last=False)[1].close()
            way = httpx.ASGITransport(self._app, raise_app_exceptions=False, client=(address, 0))
            connection = Connection(HERE, shown or None, patience=PATIENCE, transport=way)
            await connection.open()
            self._hosts[key] = RemoteHost(connection, workspace)
        self._hosts.move_to_end(key)
        return self._hosts[key]

    async def close(self) -> None:
        while self._hosts:
            await self._hosts.popitem()[1].close()
