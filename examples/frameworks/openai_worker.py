"""A program with OpenAI's client as a worker: five lines, which are numbered.

With a model: OPENAI_API_KEY=… taskyard work openai_worker:worker (in this folder)
With an endpoint of the same shape: OPENAI_BASE_URL=http://127.0.0.1:8000/v1 python examples/frameworks/openai_worker.py
"""

import asyncio

import taskyard  # 1
from taskyard.integrations.openai import AsyncOpenAI  # 2, in place of `from openai import AsyncOpenAI`

worker = taskyard.Agent("assistant", budget_usd=10)  # 3


@worker.handles("ask")  # 4
async def ask(task: taskyard.Context) -> str:  # 5; what follows is the program as it was
    async with AsyncOpenAI() as client:
        outline = await client.responses.create(model="gpt-4o", input=f"Outline an answer: {task.prompt}")
        answer = await client.responses.create(model="gpt-4o", input=f"Write it out: {outline.output_text}")
    return answer.output_text


async def main() -> None:
    async with taskyard.connect("memory://") as yard:
        task = await yard.enqueue("ask", prompt="What is a queue?", max_attempts=1)
        await yard.drain(worker)
        print(await yard.result(task.id))
        done = await yard.get(task.id)
        print(f"{len(await yard.attempts.checkpoints(task.id))} steps, {done.cost / 1_000_000:.6f} dollars")


if __name__ == "__main__":
    asyncio.run(main())
