"""The libraries of MCP and A2A are loaded for their first caller, once, and end with the server."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.types import ASGIApp

from taskyard.core.errors import InvalidInput
from taskyard.server.mounts.mount_on_demand import MountOnDemand

MADE = """
import sys
from taskyard.app import a2a_mount, mcp_mount
assert mcp_mount() is not None and a2a_mount() is not None
print(sorted({"a2a", "mcp"} & sys.modules.keys()))
"""
WRONG = InvalidInput("body", "must be JSON")


class Protocol:
    """Notes in `noted` what is asked of it."""

    def __init__(self, noted: list[str]) -> None:
        self.noted = noted

    @asynccontextmanager
    async def running(self, app: ASGIApp) -> AsyncGenerator[None]:  # noqa: ARG002
        task = asyncio.current_task()
        self.noted.append("begins")
        yield
        assert asyncio.current_task() is task  # what libraries of structured concurrency insist on
        self.noted.append("ends")

    def stop(self) -> None:
        self.noted.append("stops")

    async def answer(self, *_: Any, **__: Any) -> None:
        self.noted.append("answers")

    async def refusal(self, path: str, error: InvalidInput) -> tuple[int, dict[str, Any]]:  # noqa: ARG002
        self.noted.append("refuses")
        return 400, {"path": path}


@pytest.fixture
def noted() -> list[str]:
    return []


@pytest.fixture
def mount(noted: list[str]) -> MountOnDemand:
    def load() -> Callable[[], Protocol]:
        noted.append("is loaded")
        return lambda: Protocol(noted)

    return MountOnDemand(load)


async def app(*_: Any) -> None: ...


async def refused(mount: MountOnDemand) -> int:
    status, _ = await mount.refusal("/mcp", WRONG)
    return status


def test_a_server_is_made_without_either_library() -> None:
    shown = subprocess.run([sys.executable, "-c", MADE], check=True, capture_output=True, text=True, timeout=60).stdout
    assert shown.strip() == "[]"


async def test_nothing_is_loaded_where_nobody_calls(mount: MountOnDemand, noted: list[str]) -> None:
    async with mount.running(app):
        mount.stop()
    assert noted == []


async def test_callers_at_once_load_one_library_that_ends_with_the_server(
    mount: MountOnDemand, noted: list[str]
) -> None:
    async with mount.running(app):
        assert await asyncio.gather(*(refused(mount) for _ in range(3))) == [400] * 3
        mount.stop()
    assert noted == ["is loaded", "begins", *["refuses"] * 3, "stops", "ends"]


async def test_a_caller_who_leaves_does_not_take_the_library_along(mount: MountOnDemand, noted: list[str]) -> None:
    async with mount.running(app):
        leaving = asyncio.create_task(refused(mount))
        await asyncio.sleep(0)
        leaving.cancel()
        assert await refused(mount) == 400
    assert noted == ["is loaded", "begins", "refuses", "ends"]


async def test_what_is_loaded_while_the_server_stops_is_stopped(mount: MountOnDemand, noted: list[str]) -> None:
    async with mount.running(app):
        late = asyncio.create_task(refused(mount))
        await asyncio.sleep(0)
        mount.stop()
        await late
    assert noted == ["is loaded", "begins", "stops", "refuses", "ends"]


async def test_every_caller_hears_that_a_library_cannot_be_loaded() -> None:
    def load() -> Callable[[], Protocol]:
        raise ImportError("it is broken")

    mount = MountOnDemand(load)
    async with mount.running(app):
        for _ in range(2):
            with pytest.raises(ImportError, match="it is broken"):
                await refused(mount)
