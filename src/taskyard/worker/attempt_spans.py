"""Spans of OpenTelemetry for attempts, steps and model calls. Without a tracer provider, nothing is done.

An attempt continues the trace that its task was put in under, in whichever process the attempt runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from time import time_ns
from types import MappingProxyType, ModuleType
from typing import Any

from taskyard.core.task import TaskId
from taskyard.core.units import to_usd
from taskyard.definition.traceparent import Traceparent, parse
from taskyard.features.tasks.views import Task
from taskyard.ledger.tracing import NOTHING, SYSTEM, Span, has_provider, span_context
from taskyard.worker.spending import ModelCall, Ran

Attributes = Mapping[str, str | int | float]
_SAMPLED = 1
# What the names of models begin with, and their providers by the names of the semantic conventions.
_PROVIDERS = {
    "claude": "anthropic",
    "gpt": "openai",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "deepseek": "deepseek",
    "command": "cohere",
    "grok": "x_ai",
}


def attempt_span(task: Task, agent: str) -> Span:
    """An attempt, as a consumer span below the span that put the task in."""
    if not is_on():
        return NOTHING
    facts: Attributes = {
        "messaging.system": SYSTEM,
        "messaging.operation.name": "attempt",
        "messaging.operation.type": "process",
        "messaging.destination.name": task.queue,
        "messaging.message.id": task.id,
        "taskyard.task.id": task.id,
        "taskyard.task.type": task.type,
        "taskyard.task.attempt": task.attempt,
        "taskyard.agent": agent,
        "taskyard.workspace": task.workspace,
    }
    return _begin(f"attempt {task.type}", facts, within=parse(task.trace) or trace_of(task.id))


def step_span(name: str, facts: Attributes = MappingProxyType({})) -> Span:
    """A step, as a part of the attempt that takes it."""
    if not is_on():
        return NOTHING
    return _begin(f"step {name}", {"taskyard.step": name, **facts})


def record_call(
    call: ModelCall, model: str | None, ran: Ran | None = None, *, operation: str = "chat", failure: str | None = None
) -> None:
    """A model call that is over, as a span below the active one.

    A call without its times was reported afterwards: its span has no length.
    """
    if not is_on() or (trace := _telemetry()) is None:
        return
    if call.model is None and not any(call.tokens):
        trace.get_current_span().set_attributes(_cost(call))  # dollars for something that is no model's
        return
    name, (began, ended) = f"{operation} {model}" if model else operation, ran or (time_ns(),) * 2
    span = trace.get_tracer(SYSTEM).start_span(
        name, kind=trace.SpanKind.CLIENT, attributes=_call_facts(call, model, operation), start_time=began
    )
    if failure is not None:
        span.set_attribute("error.type", failure)
        span.set_status(trace.StatusCode.ERROR, failure)
    span.end(ended)


def trace_of(task_id: TaskId) -> Traceparent:
    """The trace of a task that was put in without one: made from its id, so that all its attempts share it."""
    digest = sha256(task_id.encode()).digest()
    return Traceparent(int.from_bytes(digest[:16]), int.from_bytes(digest[16:24]), _SAMPLED)


def mark_failed(reason: str) -> None:
    """Mark the attempt's span as failed, with the reason. The error's text may hold anything, and is left out."""
    if (trace := _telemetry()) is not None:
        trace.get_current_span().set_status(trace.StatusCode.ERROR, reason)


def is_on() -> bool:
    """Whether a tracer provider is set by now. Not to be asked for every task: the lookup is slow."""
    trace = _telemetry()
    return trace is not None and has_provider(trace)


def _call_facts(call: ModelCall, model: str | None, operation: str) -> dict[str, Any]:
    """By the semantic conventions for generative AI, which count cached tokens among the input."""
    tokens = call.tokens
    facts: dict[str, Any] = {
        "gen_ai.operation.name": operation,
        "gen_ai.usage.input_tokens": tokens.input,
        "gen_ai.usage.output_tokens": tokens.output,
        **_cost(call),
    }
    cached = {
        "gen_ai.usage.cache_read.input_tokens": tokens.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": tokens.cache_write,
    }
    named = {"gen_ai.request.model": model, "gen_ai.provider.name": call.provider or provider_of(model or "")}
    return facts | {name: value for name, value in (cached | named).items() if value}


def provider_of(model: str) -> str | None:
    """Who serves a model, as far as its name tells: `openai/gpt-5` and `claude-haiku-4-5` do."""
    before, slash, _ = model.partition("/")
    return before if slash else _PROVIDERS.get(model.partition("-")[0])


def _cost(call: ModelCall) -> Attributes:
    return {} if call.cost is None else {"taskyard.cost_usd": float(to_usd(call.cost))}


def _begin(name: str, facts: Attributes, *, within: Traceparent | None = None) -> Span:
    if (trace := _telemetry()) is None:
        return NOTHING
    context, kind = None, trace.SpanKind.INTERNAL
    if within is not None:
        context = trace.set_span_in_context(trace.NonRecordingSpan(span_context(trace, within)))
        kind = trace.SpanKind.CONSUMER
    return trace.get_tracer(SYSTEM).start_as_current_span(
        name, context, kind, attributes=facts, record_exception=False, set_status_on_exception=False
    )


@cache
def _telemetry() -> ModuleType | None:
    """OpenTelemetry, which a worker may do without: it comes with the server."""
    try:
        from opentelemetry import trace  # noqa: PLC0415 - a program that runs no agent need not load it
    except ModuleNotFoundError:
        return None
    return trace
