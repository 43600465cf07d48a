"""Calls through the gateway are spans of their attempt, by the semantic conventions for generative AI."""

from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from taskyard.app import Yard
from tests.spans import facts_of, ids_of, parent_of, spans
from tests.worker.gateway.conftest import outcome, program
from tests.worker.gateway.upstream import message, provider, refusal

__all__ = ["spans"]


async def test_a_call_is_a_span_below_its_attempt(yard: Yard, spans: InMemorySpanExporter) -> None:
    with provider(message, refusal(429)) as upstream:
        await outcome(yard, program(upstream.gateway, "ask(*MESSAGES); ask(*MESSAGES)"))

    found = {span.name: span for span in spans.get_finished_spans()}
    done, limited = found["chat claude-sonnet-4-5-20250929"], found["chat asked-for"]
    assert [parent_of(each) for each in (done, limited)] == [ids_of(found["attempt code"])[1]] * 2
    assert facts_of(done) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-4-5-20250929",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 100,
        "gen_ai.usage.cache_read.input_tokens": 600,
        "gen_ai.usage.cache_creation.input_tokens": 200,
        "taskyard.cost_usd": 0.00303,
    }
    assert (done.end_time or 0) > (done.start_time or 0)
    assert limited.status.status_code is trace.StatusCode.ERROR
    assert facts_of(limited)["error.type"] == "rate_limit"
