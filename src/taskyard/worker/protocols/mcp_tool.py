"""A tool of an MCP server as a worker: the server is a program that is started here, and a task is a call of the tool.

The protocol cannot tell a call that comes twice. What a call answered is a stored step, so only an attempt that died
within the call makes it again.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, is_object
from taskyard.core.task import Reason
from taskyard.worker.command import environment
from taskyard.worker.context import Context
from taskyard.worker.control import Fail
from taskyard.worker.handlers import Agent

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult

NEEDED = "needs the library of the protocol: pip install 'taskyard[mcp]'"
RESULT = "mcp:result"
PROMPT = "prompt"  # the argument that gets the task's prompt, where the tool has it


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTool:
    """A tool, and the program that has it."""

    words: Sequence[str]
    tool: str
    passed: Sequence[str] = ()  # names of environment variables


@dataclass(slots=True)
class _Questions:
    """What the tool asks its user while it is called: answered in order, or put aside until a person has answered."""

    answers: Sequence[Mapping[str, Any]]
    asked: int = 0
    open: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])

    async def elicit(self, context: Any, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG002 - the library names both
        from mcp.types import ElicitResult  # noqa: PLC0415

        self.asked += 1
        if self.asked <= len(self.answers):
            return ElicitResult(action="accept", content=dict(self.answers[self.asked - 1]))
        self.open.append((params.message, getattr(params, "requested_schema", None)))
        return ElicitResult(action="cancel")


def mcp_agent(agent: Agent, tool: McpTool, *types: str) -> Agent:
    """Let a tool do the work of an agent, for these types or for all."""
    try:
        import_module("mcp.client.client")  # now, and not while a task waits for it
    except ModuleNotFoundError as missing:
        raise InvalidInput("--mcp", NEEDED) from missing

    @agent.handles(*(types or ("*",)))
    async def run(task: Context) -> Any:
        return await _run(task, tool)

    del run
    return agent


async def _run(task: Context, tool: McpTool) -> Any:
    steps = await task.stored_steps()
    if RESULT in steps:
        return await task.unpacked_step(steps[RESULT])
    questions = _Questions(await _answers(task, steps))
    result = await _called(task, tool, questions)
    if questions.open:
        message, schema = questions.open[0]
        number = len(questions.answers) + 1
        await task.store_step(f"mcp:question:{number}", {"message": message, "schema": schema})
        await task.ask(message, schema=schema, name=f"mcp:answer:{number}")  # the call is made again with the answer
    if result.is_error:
        raise Fail(Reason.AGENT_ERROR, _text(result) or f"{tool.tool} failed")
    usage: object = (result.meta or {}).get("usage")
    cost = usage.get("costUsd") if is_object(usage) else None
    return await task.store_step(RESULT, await _output(task, result), {"usd": cost} if cost is not None else None)


async def _answers(task: Context, steps: Mapping[str, Json]) -> list[Mapping[str, Any]]:
    """What was answered to the questions of earlier calls; the task waits where one is open still."""
    found: list[Mapping[str, Any]] = []
    while isinstance(asked := steps.get(f"mcp:question:{len(found) + 1}"), dict):
        schema: Any = asked["schema"]
        answer = await task.ask(str(asked["message"]), schema=schema, name=f"mcp:answer:{len(found) + 1}")
        found.append(answer if is_object(answer) else {"answer": answer})
    return found


async def _called(task: Context, tool: McpTool, questions: _Questions) -> CallToolResult:
    try:
        result = await _result(task, tool, questions)
    except BaseExceptionGroup as group:
        raise _first(group) from None
    if isinstance(result, list):
        raise Fail(Reason.REFUSED, f"the server has no tool {tool.tool}: {', '.join(sorted(result))}")
    return result


def _first(error: BaseException) -> BaseException:
    """The error itself: the library runs its tasks in groups, whose errors come as groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


async def _result(task: Context, tool: McpTool, questions: _Questions) -> CallToolResult | list[str]:
    """What the call answered; the tools that there are, where it is none of them."""
    from mcp import StdioServerParameters  # noqa: PLC0415
    from mcp.client.client import Client  # noqa: PLC0415
    from mcp.client.stdio import stdio_client  # noqa: PLC0415

    command, *arguments = tool.words
    program = StdioServerParameters(command=command, args=arguments, env=environment(task, tool.passed))

    async def report(progress: float, total: float | None, message: str | None) -> None:
        await task.progress(progress / total if total else None, message or "")

    async with Client(stdio_client(program), elicitation_callback=questions.elicit) as client:
        known = {each.name: each for each in (await client.list_tools()).tools}
        if tool.tool not in known:
            return list(known)
        given = _arguments(task, known[tool.tool].input_schema)
        return await client.call_tool(tool.tool, given, progress_callback=report)


def _arguments(task: Context, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The payload, and the prompt under its name, or as the only argument that a tool needs."""
    given: dict[str, Any] = dict(task.payload) if is_object(task.payload) else {}
    names = list(schema.get("properties") or {})
    named = PROMPT if PROMPT in names else names[0] if len(names) == 1 else None
    return {named: task.prompt, **given} if named is not None and task.prompt else given


async def _output(task: Context, result: CallToolResult) -> Json:
    for number, content in enumerate(result.content, 1):
        if (data := getattr(content, "data", None)) is not None:
            media_type = getattr(content, "mime_type", None)
            await task.artifact(f"content-{number}", base64.b64decode(data), media_type=media_type)
    return result.structured_content if result.structured_content is not None else _text(result)


def _text(result: CallToolResult) -> str:
    return "\n".join(text for each in result.content if (text := getattr(each, "text", None)))
