"""Agents of pydantic-ai as workers, on its own offline models: what is paid for is done once, whatever happens."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent, ModelMessage, ModelResponse, RequestUsage, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

import taskyard
from taskyard.app import Yard
from taskyard.core.task import Status
from taskyard.integrations.pydantic_ai import TaskyardDurability, run
from taskyard.ledger.clock import ManualClock
from tests.integrations.conftest import Crash, RateLimitError, Tool, lose_lease, outcomes, spent, streamed, traced_calls
from tests.spans import facts_of

USAGE = RequestUsage(input_tokens=1000, output_tokens=100)
PRICE = 3_500  # micro-dollars for 1,000 tokens read and 100 written by gpt-4o: 2.50 and 10 dollars a million
Part = TextPart | ToolCallPart
Script = Callable[[int, list[ModelMessage]], Part]


class Model:
    """A model that answers by a script of its turns, and counts how often it was asked."""

    def __init__(self, script: Script, *, model: str = "gpt-4o", usage: RequestUsage = USAGE) -> None:
        self.asked = 0
        self._usage = usage
        self._script = script
        self._model = model

    def agent(self, **options: Any) -> Agent[None, str]:
        model = FunctionModel(self._answer, model_name=self._model)
        return Agent(model, name="helper", capabilities=[TaskyardDurability()], **options)

    def _answer(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        turn = sum(isinstance(each, ModelResponse) for each in messages)
        self.asked += 1
        return ModelResponse(parts=[self._script(turn, messages)], usage=self._usage, model_name=self._model)


def worker_of(agent: Agent[None, str]) -> taskyard.Agent:
    worker = taskyard.Agent("helper")

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> str:
        return await run(task, agent)

    return worker


def must_not_be_called(to: str) -> str:
    pytest.fail(f"it was denied, and yet called with {to}")


def searching(times: int) -> Script:
    """Call the tool so many times, then answer."""
    return lambda turn, _: ToolCallPart("search", {"word": f"{turn}"}) if turn < times else TextPart("found")


async def test_a_rate_limit_in_the_middle_repeats_nothing_and_costs_no_attempt(yard: Yard):
    limits, tool = [RateLimitError(), RateLimitError()], Tool()

    def script(turn: int, messages: list[ModelMessage]) -> Part:
        if turn == 1 and limits:
            raise limits.pop()
        return searching(2)(turn, messages)

    model = Model(script)
    agent = model.agent()
    agent.tool_plain(tool.search)
    task = await yard.enqueue("ask", prompt="Find it", max_attempts=1)

    await yard.drain(worker_of(agent))

    assert (await yard.get(task.id)).result == "found"
    assert (model.asked, tool.calls) == (3 + 2, ["0", "1"])
    parked = ("failed", "rate_limit", False)
    assert await outcomes(yard, task.id) == [parked, parked, ("completed", None, False)]
    assert await spent(yard, task.id) == 3 * PRICE


async def test_a_crash_after_the_fifth_of_ten_calls_repeats_nothing_that_was_paid_for(yard: Yard, clock: ManualClock):
    crashes, tool = [Crash()], Tool()

    def script(turn: int, messages: list[ModelMessage]) -> Part:
        if turn == 5 and crashes:
            raise crashes.pop()
        return searching(9)(turn, messages)

    model = Model(script)
    agent = model.agent()
    agent.tool_plain(tool.search)
    task = await yard.enqueue("ask", prompt="Find it")

    await yard.drain(worker_of(agent))
    await lose_lease(yard, clock)
    await yard.drain(worker_of(agent))

    assert (await yard.get(task.id)).result == "found"
    assert (model.asked, tool.calls) == (10 + 1, [f"{each}" for each in range(9)])
    first, second = await yard.tasks.history(task.id)
    assert (first.reason, first.cost) == ("heartbeat_timeout", 5 * PRICE)
    assert (second.cost, second.tokens.input, second.tokens.output) == (5 * PRICE, 5_000, 500)


async def test_a_tool_that_needs_approval_suspends_the_task_without_a_slot(yard: Yard):
    tool = Tool()
    model = Model(lambda turn, _: TextPart("done") if turn else ToolCallPart("deploy", {"to": "prod"}, "call_7"))
    agent = model.agent()
    agent.tool_plain(requires_approval=True)(tool.deploy)
    task = await yard.enqueue("ask", prompt="Deploy")

    await yard.drain(worker_of(agent))

    waiting = await yard.get(task.id)
    assert (waiting.status, waiting.claim.lease_expires_at if waiting.claim else None) == (Status.PENDING, None)
    (asked,) = await yard.approvals.list(task_id=task.id)
    assert tool.calls == []

    assert asked.question is not None
    assert (asked.question.text, asked.question.context) == (
        "May helper call deploy?",
        {"tool": "deploy", "arguments": {"to": "prod"}},
    )
    await yard.approvals.answer(task.id, asked.signal, {"approved": True})
    await yard.drain(worker_of(agent))

    assert ((await yard.get(task.id)).result, tool.calls, model.asked) == ("done", ["prod"], 2)
    assert "run:helper:1/tool:deploy:call_7:1" in await yard.attempts.checkpoints(task.id)
    assert await outcomes(yard, task.id) == [("suspended", None, False), ("completed", None, False)]


async def test_a_tool_call_that_is_denied_is_not_done_and_the_model_hears_why(yard: Yard):
    heard = list[str]()

    def script(turn: int, messages: list[ModelMessage]) -> Part:
        if turn == 0:
            return ToolCallPart("deploy", {"to": "prod"})
        heard.append(str(messages[-1]))
        return TextPart("left alone")

    agent = Model(script).agent()
    agent.tool_plain(name="deploy", requires_approval=True)(must_not_be_called)
    task = await yard.enqueue("ask", prompt="Deploy")
    await yard.drain(worker_of(agent))
    (asked,) = await yard.approvals.list(task_id=task.id)

    await yard.approvals.answer(task.id, asked.signal, {"approved": False, "comment": "not on a Friday"})
    await yard.drain(worker_of(agent))

    assert (await yard.get(task.id)).result == "left alone"
    assert "not on a Friday" in heard[0]


async def test_each_run_asks_a_person_though_its_model_names_calls_as_that_of_another_did(yard: Yard):
    tool, prompts = Tool(), ("staging", "production")
    agent = Model(lambda turn, _: TextPart("done") if turn else ToolCallPart("deploy", {"to": "it"}, "call_0")).agent()
    agent.tool_plain(requires_approval=True)(tool.deploy)
    worker = taskyard.Agent("helper")

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> list[str]:
        return [await run(task, agent, prompt) for prompt in prompts]

    task = await yard.enqueue("ask")
    for is_approved in (True, False):
        await yard.drain(worker)
        (asked,) = await yard.approvals.list(task_id=task.id)
        await yard.approvals.answer(task.id, asked.signal, {"approved": is_approved})
    await yard.drain(worker)

    assert ((await yard.get(task.id)).status, tool.calls) == (Status.COMPLETED, ["it"])


async def test_sub_agents_in_parallel_tool_calls_can_be_tasks_of_their_own(yard: Yard, clock: ManualClock):
    crashes = [Crash()]

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if not any(isinstance(each, ModelResponse) for each in messages):
            words = ("cats", "dogs")
            return ModelResponse([ToolCallPart("research", {"about": word}, f"call_{word}") for word in words])
        if crashes:
            raise crashes.pop()
        found = [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        return ModelResponse([TextPart(" and ".join(map(str, found)))])

    agent = Agent(FunctionModel(answer), name="lead", capabilities=[TaskyardDurability()])

    @agent.tool_plain
    async def research(about: str) -> str:
        return await taskyard.current_task().spawn("research", prompt=about, wait=True)

    worker = worker_of(agent)

    @worker.handles("research")
    async def researched(task: taskyard.Context) -> str:
        return f"all about {task.prompt}"

    task = await yard.enqueue("ask", prompt="Compare")
    await yard.drain(worker)
    await lose_lease(yard, clock)
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == "all about cats and all about dogs"
    assert len(await yard.find(type="research")) == 2


async def test_a_rate_limit_inside_of_a_tool_parks_the_task(yard: Yard):
    limits = [RateLimitError()]

    def inner(turn: int, messages: list[ModelMessage]) -> Part:
        if limits:
            raise limits.pop()
        return TextPart("a summary")

    sub = Model(inner)
    summariser = sub.agent()
    model = Model(lambda turn, _: TextPart("read") if turn else ToolCallPart("summarise", {}))
    agent = model.agent()

    @agent.tool_plain
    async def summarise() -> str:
        try:
            return (await summariser.run("Summarise")).output
        except Exception as error:  # as frameworks do that tell a model of every error
            return f"it failed: {error}"

    task = await yard.enqueue("ask", prompt="Read", max_attempts=1)
    await yard.drain(worker_of(agent))

    assert (await yard.get(task.id)).result == "read"
    assert (model.asked, sub.asked) == (2, 2)
    assert await outcomes(yard, task.id) == [("failed", "rate_limit", False), ("completed", None, False)]


async def test_the_run_is_one_trace_with_each_model_call(yard: Yard, spans: InMemorySpanExporter):
    agent = Model(searching(1)).agent()
    agent.tool_plain(Tool().search)
    await yard.enqueue("ask", prompt="Find it")

    await yard.drain(worker_of(agent))

    first, _ = traced_calls(spans)
    assert first["gen_ai.request.model"] == "gpt-4o"
    assert (first["gen_ai.usage.input_tokens"], first["gen_ai.usage.output_tokens"]) == (1000, 100)
    assert first["taskyard.cost_usd"] == PRICE / 1e6
    assert [facts_of(span).get("gen_ai.tool.name") for span in spans.get_finished_spans()].count("search") == 1


async def test_a_model_without_a_known_price_costs_nothing_and_is_named(yard: Yard, caplog: pytest.LogCaptureFixture):
    agent = Model(searching(0), model="home-grown-3").agent()
    task = await yard.enqueue("ask", prompt="Hello")

    with caplog.at_level(logging.WARNING, logger="taskyard.prices"):
        await yard.drain(worker_of(agent))

    (attempt,) = await yard.tasks.history(task.id)
    assert (attempt.cost, attempt.tokens.input, attempt.model) == (0, 1000, "home-grown-3")
    assert "no price is known for model home-grown-3" in caplog.text


@pytest.mark.parametrize(
    ("usage", "cost", "cached"),
    [
        (RequestUsage(input_tokens=1000, output_tokens=100, cost=Decimal("0.02")), 20_000, (0, 0)),
        (RequestUsage(input_tokens=1000, output_tokens=100, cache_read_tokens=400), PRICE - 500, (400, 0)),
        (RequestUsage(input_tokens=1000, output_tokens=100, cache_write_tokens=300), PRICE, (0, 300)),
    ],
)
async def test_what_a_gateway_charged_and_cached_tokens_are_counted(
    yard: Yard, usage: RequestUsage, cost: int, cached: tuple[int, int]
):
    """A token from the cache of gpt-4o costs half."""
    task = await yard.enqueue("ask", prompt="Find it")

    await yard.drain(worker_of(Model(searching(0), usage=usage).agent()))

    (attempt,) = await yard.tasks.history(task.id)
    assert (attempt.cost, (attempt.tokens.cache_read, attempt.tokens.cache_write)) == (cost, cached)


async def test_a_tool_that_raises_fails_the_attempt_and_is_called_again(yard: Yard):
    failures = [ValueError("no such page")]
    model = Model(searching(1))
    agent = model.agent()

    @agent.tool_plain
    def search(word: str) -> str:
        if failures:
            raise failures.pop()
        return "a page"

    task = await yard.enqueue("ask", prompt="Find it", retry={"strategy": "immediate"})
    await yard.drain(worker_of(agent))

    assert ((await yard.get(task.id)).result, model.asked) == ("found", 2)
    assert [each[1] for each in await outcomes(yard, task.id)] == ["agent_error", None]


async def test_a_cancelled_task_asks_no_model_any_more_and_keeps_what_it_cost(yard: Yard):
    model = Model(searching(1))
    agent = model.agent()

    @agent.tool_plain
    async def search(word: str) -> str:
        await yard.cancel(task.id, reason=f"{word} is not wanted")
        return "a page"

    task = await yard.enqueue("ask", prompt="Find it")
    await yard.drain(worker_of(agent))

    assert ((await yard.get(task.id)).status, model.asked) == (Status.CANCELLED, 1)
    assert await spent(yard, task.id) == PRICE


async def test_the_text_of_a_streamed_run_is_shown_by_each_attempt_and_paid_for_once(yard: Yard):
    asked, crashes = list[int](), [RuntimeError("crash")]

    async def words(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str]:
        asked.append(len(messages))
        for word in ("one ", "two"):
            yield word

    model = FunctionModel(stream_function=words)
    agent = Agent(model, name="helper", capabilities=[TaskyardDurability(stream=True)])
    worker = taskyard.Agent("helper")

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> str:
        answer = await run(task, agent)
        if crashes:
            raise crashes.pop()
        return answer

    task = await yard.enqueue("ask", prompt="Count", retry={"strategy": "immediate"})
    await yard.drain(worker)

    assert ((await yard.get(task.id)).result, asked) == ("one two", [1])
    assert await streamed(yard, task.id) == {1: "one two", 2: "one two"}


async def test_each_run_has_the_same_id_in_every_attempt_and_no_other_run_has_it(yard: Yard):
    agent, worker = Model(searching(0)).agent(), taskyard.Agent("helper")
    ids: list[list[str]] = []

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> None:
        runs = [await agent.run(prompt) for prompt in ("first", "second")]
        ids.append([each for result in runs for each in (result.run_id, result.conversation_id)])
        if task.attempt == 1:
            raise RuntimeError("crash")

    tasks = [await yard.enqueue("ask", retry={"strategy": "immediate"}) for _ in range(2)]
    await yard.drain(worker)

    assert [(await yard.get(task.id)).status for task in tasks] == [Status.COMPLETED] * 2
    attempts = sorted(ids)
    assert (attempts[0], attempts[2]) == (attempts[1], attempts[3])
    assert len({each for run_ids in ids for each in run_ids}) == len(tasks) * 4


async def test_a_plain_handler_runs_an_agent_in_its_thread(yard: Yard):
    crashes, model = [RuntimeError("crash")], Model(searching(1))
    agent = model.agent()

    @agent.tool_plain
    def search(word: str) -> str:
        return taskyard.current_task().sync.step(lambda: f"page {word}")

    worker = taskyard.Agent("helper")

    @worker.handles("ask")
    def ask(task: taskyard.SyncContext) -> str:
        answer = asyncio.run(agent.run(task.prompt)).output
        if crashes:
            raise crashes.pop()
        return answer

    task = await yard.enqueue("ask", prompt="Find it", retry={"strategy": "immediate"})
    await yard.drain(worker)

    assert ((await yard.get(task.id)).result, model.asked) == ("found", 2)
    assert await spent(yard, task.id) == 2 * PRICE


async def test_an_agent_outside_of_a_task_is_as_it_was():
    model = Model(searching(1))
    agent = model.agent()
    agent.tool_plain(Tool().search)

    assert (await agent.run("Find it")).output == "found"
    assert model.asked == 2


async def test_an_agent_without_the_capability_is_refused(yard: Yard):
    agent = Agent(TestModel(), name="plain")
    task = await yard.enqueue("ask", prompt="Hello", max_attempts=1)

    await yard.drain(worker_of(agent))

    (attempt,) = await yard.tasks.history(task.id)
    assert "capabilities=[TaskyardDurability()]" in (attempt.error or "")
