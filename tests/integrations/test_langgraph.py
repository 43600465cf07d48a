"""Graphs of LangGraph as workers, on a model that needs no network: what is paid for is done once, whatever happens."""

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, NotRequired, TypedDict, cast

import pytest
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.func import entrypoint  # pyright: ignore[reportMissingTypeStubs]
from langgraph.func import task as graph_task  # pyright: ignore[reportMissingTypeStubs]
from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]
from langgraph.types import interrupt
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import Field

import taskyard
from taskyard.app import Yard
from taskyard.core.errors import InvalidAnswer, LeaseLost
from taskyard.core.task import Status
from taskyard.integrations.langgraph import YardSaver, run
from taskyard.ledger.clock import ManualClock
from tests.integrations.conftest import Crash, RateLimitError, lose_lease, outcomes, spent, streamed, traced_calls

PRICE = 3_500  # micro-dollars for 1,000 tokens read and 100 written by gpt-4o: 2.50 and 10 dollars a million


class Model(BaseChatModel):
    """A model that answers with the number of its turn, and counts how often it was asked."""

    asked: list[str] = Field(default_factory=list[str])
    faults: dict[int, BaseException] = Field(default_factory=dict[int, BaseException])  # raised once, at that turn

    @property
    def _llm_type(self) -> str:
        return "numbers"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        if (fault := self.faults.pop(len(self.asked), None)) is not None:
            raise fault
        self.asked.append(str(messages[-1].content))
        usage = UsageMetadata(input_tokens=1000, output_tokens=100, total_tokens=1100)
        answer = AIMessage(
            f"answer {len(self.asked)}", usage_metadata=usage, response_metadata={"model_name": "gpt-4o"}
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])


class StreamingModel(Model):
    """Answers in two words, the second of which says what both cost."""

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        self.asked.append(str(messages[-1].content))
        usage = UsageMetadata(input_tokens=1000, output_tokens=100, total_tokens=1100)
        yield ChatGenerationChunk(message=AIMessageChunk(content="one "))
        facts = {"model_name": "gpt-4o"}
        yield ChatGenerationChunk(message=AIMessageChunk(content="two", usage_metadata=usage, response_metadata=facts))


def _added(before: list[str], more: list[str]) -> list[str]:
    return before + more


class State(TypedDict):
    notes: Annotated[list[str], _added]
    topic: NotRequired[str]


def graph_of(**nodes: Any) -> Any:
    """One node after the other."""
    graph: Any = StateGraph(State)
    for name, node in nodes.items():
        graph.add_node(name, node)
    names = list(nodes)
    for first, second in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(first, second)
    return graph.compile(name="helper")


def asking(model: Model, times: int) -> Callable[[State], Any]:
    async def node(state: State) -> dict[str, list[str]]:
        answers = [await model.ainvoke(f"{len(state['notes'])}:{number}") for number in range(times)]
        return {"notes": [str(each.content) for each in answers]}

    return node


def worker_of(graph: Any, given: Any = None) -> taskyard.Agent:
    worker = taskyard.Agent("helper")

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> Any:
        return await run(task, graph, {"notes": []} if given is None else given)

    return worker


async def test_a_rate_limit_in_the_middle_repeats_nothing_and_costs_no_attempt(yard: Yard):
    model = Model(faults={3: RateLimitError()})
    task = await yard.enqueue("ask", max_attempts=1)

    await yard.drain(worker_of(graph_of(a=asking(model, 2), b=asking(model, 3))))

    assert (await yard.get(task.id)).result == {"notes": [f"answer {each}" for each in range(1, 6)]}
    assert model.asked == ["0:0", "0:1", "2:0", "2:1", "2:2"]
    assert await outcomes(yard, task.id) == [("failed", "rate_limit", False), ("completed", None, False)]
    assert await spent(yard, task.id) == 5 * PRICE


async def test_a_crash_after_the_fifth_of_ten_calls_repeats_nothing_that_was_paid_for(yard: Yard, clock: ManualClock):
    """The crash is inside of a node, whose calls before it are in no checkpoint of the graph."""
    model = Model(faults={5: Crash()})
    task = await yard.enqueue("ask")
    worker = worker_of(graph_of(a=asking(model, 3), b=asking(model, 7)))

    await yard.drain(worker)
    await lose_lease(yard, clock)
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == {"notes": [f"answer {each}" for each in range(1, 11)]}
    assert len(model.asked) == len(set(model.asked)) == 10
    assert [each.cost for each in await yard.tasks.history(task.id)] == [5 * PRICE, 5 * PRICE]


async def test_a_node_that_ended_is_not_run_again(yard: Yard, clock: ManualClock):
    runs, crashes = list[str](), [Crash()]

    async def first(_: State) -> dict[str, list[str]]:
        runs.append("first")
        return {"notes": ["first"]}

    async def second(state: State) -> dict[str, list[str]]:
        runs.append("second")
        if crashes:
            raise crashes.pop()
        return {"notes": [f"after {state['notes']}"]}

    task = await yard.enqueue("ask")
    worker = worker_of(graph_of(first=first, second=second))
    await yard.drain(worker)
    await lose_lease(yard, clock)
    await yard.drain(worker)

    assert runs == ["first", "second", "second"]
    assert (await yard.get(task.id)).result == {"notes": ["first", "after ['first']"]}


async def test_a_graph_that_ended_is_not_run_again_when_the_handler_is(yard: Yard):
    crashes, worker = [RuntimeError("crash")], taskyard.Agent("helper")
    first, second = Model(), Model()
    graphs = [graph_of(a=asking(first, 2)), _functional(second)]

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> Any:
        ended = [await run(task, graphs[0], {"notes": []}), await run(task, graphs[1], "one")]
        if crashes:
            raise crashes.pop()
        return ended

    task = await yard.enqueue("ask", retry={"strategy": "immediate"})
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == [{"notes": ["answer 1", "answer 2"]}, "answer 1"]
    assert (first.asked, second.asked) == (["0:0", "0:1"], ["one"])
    assert await spent(yard, task.id) == 3 * PRICE


def _functional(model: Model) -> Any:
    @entrypoint()  # pyright: ignore[reportUntypedFunctionDecorator]
    async def ask(word: str) -> Any:
        return (await model.ainvoke(word)).content

    return cast(Any, ask)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_that_a_node_streams_itself_is_paid_for(yard: Yard, stream: bool):
    model, worker = StreamingModel(), taskyard.Agent("helper")

    async def node(_: State) -> dict[str, list[str]]:
        return {"notes": [str(chunk.content) async for chunk in model.astream("hello") if chunk.content]}

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> Any:
        return await run(task, graph_of(a=node), {"notes": []}, stream=stream)

    task = await yard.enqueue("ask")
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == {"notes": ["one ", "two"]}
    assert await spent(yard, task.id) == PRICE


async def test_the_text_of_a_streamed_run_is_shown_and_paid_for_once(yard: Yard):
    """The node is run again with the stored answer, which is shown as a whole."""
    model, crashes, worker = StreamingModel(), [RuntimeError("crash")], taskyard.Agent("helper")

    async def node(_: State) -> dict[str, list[str]]:
        answer = await model.ainvoke("hello")
        if crashes:
            raise crashes.pop()
        return {"notes": [str(answer.content)]}

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> Any:
        return await run(task, graph_of(a=node), {"notes": []}, stream=True)

    task = await yard.enqueue("ask", retry={"strategy": "immediate"})
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == {"notes": ["one two"]}
    assert await streamed(yard, task.id) == {1: "one two", 2: "one two"}
    assert (len(model.asked), await spent(yard, task.id)) == (1, PRICE)


@pytest.mark.parametrize("place", ["graph", "option"])
async def test_a_breakpoint_is_refused_since_it_asks_nobody(yard: Yard, place: str):
    model, worker = Model(), taskyard.Agent("helper")
    drawing: Any = StateGraph(State)
    drawing.add_node("a", asking(model, 1)).add_edge(START, "a")
    graph = drawing.compile(interrupt_before=["a"] if place == "graph" else None)

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> Any:
        options: dict[str, Any] = {"interrupt_after": ["a"]} if place == "option" else {}
        return await run(task, graph, {"notes": []}, **options)

    task = await yard.enqueue("ask")
    await yard.drain(worker)

    assert ((await yard.get(task.id)).status, model.asked) == (Status.DEAD_LETTERED, [])
    assert [each[1] for each in await outcomes(yard, task.id)] == ["refused"]


async def test_what_no_later_node_has_changed_is_there_after_a_crash(yard: Yard, clock: ManualClock):
    """A checkpoint holds what changed in it: the topic is two checkpoints back when the third node is run again."""
    crashes = [Crash()]

    async def first(_: State) -> dict[str, str]:
        return {"topic": "cats"}

    async def second(_: State) -> dict[str, list[str]]:
        return {"notes": ["second"]}

    async def third(state: State) -> dict[str, list[str]]:
        if crashes:
            raise crashes.pop()
        return {"notes": [f"about {state.get('topic')}"]}

    task = await yard.enqueue("ask")
    worker = worker_of(graph_of(first=first, second=second, third=third))
    await yard.drain(worker)
    await lose_lease(yard, clock)
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == {"topic": "cats", "notes": ["second", "about cats"]}


async def test_the_same_question_twice_is_asked_twice(yard: Yard):
    model = Model()

    async def node(_: State) -> dict[str, list[str]]:
        return {"notes": [str((await model.ainvoke("again")).content) for _ in range(2)]}

    task = await yard.enqueue("ask")
    await yard.drain(worker_of(graph_of(node=node)))

    assert (await yard.get(task.id)).result == {"notes": ["answer 1", "answer 2"]}


async def test_an_interrupt_asks_a_person_and_holds_no_slot(yard: Yard):
    model, runs = Model(), list[str]()

    async def approval(_: State) -> dict[str, list[str]]:
        runs.append("approval")
        answer = interrupt({"question": "Which one?", "schema": {"enum": ["red", "blue"]}})
        return {"notes": [answer]}

    task = await yard.enqueue("ask")
    worker = worker_of(graph_of(draft=asking(model, 1), approval=approval, final=asking(model, 1)))
    await yard.drain(worker)

    waiting = await yard.get(task.id)
    assert (waiting.status, waiting.claim.lease_expires_at if waiting.claim else None) == (Status.PENDING, None)
    (asked,) = await yard.approvals.list(task_id=task.id)
    assert asked.question is not None
    assert asked.question.text == "Which one?"
    with pytest.raises(InvalidAnswer):
        await yard.approvals.answer(task.id, asked.signal, "green")
    await yard.approvals.answer(task.id, asked.signal, "blue")
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == {"notes": ["answer 1", "blue", "answer 2"]}
    assert len(runs) == 2  # until it asks, and with the answer: the node is not run again only to ask
    assert await outcomes(yard, task.id) == [("suspended", None, False), ("completed", None, False)]


async def test_tool_calls_of_the_middleware_are_approved_one_by_one(yard: Yard):
    async def gate(_: State) -> dict[str, list[str]]:
        calls = [{"name": "deploy", "args": {"to": "prod"}}, {"name": "mail", "args": {"to": "all"}}]
        decisions = interrupt({"action_requests": calls})["decisions"]
        return {"notes": [f"{each}" for each in decisions]}

    task = await yard.enqueue("ask")
    worker = worker_of(graph_of(gate=gate))
    await yard.drain(worker)
    (asked,) = await yard.approvals.list(task_id=task.id)
    assert asked.question is not None
    assert asked.question.text == "May helper call deploy?"
    await yard.approvals.answer(task.id, asked.signal, {"approved": True})
    await yard.drain(worker)
    (asked,) = await yard.approvals.list(task_id=task.id)
    await yard.approvals.answer(task.id, asked.signal, {"approved": False, "comment": "too many"})
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == {
        "notes": ["{'type': 'approve'}", "{'type': 'reject', 'message': 'too many'}"]
    }


async def test_a_node_can_have_a_task_of_its_own_done(yard: Yard):
    async def lead(_: State) -> dict[str, list[str]]:
        return {"notes": [await taskyard.current_task().spawn("research", prompt="cats", wait=True)]}

    worker = worker_of(graph_of(lead=lead))

    @worker.handles("research")
    async def researched(task: taskyard.Context) -> str:
        return f"all about {task.prompt}"

    task = await yard.enqueue("ask")
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == {"notes": ["all about cats"]}


async def test_nodes_and_models_in_threads_are_steps_too(yard: Yard, clock: ManualClock):
    model = Model(faults={1: Crash()})

    def node(_: State) -> dict[str, list[str]]:
        return {"notes": [str(model.invoke(f"{each}").content) for each in range(3)]}

    task = await yard.enqueue("ask")
    worker = worker_of(graph_of(node=node))
    await yard.drain(worker)
    await lose_lease(yard, clock)
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == {"notes": ["answer 1", "answer 2", "answer 3"]}
    assert model.asked == ["0", "1", "2"]


async def test_a_graph_in_a_graph_goes_on_where_it_was(yard: Yard, clock: ManualClock):
    model = Model(faults={2: Crash()})
    inner = graph_of(one=asking(model, 1), two=asking(model, 1), three=asking(model, 1))
    task = await yard.enqueue("ask")
    worker = worker_of(graph_of(outer=inner))
    await yard.drain(worker)
    await lose_lease(yard, clock)
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == {"notes": ["answer 1", "answer 2", "answer 3"]}
    assert len(model.asked) == 3


async def test_the_functional_api_does_its_tasks_once(yard: Yard, clock: ManualClock):
    done, crashes = list[int](), [Crash()]

    @graph_task
    async def square(number: int) -> int:
        done.append(number)
        return number * number

    @entrypoint()
    async def squares(numbers: list[int]) -> list[int]:
        found = [await square(each) for each in numbers]
        if crashes:
            raise crashes.pop()
        return found

    task = await yard.enqueue("ask")
    worker = worker_of(squares, given=[2, 3])
    await yard.drain(worker)
    await lose_lease(yard, clock)
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == [4, 9]
    assert done == [2, 3]


async def test_a_stale_attempt_writes_no_checkpoint(yard: Yard, clock: ManualClock):
    refused = list[str]()
    worker = taskyard.Agent("helper")

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> str:
        saver = YardSaver(task)
        if task.attempt == 1:
            await lose_lease(yard, clock)
        config: Any = {"configurable": {"thread_id": task.id, "checkpoint_ns": ""}}
        checkpoint: Any = {"v": 1, "id": "1", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}
        try:
            await saver.aput(config, checkpoint, {}, {})
        except LeaseLost as lost:
            refused.append(lost.code)
            raise
        return "stored"

    await yard.enqueue("ask")
    await yard.drain(worker)

    assert refused == ["lease_lost"]


async def test_the_run_is_one_trace_with_its_model_calls(yard: Yard, spans: InMemorySpanExporter):
    await yard.enqueue("ask")
    await yard.drain(worker_of(graph_of(a=asking(Model(), 2))))

    calls = traced_calls(spans)
    assert [call["gen_ai.usage.input_tokens"] for call in calls] == [1000, 1000]
    assert {call["gen_ai.request.model"] for call in calls} == {"gpt-4o"}


async def test_outside_of_a_task_a_graph_and_its_models_are_as_they_were(yard: Yard):
    model = Model()
    graph = graph_of(a=asking(model, 1))
    await yard.enqueue("ask")
    await yard.drain(worker_of(graph))

    assert (await graph.ainvoke({"notes": []}))["notes"] == ["answer 2"]
    assert (await graph.ainvoke({"notes": []}))["notes"] == ["answer 3"]
