"""An MCP server with tools to work with: one that answers, one that asks first, one that fails, one that hangs once."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

server = MCPServer("tools")


FORM = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}


@server.tool()
def shout(prompt: str, times: int = 1) -> dict[str, str]:
    return {"text": prompt.upper() * times}


@server.tool()
async def deploy(site: str, context: Context[Any]) -> str | InputRequiredResult:
    answer = (context.input_responses or {}).get("approve")
    if answer is None:
        form = ElicitRequestFormParams(message=f"Deploy {site}?", requested_schema=FORM)
        return InputRequiredResult(input_requests={"approve": ElicitRequest(params=form)})
    return f"{site}: {answer.content}" if isinstance(answer, ElicitResult) else "nobody was asked"


@server.tool()
def fail() -> str:
    raise ValueError("no such site")


def note_call(file: Path) -> int:
    """Add this process to the calls in a file, and say how many there are."""
    with file.open("a") as calls:
        calls.write(json.dumps({"pid": os.getpid()}) + "\n")
    return len(file.read_text().splitlines())


@server.tool()
async def hang_once(file: str, context: Context[Any]) -> dict[str, int]:
    """Note the call in the file. The first one never answers."""
    number = note_call(Path(file))
    if number == 1:
        await context.report_progress(0.5, 1.0, "hanging")
        await asyncio.Event().wait()
    return {"calls": number}


if __name__ == "__main__":
    server.run("stdio")
