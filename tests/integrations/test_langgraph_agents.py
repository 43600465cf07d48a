"""What agents of LangGraph do beside asking a model: tools, threads, nodes side by side, answers that are objects."""

import asyncio
import threading
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import tool  # pyright: ignore[reportUnknownVariableType]
from langgraph.channels.delta import DeltaChannel  # pyright: ignore[reportMissingTypeStubs]
from langgraph.graph import START, MessagesState, StateGraph  # pyright: ignore[reportMissingTypeStubs]
from langgraph.prebuilt import ToolNode  # pyright: ignore[reportMissingTypeStubs]
from langgraph.types import Send, interrupt
from pydantic import BaseModel

import taskyard
from taskyard.app import Yard
from taskyard.integrations.langgraph import YardSaver, run
from tests.integrations.conftest import RateLimitError, outcomes, spent
from tests.integrations.test_langgraph import PRICE, Model, State, graph_of, worker_of


async def test_a_rate_limit_inside_of_a_tool_is_no_answer_of_the_tool(yard: Yard):
    model, worker = Model(faults={0: RateLimitError()}), taskyard.Agent("helper")

    @tool
    async def look(word: str) -> str:
        """Look a word up."""
        return str((await model.ainvoke(word)).content)

    async def call(_: MessagesState) -> Any:
        return {"messages": [AIMessage("", tool_calls=[{"name": "look", "args": {"word": "cats"}, "id": "1"}])]}

    drawing: Any = StateGraph(MessagesState)
    drawing.add_sequence([call, ("tools", ToolNode([look], handle_tool_errors=True))]).add_edge(START, "call")
    graph = drawing.compile()

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> Any:
        return (await run(task, graph, {"messages": []}))["messages"][-1].content

    task = await yard.enqueue("ask", max_attempts=1)
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == "answer 1"
    assert await outcomes(yard, task.id) == [("failed", "rate_limit", False), ("completed", None, False)]


async def test_a_node_in_a_thread_asks_no_model_when_its_attempt_is_over(yard: Yard):
    """Nobody can end the thread, and what it asked for would be paid for without being counted."""
    model, asked, is_over, ended = Model(), threading.Event(), threading.Event(), threading.Event()

    def slow(_: State) -> dict[str, list[str]]:
        try:
            model.invoke("one")
            asked.set()
            is_over.wait(30)
            return {"notes": [str(model.invoke("two").content)]}
        finally:
            ended.set()

    async def failing(_: State) -> None:
        await asyncio.to_thread(asked.wait, 30)
        raise RuntimeError("crash")

    drawing: Any = StateGraph(State)
    drawing.add_node("slow", slow).add_node("failing", failing).add_edge(START, "slow").add_edge(START, "failing")
    task = await yard.enqueue("ask", max_attempts=1)
    await yard.drain(worker_of(drawing.compile()))
    is_over.set()
    await asyncio.to_thread(ended.wait, 30)

    assert (model.asked, await spent(yard, task.id)) == (["one"], PRICE)


async def test_a_handler_may_be_a_plain_function(yard: Yard):
    model, worker = Model(), taskyard.Agent("helper")

    async def check(_: State) -> dict[str, list[str]]:
        return {"notes": [str((await model.ainvoke("hello")).content), interrupt("Go on?")]}

    @worker.handles("ask")
    def ask(task: taskyard.SyncContext) -> Any:
        return asyncio.run(run(task, graph_of(check=check), {"notes": []}))

    task = await yard.enqueue("ask")
    await yard.drain(worker)
    (asked,) = await yard.approvals.list(task_id=task.id)
    await yard.approvals.answer(task.id, asked.signal, "yes")
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == {"notes": ["answer 1", "yes"]}
    assert (len(model.asked), await spent(yard, task.id)) == (1, PRICE)


async def test_of_two_writes_at_once_neither_is_lost(yard: Yard):
    """An answer to an interrupt, and the next interrupt of the same node: LangGraph does not wait in between."""
    worker = taskyard.Agent("helper")

    @worker.handles("ask")
    async def ask(task: taskyard.Context) -> list[str]:
        saver = YardSaver(task)
        checkpoint: Any = {"v": 1, "id": "1", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}
        place = await saver.aput({"configurable": {"thread_id": task.id}}, checkpoint, {}, {})
        writes = [("__resume__", ["yes"])], [("__interrupt__", ["again?"])]
        await asyncio.gather(*(saver.aput_writes(place, each, "node") for each in writes))
        stored = await saver.aget_tuple(place)
        return [] if stored is None else sorted(channel for _, channel, _ in stored.pending_writes or [])

    task = await yard.enqueue("ask")
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == ["__interrupt__", "__resume__"]


def _joined(before: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*before, *(each for write in writes for each in write)]


class Changes(TypedDict):
    notes: Annotated[list[str], DeltaChannel(_joined)]


async def test_what_nodes_wrote_side_by_side_is_in_the_same_order_for_a_later_attempt(yard: Yard):
    crashes = [RuntimeError("crash")]

    async def one(given: dict[str, int]) -> dict[str, list[str]]:
        return {"notes": [f"{given['number']}"]}

    def fan_out(_: Changes) -> list[Send]:
        return [Send("one", {"number": each}) for each in range(8)]

    async def last(_: Changes) -> dict[str, list[str]]:
        if crashes:
            raise crashes.pop()
        return {"notes": ["last"]}

    drawing: Any = StateGraph(Changes)
    drawing.add_node("one", one).add_node("last", last).add_edge("one", "last")
    drawing.add_conditional_edges(START, fan_out, ["one"])
    task = await yard.enqueue("ask", retry={"strategy": "immediate"})
    await yard.drain(worker_of(drawing.compile()))

    assert (await yard.get(task.id)).result == {"notes": [*map(str, range(8)), "last"]}


async def test_what_a_graph_interrupts_for_may_be_an_object(yard: Yard):
    async def check(_: State) -> dict[str, list[str]]:
        return {"notes": [interrupt({"question": "Send it?", "draft": AIMessage("Dear all"), "on": date(2026, 1, 2)})]}

    task = await yard.enqueue("ask")
    worker = worker_of(graph_of(check=check))
    await yard.drain(worker)
    (asked,) = await yard.approvals.list(task_id=task.id)
    assert asked.question is not None
    shown: Any = asked.question.context
    assert (shown["draft"]["content"], shown["on"]) == ("Dear all", "2026-01-02")
    await yard.approvals.answer(task.id, asked.signal, "yes")
    await yard.drain(worker)

    assert (await yard.get(task.id)).result == {"notes": ["yes"]}


class Day(BaseModel):
    on: date


class ParsingModel(Model):
    """Keeps what it parsed beside the text, as OpenAI's does."""

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        result = super()._generate(messages)
        result.generations[0].message.additional_kwargs["parsed"] = Day(on=date(2026, 1, 2))
        return result


async def test_an_answer_with_an_object_in_it_is_stored_and_paid_for_once(yard: Yard):
    model, crashes = ParsingModel(), [RuntimeError("crash")]

    async def node(_: State) -> dict[str, list[str]]:
        parsed = (await model.ainvoke("when?")).additional_kwargs["parsed"]
        if crashes:
            raise crashes.pop()
        return {"notes": [parsed["on"]]}

    task = await yard.enqueue("ask", retry={"strategy": "immediate"})
    await yard.drain(worker_of(graph_of(node=node)))

    assert (await yard.get(task.id)).result == {"notes": ["2026-01-02"]}
    assert (len(model.asked), await spent(yard, task.id)) == (1, PRICE)
