"""OpenTelemetry gets the figures that Prometheus reads, from the exporter's own thread."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client.parser import text_string_to_metric_families

from taskyard.server.otel_metrics import export_metrics
from taskyard.server.server import served
from taskyard.yard import Yard
from tests.yards import given_a_dead_letter, given_an_agent

OF_THE_MOMENT = ("taskyard_http_", "taskyard_store_health")  # they differ from one look to the next


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryMetricReader]:
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: provider)
    monkeypatch.setattr(metrics, "get_meter", provider.get_meter)
    yield reader
    provider.shutdown()


def exported(reader: InMemoryMetricReader) -> dict[tuple[str, frozenset[Any]], float]:
    data = reader.get_metrics_data()
    points = {
        (metric.name, frozenset((point.attributes or {}).items())): getattr(point, "value", 0.0)
        for resource in (data.resource_metrics if data else ())
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    }
    ours = {key: value for key, value in points.items() if key[0].startswith("taskyard_")}  # FastAPI has its own
    return {key: value for key, value in ours.items() if not key[0].startswith(OF_THE_MOMENT)}


async def test_the_samples_are_those_of_prometheus(yard: Yard, reader: InMemoryMetricReader):
    await given_an_agent(yard, "coder")
    await given_a_dead_letter(yard)
    await yard.enqueue("research")
    async with served(yard) as server, httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as client:
        text = (await client.get("/metrics")).text
        got = await asyncio.to_thread(exported, reader)

    read = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.startswith(OF_THE_MOMENT) and not sample.name.endswith("_created")
    }
    assert got == read
    depth = frozenset({("status", "ready"), ("priority_tier", "normal")})
    assert got["taskyard_task_queue_depth", depth] == 1


async def test_a_server_that_has_stopped_is_not_asked(yard: Yard, reader: InMemoryMetricReader):
    def in_a_loop_of_its_own() -> None:
        async def nothing() -> list[Any]:
            return []

        assert asyncio.run(export_metrics(nothing))

    await asyncio.to_thread(in_a_loop_of_its_own)

    assert await asyncio.to_thread(exported, reader) == {}


async def test_a_process_without_a_provider_exports_nothing():
    async def nothing() -> list[Any]:
        raise AssertionError("nobody wants them")

    assert not await export_metrics(nothing)
