"""An MCP server with tools to work with: one that answers, one that asks first, one that fails."""

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


if __name__ == "__main__":
    server.run("stdio")
