"""Agents of the OpenAI Agents SDK as workers: `await run(task, agent, "Do it")` in a handler.

Each answer of a model and each call of a function tool is a step of the task. The agents are instrumented in place,
with those that they hand over to and those that are their tools: outside of a task they run as before.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, cast

try:
    from agents import (
        Agent,
        FunctionTool,
        Handoff,
        Model,
        ModelProvider,
        ModelResponse,
        ModelSettings,
        RunConfig,
        Runner,
        RunState,
        StreamEvent,
        ToolOutputFileContent,
        ToolOutputImage,
        ToolOutputText,
        Usage,
    )
    from agents.items import ToolApprovalItem, TResponseStreamEvent
    from agents.mcp import MCPServer
    from agents.models.default_models import get_default_model
    from agents.tool_context import ToolContext
    from agents.usage import deserialize_usage
    from mcp.types import CallToolResult
    from openai.types.responses import (
        Response,
        ResponseCompletedEvent,
        ResponseFailedEvent,
        ResponseIncompleteEvent,
        ResponseOutputItem,
        ResponseOutputItemDoneEvent,
        ResponseTextDeltaEvent,
        ResponseUsage,
    )
    from pydantic import TypeAdapter
except ImportError as error:
    raise ImportError("openai-agents is missing or too old (pip install 'taskyard[openai-agents]')") from error

from taskyard.core.json_value import is_list, is_mapping
from taskyard.features.budgets.token_counts import openai_usage
from taskyard.integrations.agent_steps import (
    agent_run,
    approve,
    call_model,
    call_tool,
    in_worker,
    show,
    within_tool,
)
from taskyard.worker.context import Context
from taskyard.worker.current import find_task

_ANSWER = TypeAdapter[ModelResponse](ModelResponse)
_OUTPUTS = {each.__name__: each for each in (ToolOutputText, ToolOutputImage, ToolOutputFileContent)}
_MARK = "taskyard_tool_output"  # of a stored result that is an object of the SDK


async def run(
    task: Context,
    agent: Agent[Any],
    input: Any = None,
    *,
    run_config: RunConfig | None = None,
    stream: bool = False,
    on_event: Callable[[StreamEvent], object] | None = None,
    **options: Any,
) -> Any:
    """Run an agent on a task, and give its final output. The options are those of `Runner.run`.

    A tool that needs approval suspends the task until a person has decided. With `stream`, those who follow the task
    see the text as it comes. `on_event` hears each event of the run; of an answer that an earlier attempt got, only the
    last.
    """
    durable(agent)
    config = _durable_config(run_config or RunConfig())
    with agent_run(task, agent.name):
        given = task.prompt if input is None else input
        while True:
            if stream or on_event is not None:
                result = Runner.run_streamed(agent, given, run_config=config, **options)
                async for event in result.stream_events():
                    if on_event is not None:
                        on_event(event)
            else:
                result = await Runner.run(agent, given, run_config=config, **options)
            if not result.interruptions:
                return result.final_output
            given = await _decided(task, result.to_state(), result.interruptions)


def handler(agent: Agent[Any], **options: Any) -> Callable[[Context], Awaitable[Any]]:
    """A handler that runs the agent on the prompt of each task: `worker.handles("ask")(handler(agent))`."""

    async def work(task: Context) -> Any:
        return await run(task, agent, **options)

    return work


async def _decided(task: Context, state: RunState[Any], open_calls: list[ToolApprovalItem]) -> RunState[Any]:
    """Ask a person about each call that waits for approval, one after the other."""
    for item in open_calls:
        tool, call_id = item.tool_name or "tool", item.call_id or ""
        decided = await approve(task, agent=item.agent.name, tool=tool, call_id=call_id, arguments=item.arguments)
        if decided.approved:
            state.approve(item)
        else:
            state.reject(item, rejection_message=decided.comment or None)
    return state


def durable(agent: Agent[Any]) -> Agent[Any]:
    """Instrument an agent and those that it can reach, in place. Twice is as good as once."""
    _instrument(agent, set())
    return agent


def _instrument(agent: Agent[Any], seen: set[int]) -> None:
    if id(agent) in seen:
        return
    seen.add(id(agent))
    if isinstance(agent.model, Model):
        agent.model = _step_model(agent.model, None)
    for place, tool in enumerate(agent.tools):
        if isinstance(tool, FunctionTool):
            agent.tools[place] = _step_tool(tool, seen)
    for server in agent.mcp_servers:
        if not isinstance(server.call_tool, _StepServerCall):
            server.call_tool = _StepServerCall(server)
    for place, handoff in enumerate(agent.handoffs):
        if isinstance(handoff, Agent):
            _instrument(handoff, seen)
        elif not isinstance(handoff.on_invoke_handoff, _StepHandoff):
            agent.handoffs[place] = replace(handoff, on_invoke_handoff=_StepHandoff(handoff))


class _StepHandoff:
    """Instruments the agent that a handoff leads to, which nobody knows before."""

    def __init__(self, handoff: Handoff[Any, Any]) -> None:
        self._invoke = handoff.on_invoke_handoff

    async def __call__(self, context: Any, given: str) -> Any:
        return durable(await self._invoke(context, given))


# Models


def _durable_config(config: RunConfig) -> RunConfig:
    model = _step_model(config.model, None) if isinstance(config.model, Model) else config.model
    provider = config.model_provider
    return replace(config, model=model, model_provider=provider if _is_ours(provider) else YardProvider(provider))


def _is_ours(provider: ModelProvider) -> bool:
    return isinstance(provider, YardProvider)


def _step_model(model: Model, name: str | None) -> Model:
    return model if isinstance(model, YardModel) else YardModel(model, name)


class YardProvider(ModelProvider):
    """The models of another provider, each answer a step of the task."""

    def __init__(self, provider: ModelProvider) -> None:
        self._provider = provider

    def get_model(self, model_name: str | None) -> Model:
        return _step_model(self._provider.get_model(model_name), model_name or get_default_model())

    async def aclose(self) -> None:
        await self._provider.aclose()


class YardModel(Model):
    """A model whose answers are steps of the task that is being worked on, with what they cost."""

    def __init__(self, model: Model, name: str | None = None) -> None:
        self._model = model
        named = name or getattr(model, "model", None)
        self._name = str(named).removeprefix("litellm/") if named else None

    async def close(self) -> None:
        await self._model.close()

    def get_retry_advice(self, request: Any) -> Any:
        return self._model.get_retry_advice(request)

    async def get_response(self, *arguments: Any, **options: Any) -> ModelResponse:
        task = find_task()
        if task is None:
            return await self._model.get_response(*arguments, **options)

        async def ask() -> Any:
            return _dumped(await self._model.get_response(*arguments, **options))

        return _loaded(await call_model(task, self._kind, ask, spend=self._cost))

    async def stream_response(self, *arguments: Any, **options: Any) -> AsyncIterator[TResponseStreamEvent]:
        """The events as they come, and the last one when the answer is stored; of a stored answer, the last alone."""
        task = find_task()
        if task is None:
            async for event in self._model.stream_response(*arguments, **options):
                yield event
            return
        arguments = tuple(map(_counting, arguments))
        options = {name: _counting(value) for name, value in options.items()}
        events = asyncio.Queue[TResponseStreamEvent | None]()
        completed: list[ResponseCompletedEvent] = []

        async def ask() -> Any:
            items: list[ResponseOutputItem] = []
            async for event in self._model.stream_response(*arguments, **options):
                if isinstance(event, ResponseCompletedEvent):
                    event.response.output = event.response.output or items  # some providers leave it out at the end
                    completed.append(event)
                    return _dumped(_answer_of(event.response))
                if isinstance(event, ResponseOutputItemDoneEvent):
                    items.append(event.item)
                if isinstance(event, ResponseIncompleteEvent | ResponseFailedEvent):
                    cost = self._cost(_dumped(_answer_of(event.response)))
                    await in_worker(task, task.spend(**cost))  # no answer, and yet it is paid for
                events.put_nowait(event)
            raise RuntimeError("the stream of the model ended without an answer")

        asking = asyncio.create_task(call_model(task, self._kind, ask, spend=self._cost))
        asking.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                if isinstance(event, ResponseTextDeltaEvent):
                    await show(task, event.delta)
                yield event
            stored = await asking
        finally:
            asking.cancel()
        if completed:
            yield completed[0]
        else:
            answer = _completed(_loaded(stored), self._name)
            await show(task, answer.response.output_text)
            yield answer

    @property
    def _kind(self) -> str:
        return f"model:{self._name}" if self._name else "model"

    def _cost(self, stored: Any) -> Mapping[str, Any]:
        return {**openai_usage(stored["usage"]), "model": self._name}


def _counting(argument: Any) -> Any:
    """Of the arguments of a call, its settings: a stream ends with what it cost, unless they say otherwise."""
    if isinstance(argument, ModelSettings) and argument.include_usage is None:
        return replace(argument, include_usage=True)
    return argument


def _dumped(answer: ModelResponse) -> Any:
    return _ANSWER.dump_python(answer, mode="json", exclude_none=True, warnings=False)


def _loaded(stored: Any) -> ModelResponse:
    """As the SDK's clients read an answer: nothing is checked, since not every server has all that OpenAI's has."""
    return ModelResponse(
        output=Response.construct(output=stored["output"]).output,
        usage=deserialize_usage(stored["usage"]),
        response_id=stored.get("response_id"),
        request_id=stored.get("request_id"),
        raw_usage=stored.get("raw_usage"),
    )


def _answer_of(response: Response) -> ModelResponse:
    """The answer at the end of a stream, as one that was not streamed."""
    usage = Usage(requests=1)
    if response.usage is not None:
        usage.input_tokens, usage.output_tokens = response.usage.input_tokens, response.usage.output_tokens
        usage.total_tokens = response.usage.total_tokens
        usage.input_tokens_details = response.usage.input_tokens_details
        usage.output_tokens_details = response.usage.output_tokens_details
    return ModelResponse(output=response.output, usage=usage, response_id=response.id)


def _completed(answer: ModelResponse, model: str | None) -> ResponseCompletedEvent:
    """The event at the end of a stream, made from a stored answer."""
    usage = ResponseUsage(
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        total_tokens=answer.usage.total_tokens,
        input_tokens_details=answer.usage.input_tokens_details,
        output_tokens_details=answer.usage.output_tokens_details,
    )
    response = Response.construct(
        id=answer.response_id or "",
        created_at=0,
        model=model or "",
        object="response",
        output=answer.output,
        tool_choice="auto",
        tools=[],
        parallel_tool_calls=False,
        usage=usage,
    )
    return ResponseCompletedEvent.construct(response=response, type="response.completed", sequence_number=0)


# Tools


def _step_tool(tool: FunctionTool, seen: set[int]) -> FunctionTool:
    if isinstance(tool.on_invoke_tool, _StepInvoker):
        return tool
    inner = getattr(tool, "_agent_instance", None)  # of a tool that `as_tool` made of an agent
    if isinstance(inner, Agent):
        _instrument(cast("Agent[Any]", inner), seen)
    return replace(tool, on_invoke_tool=_StepInvoker(tool, is_agent=inner is not None))


class _StepInvoker:
    """Calls a tool once for each call that the model makes of it."""

    def __init__(self, tool: FunctionTool, *, is_agent: bool) -> None:
        self._tool = tool
        self._is_agent = is_agent

    async def __call__(self, context: ToolContext[Any], arguments: str) -> Any:
        task = find_task()
        if task is None:
            return await self._tool.on_invoke_tool(context, arguments)
        if self._is_agent:
            with within_tool(task, self._tool.name, context.tool_call_id):
                return await self._tool.on_invoke_tool(context, arguments)

        async def call() -> Any:
            return _stored(await self._tool.on_invoke_tool(context, arguments))

        return _restored(await call_tool(task, self._tool.name, context.tool_call_id, call))


class _StepServerCall:
    """Calls a tool of an MCP server once.

    The server does not hear the id of the call, so the arguments name it. Equal calls of a run have numbers.
    """

    def __init__(self, server: MCPServer) -> None:
        self._server = server.name
        self._call = server.call_tool

    async def __call__(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        task = find_task()
        if task is None:
            return await self._call(tool_name, arguments, meta)

        async def call() -> Any:
            return (await self._call(tool_name, arguments, meta)).model_dump(mode="json", by_alias=True)

        digest = sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()[:12]
        return CallToolResult.model_validate(await call_tool(task, f"{self._server}.{tool_name}", digest, call))


def _stored(result: Any) -> Any:
    """What a tool returned, as JSON. The SDK shows its model a text of whatever it does not know."""
    if is_list(result):
        return [_stored(each) for each in result]
    if (kind := type(result).__name__) in _OUTPUTS:
        return {_MARK: kind, "fields": result.model_dump(mode="json")}
    if hasattr(result, "model_dump"):
        return result.model_dump(mode="json")
    try:
        return json.loads(json.dumps(result))
    except (TypeError, ValueError):
        return str(result)


def _restored(stored: Any) -> Any:
    if is_list(stored):
        return [_restored(each) for each in stored]
    if is_mapping(stored) and (kind := str(stored.get(_MARK))) in _OUTPUTS:
        return _OUTPUTS[kind].model_validate(stored["fields"])
    return stored
