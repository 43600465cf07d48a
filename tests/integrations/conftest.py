"""Agents of other frameworks at work on a yard in memory: what their tests share."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

import taskyard
from taskyard.app import Yard
from taskyard.ledger.clock import ManualClock
from tests.spans import facts_of, ids_of, spans

__all__ = ["spans"]


@pytest.fixture
async def yard(clock: ManualClock) -> AsyncGenerator[Yard]:
    async with taskyard.connect("memory://", clock=clock, sweeps=False) as yard:
        yield yard
        verified = await yard.verify()
        assert verified.ok, str(verified)


class RateLimitError(Exception):
    """As openai, anthropic and others raise it."""

    def __init__(self, retry_after: int = 2) -> None:
        super().__init__("Error code: 429")
        self.status_code = 429
        request = httpx.Request("POST", "https://provider.example/v1")
        self.response = httpx.Response(429, headers={"retry-after": str(retry_after)}, request=request)


class Crash(asyncio.CancelledError):
    """The attempt is cut off as by the end of its process: the yard hears nothing of it but its silence."""


async def lose_lease(yard: Yard, clock: ManualClock) -> None:
    """Time passes until the lease of a crashed attempt has run out, and its task is tried again."""
    for _ in range(20):
        clock.advance(seconds=20)
        await yard.sweep()


async def outcomes(yard: Yard, task_id: str) -> list[tuple[str, str | None, bool]]:
    """How each attempt ended: outcome, reason, whether it counted."""
    return [(each.outcome.value, each.reason, each.counted) for each in await yard.tasks.history(task_id)]


async def spent(yard: Yard, task_id: str) -> int:
    """In micro-dollars, over all attempts."""
    return sum(each.cost for each in await yard.tasks.history(task_id))


async def streamed(yard: Yard, task_id: str) -> dict[int, str]:
    """The text that those who follow a task were shown, by attempt."""
    shown: dict[int, str] = {}
    async for chunk in yard.streams.follow(task_id):
        attempt = int(chunk.place.partition("-")[0])
        shown[attempt] = shown.get(attempt, "") + (chunk.text or "")
    return shown


def traced_calls(exporter: Any) -> list[dict[str, Any]]:
    """The model calls that were traced; every span of the run is in one trace."""
    found = exporter.get_finished_spans()
    assert len({ids_of(span)[0] for span in found}) == 1
    return [facts for span in found if (facts := facts_of(span)).get("gen_ai.operation.name") == "chat"]


class Tool:
    """A tool that notes what it was called with."""

    def __init__(self, answer: str = "a page") -> None:
        self.calls: list[str] = []
        self._answer = answer

    def search(self, word: str) -> str:
        """Find a page."""
        self.calls.append(word)
        return self._answer

    def deploy(self, to: str) -> str:
        """Deploy the service."""
        self.calls.append(to)
        return self._answer
