"""Agents whose model calls wait for a batch."""

from typing import Any

from taskyard.worker.cheap_lane.anthropic_batches import AnthropicBatches
from taskyard.worker.cheap_lane.batch_provider import BatchTerms
from taskyard.worker.cheap_lane.openai_batches import OpenAIBatches
from taskyard.worker.context import Context
from taskyard.worker.handlers import Agent
from tests.batch_providers import FakeProvider

MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5"}
TERMS = BatchTerms(gather_sec=60, ordinary_sec=300, cancel_sec=600, poll_sec=30, search_after_sec=0)


def reader(kind: str, provider: FakeProvider, *, terms: BatchTerms = TERMS) -> Agent:
    """An agent that asks a model once, and gives its answer."""
    if kind == "openai":
        batches = OpenAIBatches("key", base_url=provider.url, terms=terms)
    else:
        batches = AnthropicBatches("key", base_url=provider.url, terms=terms)
    agent = Agent("reader", batch=batches, max_concurrent_tasks=10)

    @agent.handles("read")
    async def read(task: Context) -> Any:
        asked = {"model": MODELS[kind], "messages": [{"role": "user", "content": task.prompt}]}
        answer = await task.call_model(asked)
        return answer["choices"][0]["message"]["content"] if kind == "openai" else answer["content"][0]["text"]

    del read
    return agent
