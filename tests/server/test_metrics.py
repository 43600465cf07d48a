"""What Prometheus reads: in its format, by the presets' names, the same from every server, and never too much."""

from __future__ import annotations

import httpx
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

import taskyard
from taskyard.features.metrics import rules
from taskyard.features.metrics.rules import OTHER
from taskyard.ledger.clock import ManualClock
from taskyard.server import metrics
from taskyard.server import response_cache as freshness
from taskyard.server.server import served
from taskyard.yard import Yard
from tests.server.calling import calling
from tests.yards import OpenYard, elapse, given_a_dead_letter, given_a_running_task, given_an_agent

MANY = 20  # values of a label that are taken for too many here
NAMES = {
    "taskyard_task_queue_depth": "gauge",
    "taskyard_queue_pending_total": "gauge",
    "taskyard_queue_delayed_total": "gauge",
    "taskyard_queue_stream_length": "gauge",
    "taskyard_breakers_open": "gauge",
    "taskyard_workers_active_total": "gauge",
    "taskyard_workers_dead_total": "gauge",
    "taskyard_agent_utilization": "gauge",
    "taskyard_agent_claim_success_rate": "gauge",
    "taskyard_budget_remaining_usd": "gauge",
    "taskyard_daily_spend_usd": "gauge",
    "taskyard_task_cost_usd": "gauge",
    "taskyard_events_counted": "gauge",
    "taskyard_store_health": "gauge",
    "taskyard_tasks_enqueued": "counter",
    "taskyard_tasks_completed": "counter",
    "taskyard_tasks_failed": "counter",
    "taskyard_tasks_dead_lettered": "counter",
    "taskyard_agent_heartbeat_misses": "counter",
    "taskyard_http_requests": "counter",
    "taskyard_calls_denied": "counter",
    "taskyard_task_queue_wait_seconds": "histogram",
    "taskyard_task_duration_seconds": "histogram",
    "taskyard_task_attempts": "histogram",
    "taskyard_http_request_seconds": "histogram",
}
Families = dict[str, Metric]


@pytest.fixture(autouse=True)
def always_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "FRESH_FOR", 0.0)
    monkeypatch.setattr(freshness, "SHARE", 0)


async def scrape(client: httpx.AsyncClient) -> Families:
    answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    families = list(text_string_to_metric_families(answer.text))
    assert len({family.name for family in families}) == len(families), "a family was told twice"
    return {family.name: family for family in families}


def value(families: Families, name: str, **labels: str) -> float:
    """What the sample of this name says; nought where there is none."""
    samples = [sample for family in families.values() for sample in family.samples if sample.name == name]
    return sum(sample.value for sample in samples if sample.labels.items() >= labels.items())


async def given_a_day_of_work(yard: Yard, clock: ManualClock) -> None:
    await yard.budgets.set(daily_budget_usd=100)
    await given_an_agent(yard, "rich", budget_usd=5)
    held = await given_a_running_task(yard, by="ada")
    clock.advance(seconds=4)
    await yard.complete(held.id, held.lease, cost_usd="0.25", model="opus")
    await given_a_dead_letter(yard, by="bob")
    await given_a_running_task(yard, by="ada")
    await yard.enqueue("research")
    await elapse(yard, clock, 6)  # the sweep counts


async def test_every_name_of_the_seeds_is_there_with_its_type(yard: Yard, clock: ManualClock):
    await given_a_day_of_work(yard, clock)

    async with calling(yard) as client:
        await client.get("/healthz")
        families = await scrape(client)

    assert {name: family.type for name, family in families.items() if not name.endswith("_created")} == NAMES


async def test_the_figures_are_those_of_the_yard(yard: Yard, clock: ManualClock):
    await given_a_day_of_work(yard, clock)

    async with calling(yard) as client:
        families = await scrape(client)

    def figure(name: str, **labels: str) -> float:
        return value(families, f"taskyard_{name}", **labels)

    assert figure("tasks_enqueued_total") == 4
    assert figure("tasks_completed_total", type="code") == 1
    assert figure("tasks_failed_total", reason="crash") == 1
    assert figure("tasks_dead_lettered_total") == 1
    assert figure("task_queue_depth", status="ready") == 1
    assert figure("task_queue_depth", status="running") == 1
    assert figure("queue_pending_total") == 1
    assert figure("queue_stream_length") == 2
    assert figure("workers_active_total") == 3
    assert figure("daily_spend_usd") == 0.25
    assert figure("task_cost_usd", type="code", agent="ada", model="opus") == 0.25
    assert figure("budget_remaining_usd", agent="rich") == 5
    assert figure("agent_utilization", agent="ada") == 1 / 1000
    assert figure("agent_claim_success_rate", agent="ada") == 1
    assert figure("agent_claim_success_rate", agent="bob") == 0
    assert figure("task_duration_seconds_sum") == 4
    assert figure("task_duration_seconds_bucket", le="1") == 1
    assert figure("task_duration_seconds_bucket", le="+Inf") == figure("task_duration_seconds_count") == 2


async def test_what_is_ready_is_reported_by_what_it_has_become_worth(yard: Yard, clock: ManualClock):
    for priority in (5, 25, 31, 75, 95):
        await yard.enqueue("code", priority=priority)
    await yard.enqueue("code", priority=75, priority_boost_per_minute=0)
    clock.advance(seconds=20 * 60)  # in which those with a boost have gained two points

    async with calling(yard) as client:
        families = await scrape(client)

    tiers = ("critical", "high", "normal", "low", "background")
    ready = [value(families, "taskyard_task_queue_depth", status="ready", priority_tier=tier) for tier in tiers]
    assert ready == [1, 2, 0, 2, 1]


async def test_a_worker_that_fell_silent_counts_as_dead_until_it_signs_off(yard: Yard, clock: ManualClock):
    await given_an_agent(yard, "ada")
    clock.advance(seconds=76)
    async with calling(yard) as client:
        silent = await scrape(client)
        await yard.agents.sign_off("ada")
        gone = await scrape(client)

    assert [value(each, "taskyard_workers_dead_total") for each in (silent, gone)] == [1, 0]
    assert value(silent, "taskyard_workers_active_total") == 0


async def test_what_is_counted_never_shrinks_not_even_with_another_server(open_yard: OpenYard, clock: ManualClock):
    before: dict[tuple[str, str], float] = {}
    for number in range(3):
        yard = await open_yard()
        held = await given_a_running_task(yard, f"type-{number}", by=f"agent-{number}")
        await yard.complete(held.id, held.lease)
        await elapse(yard, clock, 6)
        async with calling(yard) as client:
            now = counted(await scrape(client))
        assert all(now.get(sample, 0) >= number for sample, number in before.items())
        before = now

    assert before["taskyard_tasks_enqueued_total", "{}"] == 3


def counted(families: Families) -> dict[tuple[str, str], float]:
    """Everything that may only grow, but for what a process counts of itself."""
    stored = [family for name, family in families.items() if "http" not in name and "denied" not in name]
    samples = [sample for family in stored if family.type in ("counter", "histogram") for sample in family.samples]
    return {(sample.name, str(sample.labels)): sample.value for sample in samples}


@pytest.mark.parametrize("label", ["type", "agent", "route"])
async def test_no_label_takes_more_values_than_it_may(
    yard: Yard, clock: ManualClock, label: str, monkeypatch: pytest.MonkeyPatch
):
    for module in (rules, metrics):  # what is counted, and what a process counts of itself
        assert module.MOST_LABELS > MANY
        monkeypatch.setattr(module, "MOST_LABELS", MANY)
    async with calling(yard) as client:
        for number in range(MANY + 20):
            if label == "type":
                held = await given_a_running_task(yard, f"type-{number}")
                await yard.complete(held.id, held.lease)
            elif label == "agent":
                await given_an_agent(yard, f"agent-{number:03}", budget_usd=1)
            else:
                await client.get(f"/unheard-of/{number}")
        await elapse(yard, clock, 6)
        families = await scrape(client)

    values = {sample.labels.get(label) for family in families.values() for sample in family.samples}
    assert len(values - {None}) <= MANY + 1
    assert label == "route" or OTHER in values


async def test_a_workspace_sees_its_own_figures_only(yard: Yard, open_yard: OpenYard, clock: ManualClock):
    await given_a_day_of_work(yard, clock)
    elsewhere = await open_yard(workspace="elsewhere")
    token = (await elsewhere.tokens.create("stranger", "viewer")).text

    async with calling(yard, token) as client:
        families = await scrape(client)

    assert value(families, "taskyard_tasks_enqueued_total") == 0
    assert value(families, "taskyard_task_queue_depth") == 0


async def test_a_yard_that_is_slow_to_read_is_read_the_less_often(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(freshness, "FRESH_FOR", 1.0)
    monkeypatch.setattr(freshness, "SHARE", 20)
    now, reads = [100.0], 0
    monkeypatch.setattr(freshness, "monotonic", lambda: now[0])
    read = metrics.read

    async def slow_read(yard: Yard) -> metrics.Standing:
        nonlocal reads
        reads += 1
        now[0] += 0.5
        return await read(yard)

    monkeypatch.setattr(metrics, "read", slow_read)
    figures = metrics.Figures()
    for _ in range(30):
        await figures.shown(yard)
        now[0] += 1

    assert reads == 3, "it takes half a second, so once in ten seconds is enough"


async def test_health_names_what_the_process_should_do_and_does_not():
    async with (
        taskyard.connect("memory://") as yard,
        served(yard, problems=lambda: ["files: not watched"]) as server,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as client,
    ):
        answered = await client.get("/healthz")

    assert (answered.status_code, answered.json()) == (200, {"ok": True, "problems": ["files: not watched"]})
