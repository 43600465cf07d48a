"""The document that the preset factory comes from, replayed: failures, dead letters, sources, validation, money."""

from pathlib import Path
from typing import Any

import pytest

from taskyard.core.task import Status
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.server.calling import calling
from tests.sources.test_watching import fired, watched
from tests.sources.words import (
    ETL,
    PULL_REQUEST,
    REPORT,
    attempts,
    behind,
    finish,
    from_github,
    given_a_hook,
    look_at_events,
    receive,
    reports,
)
from tests.yards import OpenYard, claim_that, elapse, fail_once, given_a_running_task, given_an_agent


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    return await open_yard(preset="factory")


async def facts(yard: Yard, task_id: str) -> Any:
    return (await yard.get(task_id)).to_dict()


# 7. Retries and dead letters


@pytest.mark.parametrize(
    ("retry", "waits"),
    [
        (
            {"strategy": "exponential", "initial_delay_sec": 10, "backoff_multiplier": 3.0, "max_delay_sec": 40},
            [10, 30, 40],
        ),
        ({"strategy": "fixed", "initial_delay_sec": 10}, [10, 10, 10]),
        ({"strategy": "immediate"}, [0, 0, 0]),
    ],
)
async def test_each_strategy_has_its_delays(yard: Yard, clock: ManualClock, retry: dict[str, Any], waits: list[float]):
    await given_an_agent(yard)
    made = await yard.enqueue("code", max_attempts=9, retry=retry)
    waited: list[float] = []
    for _ in waits:
        held = await claim_that(yard, made.id, start=True)
        receipt = await yard.fail(held.id, held.lease, "crash")
        waited.append(0 if receipt.wake_at is None else (receipt.wake_at - yard.now()) / 1_000_000)
        await elapse(yard, clock, waited[-1])

    assert waited == waits


@pytest.mark.parametrize(("dice", "wait"), [(0.0, 5.0), (0.999_999, 15.0)])
async def test_jitter_spreads_a_delay_by_half(open_yard: OpenYard, dice: float, wait: float):
    yard = await open_yard(preset="factory", dice=lambda: dice)
    held = await given_a_running_task(yard, retry={"jitter": True})
    receipt = await yard.fail(held.id, held.lease, "crash")

    assert receipt.wake_at is not None
    assert (receipt.wake_at - yard.now()) / 1_000_000 == pytest.approx(wait, abs=0.001)


async def test_what_must_not_be_retried_is_not_and_what_is_not_listed_is_not(yard: Yard):
    for reason in ("auth_failure", "budget_exceeded", "cancelled"):
        held = await given_a_running_task(yard)
        assert (await yard.fail(held.id, held.lease, reason)).status is Status.DEAD_LETTERED
    held = await given_a_running_task(yard, retry={"retry_on": ["timeout"]})
    assert (await yard.fail(held.id, held.lease, "crash")).status is Status.DEAD_LETTERED
    held = await given_a_running_task(yard, retry={"retry_on": ["timeout"]})
    assert (await yard.fail(held.id, held.lease, "timeout")).status is Status.RETRYING


async def test_from_the_second_failure_on_the_fallback_models_are_preferred(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    made = await yard.enqueue("code", model_preferences=["claude-sonnet-4"], fallback_models=["claude-haiku"])
    preferred: list[str] = []
    for _ in range(2):
        await fail_once(yard, clock, made.id)
        preferred += (await facts(yard, made.id))["spec"]["constraints"]["model_preferences"]

    assert preferred == ["claude-sonnet-4", "claude-haiku"]


async def test_a_dead_letter_has_its_history_waits_for_a_person_and_is_resolved(yard: Yard, clock: ManualClock):
    for agent in ("agent_coder_01", "agent_coder_02"):
        await given_an_agent(yard, agent)
    made = await yard.enqueue("code", prompt="Fix it")
    story = [("agent_coder_01", "LLM returned invalid JSON", "0.12"), ("agent_coder_02", "3 failures", "0.31")]
    story.append(("agent_coder_02", "Timeout after 300s", "0.08"))
    for agent, error, cost in story:
        held = await claim_that(yard, made.id, by=agent, start=True)
        clock.advance(seconds=20)
        await yard.fail(held.id, held.lease, "crash", error, cost_usd=cost)
        await elapse(yard, clock, 21)

    (letter,) = await yard.dead_letters.list()
    shown: Any = letter.task.to_dict()
    history = [(each["attempt"], each["agent"], each["error"], each["cost_usd"]) for each in shown["history"]]
    assert history == [(number, *each) for number, each in enumerate(story, 1)]
    assert {each["duration_sec"] for each in shown["history"]} == {20}
    assert (shown["dag_id"], shown["cost_usd"]) == (made.dag_id, "0.51")
    assert (shown["dead"]["reviewed"], shown["dead"]["resolution"]) == (False, None)
    assert shown["dead"]["poison_pill"] is True  # three failures under two agents
    assert [notice.task_id for _, notice in await yard.store.outbox("notify", 10)] == [made.id]
    await yard.dead_letters.resolve(made.id, "modify_and_retry", by="human:adam", spec={"prompt": "Fix it gently"})
    again = await claim_that(yard, made.id, by="agent_coder_01")
    assert (again.prompt, again.failures) == ("Fix it gently", 0)


async def test_a_poison_pill_skips_the_attempts_that_are_left(yard: Yard, clock: ManualClock):
    made = await yard.enqueue("code", max_attempts=10)
    for agent in ("ada", "bob", "ada"):
        assert not (await yard.get(made.id)).status.is_final
        await given_an_agent(yard, agent)
        await fail_once(yard, clock, made.id, by=agent)

    dead = await facts(yard, made.id)
    assert (dead["status"], dead["attempts"], dead["dead"]["poison_pill"]) == ("dead_lettered", 3, True)


# 8. Where work comes from


async def test_a_schedule_makes_a_task_every_monday_at_nine(yard: Yard, clock: ManualClock):
    await yard.schedules.add("nightly-audit", "0 9 * * 1", task={"type": "audit", "prompt": "Audit dependencies"})
    clock.advance(seconds=4 * 24 * 3600 + 9 * 3600 - 1)  # the clock began on a Thursday
    await yard.sweep()
    assert await yard.find() == []
    clock.advance(seconds=2)
    await yard.sweep()

    (made,) = await yard.find()
    assert (made.type, made.to_dict()["created_by"]) == ("audit", "cron:nightly-audit")


async def test_a_pull_request_that_is_opened_makes_a_review(yard: Yard):
    secret = await given_a_hook(yard, settings={"scheme": "github"}, task=None, ready_made="pull-request-opened")
    await receive(yard, *from_github(secret, PULL_REQUEST))

    (made,) = await yard.find()
    assert (made.type, made.to_dict()["created_by"]) == ("review", "event:deploys")
    assert made.to_dict()["subject"] == "pr:acme/shop#9"


async def test_a_file_that_is_put_into_a_watched_folder_makes_a_task(yard: Yard, tmp_path: Path):
    (inbox := tmp_path / "inbox").mkdir()
    await yard.triggers.add(
        "papers",
        "files",
        settings={"path": str(inbox), "patterns": ["*.txt"]},
        task={"type": "read", "prompt": "{{ file.relative }}"},
    )
    async with watched(behind(yard), inbox):
        (inbox / "paper.txt").write_text("new")
        assert "paper.txt" in await fired(behind(yard), 1)


async def test_a_graph_that_completes_starts_the_next(yard: Yard):
    await given_an_agent(yard)
    await yard.triggers.add("report", "dag", settings={"tag": "etl"}, task=REPORT)
    await finish(yard, ETL)

    (report,) = await reports(yard)
    assert report.prompt == "Report on 7 rows of ETL"


async def test_a_type_that_fails_too_often_makes_a_task_to_mend_it(yard: Yard, clock: ManualClock):
    rule = {"measure": "failure_rate", "type": "code", "above": 0.4, "over": 5, "window_sec": 3600}
    await yard.triggers.add("friction", "rule", settings=rule, task={"type": "refactor"})
    await attempts(yard, clock, "..xxx")
    await look_at_events(yard, clock)

    assert len(await yard.find(type="refactor")) == 1


# 9. Validation


@pytest.mark.parametrize(
    ("validation", "rule", "good", "bad"),
    [
        ("json-schema", {"type": "object", "required": ["name"]}, {"name": "x"}, {}),
        ("regex", "https?://", "see https://example.com", "see nothing"),
        ("none", None, "anything", None),
    ],
)
async def test_an_output_is_validated_before_it_counts(yard: Yard, validation: str, rule: object, good: Any, bad: Any):
    output = {"validation": validation, "validation_schema": rule}
    held = await given_a_running_task(yard, output=output)
    assert (await yard.complete(held.id, held.lease, good)).status is Status.COMPLETED
    held = await given_a_running_task(yard, output=output)
    receipt = await yard.complete(held.id, held.lease, bad)

    if validation == "none":
        assert receipt.status is Status.COMPLETED
        return
    shown = await facts(yard, held.id)
    assert (receipt.status, shown["failure"]["reason"], shown["output"]["data"]) == (
        *(Status.RETRYING, "invalid_output"),
        None,
    )


@pytest.mark.parametrize(("validation", "capability"), [("test-pass", "test-runner"), ("llm-judge", "llm-judge")])
async def test_tests_and_judges_are_agents_that_give_a_verdict(yard: Yard, validation: str, capability: str):
    await given_an_agent(yard, "judge", capabilities=[capability])
    held = await given_a_running_task(yard, output={"validation": validation})
    assert (await yard.complete(held.id, held.lease, "a summary")).status is Status.VALIDATING
    (verdict,) = await yard.claim("judge", start=True)
    await yard.complete(verdict.id, verdict.lease, {"passed": False, "reason": "it is wrong"})

    shown = await facts(yard, held.id)
    assert (shown["status"], shown["failure"]["reason"]) == ("retrying", "invalid_output")


# 11. Money and figures


async def test_an_agent_and_a_graph_pay_only_what_they_have(yard: Yard):
    await given_an_agent(yard, budget_usd=2)
    dag = await yard.submit(
        {
            "budget_ceiling_usd": 1,
            "tasks": [{"type": "code", "max_cost_usd": 0.6}, {"type": "code", "max_cost_usd": 0.6}],
        }
    )
    dear = await yard.enqueue("code", max_cost_usd="1.50")

    (held,) = await yard.claim("worker", count=9, start=True)  # the second would exceed the graph, the third the agent
    assert held.dag_id == dag.id
    await yard.complete(held.id, held.lease, cost_usd="0.40", tokens_input=90, tokens_output=10)

    shown = await facts(yard, held.id)
    assert (shown["cost_usd"], shown["tokens_used"]) == (
        "0.4",
        {"input": 90, "output": 10, "cache_read": 0, "cache_write": 0},
    )
    assert (await yard.dags.get(dag.id)).spent == 400_000
    assert {each.id for each in await yard.claim("worker", count=9)} == {
        each.id for each in (await yard.dags.get(dag.id)).tasks if each.id != held.id
    }
    assert (await yard.why(dear.id)).causes[0].kind == "agent_budget"


async def test_prometheus_reads_the_figures_by_the_names_of_the_document(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease, cost_usd="0.25", model="claude-haiku")
    held = await given_a_running_task(yard, max_attempts=1)
    await yard.fail(held.id, held.lease, "timeout")
    await yard.enqueue("research")
    await look_at_events(yard, clock)

    async with calling(behind(yard)) as client:
        lines = (await client.get("/metrics")).text.splitlines()

    figures = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    for name in ("task_queue_depth", "task_queue_wait_seconds", "task_cost_usd", "daily_spend_usd"):
        assert any(line.startswith(f"taskyard_{name}") for line in figures), name
    for name in ("agent_utilization", "agent_claim_success_rate", "tasks_failed_total"):
        assert any(line.startswith(f"taskyard_{name}") for line in figures), name
    completed = [value for line, value in figures.items() if line.startswith("taskyard_tasks_completed_total")]
    dead = [value for line, value in figures.items() if line.startswith("taskyard_tasks_dead_lettered_total")]
    assert (list(map(float, completed)), list(map(float, dead))) == ([1], [1])
