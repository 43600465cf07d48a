"""Agents that are reached by a protocol, as a command line says them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from urllib.parse import urlsplit

from taskyard.core.errors import InvalidInput
from taskyard.worker.handlers import Agent
from taskyard.worker.protocols.a2a_agent import RemoteAgent, a2a_agent
from taskyard.worker.protocols.mcp_tool import McpTool, mcp_agent


def agent_elsewhere(agent: Agent, url: str, skill: str | None, key_from: str | None, types: Sequence[str]) -> Agent:
    if urlsplit(url).scheme not in ("http", "https"):
        raise InvalidInput("--a2a", "must be the address of an agent: https://HOST")
    if key_from is not None and key_from not in os.environ:
        raise InvalidInput("--a2a-key", f"{key_from} must be set in the environment")
    key = None if key_from is None else os.environ[key_from]
    return a2a_agent(agent, RemoteAgent(url=url, key=key, skill=skill), *types)


def agent_with_tool(agent: Agent, command: str, tool: str | None, passed: Sequence[str], types: Sequence[str]) -> Agent:
    if tool is None:
        raise InvalidInput("--tool", "must be given with --mcp")
    if not (words := shlex.split(command)):
        raise InvalidInput("--mcp", "must be a command that starts an MCP server")
    return mcp_agent(agent, McpTool(words=words, tool=tool, passed=passed), *types)
