"""An agent that reads in the cheap lane, until it is killed: batcher.py URL PROVIDER FOLDER KIND."""

import asyncio
import os
import sys

import taskyard
from taskyard.worker.cheap_lane.batch_provider import BatchProvider
from taskyard.worker.process.runner import run_all
from tests.processes.child import say

TERMS = taskyard.BatchTerms(
    gather_sec=0.5, ordinary_sec=12, cancel_sec=3, poll_sec=0.3, longest_poll_sec=0.3, search_after_sec=0
)


def provider_of(kind: str, provider: str) -> BatchProvider:
    if kind == "openai":
        return taskyard.OpenAIBatches("key", base_url=provider, terms=TERMS)
    return taskyard.AnthropicBatches("key", base_url=provider, terms=TERMS)


async def main(url: str, provider: str, folder: str, kind: str) -> None:
    os.chdir(folder)
    agent = taskyard.Agent("reader", batch=provider_of(kind, provider), max_concurrent_tasks=50, poll_interval_sec=0.2)

    @agent.handles("read")
    async def read(task: taskyard.Context) -> str:
        asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": task.prompt}]}
        answer = await task.call_model(asked)
        return answer["choices"][0]["message"]["content"] if kind == "openai" else answer["content"][0]["text"]

    async with taskyard.connect(url) as yard:
        say(up=True)
        await run_all(yard, [agent])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
