"""Words for tests of traces: what was exported, by the SDK's exporter into memory."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """What was traced. A program can set OpenTelemetry up once only, so a test has to do it by hand."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


def ids_of(span: ReadableSpan | trace.Span) -> tuple[int, int]:
    context = span.get_span_context()
    assert context is not None
    return context.trace_id, context.span_id


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def facts_of(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def traced_by_taskyard(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    """The spans of Taskyard itself, in the order in which they began."""
    mine = [
        span
        for span in exporter.get_finished_spans()
        if span.instrumentation_scope is not None and span.instrumentation_scope.name == "taskyard"
    ]
    return sorted(mine, key=lambda span: span.start_time or 0)
