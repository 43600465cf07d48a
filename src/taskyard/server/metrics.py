"""What Prometheus reads: how the yard stands, what was counted in it since it began, and what this process served.

Counts of tasks come from the yard's stored totals, so every server of a yard tells the same and none forgets at its
end. Labels that others choose are bounded there and here: from `MOST_LABELS` on, they are "other".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client import Counter as HttpCounter
from prometheus_client import Histogram as HttpHistogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from taskyard.core.agent import AgentStatus
from taskyard.core.identifiers import day_ceiling
from taskyard.core.json_value import Json
from taskyard.core.task import Status
from taskyard.core.units import Micros, utc_date
from taskyard.features.agents.views import AgentView
from taskyard.features.breakers.views import BreakerView
from taskyard.features.budgets.views import SpendView
from taskyard.features.metrics.rules import MOST_LABELS, OTHER, Histogram, Metrics
from taskyard.server.response_cache import Fresh
from taskyard.yard import Yard

CONTENT_TYPE = CONTENT_TYPE_LATEST
PREFIX = "taskyard_"
METHODS = frozenset({"GET", "POST", "PUT", "DELETE"})
USD = 1_000_000


class Standing(NamedTuple):
    """How a workspace stood at one moment."""

    at: Micros
    tasks: Mapping[str, Mapping[str, int]]  # by status and type
    waiting: Mapping[str, int]  # ready ones, by tier
    health: Mapping[str, Json]  # of the store
    agents: Sequence[AgentView]
    money: Sequence[SpendView]
    breakers: Sequence[BreakerView]
    counted: Metrics


class Figures:
    """What this process has served, and what it last read of each workspace."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = HttpCounter(
            f"{PREFIX}http_requests", "Requests answered by this process.", ["method", "route", "status"],
            registry=self._registry,
        )  # fmt: skip
        self._seconds = HttpHistogram(
            f"{PREFIX}http_request_seconds", "How long they took.", ["route"], registry=self._registry
        )
        self._denied = HttpCounter(
            f"{PREFIX}calls_denied", "Calls refused for who made them.", ["code"], registry=self._registry
        )
        self._standings = Fresh[Standing]()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method if method in METHODS else OTHER, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def denied(self, code: str) -> None:
        self._denied.labels(code).inc()

    async def shown(self, yard: Yard) -> bytes:
        """Everything, in Prometheus' own format."""
        return generate_latest(_ReadMetrics(await self.families(yard)))

    async def families(self, yard: Yard) -> list[Metric]:
        standing = await self._standings.of(yard.workspace, lambda: read(yard))
        return [*self._registry.collect(), *families(standing)]


async def read(yard: Yard) -> Standing:
    return Standing(
        yard.now(),
        await yard.tasks.stats(),
        await yard.local.queues.waiting_by_tier(),
        await yard.health(),
        await yard.agents.list(),
        await yard.budgets.spending(),
        await yard.breakers.list(),
        await yard.local.metrics.report(days=0),
    )


class _ReadMetrics(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def families(now: Standing) -> Iterator[Metric]:
    yield from _of_tasks(now)
    yield from _of_money(now)
    yield from _of_agents(now)
    yield from _of_totals(now.counted)
    yield from _of_store(now.health)


def _of_store(health: Mapping[str, Json]) -> Iterator[Metric]:
    family = _gauge("store_health", "Figures of the store that are numbers, as `taskyard doctor` has them.", ["figure"])
    for name, value in sorted(health.items()):
        if isinstance(value, int | float) and not isinstance(value, bool):
            family.add_metric([name], value)
    yield family


def _of_tasks(now: Standing) -> Iterator[Metric]:
    number = {status: sum(now.tasks.get(status.value, {}).values()) for status in Status}
    depth = _gauge("task_queue_depth", "Tasks that have not ended.", ["status", "priority_tier"])
    for status in Status:
        # What is not up for being claimed has no priority that counts.
        if not status.is_final and status is not Status.READY:
            depth.add_metric([status.value, "any"], number[status])
    for tier, ready in now.waiting.items():
        depth.add_metric([Status.READY.value, tier], ready)
    yield depth
    held = number[Status.CLAIMED] + number[Status.RUNNING]
    delayed = number[Status.RETRYING] + number[Status.PENDING]
    yield _gauge("queue_pending_total", "Tasks that a worker holds.", value=held)
    yield _gauge("queue_delayed_total", "Tasks that wait for something else than a worker.", value=delayed)
    yield _gauge("queue_stream_length", "Tasks that a worker holds or may claim.", value=held + number[Status.READY])
    yield _gauge(
        "breakers_open", "Breakers that are not closed.", value=sum(each.state != "closed" for each in now.breakers)
    )


def _of_money(now: Standing) -> Iterator[Metric]:
    today = day_ceiling(utc_date(now.at))
    spent = sum(limit.spent for limit in now.money if limit.name == today)
    yield _gauge("daily_spend_usd", "Spent today (UTC).", value=spent / USD)
    left: Counter[str] = Counter()
    for view in now.agents:
        if view.budget_left is not None:
            left[_bounded(view.id, left)] += view.budget_left
    family = _gauge("budget_remaining_usd", "What is left of an agent's budget.", ["agent"])
    for agent, amount in left.items():
        family.add_metric([agent], amount / USD)
    yield family


def _of_agents(now: Standing) -> Iterator[Metric]:
    heard = [view for view in now.agents if view.silent or view.status is not AgentStatus.OFFLINE]
    dead = [view for view in heard if view.silent]
    yield _gauge("workers_active_total", "Agents that were heard of lately.", value=len(heard) - len(dead))
    yield _gauge("workers_dead_total", "Agents that fell silent without signing off.", value=len(dead))
    busy: Counter[str] = Counter()
    slots: Counter[str] = Counter()
    for view in heard:
        agent = _bounded(view.id, slots)
        busy[agent] += view.current_tasks
        slots[agent] += view.max_concurrent_tasks
    family = _gauge("agent_utilization", "Share of an agent's slots that are taken.", ["agent"])
    for agent, number in slots.items():
        family.add_metric([agent], busy[agent] / number)
    yield family


def _of_totals(counted: Metrics) -> Iterator[Metric]:
    """All that was ever counted. The sweep counts, so these are some seconds behind."""
    total = counted.total
    yield _counter("tasks_enqueued", "Tasks put in.", value=total.created)
    yield _labelled("tasks_completed", "Tasks completed.", "type", total.completed)
    yield _labelled("tasks_failed", "Attempts that failed.", "reason", total.failed)
    yield _counter("tasks_dead_lettered", "Tasks that no attempt is left for.", value=total.dead_lettered)
    yield _labelled("agent_heartbeat_misses", "Attempts lost in silence.", "agent", total.heartbeat_misses)
    rate = _gauge("agent_claim_success_rate", "Share of claims that ended well.", ["agent"])
    for agent, ended in sorted(total.ended.items()):
        rate.add_metric([agent], 1 - total.errors[agent] / ended)
    yield rate
    # It only grows, but is no counter to the format, which would have its name end in _total.
    cost = _gauge("task_cost_usd", "What attempts have cost, in all.", ["type", "agent", "model"])
    for labels, amount in sorted(total.costs.items()):
        cost.add_metric(list(labels), amount / USD)
    yield cost
    yield _histogram("task_queue_wait_seconds", "From ready to claimed.", total.waits)
    yield _histogram("task_duration_seconds", "From started to ended, by attempt.", total.durations)
    yield _histogram("task_attempts", "Attempts that a task took.", total.attempts)
    yield _gauge("events_counted", "The last event that is in these figures.", value=counted.counted_through)


def _bounded(label: str, known: Mapping[str, object]) -> str:
    return label if label in known or len(known) < MOST_LABELS else OTHER


def _gauge(
    name: str, words: str, labels: Sequence[str] | None = None, *, value: float | None = None
) -> GaugeMetricFamily:
    return GaugeMetricFamily(PREFIX + name, words, value=value, labels=labels)


def _counter(name: str, words: str, *, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(PREFIX + name, words, value=value)


def _labelled(name: str, words: str, label: str, counts: Mapping[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(PREFIX + name, words, labels=[label])
    for value, number in sorted(counts.items()):
        family.add_metric([value], number)
    return family


def _histogram(name: str, words: str, histogram: Histogram) -> HistogramMetricFamily:
    buckets: list[tuple[str, float]] = []
    number = 0
    for bound, count in zip([*map(str, histogram.bounds), "+Inf"], histogram.counts, strict=True):
        number += count
        buckets.append((bound, number))
    return HistogramMetricFamily(PREFIX + name, words, buckets=buckets, sum_value=histogram.sum / histogram.unit)
