"""The document that the preset factory comes from, replayed in its own field names: tasks, graphs, priority, claims.

What it says of failures, sources of work, validation, money and figures is in `test_factory_failures`.
"""

import asyncio
from typing import Any

import pytest

from taskyard.core.dag import DagStatus
from taskyard.core.errors import CycleFound, IllegalTransition, InvalidInput, LeaseLost
from taskyard.core.priority import tier
from taskyard.core.task import Status
from taskyard.core.units import from_iso
from taskyard.features.attempts import claims
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import claim_all, dag_history, given_a_graph, happened, states, status_of, task
from tests.yards import OpenYard, claim_that, elapse, events_of, given_a_running_task, given_an_agent

SCHEMA: dict[str, Any] = {
    "id": "task_01J8K2M0000000000000000001",
    "idempotency_key": "pr-123-lint",
    "parent_id": None,
    "type": "code",
    "title": "Fix auth middleware CORS handling",
    "spec": {
        "prompt": "Fix it",
        "context_refs": [],
        "constraints": {
            "max_cost_usd": 0.50,
            "max_duration_sec": 300,
            "required_capabilities": ["code-execution", "web-search"],
            "model_preferences": ["claude-sonnet-4", "gpt-4o"],
            "fallback_models": ["claude-haiku"],
        },
    },
    "priority": 50,
    "priority_boost_per_minute": 0.1,
    "deadline": "2026-02-09T12:00:00Z",
    "depends_on": [],
    "claim": {"heartbeat_interval_sec": 30},
    "max_attempts": 3,
    "retry": {
        "strategy": "exponential",
        "initial_delay_sec": 10,
        "backoff_multiplier": 2.0,
        "max_delay_sec": 300,
        "jitter": True,
        "retry_on": ["timeout", "crash", "rate_limit", "invalid_output"],
        "no_retry_on": ["auth_failure", "budget_exceeded", "cancelled"],
    },
    "output": {"type": "code", "validation": "none", "validation_schema": None},
    "tags": ["repo:myapp", "sprint:12"],
}
KEPT = (
    *("blocked_by", "status", "attempts", "created_at", "started_at", "completed_at", "cost_usd", "tokens_used"),
    *("claim.agent_id", "claim.claimed_at", "claim.heartbeat_at", "output.data", "output.artifacts"),
)


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    return await open_yard(preset="factory")


async def facts(yard: Yard, task_id: str) -> Any:
    return (await yard.get(task_id)).to_dict()


def at(path: str, value: object) -> dict[str, object]:
    """A value under a dotted path, as nested as the schema has it."""
    head, _, rest = path.partition(".")
    return {head: at(rest, value) if rest else value}


# 2. Task schema


async def test_the_schema_is_taken_and_shown_field_by_field(yard: Yard):
    (made,) = await yard.enqueue_many([SCHEMA])

    shown = await facts(yard, made.id)
    plain = ("id", "idempotency_key", "parent_id", "type", "title", "priority", "priority_boost_per_minute")
    for name in (*plain, "depends_on", "max_attempts", "tags"):
        assert shown[name] == SCHEMA[name], name
    constraints = shown["spec"]["constraints"]
    assert float(constraints.pop("max_cost_usd")) == 0.5
    given = {**SCHEMA["spec"]["constraints"]}
    given.pop("max_cost_usd")
    assert constraints == given
    assert shown["deadline"] == "2026-02-09T12:00:00.000000Z"
    assert shown["timeouts"] == {"claim_ttl_sec": 60, "heartbeat_sec": 30, "lease_sec": 90}
    lists = {name: sorted(SCHEMA["retry"][name]) for name in ("retry_on", "no_retry_on")}
    assert shown["retry"] == {**SCHEMA["retry"], **lists, "jitter": 0.5}
    assert (shown["attempts"], shown["blocked_by"], shown["claim"], shown["completed_at"]) == (0, [], None, None)
    assert (float(shown["cost_usd"]), shown["tokens_used"]) == (
        0,
        {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0},
    )
    assert shown["output"]["artifacts"] == []


async def test_a_key_prevents_duplicate_creation_and_what_the_system_manages_is_not_given(yard: Yard):
    (first,) = await yard.enqueue_many([SCHEMA])
    again = await yard.enqueue("code", idempotency_key="pr-123-lint")
    assert (again.id, again.created) == (first.id, False)

    for path in KEPT:
        with pytest.raises(InvalidInput, match=f"{path}.*is kept by the system"):
            await yard.enqueue_many([{"type": "code", **at(path, None)}])


async def test_every_type_of_the_document_is_taken(yard: Yard):
    for type_ in ("code", "research", "review", "test", "deploy", "synthesis"):
        assert (await yard.enqueue(type_)).type == type_


# 3. Lifecycle


async def test_a_task_goes_through_every_state_of_a_good_life(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    await given_an_agent(yard, "judge", capabilities=["llm-judge"])
    first = await yard.enqueue("code")
    second = await yard.enqueue("code", depends_on=[first.id], output={"validation": "llm-judge"})
    seen = [await status_of(yard, second.id)]
    held = await claim_that(yard, first.id, start=True)
    await yard.complete(held.id, held.lease)
    seen.append(await status_of(yard, second.id))
    held = await claim_that(yard, second.id)
    seen.append(await status_of(yard, second.id))
    await yard.start(held.id, held.lease)
    seen.append(await status_of(yard, second.id))
    await yard.complete(held.id, held.lease, "a summary")
    seen.append(await status_of(yard, second.id))
    (verdict,) = await yard.claim("judge", start=True)
    await yard.complete(verdict.id, verdict.lease, {"passed": True})
    seen.append(await status_of(yard, second.id))

    assert seen == [
        *(Status.PENDING, Status.READY, Status.CLAIMED, Status.RUNNING, Status.VALIDATING, Status.COMPLETED),
    ]
    assert (await events_of(yard, second.id))[0] == "task.created"


async def test_an_attempt_that_fails_is_retried_and_in_the_end_dead_lettered(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    made = await yard.enqueue("code", max_attempts=2)
    held = await claim_that(yard, made.id, start=True)
    await yard.fail(held.id, held.lease, "crash")
    assert await status_of(yard, made.id) is Status.RETRYING
    await elapse(yard, clock, 11)
    assert await status_of(yard, made.id) is Status.READY
    held = await claim_that(yard, made.id, start=True)
    await yard.fail(held.id, held.lease, "crash")

    assert await status_of(yard, made.id) is Status.DEAD_LETTERED
    with pytest.raises(IllegalTransition, match="dead_lettered"):
        await yard.tasks.set_priority(made.id, 5)


async def test_a_claim_expires_after_a_minute_and_a_heartbeat_is_missed_after_ninety_seconds(
    yard: Yard, clock: ManualClock
):
    await given_an_agent(yard)
    made = await yard.enqueue("code", retry={"strategy": "immediate"}, max_attempts=5)
    await claim_that(yard, made.id)
    await elapse(yard, clock, 59)
    assert await status_of(yard, made.id) is Status.CLAIMED
    await elapse(yard, clock, 2)
    held = await claim_that(yard, made.id, start=True)
    for _ in range(3):
        await elapse(yard, clock, 30)
        told = await yard.heartbeat(held.id, held.lease, progress={"done": 0.5})
        assert not told.must_stop
    claim = (await facts(yard, made.id))["claim"]
    assert (from_iso(claim["heartbeat_at"]), claim["progress"]) == (yard.now(), {"done": 0.5})
    await elapse(yard, clock, 91)

    lost = await facts(yard, made.id)
    assert [attempt["reason"] for attempt in lost["history"]] == ["claim_expired", "heartbeat_timeout"]
    assert (lost["status"], lost["attempts"]) == ("ready", 2)
    with pytest.raises(LeaseLost):
        await yard.complete(held.id, held.lease)


# 4. Graphs


async def test_every_task_is_in_one_graph_and_a_lone_task_in_its_own(yard: Yard):
    lone = await yard.enqueue("code")
    view = await yard.dags.get(lone.dag_id)

    assert (view.roots, view.leaves, [hot.id for hot in view.tasks]) == ((lone.id,), (lone.id,), [lone.id])


async def test_the_landing_page_is_submitted_at_once_and_worked_off_in_order(yard: Yard):
    await given_an_agent(yard)
    dag = await yard.submit(
        {
            "title": "Build landing page for client X",
            "tasks": [
                task("research", title="competitors"),
                task("design", title="wireframe"),
                task("synthesize", "research", "design"),
                task("implement", "synthesize"),
                task("test and deploy", "implement"),
            ],
        },
        created_by="human:adam",
    )
    ids = {name: each.id for name, each in dag.tasks.items()}
    view = await yard.dags.get(dag.id)
    assert (view.title, view.status) == ("Build landing page for client X", DagStatus.PENDING)
    assert set(view.roots) == {ids["research"], ids["design"]}
    assert view.leaves == (ids["test and deploy"],)

    research, design = await claim_all(yard, 2)
    assert (await yard.dags.get(dag.id)).status is DagStatus.RUNNING
    await yard.complete(research.id, research.lease, {"competitors": 3})
    assert (await facts(yard, ids["synthesize"]))["blocked_by"] == [f"task:{ids['design']}"]
    await yard.complete(design.id, design.lease)
    for name in ("synthesize", "implement", "test and deploy"):
        assert (await states(yard, dag))[name] is Status.READY
        (held,) = await claim_all(yard, 1)
        await yard.complete(held.id, held.lease)

    assert set((await happened(yard, "task.ready")).values()) == {1}
    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED
    assert (await dag_history(yard, dag.id))[-1] == "dag.completed"


async def test_a_graph_of_completed_and_cancelled_tasks_is_completed_and_its_outputs_flow(yard: Yard):
    await given_an_agent(yard)
    dag = await given_a_graph(yard, task("a"), task("b", "a"), task("c"))
    b = dag.tasks["b"]
    await yard.cancel(dag.tasks["c"].id)
    held = await claim_that(yard, dag.tasks["a"].id, start=True)
    await yard.complete(held.id, held.lease, {"rows": 7})

    held = await claim_that(yard, b.id, start=True)
    assert [each.data for each in await yard.tasks.inputs(b.id, held.lease)] == [{"rows": 7}]
    await yard.complete(held.id, held.lease)

    assert (await yard.dags.get(dag.id)).status is DagStatus.COMPLETED


async def test_a_cancel_leaves_the_dependents_alone(yard: Yard):
    dag = await given_a_graph(yard, task("a"), task("b", "a"))
    await yard.cancel(dag.tasks["a"].id)

    assert await states(yard, dag) == {"a": Status.CANCELLED, "b": Status.PENDING}


async def test_an_agent_spawns_subtasks_into_its_graph_and_goes_on_or_waits_for_them(yard: Yard):
    held = await given_a_running_task(yard, "research")
    names = [{"type": "research", "title": f"sub-investigation {n}"} for n in range(3)]
    free = await yard.tasks.spawn(held.id, held.lease, names, name="free")
    assert await status_of(yard, held.id) is Status.RUNNING
    for child in free:
        shown = await facts(yard, child)
        assert (shown["parent_id"], shown["dag_id"]) == (held.id, held.dag_id)
        await yard.cancel(child)

    (awaited,) = await yard.tasks.spawn(held.id, held.lease, names[:1], name="awaited", wait=True)
    assert await status_of(yard, held.id) is Status.PENDING
    assert (await facts(yard, held.id))["blocked_by"] == [f"task:{awaited}"]
    child = await claim_that(yard, awaited, start=True)
    await yard.complete(child.id, child.lease, {"found": 1})

    parent = await claim_that(yard, held.id, start=True)
    assert (await facts(yard, parent.id))["attempts"] == 0
    children = await yard.tasks.children(held.id, "awaited")
    assert children is not None
    assert [each.output for each in children] == [{"found": 1}]


async def test_no_edge_closes_a_cycle(yard: Yard):
    with pytest.raises(CycleFound):
        await given_a_graph(yard, task("a", "c"), task("b", "a"), task("c", "b"))
    held = await given_a_running_task(yard)
    with pytest.raises(CycleFound):
        await yard.tasks.spawn(held.id, held.lease, [task("a", "b"), task("b", "a")], name="round")

    assert [each.id for each in await yard.find()] == [held.id]


# 5. Priority


async def test_age_deadline_and_the_longest_path_make_a_task_more_urgent(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    plain = await yard.enqueue("code", priority=50, priority_boost_per_minute=0)
    older = await yard.enqueue("code", priority=55, priority_boost_per_minute=0.1)
    clock.advance(seconds=3 * 3600)
    path = await given_a_graph(
        yard, task("a", priority=41, priority_boost_per_minute=0), task("b", "a"), task("c", "b"), task("d", "c")
    )
    due = await yard.enqueue("code", priority=60, deadline="2026-01-01T03:15:00Z")
    middle = await yard.enqueue("code", priority=40, priority_boost_per_minute=0)

    claimed = [each.id for each in await yard.claim("worker", count=9)]

    # 60 less 28 for its deadline, 55 less 18 for its age, 41 less 3 for what hangs on it, 40, 50.
    assert claimed == [due.id, older.id, path.tasks["a"].id, middle.id, plain.id]


async def test_a_background_task_overtakes_normal_work_after_five_hours(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    background = await yard.enqueue("code", priority=90, priority_boost_per_minute=0.1)
    clock.advance(seconds=5 * 3600)
    normal = await yard.enqueue("code", priority=61)

    assert [each.id for each in await yard.claim("worker", count=2)] == [background.id, normal.id]


def test_the_tiers_are_those_of_the_document():
    edges = {0: "critical", 9: "critical", 10: "high", 29: "high", 30: "normal", 59: "normal"}
    edges |= {60: "low", 79: "low", 80: "background", 100: "background"}

    assert {priority: tier(priority) for priority in edges} == edges


async def test_a_person_overrides_a_priority(yard: Yard):
    await given_an_agent(yard)
    _, urgent = await yard.enqueue("code", priority=30), await yard.enqueue("code", priority=90)
    await yard.tasks.set_priority(urgent.id, 5)

    await claim_that(yard, urgent.id)


# 6. Claims


async def test_an_agent_sees_only_what_it_can_do_and_can_afford(yard: Yard):
    await yard.agents.register("agent_coder_01", "coder", capabilities=["code-execution", "git"], budget_usd=1)
    await yard.enqueue("code", required_capabilities=["code-execution", "web-search"])
    await yard.enqueue("code", required_capabilities=["git"], max_cost_usd=1.01)
    can = await yard.enqueue("code", required_capabilities=["git"], max_cost_usd=1, priority=99)

    held = await claim_that(yard, can.id, by="agent_coder_01", start=True)
    claim = (await facts(yard, can.id))["claim"]

    assert (claim["agent_id"], from_iso(claim["claimed_at"])) == ("agent_coder_01", yard.now())
    await yard.complete(held.id, held.lease, cost_usd="0.4")
    assert (await yard.agents.get("agent_coder_01")).budget_left == 600_000


async def test_of_many_that_claim_at_once_each_task_goes_to_one(yard: Yard, open_yard: OpenYard):
    yards = [yard, await open_yard(preset="factory")]
    for number in range(8):
        await given_an_agent(yard, f"agent {number}")
    made = {(await yard.enqueue("code")).id for _ in range(6)}

    claims = await asyncio.gather(*(yards[n % 2].claim(f"agent {n}", count=2) for n in range(8)))

    claimed = [held.id for claim in claims for held in claim]
    assert (len(claimed), set(claimed)) == (6, made)


async def test_an_agent_is_registered_with_what_the_document_says_of_it(yard: Yard):
    await yard.agents.register(
        "agent_coder_01",
        "coder",
        capabilities=["code-execution", "git", "testing", "typescript", "python"],
        models=["claude-sonnet-4", "claude-haiku"],
        max_concurrent_tasks=2,
        budget_usd=45,
        poll_interval_sec=5,
        claim_ttl_sec=60,
    )
    for _ in range(3):
        await yard.enqueue("code", max_cost_usd=1)
    assert len(await yard.claim("agent_coder_01", count=3)) == 2

    view = await yard.agents.get("agent_coder_01")
    assert (view.type, view.current_tasks, view.budget_left) == ("coder", 2, 43_000_000)
    assert (view.status, view.last_heartbeat) == ("active", yard.now())
    await yard.agents.drain("agent_coder_01")
    assert (await yard.agents.get("agent_coder_01")).status == "draining"
    await yard.agents.sign_off("agent_coder_01")
    assert (await yard.agents.get("agent_coder_01")).status == "offline"


async def test_new_work_wakes_an_agent_that_waits(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(claims, "PATIENCE", 600.0)  # it does not look by itself
    await given_an_agent(yard)
    waiting = asyncio.create_task(yard.claim("worker", wait_sec=60))
    await asyncio.sleep(0)
    made = await yard.enqueue("code")

    (held,) = await asyncio.wait_for(waiting, 30)

    assert held.id == made.id
