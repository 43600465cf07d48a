"""What is answered to each request of MCP, whichever way it came: one server object for stdio and for HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplateReference,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from taskyard.core.errors import Forbidden, TaskyardError
from taskyard.mcp import prompts
from taskyard.mcp.argument_values import completion
from taskyard.mcp.catalogue import TOOLS
from taskyard.mcp.confirmation import confirmed
from taskyard.mcp.desk import Desk
from taskyard.mcp.resources import resource_kinds
from taskyard.mcp.resources.update_streams import UpdateStreams
from taskyard.mcp.tasks_extension import TasksExtension, declares, raising
from taskyard.mcp.toolbox import Tool, refused
from taskyard.mcp.tools.tasks import run_task

INSTRUCTIONS = """\
Taskyard is a durable task queue. Put work in with enqueue_task, run_task or submit_dag. Take work with claim_task; \
end it with complete_task or fail_task and the lease that claim_task gave. why_waiting says why a task is not running. \
Errors begin with a code: lease_lost means that the task is no longer yours, so stop working on it."""

SESSION_HEADER = "mcp-session-id"

Context = ServerRequestContext[Any, Any]
DeskOf = Callable[[Context], Awaitable[Desk]]


class McpEndpoint:
    """The handlers of every method. They are given the desk of whoever asks, request by request."""

    def __init__(self, desk_of: DeskOf) -> None:
        self._desk_of = desk_of
        self._tasks = TasksExtension(desk_of)
        self.updates = UpdateStreams()

    def server(self) -> Server[Any]:
        server: Server[Any] = Server(
            "taskyard",
            version=version("taskyard"),
            title="Taskyard",
            instructions=INSTRUCTIONS,
            get_tool_input_schema=_schema_of,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.unsubscribe,
            on_subscriptions_listen=self.listen,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_completion=self.complete,
        )
        self._tasks.install(server)
        return server

    async def list_tools(self, context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        """The tools that the caller may use: the others would only fill a model's context."""
        desk = await self._desk_of(context)
        return ListToolsResult(tools=[tool.listed for tool in TOOLS.values() if tool.is_for(desk)])

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r}.")
        desk = await self._desk_of(context)
        if not tool.is_for(desk):
            return refused(_forbidden(tool, desk))
        desk.leases.called()
        if (pause := await confirmed(context, params, tool)) is not None:
            return pause
        if tool.run is run_task and declares(context):
            return await self._begun(context, desk, tool, params.arguments or {})
        return await tool.answer(desk, params.arguments or {})

    async def _begun(self, context: Context, desk: Desk, tool: Tool, given: dict[str, Any]) -> Any:
        try:
            return await self._tasks.create(context, desk, tool.checked(given))
        except TaskyardError as error:
            return refused(error)

    # Resources

    async def list_resources(self, context: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=resource_kinds.listed(await self._desk_of(context)))

    async def list_templates(self, context: Context, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=resource_kinds.templates(await self._desk_of(context)))

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await raising(resource_kinds.read(await self._desk_of(context), params.uri))

    async def listen(self, context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        return await self.updates.listen(await self._desk_of(context), context, params)

    async def subscribe(self, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        desk = await self._desk_of(context)
        await raising(self.updates.subscribe(session_of(context), desk, context.session, params.uri))
        return EmptyResult()

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        self.updates.unsubscribe(session_of(context), params.uri)
        return EmptyResult()

    # Prompts, and what may stand in their arguments

    async def list_prompts(self, context: Context, _: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=prompts.listed(await self._desk_of(context)))

    async def get_prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        desk = await self._desk_of(context)
        return await raising(prompts.filled(desk, params.name, params.arguments or {}))

    async def complete(self, context: Context, params: CompleteRequestParams) -> CompleteResult:
        uri = params.ref.uri if isinstance(params.ref, ResourceTemplateReference) else ""
        desk = await self._desk_of(context)
        return CompleteResult(completion=await completion(desk, params.argument.name, params.argument.value, uri))


def session_of(context: Context) -> str:
    """What tells the sessions of a process apart; over stdio there is one."""
    headers = getattr(context.request, "headers", {})
    return str(headers.get(SESSION_HEADER, ""))


def _forbidden(tool: Tool, desk: Desk) -> Forbidden:
    if not tool.is_allowed(desk.role):
        return Forbidden(f"it has the role {desk.role.value}, and {tool.name} is not for that role")
    return Forbidden(f"this server shows the tools of the role {desk.toolset.value}, and {tool.name} is none of them")


def _schema_of(name: str) -> Mapping[str, Any] | None:
    tool = TOOLS.get(name)
    return None if tool is None else tool.listed.input_schema
