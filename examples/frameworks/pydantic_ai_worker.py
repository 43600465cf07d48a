"""An agent of pydantic-ai as a worker: five lines, which are numbered.

With a model:    OPENAI_API_KEY=… taskyard work pydantic_ai_worker:worker (in this folder)
Without a model: python examples/frameworks/pydantic_ai_worker.py
"""

import asyncio
import os

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

import taskyard  # 1
from taskyard.integrations.pydantic_ai import TaskyardDurability, handler  # 2

model = "openai:gpt-5" if "OPENAI_API_KEY" in os.environ else TestModel(custom_output_text="A line that waits.")
assistant = Agent(model, name="assistant", capabilities=[TaskyardDurability()])  # 3


@assistant.tool_plain
def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: a thing"


worker = taskyard.Agent("assistant", budget_usd=10)  # 4
worker.handles("ask")(handler(assistant))  # 5


async def main() -> None:
    async with taskyard.connect("memory://") as yard:
        task = await yard.enqueue("ask", prompt="What is a queue?")
        await yard.drain(worker)
        print((await yard.get(task.id)).result)
        print(f"{len(await yard.attempts.checkpoints(task.id))} steps")


if __name__ == "__main__":
    asyncio.run(main())
