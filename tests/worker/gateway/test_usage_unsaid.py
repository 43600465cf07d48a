"""Answers that do not say what they used, or end as if they were whole: they are paid for by what came of them."""

import json
from collections.abc import Callable
from math import ceil
from typing import Any

import pytest

from taskyard.app import Yard
from tests.worker.gateway.conftest import outcome, program
from tests.worker.gateway.upstream import Exchange, message_events, provider

CHUNK: dict[str, Any] = {"object": "chat.completion.chunk", "model": "gpt-4o"}


def begun(exchange: Exchange) -> None:
    exchange.begin_stream()
    for text in ("Hello", " you"):
        exchange.event({**CHUNK, "choices": [{"index": 0, "delta": {"content": text}}]})


def closed_in_the_middle(exchange: Exchange) -> None:
    begun(exchange)
    exchange.end_stream()


def failed_in_the_middle(exchange: Exchange) -> None:
    begun(exchange)
    exchange.event({"error": {"message": "no more", "type": "server_error"}})
    exchange.end_stream()


def streamed_without_usage(exchange: Exchange) -> None:
    begun(exchange)
    exchange.piece(b"data: [DONE]\n\n")
    exchange.end_stream()


def whole_without_usage(exchange: Exchange) -> None:
    exchange.whole(200, {"model": "gpt-4o", "choices": [{"message": {"role": "assistant", "content": "Hello you"}}]})


@pytest.mark.parametrize(
    ("answer", "stream", "failure", "errors"),
    [
        (closed_in_the_middle, True, "502", 1),
        (failed_in_the_middle, True, "error", 1),
        (streamed_without_usage, True, None, 0),
        (whole_without_usage, False, None, 0),
    ],
)
async def test_a_call_that_does_not_say_what_it_used_is_counted_by_its_text(
    yard: Yard, answer: Callable[[Exchange], None], stream: bool, failure: str | None, errors: int
) -> None:
    with provider(answer) as upstream:
        text = f"print(str(ask(*CHAT, stream={stream})[1]).count('error\": {{'))"
        details = await outcome(yard, program(upstream.gateway, text))
        asked = -(-len(json.dumps(upstream.heard[0].body)) // 4)

    assert details.result == str(errors)  # the provider's own, or the gateway's, and not both
    (attempt,) = details.attempts
    assert (attempt.tokens.output, attempt.cost) == (3, ceil(asked * 2.5 + 3 * 10))
    (record,) = [
        json.loads(stored.event.data or "{}") for stored in await yard.events() if stored.event.event == "task.message"
    ]
    assert (record["is_estimate"], record["failure"]) == (True, failure)


async def test_a_message_that_stops_without_its_end_is_counted_by_its_text(yard: Yard) -> None:
    def stopped(exchange: Exchange) -> None:
        exchange.begin_stream()
        first, second, *_ = message_events()
        exchange.event(first)
        exchange.event({**second, "delta": {"type": "text_delta", "text": "word " * 200}})
        exchange.end_stream()

    with provider(stopped) as upstream:
        text = "print(ask(*MESSAGES, stream=True)[1].count('event: error'))"
        details = await outcome(yard, program(upstream.gateway, text))

    assert (details.result, details.attempts[0].tokens.output) == ("1", 250)


async def test_calls_that_say_nothing_of_their_usage_end_at_the_maximum_too(yard: Yard) -> None:
    with provider(*[whole_without_usage] * 20) as upstream:
        text = "for _ in range(20): ask(*CHAT)"
        details = await outcome(yard, program(upstream.gateway, text), max_cost_usd="0.0002")

    assert details.attempts[0].reason == "budget_exceeded"
    assert len(upstream.heard) < 20
