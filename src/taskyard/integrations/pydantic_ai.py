"""Agents of pydantic-ai as workers: `Agent(…, capabilities=[TaskyardDurability()])`.

Inside of a handler, each request to a model and each call of a tool is a step of the task. Elsewhere the agent runs as
it would without the capability. Built on the surface that `pydantic_ai.durable_exec` has for engines of others.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from decimal import Decimal
from typing import Any, Literal, TypeVar, cast

try:
    from pydantic_ai import ModelResponse, RunContext, ToolDenied
    from pydantic_ai.agent import AbstractAgent, EventStreamHandler
    from pydantic_ai.capabilities import WrapRunHandler
    from pydantic_ai.durable_exec import (
        JSON_CODEC,
        BaseDurabilityCapability,
        DurabilityEngineSpec,
        DurableOperationBackend,
        DurableOperationId,
        EventStreamHandlerId,
        JournalCallableOperationBackend,
        ModelCompactMessagesId,
        ModelRequestId,
        RoleBasedOperationConfig,
        ToolsetCallToolId,
        conversation_id_from_run_id,
    )
    from pydantic_ai.messages import (
        AgentStreamEvent,
        PartDeltaEvent,
        PartStartEvent,
        TextPart,
        TextPartDelta,
        ToolCallPart,
    )
    from pydantic_ai.models import Model
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import AgentDepsT, DeferredToolRequests, DeferredToolResults
    from pydantic_ai.toolsets import ToolsetTool
except ImportError as error:
    raise ImportError("pydantic-ai is missing or too old (pip install 'taskyard[pydantic-ai]')") from error

from taskyard.integrations.agent_steps import agent_run, approve, call_model, call_tool, in_worker, show, step
from taskyard.worker.context import Context
from taskyard.worker.current import current_task, find_task

Output = TypeVar("Output")
Deps = TypeVar("Deps")
Config = Mapping[str, Any]
_DEFAULT: Config = {}
_MODEL_CALLS = (ModelRequestId, ModelCompactMessagesId)


async def run(task: Context, agent: AbstractAgent[Deps, Output], prompt: str | None = None, **options: Any) -> Output:
    """Run an agent on a task, and give its output. The options are those of `agent.run`."""
    if TaskyardDurability.from_agent(agent) is None:
        raise ValueError(f"agent {agent.name} would be run without steps: give it capabilities=[TaskyardDurability()]")
    return (await agent.run(task.prompt if prompt is None else prompt, **options)).output


def handler(agent: AbstractAgent[Deps, Output], **options: Any) -> Callable[[Context], Awaitable[Output]]:
    """A handler that runs the agent on the prompt of each task: `worker.handles("ask")(handler(agent))`."""

    async def work(task: Context) -> Output:
        return await run(task, agent, **options)

    return work


class TaskyardDurability(BaseDurabilityCapability[AgentDepsT]):
    """Makes each request to a model and each call of a tool a step of the task that is being worked on.

    A tool with `metadata={"taskyard": False}` is no step: it runs in every attempt. A tool that needs approval suspends
    the task until a person has decided.
    """

    engine_spec = DurabilityEngineSpec(
        engine_name="Taskyard",
        durable_unit_noun="step",
        durable_container_noun="task",
        codec=JSON_CODEC,
        toolset_lifecycles={"function": "enter-always", "mcp": "enter-in-durable-unit", "dynamic": "enter-never"},
        tool_config_key="taskyard",
    )

    def __init__(
        self,
        *,
        stream: bool = False,
        models: Mapping[str, Model] | None = None,
        event_stream_handler: EventStreamHandler[AgentDepsT] | None = None,
        name: str | None = None,
    ) -> None:
        """With `stream`, those who follow the task see the text as it comes. The rest is as for every engine."""
        events = _shown(event_stream_handler) if stream else event_stream_handler
        super().__init__(models=models, event_stream_handler=events, name=name)
        self._streams = stream

    @property
    def in_durable_context(self) -> bool:
        return find_task() is not None

    def get_durable_operation_backend(self) -> DurableOperationBackend[Config]:
        def tool_config(_: DurableOperationId, tool: object | None, tool_name: str) -> Config | Literal[False]:
            return self._build_resolve_tool_config(_DEFAULT)(cast("ToolsetTool[Any] | None", tool), tool_name)

        config = RoleBasedOperationConfig[Config](
            model=_DEFAULT, event=_DEFAULT, capability=_DEFAULT, tool=_DEFAULT, resolve_tool=tool_config
        )
        steps = _Steps(agent_name=self.name, default_model_id=self.default_model_id, config=config)
        steps.streams = self._streams
        return steps

    def get_default_run_id(self) -> str | None:
        """The same for the same run of an agent in every attempt."""
        task = find_task()
        return None if task is None else f"{task.id}:{task.next_name(f'run_id:{self.name}')}"

    def get_default_conversation_id(self, run_id: str) -> str | None:
        return conversation_id_from_run_id(run_id) if self.in_durable_context else None

    async def wrap_run(self, ctx: RunContext[AgentDepsT], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        task = find_task()
        if task is None:
            return await super().wrap_run(ctx, handler=handler)
        with agent_run(task, self.name):
            return await super().wrap_run(ctx, handler=handler)

    async def handle_deferred_tool_calls(
        self,
        ctx: RunContext[AgentDepsT],  # noqa: ARG002 - the framework gives it
        *,
        requests: DeferredToolRequests,
    ) -> DeferredToolResults | None:
        """Ask a person about each call that needs approval, one after the other.

        A call that is to be done elsewhere waits for the signal `call:TOOL`, whose data is its result.
        """
        task = find_task()
        if task is None:
            return None
        results = DeferredToolResults()
        for call in requests.approvals:
            results.approvals[call.tool_call_id] = await self._approved(task, call)
        for call in requests.calls:
            waited = task.wait_for(f"call:{call.tool_name}", name=f"call:{call.tool_name}:{call.tool_call_id}")
            results.calls[call.tool_call_id] = await in_worker(task, waited)
        return results

    async def _approved(self, task: Context, call: ToolCallPart) -> bool | ToolDenied:
        decided = await approve(
            task, agent=self.name, tool=call.tool_name, call_id=call.tool_call_id, arguments=call.args_as_dict()
        )
        if decided.approved:
            return True
        return ToolDenied(decided.comment) if decided.comment else ToolDenied()


class _Steps(JournalCallableOperationBackend[Config]):
    """Operations of pydantic-ai as steps of the task, by the names that pydantic-ai keeps stable."""

    streams = False  # whether stored answers are shown too

    async def execute(
        self,
        *,
        operation_id: DurableOperationId,
        name: str,
        body: Callable[[], Awaitable[object]],
        cache_key: tuple[object, ...],
        config: Config,  # noqa: ARG002 - the framework gives it
    ) -> object:
        task = current_task()
        if isinstance(operation_id, EventStreamHandlerId):
            return await body()  # events are for those who watch now: a later attempt tells them again
        if isinstance(operation_id, _MODEL_CALLS):
            return await self._ask(task, name, body)
        call_id = _call_id(cache_key)
        if isinstance(operation_id, ToolsetCallToolId) and call_id is not None:
            return await call_tool(task, str(cache_key[0]), call_id, body)
        return await step(task, f"{name}:{call_id}" if call_id else name, body)

    async def _ask(self, task: Context, name: str, body: Callable[[], Awaitable[object]]) -> object:
        asked = False

        async def ask() -> object:
            nonlocal asked
            asked = True
            return await body()

        payload = await call_model(task, name, ask, spend=_cost)
        if self.streams and not asked:
            await show(task, JSON_CODEC.load(ModelResponse, payload).text or "")  # an earlier attempt's readers saw it
        return payload


def _shown(then: EventStreamHandler[Any] | None) -> EventStreamHandler[Any]:
    """Show the text of the events, and pass all of them on."""

    async def handle(ctx: RunContext[Any], events: AsyncIterable[AgentStreamEvent]) -> None:
        async def shown() -> AsyncIterator[AgentStreamEvent]:
            async for event in events:
                if (task := find_task()) is not None:
                    await show(task, _text_of(event))
                yield event

        if then is not None:
            await then(ctx, shown())
        else:
            async for _ in shown():
                pass

    return handle


def _text_of(event: AgentStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _call_id(cache_key: tuple[object, ...]) -> str | None:
    """The call of a tool that the operation is a part of, as the model named it."""
    contexts = [cast("RunContext[Any]", each) for each in cache_key if isinstance(each, RunContext)]
    return contexts[0].tool_call_id if contexts else None


def _cost(payload: Any) -> Mapping[str, Any]:
    response: ModelResponse = JSON_CODEC.load(ModelResponse, payload)
    usage = response.usage
    return {
        "usd": _dollars(response),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "model": response.model_name,
    }


def _dollars(response: ModelResponse) -> Decimal | None:
    """What the answer cost: as a gateway reported it, or by the prices of the provider that gave it.

    None where neither is known: then the price is looked up by the name of the model alone.
    """
    if response.usage.cost is not None:
        return response.usage.cost
    try:
        return response.cost().total_price if response.model_name else None
    except (LookupError, ValueError):
        return None
