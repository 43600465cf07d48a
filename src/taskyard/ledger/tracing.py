"""The span of putting work in, and the trace context that new tasks carry.

This module never loads OpenTelemetry: a program that has not loaded it has no active span and no tracer provider.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any, cast

from taskyard.core.errors import TaskyardError
from taskyard.core.json_value import is_mapping
from taskyard.definition.traceparent import Traceparent, parse

Span = AbstractContextManager[object]
NOTHING: Span = nullcontext()
SYSTEM = "taskyard"
_TRACE_MODULE = "opentelemetry.trace"


def current_trace() -> str | None:
    """The traceparent of the active span; None where there is none."""
    if (trace := sys.modules.get(_TRACE_MODULE)) is None:
        return None
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return str(Traceparent(context.trace_id, context.span_id, int(context.trace_flags)))


def continued(fields: object) -> object:
    """The fields of a task with the active trace, unless the fields name a trace already."""
    if not is_mapping(fields) or "trace" in fields or (trace := current_trace()) is None:
        return fields
    return {**fields, "trace": trace}


def enqueue_span(tasks: object) -> Span:
    """The producer span of one call that puts these tasks in.

    There is none where no tracer provider is set, and none where each task names its trace: then the caller, such as
    the client of a server, has made the span.
    """
    trace = sys.modules.get(_TRACE_MODULE)
    if trace is None or not has_provider(trace) or not isinstance(tasks, Sequence):
        return NOTHING
    rows = cast(Sequence[object], tasks)
    return NOTHING if all(isinstance(row, Mapping) and "trace" in row for row in rows) else _producer(trace, rows)


def remote_parent(header: str | None) -> Span:
    """A caller's `traceparent` as the active span's context, where no span of this process is active."""
    if (
        header is None
        or (parent := parse(header)) is None
        or (trace := sys.modules.get(_TRACE_MODULE)) is None
        or current_trace()
    ):
        return NOTHING
    return trace.use_span(trace.NonRecordingSpan(span_context(trace, parent)))


def has_provider(trace: ModuleType) -> bool:
    """Whether a tracer provider is set by now."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def span_context(trace: ModuleType, parent: Traceparent) -> Any:
    """The context of a span of another process."""
    flags = trace.TraceFlags(parent.flags)
    return trace.SpanContext(parent.trace_id, parent.span_id, is_remote=True, trace_flags=flags)


@contextmanager
def _producer(trace: ModuleType, rows: Sequence[object]) -> Generator[None]:
    kind, facts = _common(rows, "type", "task"), _facts(rows)
    begun = trace.get_tracer(SYSTEM).start_as_current_span(
        f"enqueue {kind}",
        kind=trace.SpanKind.PRODUCER,
        attributes=facts,
        record_exception=False,
        set_status_on_exception=False,
    )
    with begun as span:
        try:
            yield
        except TaskyardError as error:
            # The message may hold what the caller sent: the span names the class of the error only.
            span.set_status(trace.StatusCode.ERROR, type(error).__name__)
            raise


def _facts(rows: Sequence[object]) -> dict[str, str | int]:
    facts: dict[str, str | int] = {
        "messaging.system": SYSTEM,
        "messaging.operation.name": "enqueue",
        "messaging.operation.type": "send",
        "messaging.destination.name": _common(rows, "queue", "default"),
    }
    return facts if len(rows) == 1 else {**facts, "messaging.batch.message_count": len(rows)}


def _common(rows: Sequence[object], field: str, otherwise: str) -> str:
    """What all rows have in this field, where that is one text."""
    values = {str(row.get(field)) for row in rows if is_mapping(row)}
    values.discard("None")
    return values.pop()[:255] if len(values) == 1 else otherwise
