"""An agent of the OpenAI Agents SDK as a worker: four lines, which are numbered.

With a model:    OPENAI_API_KEY=… taskyard work openai_agents_worker:worker (in this folder)
Without a model: python examples/frameworks/openai_agents_worker.py
"""

import asyncio
import os

from agents import Agent, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

import taskyard  # 1
from taskyard.integrations.openai_agents import handler  # 2


@function_tool
def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: a thing"


SCRIPT = [[function_call("look_up", {"word": "queue"}, call_id="call_1")], [assistant_message("A line that waits.")]]
is_online = "OPENAI_API_KEY" in os.environ
assistant = Agent(name="assistant", model="gpt-5" if is_online else ScriptedModel(SCRIPT), tools=[look_up])
set_tracing_disabled(not is_online)
worker = taskyard.Agent("assistant", budget_usd=10)  # 3
worker.handles("ask")(handler(assistant))  # 4


async def main() -> None:
    async with taskyard.connect("memory://") as yard:
        task = await yard.enqueue("ask", prompt="What is a queue?")
        await yard.drain(worker)
        print((await yard.get(task.id)).result)
        print(f"{len(await yard.attempts.checkpoints(task.id))} steps")


if __name__ == "__main__":
    asyncio.run(main())
