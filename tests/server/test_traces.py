"""The `traceparent` of a request, and what a server makes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import taskyard
from taskyard.app import Yard
from taskyard.definition.traceparent import parse
from tests.server.calling import calling
from tests.spans import ids_of, parent_of, spans, traced_by_taskyard

__all__ = ["spans"]
GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(params=["memory://", "yard.db"])
async def yard(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Yard]:
    url = request.param if "://" in request.param else f"sqlite:///{tmp_path / request.param}"
    async with taskyard.connect(url, sweeps=False) as yard:
        yield yard


async def test_the_header_of_a_request_is_the_trace_of_its_task(yard: Yard):
    async with calling(yard) as client:
        answers = [
            await client.post("/api/tasks", json={"type": "code"}, headers={"traceparent": header})
            for header in (GIVEN, "00-junk")
        ]

    assert [answer.json()["task"]["trace"] for answer in answers] == [GIVEN, None]


async def test_a_server_that_traces_puts_its_own_spans_between(yard: Yard, spans: InMemorySpanExporter):
    async with calling(yard) as client:
        await client.post("/api/tasks", json={"type": "code"}, headers={"traceparent": GIVEN})

    (put_in,) = traced_by_taskyard(spans)
    (request,) = [span for span in spans.get_finished_spans() if span.kind is trace.SpanKind.SERVER]
    assert (given := parse(GIVEN)) is not None
    assert ids_of(put_in)[0] == ids_of(request)[0] == given.trace_id
    assert parent_of(request) == given.span_id
    assert parent_of(put_in) not in (None, given.span_id)
