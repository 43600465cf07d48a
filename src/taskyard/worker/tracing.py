"""Spans of OpenTelemetry: one trace for each task, however many processes try it.

The trace's id is made from the task's, so attempts join it without being told of each other. Where nobody has set
OpenTelemetry up, nothing is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from hashlib import sha256
from types import ModuleType

from taskyard.core.task import TaskId
from taskyard.wire.tasks import Task

Span = AbstractContextManager[object]
_NOTHING: Span = nullcontext()
Attributes = Mapping[str, str | int]


def attempt_span(task: Task, agent: str) -> Span:
    """An attempt, as a part of its task's trace."""
    if not is_on():
        return _NOTHING
    facts: Attributes = {
        "taskyard.task.id": task.id,
        "taskyard.task.type": task.type,
        "taskyard.task.attempt": task.hot.attempt,
        "taskyard.agent": agent,
        "taskyard.workspace": task.hot.workspace,
    }
    return _begin(f"attempt {task.type}", facts, within=task.id)


def step_span(name: str) -> Span:
    """A step, as a part of the attempt that takes it."""
    if not is_on():
        return _NOTHING
    return _begin(f"step {name}", {"taskyard.step": name})


def trace_of(task_id: TaskId) -> tuple[int, int]:
    """The ids of a task's trace, and of the span that all its attempts are below."""
    digest = sha256(task_id.encode()).digest()
    return int.from_bytes(digest[:16]), int.from_bytes(digest[16:24])


def mark_failed(reason: str) -> None:
    """Say on the attempt's span that it failed, and why. What it said about that may hold anything, and is left out."""
    if (trace := _telemetry()) is not None:
        trace.get_current_span().set_status(trace.StatusCode.ERROR, reason)


def is_on() -> bool:
    """Whether anybody has set OpenTelemetry up by now. Not to be asked for every task: it is looked for far away."""
    trace = _telemetry()
    return trace is not None and not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def _begin(name: str, facts: Attributes, *, within: TaskId | None = None) -> Span:
    if (trace := _telemetry()) is None:
        return _NOTHING
    context = None
    if within is not None:
        # The span that stands for the task itself is sent by nobody: it has no process of its own.
        flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
        root = trace.SpanContext(*trace_of(within), is_remote=True, trace_flags=flags)
        context = trace.set_span_in_context(trace.NonRecordingSpan(root))
    return trace.get_tracer("taskyard").start_as_current_span(
        name, context, attributes=facts, record_exception=False, set_status_on_exception=False
    )


@cache
def _telemetry() -> ModuleType | None:
    """OpenTelemetry, which a worker may do without: it comes with the server."""
    try:
        from opentelemetry import trace  # noqa: PLC0415 - a program that runs no agent need not load it
    except ModuleNotFoundError:
        return None
    return trace
