"""Agents of the OpenAI Agents SDK as workers, on its own scripted model: what is paid for is done once."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    Model,
    ModelProvider,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    Usage,
    function_tool,
)
from agents.items import TResponseStreamEvent
from agents.mcp import MCPServer
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from mcp.types import CallToolResult, TextContent
from mcp.types import Tool as MCPTool
from openai import AsyncOpenAI
from openai.types.responses import ResponseCompletedEvent, ResponseIncompleteEvent
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import taskyard
from taskyard.app import Yard
from taskyard.core.task import Status
from taskyard.integrations.openai import AsyncOpenAI as StepClient
from taskyard.integrations.openai_agents import run
from taskyard.ledger.clock import ManualClock
from tests.integrations.conftest import Crash, RateLimitError, Tool, lose_lease, outcomes, spent, streamed, traced_calls
from tests.integrations.openai_endpoint import endpoint

PRICE = 3_500  # micro-dollars for 1,000 tokens read and 100 written by gpt-4o: 2.50 and 10 dollars a million
USAGE = Usage(requests=1, input_tokens=1000, output_tokens=100, total_tokens=1100)


class Models(ModelProvider):
    """Scripted models, by the names that agents ask for them."""

    def __init__(self, **models: Model) -> None:
        self._models = {name.replace("_", "-"): model for name, model in models.items()}

    def get_model(self, model_name: str | None) -> Model:
        return self._models[model_name or ""]


def scripted(*steps: Any) -> ScriptedModel:
    return ScriptedModel(steps, default_usage=USAGE)


def raising(error: BaseException) -> ModelStep:
    def respond(_: ModelCall) -> ModelStep:
        raise error

    return ModelStep.respond(respond)


def searches(*words: str) -> list[Any]:
    """One call a turn; the model gives each an id of its own."""
    return [[function_call("search", {"word": word}, call_id=f"call_{n}_{word}")] for n, word in enumerate(words)]


def says(text: str) -> list[Any]:
    return [assistant_message(text)]


def worker_of(agent: Agent[None], provider: ModelProvider) -> taskyard.Agent:
    worker = taskyard.Agent("helper")

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> Any:
        return await run(task, agent, run_config=RunConfig(model_provider=provider, tracing_disabled=True))

    return worker


def helper(*tools: Callable[..., Any] | FunctionTool, **options: Any) -> Agent[None]:
    made = [each if isinstance(each, FunctionTool) else function_tool(each) for each in tools]
    return Agent(name="helper", model="gpt-4o", tools=[*made], **options)


async def test_a_rate_limit_in_the_middle_repeats_nothing_and_costs_no_attempt(yard: Yard):
    tool, first, second = Tool(), *searches("a", "b")
    model = scripted(first, RateLimitError(), RateLimitError(), second, says("found"))
    task = await yard.enqueue("ask", prompt="Find it", max_attempts=1)

    await yard.drain(worker_of(helper(tool.search), Models(gpt_4o=model)))

    assert (await yard.get(task.id)).result == "found"
    assert (len(model.calls), tool.calls) == (5, ["a", "b"])
    parked = ("failed", "rate_limit", False)
    assert await outcomes(yard, task.id) == [parked, parked, ("completed", None, False)]
    assert await spent(yard, task.id) == 3 * PRICE


async def test_a_crash_after_the_fifth_of_ten_calls_repeats_nothing_that_was_paid_for(yard: Yard, clock: ManualClock):
    tool, words = Tool(), "abcdefghi"
    steps: Sequence[Any] = [*searches(*words), says("found")]
    model = scripted(*steps[:5], raising(Crash()), *steps[5:])
    worker = worker_of(helper(tool.search), Models(gpt_4o=model))
    task = await yard.enqueue("ask", prompt="Find it")

    await yard.drain(worker)
    await lose_lease(yard, clock)
    await yard.drain(worker)

    assert ((await yard.get(task.id)).result, len(model.calls)) == ("found", 10 + 1)
    assert tool.calls == [*words]
    assert [(each.reason, each.cost) for each in await yard.tasks.history(task.id)] == [
        ("heartbeat_timeout", 5 * PRICE),
        (None, 5 * PRICE),
    ]


async def test_a_tool_that_needs_approval_suspends_the_task_without_a_slot(yard: Yard):
    tool = Tool()
    model = scripted([function_call("deploy", {"to": "prod"}, call_id="call_7")], says("done"))
    agent = helper(function_tool(tool.deploy, needs_approval=True))
    worker = worker_of(agent, Models(gpt_4o=model))
    task = await yard.enqueue("ask", prompt="Deploy")

    await yard.drain(worker)

    waiting = await yard.get(task.id)
    assert (waiting.status, tool.calls) == (Status.PENDING, [])
    (asked,) = await yard.approvals.list(task_id=task.id)
    assert asked.question is not None
    assert asked.question.context == {"tool": "deploy", "arguments": {"to": "prod"}}
    await yard.approvals.answer(task.id, asked.signal, {"approved": True})
    await yard.drain(worker)

    assert ((await yard.get(task.id)).result, tool.calls, len(model.calls)) == ("done", ["prod"], 2)
    assert "run:helper:1/tool:deploy:call_7:1" in await yard.attempts.checkpoints(task.id)
    assert await outcomes(yard, task.id) == [("suspended", None, False), ("completed", None, False)]


async def test_a_tool_call_that_is_denied_is_not_done_and_the_model_hears_why(yard: Yard):
    tool = Tool()
    model = scripted([function_call("deploy", {"to": "prod"}, call_id="call_7")], says("left alone"))
    worker = worker_of(helper(function_tool(tool.deploy, needs_approval=True)), Models(gpt_4o=model))
    task = await yard.enqueue("ask", prompt="Deploy")
    await yard.drain(worker)
    (asked,) = await yard.approvals.list(task_id=task.id)

    await yard.approvals.answer(task.id, asked.signal, {"approved": False, "comment": "not on a Friday"})
    await yard.drain(worker)

    assert ((await yard.get(task.id)).result, tool.calls) == ("left alone", [])
    assert model.last_call is not None
    assert "not on a Friday" in str(model.last_call.input)


async def test_sub_agents_can_be_tasks_of_their_own(yard: Yard, clock: ManualClock):
    async def research(about: str) -> str:
        """Research something."""
        return await taskyard.current_task().spawn("research", prompt=about, wait=True)

    calls = [function_call("research", {"about": each}, call_id=f"call_{each}") for each in ("cats", "dogs")]
    model = scripted(calls, raising(Crash()), says("compared"))
    worker = worker_of(helper(research), Models(gpt_4o=model))

    @worker.handles("research")
    async def researched(task: taskyard.Context) -> str:
        return f"all about {task.prompt}"

    task = await yard.enqueue("ask", prompt="Compare")
    await yard.drain(worker)
    await lose_lease(yard, clock)
    await yard.drain(worker)

    assert ((await yard.get(task.id)).result, len(model.calls)) == ("compared", 3)
    assert len(await yard.find(type="research")) == 2
    assert model.last_call is not None
    assert all(f"all about {each}" in str(model.last_call.input) for each in ("cats", "dogs"))


async def test_an_agent_that_is_a_tool_has_steps_of_its_own_and_its_rate_limit_parks_the_task(yard: Yard):
    tool = Tool()
    inner = scripted(*searches("deep"), RateLimitError(), says("a summary"))
    outer = scripted([function_call("summarise", {"input": "it"}, call_id="call_1")], says("read"))
    summariser = Agent(name="summariser", model=inner, tools=[function_tool(tool.search)])
    agent = helper(summariser.as_tool("summarise", "Summarise something"))
    task = await yard.enqueue("ask", prompt="Read", max_attempts=1)

    await yard.drain(worker_of(agent, Models(gpt_4o=outer)))

    assert (await yard.get(task.id)).result == "read"
    assert (len(outer.calls), len(inner.calls), tool.calls) == (2, 3, ["deep"])
    assert await outcomes(yard, task.id) == [("failed", "rate_limit", False), ("completed", None, False)]
    assert sum(each.tokens.input for each in await yard.tasks.history(task.id)) == 4_000


async def test_an_agent_that_is_handed_over_to_has_steps_too(yard: Yard):
    tool, expert = Tool(), scripted(*searches("deep"), says("solved"))
    second = Agent(name="expert", model=expert, tools=[function_tool(tool.search)])
    first = scripted([function_call("transfer_to_expert", {}, call_id="call_1")])
    crashes = [RuntimeError("crash")]
    worker = taskyard.Agent("helper")
    config = RunConfig(model_provider=Models(gpt_4o=first), tracing_disabled=True)

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> Any:
        answer = await run(task, helper(handoffs=[second]), run_config=config)
        if crashes:
            raise crashes.pop()
        return answer

    task = await yard.enqueue("ask", prompt="Solve it", retry={"strategy": "immediate"})
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == "solved"
    assert (len(first.calls), len(expert.calls), tool.calls) == (1, 2, ["deep"])


class PageServer(MCPServer):
    """A server of MCP with one tool."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []

    @property
    def name(self) -> str:
        return "pages"

    async def connect(self) -> None:
        """There is nothing to connect to."""

    async def cleanup(self) -> None:
        """Nor to leave."""

    async def list_tools(self, *_: Any, **__: Any) -> list[MCPTool]:
        return [MCPTool(name="search", input_schema={"type": "object", "properties": {"word": {"type": "string"}}})]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        self.calls.append((tool_name, arguments, meta))
        return CallToolResult(content=[TextContent(type="text", text="a page")])

    async def list_prompts(self) -> Any:
        raise NotImplementedError

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> Any:
        raise NotImplementedError


async def test_the_tool_of_an_mcp_server_is_called_once_for_each_call_of_the_model(yard: Yard, clock: ManualClock):
    server = PageServer()
    model = scripted(*searches("a", "a", "b"), raising(Crash()), says("found"))
    worker = worker_of(helper(mcp_servers=[server]), Models(gpt_4o=model))
    task = await yard.enqueue("ask", prompt="Find it")

    await yard.drain(worker)
    await lose_lease(yard, clock)
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == "found"
    assert [arguments["word"] for _, arguments, _ in server.calls] == ["a", "a", "b"]
    assert model.last_call is not None
    assert str(model.last_call.input).count("a page") == 3


@pytest.mark.parametrize("api", [OpenAIChatCompletionsModel, OpenAIResponsesModel])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("client_type", [AsyncOpenAI, StepClient])
async def test_a_model_of_either_api_parks_at_a_rate_limit_and_answers_once(
    yard: Yard, api: Any, stream: bool, client_type: type[AsyncOpenAI]
):
    crashes, worker = [RuntimeError("crash")], taskyard.Agent("helper")
    with endpoint(429, "found it", leaves_out=("cache_write_tokens", "annotations", "logprobs")) as served:
        client = client_type(api_key="none", base_url=served.url, max_retries=0)
        agent = Agent[None](name="helper", model=api("gpt-4o", openai_client=client))

        @worker.handles("ask")
        async def ask(task: taskyard.Context) -> Any:
            answer = await run(task, agent, stream=stream, run_config=RunConfig(tracing_disabled=True))
            if crashes:
                raise crashes.pop()
            return answer

        task = await yard.enqueue("ask", prompt="Find it", retry={"strategy": "immediate"})
        await yard.drain(worker)
        await client.close()

    assert ((await yard.get(task.id)).result.strip(), len(served.heard)) == ("found it", 2)
    assert [each[1] for each in await outcomes(yard, task.id)] == ["rate_limit", "agent_error", None]
    assert await spent(yard, task.id) == PRICE - 600 * 1.25  # 600 tokens come from the cache, at half the price


async def test_the_run_is_one_trace_with_each_model_call(yard: Yard, spans: InMemorySpanExporter):
    model = scripted(*searches("a"), says("found"))
    await yard.enqueue("ask", prompt="Find it")

    await yard.drain(worker_of(helper(Tool().search), Models(gpt_4o=model)))

    first, _ = traced_calls(spans)
    assert first["gen_ai.request.model"] == "gpt-4o"
    assert (first["gen_ai.usage.input_tokens"], first["taskyard.cost_usd"]) == (1000, PRICE / 1e6)


async def test_a_model_without_a_known_price_costs_nothing_and_is_named(yard: Yard, caplog: pytest.LogCaptureFixture):
    agent = Agent(name="helper", model="home-grown-4")
    task = await yard.enqueue("ask", prompt="Hello")

    with caplog.at_level(logging.WARNING, logger="taskyard.prices"):
        await yard.drain(worker_of(agent, Models(home_grown_4=scripted(says("ok")))))

    (attempt,) = await yard.tasks.history(task.id)
    assert (attempt.cost, attempt.tokens.input, attempt.model) == (0, 1000, "home-grown-4")
    assert "no price is known for model home-grown-4" in caplog.text


async def test_a_tool_that_raises_is_an_answer_to_the_model_as_the_sdk_has_it(yard: Yard):
    def search(word: str) -> str:
        """Find a page."""
        raise ValueError(f"no page about {word}")

    model = scripted(*searches("a"), says("gave up"))
    task = await yard.enqueue("ask", prompt="Find it")
    await yard.drain(worker_of(helper(search), Models(gpt_4o=model)))

    assert (await yard.get(task.id)).result == "gave up"
    assert model.last_call is not None
    assert "An error occurred while running the tool" in str(model.last_call.input)


async def test_a_tool_whose_errors_are_not_for_the_model_fails_the_attempt_and_is_called_again(yard: Yard):
    failures = [ValueError("no network")]

    def search(word: str) -> str:
        """Find a page."""
        if failures:
            raise failures.pop()
        return f"a page about {word}"

    model = scripted(*searches("a"), says("found"))
    agent = helper(function_tool(search, failure_error_function=None))
    task = await yard.enqueue("ask", prompt="Find it", retry={"strategy": "immediate"})
    await yard.drain(worker_of(agent, Models(gpt_4o=model)))

    assert ((await yard.get(task.id)).result, len(model.calls)) == ("found", 2)
    assert [each[1] for each in await outcomes(yard, task.id)] == ["agent_error", None]


async def test_a_cancelled_task_asks_no_model_any_more_and_keeps_what_it_cost(yard: Yard):
    async def search(word: str) -> str:
        """Find a page."""
        await yard.cancel(task.id, reason=f"{word} is not wanted")
        return "a page"

    model = scripted(*searches("a"), says("found"))
    task = await yard.enqueue("ask", prompt="Find it")
    await yard.drain(worker_of(helper(search), Models(gpt_4o=model)))

    assert ((await yard.get(task.id)).status, len(model.calls)) == (Status.CANCELLED, 1)
    assert await spent(yard, task.id) == PRICE


async def test_a_streamed_run_passes_its_events_on_and_pays_once(yard: Yard):
    tool, crashes, told = Tool(), [RuntimeError("crash")], list[str]()
    model, worker = scripted(*searches("a"), says("found")), taskyard.Agent("helper")
    agent = helper(tool.search)
    config = RunConfig(model_provider=Models(gpt_4o=model), tracing_disabled=True)

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> Any:
        answer = await run(task, agent, run_config=config, on_event=lambda event: told.append(event.type))
        if crashes:
            raise crashes.pop()
        return answer

    task = await yard.enqueue("ask", prompt="Find it", retry={"strategy": "immediate"})
    await yard.drain(worker)

    assert ((await yard.get(task.id)).result, len(model.calls), tool.calls) == ("found", 2, ["a"])
    assert await streamed(yard, task.id) == {1: "found", 2: "found"}
    assert {"raw_response_event", "run_item_stream_event"} <= {*told}
    assert await spent(yard, task.id) == 2 * PRICE


class Ending(ScriptedModel):
    """A model whose stream ends as the test has it: for each call, the type of its last event, without any output."""

    def __init__(self, *endings: str) -> None:
        super().__init__([says("found")] * len(endings), default_usage=USAGE)
        self._endings = list(endings)

    async def stream_response(self, *arguments: Any, **options: Any) -> AsyncIterator[TResponseStreamEvent]:
        ending = self._endings.pop(0)
        async for event in super().stream_response(*arguments, **options):
            if not isinstance(event, ResponseCompletedEvent):
                yield event
                continue
            response = event.response.model_copy(update={"output": []})
            if ending == "response.completed":
                yield event.model_copy(update={"response": response})
            else:
                yield ResponseIncompleteEvent(type="response.incomplete", response=response, sequence_number=9)


async def run_streamed(yard: Yard, model: Model) -> str:
    """The id of a task whose handler fails once, behind the run."""
    crashes, worker, agent = [RuntimeError("crash")], taskyard.Agent("helper"), helper()
    config = RunConfig(model_provider=Models(gpt_4o=model), tracing_disabled=True)

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> Any:
        answer = await run(task, agent, run_config=config, stream=True)
        if crashes:
            raise crashes.pop()
        return answer

    task = await yard.enqueue("ask", prompt="Find it", retry={"strategy": "immediate"})
    await yard.drain(worker)
    return task.id


async def test_an_answer_that_the_end_of_a_stream_leaves_out_is_stored(yard: Yard):
    task_id = await run_streamed(yard, Ending("response.completed"))

    assert (await yard.get(task_id)).result == "found"
    assert await spent(yard, task_id) == PRICE


async def test_a_stream_that_ends_without_an_answer_is_paid_for(yard: Yard):
    task_id = await run_streamed(yard, Ending("response.incomplete", "response.completed"))

    assert (await yard.get(task_id)).result == "found"
    assert [each.cost for each in await yard.tasks.history(task_id)] == [PRICE, PRICE, 0]


async def test_an_agent_outside_of_a_task_is_as_it_was(yard: Yard):
    model = scripted(says("once"), says("twice"))
    agent = Agent[None](name="helper", model=model)
    task = await yard.enqueue("ask", prompt="Hello")
    await yard.drain(worker_of(agent, Models()))

    again = await Runner.run(agent, "Hello", run_config=RunConfig(tracing_disabled=True))

    assert ((await yard.get(task.id)).result, again.final_output) == ("once", "twice")
