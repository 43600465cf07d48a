"""Every tool there is."""

from __future__ import annotations

from taskyard.mcp.toolbox import Tool
from taskyard.mcp.tools import (
    approvals,
    artifacts,
    attempts,
    budgets,
    dags,
    dead_letters,
    inbox,
    memory,
    overview,
    queues,
    tasks,
)

NOUNS = (tasks, dags, attempts, approvals, dead_letters, overview, budgets, queues, artifacts, inbox, memory)
TOOLS: dict[str, Tool] = {tool.name: tool for noun in NOUNS for tool in noun.box.tools}
