"""A graph of LangGraph as a worker: five lines, which are numbered.

python examples/frameworks/langgraph_worker.py
"""

import asyncio
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph  # pyright: ignore[reportMissingTypeStubs]

import taskyard  # 1
from taskyard.integrations.langgraph import run  # 2

model = GenericFakeChatModel(messages=iter([AIMessage("A line that waits.")]))  # in place of ChatOpenAI("gpt-5")


async def answer(state: MessagesState) -> Any:
    return {"messages": [await model.ainvoke(state["messages"])]}


drawing: Any = StateGraph(MessagesState)
drawing.add_node("answer", answer).add_edge(START, "answer")
graph = drawing.compile()
worker = taskyard.Agent("assistant", budget_usd=10)  # 3


@worker.handles("ask")  # 4
async def ask(task: taskyard.Context) -> str:
    state = await run(task, graph, {"messages": [("user", task.prompt)]})  # 5
    return state["messages"][-1].content


async def main() -> None:
    async with taskyard.connect("memory://") as yard:
        task = await yard.enqueue("ask", prompt="What is a queue?")
        await yard.drain(worker)
        print((await yard.get(task.id)).result)


if __name__ == "__main__":
    asyncio.run(main())
