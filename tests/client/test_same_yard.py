"""The remote yard has every call of the local one, with the same answers and the same errors."""

import asyncio
import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import pytest

import taskyard
from taskyard.api.codec import write
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.features.events.rules import Wanted
from taskyard.features.tasks.views import Task
from taskyard.server.server import Server
from taskyard.yard import Yard
from tests.core.hostile import HOSTILE, Hostile
from tests.local_only import LOCAL_ONLY, NEED_THE_STORE
from tests.remote import url_of
from tests.yards import given_a_dead_letter, given_a_running_task


def verbs(yard: Yard) -> dict[str, Callable[..., Any]]:
    """Whatever can be called on a yard and on its nouns."""
    found: dict[str, Callable[..., Any]] = {}
    for name, part in vars(yard).items():
        if inspect.isroutine(part):
            found[name] = part
        elif name != "host":
            members = inspect.getmembers(part, inspect.ismethod)
            found |= {f"{name}.{verb}": call for verb, call in members if not verb.startswith("_")}
    return found


def owner(call: Callable[..., Any]) -> type:
    """The class that has written the method."""
    function = getattr(call, "__func__", call)
    return next(kind for kind in type(getattr(call, "__self__", None)).__mro__ if function in vars(kind).values())


async def test_every_verb_of_a_yard_is_carried_out_by_the_server_or_says_that_it_needs_the_store(remote: Yard):
    inherited = {name for name, call in verbs(remote).items() if owner(call).__module__.startswith("taskyard.features")}

    assert inherited == NEED_THE_STORE


def test_what_is_not_tried_through_http_does_not_grow_unnoticed():
    assert len(LOCAL_ONLY) == 41


async def a_plain_task(yard: Yard) -> Task:
    return await yard.enqueue("code", prompt="Fix it", payload={"files": ["a", {"b": None}]}, tags=["x"])


async def a_task_that_says_everything(yard: Yard) -> Task:
    return await yard.enqueue(
        "code",
        title="All of it",
        agent="coder",
        subject="issue:42",
        idempotency_key="once",
        context_refs=["file:a"],
        max_cost_usd="0.5",
        max_duration_sec=60,
        required_capabilities=["git", "python"],
        model_preferences=["a", "b"],
        fallback_models=["c"],
        priority=7,
        priority_boost_per_minute=0.25,
        deadline="2030-01-01T00:00:00.000001Z",
        run_after="2029-01-01T00:00:00Z",
        expires_at="2031-01-01T00:00:00Z",
        concurrency_key="repository",
        max_attempts=9,
        retry={"strategy": "quadratic", "initial_delay_sec": 1.5, "max_delay_sec": None, "retry_on": ["crash"]},
        timeouts={"claim_ttl_sec": 5, "heartbeat_sec": 6, "lease_sec": 20},
        output={"validation": "json-schema", "validation_schema": {"type": "object"}},
        session={"session_id": "s1", "work_dir": "/srv"},
        trigger={"type": "manual", "ref": "r", "summary": "s"},
    )


async def a_task_under_way(yard: Yard) -> Task:
    held = await given_a_running_task(yard)
    await yard.heartbeat(held.id, held.lease, progress={"fraction": 0.5}, cost_usd="0.25", tokens_input=7)
    await yard.attempts.pin_session(held.id, held.lease, session_id="s2")
    return held


async def a_task_that_failed_twice(yard: Yard) -> Task:
    held = await given_a_running_task(yard, fallback_models=["c"], retry={"strategy": "immediate"})
    await yard.fail(held.id, held.lease, "crash", "it fell", details={"line": 3}, cost_usd="0.1")
    return held


async def a_completed_task(yard: Yard) -> Task:
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease, {"diff": "…"}, artifacts=["a.txt"], decision_report={"why": 1})
    return held


async def a_cancelled_task(yard: Yard) -> Task:
    task = await yard.enqueue("code")
    await yard.cancel(task.id, "not wanted")
    return task


async def a_dead_letter(yard: Yard) -> Task:
    held = await given_a_dead_letter(yard)
    await yard.dead_letters.resolve(held.id, "escalate", by="human:local", note="look at this")
    return held


async def a_sleeping_task(yard: Yard) -> Task:
    held = await given_a_running_task(yard)
    await yard.attempts.sleep(held.id, held.lease, "nap", 3600)
    return held


async def a_task_of_a_graph(yard: Yard) -> Task:
    dag = await yard.submit({"tasks": [{"name": "a", "type": "code"}, {"type": "test", "depends_on": ["a"]}]})
    return dag.tasks["#1"]


KINDS = (
    *(a_plain_task, a_task_that_says_everything, a_task_under_way, a_task_that_failed_twice, a_completed_task),
    *(a_cancelled_task, a_dead_letter, a_sleeping_task, a_task_of_a_graph),
)


@pytest.mark.parametrize("given", KINDS)
async def test_a_task_reads_the_same_from_afar(local: Yard, remote: Yard, given: Callable[[Yard], Any]):
    task = await given(local)

    assert (await remote.get(task.id)).to_dict() == (await local.get(task.id)).to_dict()
    assert [each.to_dict() for each in await remote.find()] == [each.to_dict() for each in await local.find()]
    assert await remote.events() == await local.events()
    assert await remote.budgets.spending() == await local.budgets.spending()
    assert await remote.agents.list() == await local.agents.list()


@pytest.mark.parametrize(
    "wanted",
    [{"agent": "worker"}, {"subject": "issue:7"}, {"task_type": "code", "event": "task.c*"}, {"agent": "nobody"}],
    ids=str,
)
async def test_filtered_events_read_the_same_from_afar(local: Yard, remote: Yard, wanted: Wanted):
    held = await given_a_running_task(local, subject="issue:7")
    await local.attempts.message(held.id, held.lease, {"agent": "somebody else"})
    await local.enqueue("test")

    assert await remote.events(**wanted) == await local.events(**wanted)
    assert await remote.events(**wanted, limit=1) == await local.events(**wanted, limit=1)
    of_one: Wanted = {**wanted, "task_id": held.id}
    assert await remote.events(**of_one) == await local.events(**of_one)


async def test_a_task_whose_queue_has_another_preset_by_now_reads_the_same(local: Yard, remote: Yard):
    task = await local.enqueue("code", queue="slow", priority=77)
    await local.queues.set_preset("slow", "loki")

    assert (await remote.get(task.id)).to_dict() == (await local.get(task.id)).to_dict()


async def test_graphs_decisions_and_approvals_read_the_same(local: Yard, remote: Yard):
    await a_dead_letter(local)
    asking = await given_a_running_task(local)
    await local.attempts.wait_for(asking.id, asking.lease, "may I", "approval", timeout_sec=60)
    task = await a_task_of_a_graph(local)

    near, far = await local.dags.get(task.dag_id), await remote.dags.get(task.dag_id)
    assert far == near
    assert [each.to_dict() for each in await remote.dags.tasks(far)] == [
        each.to_dict() for each in await local.dags.tasks(near)
    ]
    assert await remote.dead_letters.reviews() == await local.dead_letters.reviews()
    assert write(await remote.dead_letters.list()) == write(await local.dead_letters.list())
    assert await remote.dags.list() == await local.dags.list()
    [approval] = await remote.approvals.list()
    assert (approval.task.id, approval.signal) == (asking.id, "approval")
    assert await remote.why(asking.id) == await local.why(asking.id)


@pytest.mark.parametrize("hostile", [row for row in HOSTILE if row.preset == "standard"], ids=lambda row: row.name)
async def test_what_the_yard_refuses_is_refused_from_afar(remote: Yard, hostile: Hostile):
    with pytest.raises(InvalidInput):
        await remote.enqueue_many([hostile.raw])

    assert await remote.find() == []


async def test_an_error_is_the_same_error(remote: Yard):
    with pytest.raises(NotFound) as refused:
        await remote.get("task_00000000000000000000000000")

    assert refused.value.facts == {"kind": "task", "id": "task_00000000000000000000000000"}


async def test_what_needs_the_store_says_so(remote: Yard):
    for call in (remote.health, remote.presets.agree, remote.inbox.forget_old, remote.tokens.exist):
        with pytest.raises(InvalidInput, match="needs the store itself"):
            await call()
    with pytest.raises(InvalidInput, match="needs the store itself"):
        remote.store.now()


async def test_a_misspelled_verb_is_no_verb_that_needs_the_store(remote: Yard):
    assert not hasattr(remote.agents, "registr")
    with pytest.raises(AttributeError, match="no attribute 'registr'"):
        attrgetter("registr")(remote.agents)


async def test_the_yards_time_is_reported_with_every_answer(local: Yard, remote: Yard):
    before = local.now()
    await remote.mark()

    assert before <= remote.now() <= local.now()


async def test_sync_callers_have_it_too(server: Server):
    def work() -> str:
        with taskyard.connect_sync(url_of(server)) as yard:
            return yard.get(yard.enqueue("code", prompt="Fix it").id).prompt

    assert await asyncio.to_thread(work) == "Fix it"
