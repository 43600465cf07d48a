"""The figures of /metrics as OpenTelemetry metrics, in a process whose program has set a meter provider.

This module never loads OpenTelemetry: a process that has not loaded it has no provider. Names, labels and values are
those that Prometheus reads, so dashboards and alerts serve both. The exporter's thread asks; the server's loop reads.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from types import ModuleType
from typing import Any

from prometheus_client import Metric

logger = logging.getLogger("taskyard.server")
READ_WITHIN = 10.0  # seconds; later than that, this export goes without the figures
ReadFigures = Callable[[], Awaitable[Sequence[Metric]]]
# What the samples of a family are called, and whether they only grow. OpenTelemetry has no histogram that is read from
# elsewhere, so it gets the buckets of the yard's histograms as sums.
_SAMPLES = {
    "gauge": (("", False),),
    "counter": (("_total", True),),
    "histogram": (("_bucket", True), ("_count", True), ("_sum", True)),
}


async def export_metrics(read: ReadFigures) -> bool:
    """Register what is read with the meter provider. False: there is none, and nothing is exported."""
    if (metrics := _provided()) is None:
        return False
    loop = asyncio.get_running_loop()
    meter = metrics.get_meter("taskyard")
    for family in await read():
        for suffix, only_grows in _SAMPLES[family.type]:
            name = family.name + suffix
            make = meter.create_observable_counter if only_grows else meter.create_observable_gauge
            make(name, callbacks=[_observe(metrics, loop, read, name)], description=family.documentation)
    return True


def _provided() -> ModuleType | None:
    metrics = sys.modules.get("opentelemetry.metrics")
    if metrics is None:
        return None
    # Without a provider of its own, a process has one that hands everything on to a provider that may come.
    return None if type(metrics.get_meter_provider()).__name__.lstrip("_") == "ProxyMeterProvider" else metrics


def _observe(
    metrics: ModuleType, loop: asyncio.AbstractEventLoop, read: ReadFigures, name: str
) -> Callable[[object], Iterable[Any]]:
    def observe(_: object) -> Iterable[Any]:
        families = _read_on(loop, read)
        samples = (sample for family in families for sample in family.samples if sample.name == name)
        return [metrics.Observation(sample.value, dict(sample.labels)) for sample in samples]

    return observe


def _read_on(loop: asyncio.AbstractEventLoop, read: ReadFigures) -> Sequence[Metric]:
    """Have the server's loop read. A server that has stopped has no figures; its last export is over."""
    if loop.is_closed():
        return ()
    asked = asyncio.run_coroutine_threadsafe(_awaited(read), loop)
    try:
        return asked.result(READ_WITHIN)
    except (TimeoutError, CancelledError):
        asked.cancel()
        logger.warning("the figures for OpenTelemetry were not read within %g s", READ_WITHIN)
        return ()


async def _awaited(read: ReadFigures) -> Sequence[Metric]:
    return await read()
