"""Claude's agent as a worker: five lines, which are numbered. It needs an account, or a program in place of Claude's.

python examples/frameworks/claude_worker.py
"""

import asyncio
import os

from claude_agent_sdk import ClaudeAgentOptions

import taskyard  # 1
from taskyard.integrations.claude import run  # 2

options = ClaudeAgentOptions(cli_path=os.environ.get("CLAUDE_CLI"))  # None: the command line that the SDK brings
worker = taskyard.Agent("assistant", budget_usd=10)  # 3


@worker.handles("ask")  # 4
async def ask(task: taskyard.Context) -> str:
    return await run(task, options=options)  # 5


async def main() -> None:
    async with taskyard.connect("memory://") as yard:
        task = await yard.enqueue("ask", prompt="What is a queue?", max_attempts=1)
        await yard.drain(worker)
        print(await yard.result(task.id))


if __name__ == "__main__":
    asyncio.run(main())
