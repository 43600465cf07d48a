"""The document that the preset multica comes from, replayed in its own field names and through its own endpoints.

Its eleven end-to-end cases are in `tests/server/test_multica_end_to_end.py`; here are its tables and rules.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from taskyard.core.errors import IllegalTransition, InvalidInput
from taskyard.core.task import Status
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.server.server import served
from taskyard.yard import Yard
from tests.graphs import status_of
from tests.server.daemons import AGENT, ISSUE, RUNTIME, Daemon, daemon_of
from tests.server.listeners import listening
from tests.sources.words import behind
from tests.yards import OpenYard, claim_that, elapse


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    """A yard with one runtime, which hosts one agent."""
    yard = await open_yard(preset="multica")
    await yard.runtimes.register(RUNTIME, hostname="host", pid=7)
    await yard.agents.register(AGENT, runtime_id=RUNTIME, max_concurrent_tasks=9)
    return yard


@pytest.fixture
async def daemon(yard: Yard) -> AsyncIterator[Daemon]:
    async with daemon_of(behind(yard)) as daemon:
        yield daemon


async def create(yard: Yard, issue: str | None = ISSUE, **fields: Any) -> str:
    (made,) = await yard.enqueue_many([{"type": "code", "agent_id": AGENT, "issue_id": issue, **fields}])
    return made.id


async def run(yard: Yard, task_id: str) -> Held:
    return await claim_that(yard, task_id, by=AGENT, start=True)


async def facts(yard: Yard, task_id: str) -> Any:
    return (await yard.get(task_id)).to_dict()


async def pass_time(yard: Yard, clock: ManualClock, seconds: int) -> None:
    """Let time pass while the daemon says that it is there."""
    for _ in range(0, seconds, 50):
        await elapse(yard, clock, 50)
        await yard.runtimes.heartbeat(RUNTIME)


# State machine and schema


async def test_a_task_is_created_with_the_columns_of_the_table(yard: Yard, daemon: Daemon):
    made = await create(
        yard,
        trigger_type="mention",
        trigger_comment_id="c1",
        trigger_summary="please fix",
        session_id="s0",
        work_dir="/srv/page",
        max_attempts=2,
    )

    shown = await daemon.task(made)
    expected = {
        "id": made,
        "workspace_id": "default",
        "agent_id": AGENT,
        "issue_id": ISSUE,
        "status": "queued",
        "trigger_type": "mention",
        "trigger_comment_id": "c1",
        "trigger_summary": "please fix",
        "session_id": "s0",
        "work_dir": "/srv/page",
        "output": None,
        "attempt": 1,
        "max_attempts": 2,
        "failure_reason": None,
        "parent_task_id": None,
        "claimed_at": None,
        "started_at": None,
        "completed_at": None,
    }
    assert {name: shown[name] for name in expected} == expected
    assert shown["created_at"] == shown["updated_at"] == "2026-01-01T00:00:00.000000Z"
    for kept in ("status", "failure_reason", "claimed_at", "started_at", "completed_at", "parent_task_id"):
        with pytest.raises(InvalidInput, match=f"{kept}.*is kept by the system"):
            await create(yard, **{kept: None})


async def test_a_task_of_a_chat_has_no_issue_and_every_trigger_is_taken(yard: Yard):
    for trigger in ("assignment", "mention", "chat", "autopilot", "manual_rerun"):
        made = await facts(yard, await create(yard, None, trigger_type=trigger))
        assert (made["subject"], made["trigger"]["type"]) == (None, trigger)


async def test_each_state_leads_to_the_next_and_to_no_other(yard: Yard):
    made = await create(yard)
    held = await claim_that(yard, made, by=AGENT)
    with pytest.raises(IllegalTransition, match="claimed"):
        await yard.complete(held.id, held.lease)
    assert (await facts(yard, made))["state"] == "dispatched"
    await yard.start(held.id, held.lease)
    assert (await facts(yard, made))["state"] == "running"
    await yard.complete(held.id, held.lease, "fixed")
    assert (await facts(yard, made))["state"] == "completed"
    with pytest.raises(IllegalTransition, match="completed"):
        await yard.cancel(made)


async def test_a_task_is_cancelled_from_every_state_that_is_not_over(yard: Yard):
    running = (await run(yard, await create(yard, "1"))).id
    dispatched = (await claim_that(yard, await create(yard, "2"), by=AGENT)).id
    queued = await create(yard, "3")
    assert [(await facts(yard, each))["state"] for each in (queued, dispatched, running)] == [
        *("queued", "dispatched", "running"),
    ]

    for each in (queued, dispatched, running):
        await yard.cancel(each)
        assert (await facts(yard, each))["state"] == "cancelled"


# Endpoints


async def test_a_daemon_works_through_the_endpoints_and_a_user_lists_by_agent_issue_and_status(daemon: Daemon):
    made, other = await daemon.create(), await daemon.create(issue_id="43")
    task = await daemon.claim_one()
    assert (task["id"], task["status"]) == (made["id"], "dispatched")
    await daemon.say("start", task)
    await daemon.say("session", task, session_id="s1", work_dir="/srv/page")
    await daemon.say("progress", task, progress={"fraction": 0.5})
    await daemon.say("complete", task, output="fixed")
    failing = await daemon.start_one()
    await daemon.say("fail", failing, reason="agent_error", error="API error")

    async def listed(**which: Any) -> list[str]:
        return [each["id"] for each in await daemon.tasks(**which)]

    assert await listed(issue=ISSUE) == [made["id"]]
    assert await listed(agent=AGENT, status="failed") == [other["id"]]
    assert set(await listed(agent=AGENT)) == {made["id"], other["id"]}
    assert (await daemon.task(made["id"]))["output"] == "fixed"
    again = await daemon.rerun_issue("43", task_id=other["id"])
    await daemon.post(f"/api/tasks/{again['id']}/cancel")
    assert await daemon.status(again["id"]) == "cancelled"


# Timeouts


async def test_a_task_that_is_never_started_times_out_after_five_minutes_and_is_queued_again(
    yard: Yard, daemon: Daemon, clock: ManualClock
):
    made = await create(yard)
    await claim_that(yard, made, by=AGENT)
    await pass_time(yard, clock, 250)
    assert await daemon.status(made) == "dispatched"
    await pass_time(yard, clock, 50)

    assert (await daemon.task(made))["failure_reason"] == "timeout"
    assert await daemon.status(f"{made}.2") == "queued"


async def test_a_task_that_runs_for_two_and_a_half_hours_times_out(yard: Yard, daemon: Daemon, clock: ManualClock):
    held = await run(yard, await create(yard))
    claim = (await facts(yard, held.id))["claim"]
    assert claim["limit_at"] == "2026-01-01T02:30:00.000000Z"

    short = await run(yard, await create(yard, "43", max_duration_sec=60))
    await pass_time(yard, clock, 100)
    assert (await daemon.task(short.id))["failure_reason"] == "timeout"
    assert await daemon.status(f"{short.id}.2") == "queued"


async def test_what_a_runtime_ran_that_is_silent_for_75_seconds_is_retried(
    yard: Yard, daemon: Daemon, clock: ManualClock
):
    held = await run(yard, await create(yard))
    await yard.runtimes.heartbeat(RUNTIME)
    await elapse(yard, clock, 74)
    assert await daemon.status(held.id) == "running"
    await elapse(yard, clock, 2)

    assert (await daemon.task(held.id))["failure_reason"] == "runtime_offline"
    assert await daemon.status(f"{held.id}.2") == "queued"


# Retries


async def test_a_retryable_failure_is_retried_once_in_the_same_session(yard: Yard, daemon: Daemon):
    held = await run(yard, await create(yard))
    await yard.attempts.pin_session(held.id, held.lease, session_id="s1", work_dir="/srv/page")
    await yard.fail(held.id, held.lease, "timeout")
    retry = await daemon.task(f"{held.id}.2")
    assert (retry["status"], retry["attempt"], retry["parent_task_id"]) == ("queued", 2, held.id)
    assert (retry["session_id"], retry["work_dir"]) == ("s1", "/srv/page")

    again = await run(yard, held.id)
    await yard.fail(again.id, again.lease, "timeout")

    assert await status_of(yard, held.id) is Status.DEAD_LETTERED
    assert [each["status"] for each in await daemon.tasks(issue=ISSUE)] == ["failed", "failed"]


@pytest.mark.parametrize("error", ["API error: 500", "quota exceeded", "429 Too Many Requests"])
async def test_an_agents_own_error_is_not_retried(yard: Yard, error: str):
    held = await run(yard, await create(yard))
    await yard.fail(held.id, held.lease, "agent_error", error)

    shown = await facts(yard, held.id)
    assert (shown["state"], shown["failure"]["reason"]) == ("failed", "agent_error")


async def test_an_autopilots_task_is_not_retried(yard: Yard):
    held = await run(yard, await create(yard, None, trigger_type="autopilot"))
    await yard.fail(held.id, held.lease, "timeout")

    assert (await facts(yard, held.id))["state"] == "failed"


async def test_a_manual_rerun_is_a_new_task_with_a_fresh_session(yard: Yard):
    held = await run(yard, await create(yard, prompt="Fix it well"))
    await yard.attempts.pin_session(held.id, held.lease, session_id="s1")
    await yard.fail(held.id, held.lease, "agent_error")

    again = await facts(yard, (await yard.tasks.rerun_subject(f"issue:{ISSUE}", task_id=held.id)).id)

    assert (again["state"], again["rerun_of"], again["spec"]["prompt"]) == ("queued", held.id, "Fix it well")
    assert (again["trigger"]["type"], again["session"]["fresh"]) == ("manual_rerun", True)
    assert again["session"]["session_id"] is None


# Orphans and sessions


async def test_a_daemon_that_restarts_fails_what_it_had_and_the_retries_take_the_normal_way(yard: Yard):
    running = await run(yard, await create(yard, "1"))
    await yard.attempts.pin_session(running.id, running.lease, session_id="s1", work_dir="/srv/page")
    dispatched = await claim_that(yard, await create(yard, "2"), by=AGENT)
    autopilot = await run(yard, await create(yard, None, trigger_type="autopilot"))
    await yard.runtimes.register("elsewhere")
    await yard.agents.register("other", runtime_id="elsewhere")
    untouched = await claim_that(yard, (await yard.enqueue("code", agent="other")).id, by="other")

    assert await yard.runtimes.orphans(RUNTIME) == (3, 2)

    states = [(await facts(yard, each.id))["state"] for each in (running, dispatched, autopilot, untouched)]
    assert states == ["queued", "queued", "failed", "dispatched"]
    again = {held.id: held.to_dict() for held in await yard.claim(AGENT, count=9)}
    assert set(again) == {running.id, dispatched.id}
    session: Any = again[running.id]["session"]
    assert (session["session_id"], session["work_dir"]) == ("s1", "/srv/page")


# Events


async def test_listeners_hear_of_every_transition(yard: Yard, daemon: Daemon):
    async with served(behind(yard)) as server, listening(server) as listener:
        await listener.subscribe(after=0, view="multica")
        made = await daemon.create()
        task = await daemon.start_one()
        await daemon.say("progress", task, progress={"fraction": 0.5})
        await daemon.say("message", task, message={"kind": "tool", "text": "make test"})
        await daemon.say("complete", task, output="fixed")
        failing = (await daemon.create(issue_id="43"))["id"]
        await daemon.say("fail", await daemon.start_one(), reason="agent_error")
        cancelled = (await daemon.create(issue_id="44"))["id"]
        await daemon.post(f"/api/tasks/{cancelled}/cancel")

        heard: dict[str, list[str]] = {}
        while heard.get(cancelled, [])[-1:] != ["task:cancelled"]:
            (event,) = await listener.events(1)
            heard.setdefault(event["task_id"], []).append(event["type"])

    assert heard[made["id"]] == [
        *("task:queued", "task:dispatch", "task:running", "task:progress", "task:message", "task:completed"),
    ]
    assert heard[failing] == ["task:queued", "task:dispatch", "task:running", "task:failed"]
    assert heard[cancelled] == ["task:queued", "task:cancelled"]
