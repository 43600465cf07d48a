"""MCP clients as others wrote them, and words for what they hear."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

from httpx2 import AsyncClient
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from taskyard.app import mcp_mount
from taskyard.server.server import served
from taskyard.yard import Yard

MODES = ("auto", "legacy")  # the current protocol, and the one before it


def program(url: str, *words: str, **variables: str) -> StdioServerParameters:
    """`taskyard mcp`, as a client starts it."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "taskyard", "mcp", *words],
        env={**os.environ, "TASKYARD_URL": url, **variables},
    )


@asynccontextmanager
async def stdio(url: str, *words: str, mode: Any = "auto", **options: Any) -> AsyncGenerator[Client]:
    async with Client(stdio_client(program(url, *words)), mode=mode, **options) as client:
        yield client


def answer_of(result: Any) -> dict[str, Any]:
    """What a tool answered; an error fails the test that did not expect it."""
    assert isinstance(result, CallToolResult)
    assert not result.is_error, text_of(result)
    return cast(dict[str, Any], result.structured_content)


def text_of(result: Any) -> str:
    assert isinstance(result, CallToolResult)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def names_of_tools(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


@asynccontextmanager
async def serving(yard: Yard, **limits: Any) -> AsyncGenerator[str]:
    """The address of a server with MCP that runs while the block does."""
    async with served(yard, mcp=mcp_mount(), **limits) as server:
        yield f"http://127.0.0.1:{server.port}/mcp"


@asynccontextmanager
async def http(url: str, token: str | None = None, mode: Any = "auto", **options: Any) -> AsyncGenerator[Client]:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with (
        AsyncClient(headers=headers, timeout=60) as network,
        Client(streamable_http_client(url, http_client=network), mode=mode, **options) as client,
    ):
        yield client
