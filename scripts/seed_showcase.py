"""Tasks whose pages have much to show: steps and model calls in two attempts, a stream that goes on, and variants."""

import random
from collections.abc import Callable
from typing import Any

from taskyard.app import Yard
from taskyard.core.units import DAY, SECOND, Micros, to_iso
from taskyard.features.attempts.views import StepFacts
from taskyard.features.provider_batches.rules import TYPE

PATIENT = {"claim_ttl_sec": 3600, "heartbeat_sec": 1800, "lease_sec": 86_400}
MODEL = "claude-sonnet"
RELEASE: dict[str, Any] = {  # the form of a question, with a field of each kind
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Roll it out?"},
        "channel": {
            "title": "Channel",
            "oneOf": [{"const": "canary", "title": "Canary only"}, {"const": "stable", "title": "Everybody"}],
        },
        "percent": {
            "type": "integer",
            "title": "Share of the users",
            "minimum": 1,
            "maximum": 100,
            "default": 10,
            "description": "In percent, from 1 to 100.",
        },
        "window": {
            "type": "object",
            "title": "Window",
            "properties": {
                "day": {"type": "string", "format": "date", "title": "Day"},
                "contact": {"type": "string", "format": "email", "title": "Mail of who is on call"},
            },
            "required": ["day"],
        },
        "hosts": {"type": "array", "title": "Hosts to leave out", "items": {"type": "string"}},
        "notes": {"type": "string", "title": "Notes", "maxLength": 2000},
        "plan": {"type": "string", "format": "binary", "title": "Plan to go back"},
    },
    "required": ["approved", "channel"],
}
Forward = Callable[[float], None]  # puts the clock forward by so many microseconds
DRAFT = """The limiter counts each request twice when a client retries: once in the
middleware, and once more in the handler.

I see two ways out:
1. Count in the middleware alone, and hand the result on.
2. Give each request an id, and count an id once.

The first is smaller and loses nothing, so I take it. The handler keeps its
check for calls that come in without the middleware, such as those of the
scheduler, and reads"""


def call(seconds: float, dollars: str, tokens: tuple[int, int]) -> StepFacts:
    return {
        "took_sec": seconds, "cost_usd": dollars, "tokens_input": tokens[0], "tokens_output": tokens[1], "model": MODEL,
    }  # fmt: skip


async def show_work(yard: Yard, forward: Forward) -> None:
    """One that failed and is done at the second attempt, one that is being written, and a comparison."""
    await yard.agents.register("fixer", types=["repair", "summary"], models=[MODEL], max_concurrent_tasks=4)
    await _worked(yard, forward)
    await _compared(yard)
    await _batched(yard)


async def _worked(yard: Yard, forward: Forward) -> None:
    retry = {"strategy": "immediate"}
    fields: dict[str, Any] = {
        "title": "Count each request once",
        "prompt": "The limiter refuses too early. Find out why.",
    }
    await yard.enqueue("repair", **fields, retry=retry, timeouts=PATIENT, payload={"repository": "acme/shop"})
    (held,) = await yard.claim("fixer", start=True)

    async def step(name: str, result: Any, facts: StepFacts) -> None:
        forward((facts.get("took_sec") or 0) * SECOND)
        await yard.attempts.checkpoint(held.id, held.lease, name, result, step=facts)

    await yard.attempts.message(held.id, held.lease, "I read the limiter and its tests first.")
    await step(
        "model:plan:1",
        {"plan": ["read the limiter", "write a failing test", "mend it"]},
        call(6.2, "0.021", (4210, 380)),
    )
    await step("tool:read_file:1", {"path": "src/limiter.py", "lines": 212}, {"took_sec": 0.4})
    await step("tool:run_tests:1", {"passed": 118, "failed": 1}, {"took_sec": 7.5})
    await step("model:diagnose:1", {"cause": "a retried request is counted twice"}, call(9.1, "0.034", (9120, 610)))
    forward(2 * SECOND)
    spent: dict[str, Any] = {"cost_usd": "0.061", "model": MODEL, "tokens_input": 13_330, "tokens_output": 990}
    await yard.fail(held.id, held.lease, "crash", "ConnectionResetError: the provider closed the stream", **spent)
    (held,) = await yard.claim("fixer", start=True)
    await yard.attempts.message(held.id, held.lease, "The plan and the diagnosis are stored: I go on with the patch.")
    await step("model:patch:1", {"diff": "- count(request)\n+ count_once(request)"}, call(11.4, "0.042", (10_870, 940)))
    await step("tool:run_tests:2", {"passed": 119, "failed": 0}, {"took_sec": 8.0})
    await step("model:explain:1", {"summary": "Requests are counted in one place."}, call(4.3, "0.012", (3010, 210)))
    spent = {"cost_usd": "0.054", "model": MODEL, "tokens_input": 13_880, "tokens_output": 1150}
    await yard.complete(held.id, held.lease, {"files": ["src/limiter.py", "tests/test_limiter.py"]}, **spent)


async def stream(yard: Yard) -> None:
    """A task that is being worked on, in the middle of a sentence."""
    await yard.enqueue("repair", title="Explain the limiter's fault", prompt="For the release notes.", timeouts=PATIENT)
    for held in await yard.claim("fixer", start=True):
        await yard.attempts.message(held.id, held.lease, "I looked at the two call sites. Here is what I found.")
        await yard.attempts.checkpoint(held.id, held.lease, "tool:read_file:1", {"lines": 212}, step={"took_sec": 0.3})
        await yard.streams.append(
            held.id, held.lease, [{"kind": "json", "data": {"tool": "grep", "pattern": "count(", "hits": 2}}]
        )
        await yard.streams.append(held.id, held.lease, [{"kind": "text", "text": DRAFT}])
        await yard.progress(held.id, held.lease, {"fraction": 0.6, "message": "writing the explanation"})


async def _compared(yard: Yard) -> None:
    """Two variants, of which one is dearer and better liked."""
    dice = random.Random(11)
    variants = [{"name": "plain", "share": 1}, {"name": "careful", "share": 1, "prompt": "Check each fact. {prompt}"}]
    await yard.variants.set("summary", variants)
    for number in range(48):
        is_careful = number % 2 == 1
        await yard.enqueue(
            "summary", title=f"Sum up report {number}", variant="careful" if is_careful else "plain", max_attempts=1
        )
        for held in await yard.claim("fixer", start=True):
            cost = f"{dice.uniform(0.02, 0.04) * (1.8 if is_careful else 1):.4f}"
            if dice.random() < (0.04 if is_careful else 0.12):
                await yard.fail(held.id, held.lease, "timeout", "no answer in time", cost_usd=cost, model=MODEL)
                continue
            await yard.complete(held.id, held.lease, {"words": 120}, cost_usd=cost, model=MODEL)
            await yard.scores.add(
                held.id, "faithful", round(dice.gauss(0.84 if is_careful else 0.7, 0.08), 2), by="human:ada"
            )
            await yard.scores.add(held.id, "style", round(dice.gauss(0.66, 0.12), 2), by="agent:checker")


async def _batched(yard: Yard) -> None:
    """Pages that are read in the cheap lane: one batch at the provider, and one that gathers."""
    await yard.agents.register("reader-1", "reader", types=["read"], models=["gpt-4o"], max_concurrent_tasks=20)
    await yard.agents.register("reader-2", "reader", types=[TYPE])
    for group, calls in (("gpt-4o", 12), ("gpt-4o-mini", 5)):
        for number in range(calls):
            await yard.enqueue("read", title=f"Read page {number + 1}", service="batch")
            for held in await yard.claim("reader-1", start=True):
                await yard.provider_batches.join(
                    *(held.id, held.lease, "call"),
                    provider="openai",
                    group=group,
                    request={"model": group},
                    gather_sec=0,
                )
    for held in await yard.claim("reader-2", start=True):
        expires = to_iso(Micros(yard.now() + DAY))
        await yard.provider_batches.sent(
            held.id, held.lease, f"{held.id}.1", provider_id="batch_68f1c2", calls=12, expires_at=expires
        )
