"""A yard in memory, the server in front of it, and clients beyond that."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import taskyard
from taskyard.server.server import Server, served
from taskyard.yard import Yard
from tests.client.proxies import Cutting, cutting
from tests.remote import url_of


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Yard]:
    """The yard, as its server has it."""
    async with taskyard.connect("memory://", sweeps=False, transcripts=tmp_path) as yard:
        yield yard
        verified = await yard.verify()
        assert verified.ok, str(verified)


@pytest.fixture
async def server(local: Yard) -> AsyncIterator[Server]:
    async with served(local) as server:
        yield server


@pytest.fixture
async def remote(server: Server) -> AsyncIterator[Yard]:
    async with taskyard.connect(url_of(server)) as yard:
        yield yard


@pytest.fixture
async def proxy(server: Server) -> AsyncIterator[Cutting]:
    async with cutting(server.port) as proxy:
        yield proxy


@pytest.fixture
async def shaky(proxy: Cutting) -> AsyncIterator[Yard]:
    """A client whose answers get lost where the test says so."""
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(taskyard.connect(f"http://127.0.0.1:{proxy.port}"))
