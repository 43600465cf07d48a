"""The eleven end-to-end cases of the document behind preset multica, by their names, over a real server."""

from collections.abc import AsyncIterator

import pytest

from taskyard.core.task import Status
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import status_of
from tests.server.daemons import AGENT, ISSUE, RUNTIME, Daemon, daemon_of
from tests.yards import OpenYard, elapse


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    return await open_yard(preset="multica")


@pytest.fixture
async def daemon(yard: Yard) -> AsyncIterator[Daemon]:
    async with daemon_of(yard) as daemon:
        await daemon.register()
        yield daemon


async def test_create_task_verify_queued_state(daemon: Daemon, yard: Yard):
    task = await daemon.create(trigger_type="mention", trigger_comment_id="c1", trigger_summary="please fix")

    assert await daemon.task(task["id"]) == task
    assert (task["status"], task["attempt"], task["max_attempts"]) == ("queued", 1, 2)
    assert (task["workspace_id"], task["issue_id"], task["agent_id"]) == ("default", ISSUE, AGENT)
    assert (task["trigger_type"], task["trigger_comment_id"], task["trigger_summary"]) == (
        "mention",
        "c1",
        "please fix",
    )
    unset = ("parent_task_id", "session_id", "work_dir", "output", "failure_reason")
    assert [task[name] for name in (*unset, "claimed_at", "started_at", "completed_at")] == [None] * 8
    assert await status_of(yard, task["id"]) is Status.READY
    assert await daemon.events(task["id"]) == ["task:queued"]


async def test_daemon_claims_verify_dispatched(daemon: Daemon, yard: Yard):
    created = await daemon.create()

    task = await daemon.claim_one()

    assert task["id"] == created["id"]
    assert (task["status"], task["agent_id"], task["runtime_id"]) == ("dispatched", AGENT, RUNTIME)
    assert task["claimed_at"] is not None
    assert await daemon.claim() == []
    assert await status_of(yard, task["id"]) is Status.CLAIMED
    assert await daemon.events(task["id"]) == ["task:queued", "task:dispatch"]


async def test_daemon_starts_verify_running(daemon: Daemon, yard: Yard):
    await daemon.create()

    task = await daemon.start_one()

    running = await daemon.task(task["id"])
    assert running["status"] == "running"
    assert running["started_at"] is not None
    assert await status_of(yard, task["id"]) is Status.RUNNING
    assert await daemon.events(task["id"]) == ["task:queued", "task:dispatch", "task:running"]


async def test_daemon_completes_verify_completed_check_events(daemon: Daemon, yard: Yard):
    await daemon.create()
    task = await daemon.start_one()
    await daemon.say("session", task, session_id="s1", work_dir="/srv/page")
    await daemon.say("progress", task, progress={"fraction": 0.5})
    await daemon.say("message", task, message={"kind": "tool", "text": "make test"})

    await daemon.say("complete", task, output="fixed")

    completed = await daemon.task(task["id"])
    assert (completed["status"], completed["output"]) == ("completed", "fixed")
    assert (completed["session_id"], completed["work_dir"]) == ("s1", "/srv/page")
    assert completed["completed_at"] is not None
    assert await status_of(yard, task["id"]) is Status.COMPLETED
    assert await daemon.events(task["id"]) == [
        *("task:queued", "task:dispatch", "task:running"),
        *("task:message", "task:progress", "task:message"),
        "task:completed",
    ]


async def test_daemon_fails_with_retryable_reason_verify_retry_task_created(daemon: Daemon, yard: Yard):
    await daemon.create()
    task = await daemon.start_one()
    await daemon.say("session", task, session_id="s1", work_dir="/srv/page")

    await daemon.say("fail", task, reason="timeout", error="took too long")

    failed, retry = await daemon.task(task["id"]), await daemon.task(f"{task['id']}.2")
    assert (failed["status"], failed["failure_reason"], failed["error"]) == ("failed", "timeout", "took too long")
    assert (retry["status"], retry["attempt"], retry["parent_task_id"]) == ("queued", 2, task["id"])
    assert (retry["session_id"], retry["work_dir"]) == ("s1", "/srv/page")
    assert await status_of(yard, task["id"]) is Status.READY
    assert (await daemon.events(failed["id"]))[-1] == "task:failed"
    assert await daemon.events(retry["id"]) == ["task:queued"]
    assert (await daemon.claim_one())["id"] == retry["id"]


async def test_daemon_fails_with_non_retryable_reason_verify_no_retry(daemon: Daemon, yard: Yard):
    await daemon.create()
    task = await daemon.start_one()

    await daemon.say("fail", task, reason="agent_error", error="quota exceeded")

    (failed,) = await daemon.tasks(issue=ISSUE)
    assert (failed["id"], failed["status"], failed["failure_reason"]) == (task["id"], "failed", "agent_error")
    assert await daemon.claim() == []
    assert await status_of(yard, task["id"]) is Status.DEAD_LETTERED
    assert await daemon.events(task["id"]) == ["task:queued", "task:dispatch", "task:running", "task:failed"]


async def test_max_attempts_exhausted_verify_stays_failed(daemon: Daemon, yard: Yard):
    await daemon.create()
    first = await daemon.start_one()
    await daemon.say("fail", first, reason="timeout")
    second = await daemon.start_one()

    await daemon.say("fail", second, reason="timeout")

    assert [(task["id"], task["status"]) for task in await daemon.tasks(issue=ISSUE)] == [
        (f"{first['id']}.2", "failed"),
        (first["id"], "failed"),
    ]
    assert await daemon.claim() == []
    assert await status_of(yard, first["id"]) is Status.DEAD_LETTERED
    assert await daemon.events(second["id"]) == ["task:queued", "task:dispatch", "task:running", "task:failed"]


async def test_manual_rerun_verify_new_task_with_fresh_session(daemon: Daemon, yard: Yard):
    await daemon.create(prompt="Fix it well")
    task = await daemon.start_one()
    await daemon.say("session", task, session_id="s1")
    await daemon.say("fail", task, reason="agent_error")

    again = await daemon.rerun_issue(task_id=task["id"])

    assert (again["status"], again["prompt"], again["attempt"]) == ("queued", "Fix it well", 1)
    assert (again["trigger_type"], again["session_id"]) == ("manual_rerun", None)
    assert (await yard.get(again["id"])).session.fresh
    assert await daemon.status(task["id"]) == "failed"
    assert await daemon.events(again["id"]) == ["task:queued"]
    assert (await daemon.claim_one())["id"] == again["id"]


async def test_orphan_recovery_verify_stale_tasks_recovered(daemon: Daemon, yard: Yard):
    await daemon.register(max_concurrent_tasks=3)
    for issue in ("1", "2"):
        await daemon.create(issue_id=issue)
    running, dispatched = await daemon.start_one(), await daemon.claim_one()

    assert await daemon.post(f"/api/runtime/{RUNTIME}/orphans") == {"orphaned": 2, "retried": 2}

    for task in (running, dispatched):
        assert (await daemon.task(task["id"]))["failure_reason"] == "runtime_recovery"
        assert await daemon.status(f"{task['id']}.2") == "queued"
        assert await status_of(yard, task["id"]) is Status.READY
        assert (await daemon.events(task["id"]))[-1] == "task:failed"
        assert await daemon.events(f"{task['id']}.2") == ["task:queued"]
    assert await daemon.refused(f"/api/tasks/{running['id']}/complete", lease=running["lease"]) == "lease_lost"
    assert len(await daemon.claim(count=3)) == 2


async def test_timeout_verify_task_moved_to_failed_after_timeout(daemon: Daemon, yard: Yard, clock: ManualClock):
    await daemon.create()
    dispatched = await daemon.claim_one()

    async def pass_time(seconds: int) -> None:
        for _ in range(0, seconds, 50):
            await elapse(yard, clock, 50)
            await daemon.post(f"/api/runtimes/{RUNTIME}/heartbeat")

    await pass_time(250)
    assert await daemon.status(dispatched["id"]) == "dispatched"
    await pass_time(50)
    assert (await daemon.task(dispatched["id"]))["failure_reason"] == "timeout"
    running = await daemon.start_one()
    await pass_time(8950)
    assert await daemon.status(running["id"]) == "running"
    await pass_time(50)

    assert [(task["status"], task["failure_reason"]) for task in await daemon.tasks(issue=ISSUE)] == [
        ("failed", "timeout")
    ] * 2
    assert await status_of(yard, dispatched["id"]) is Status.DEAD_LETTERED
    assert await daemon.events(dispatched["id"]) == ["task:queued", "task:dispatch", "task:failed"]
    assert (await daemon.events(running["id"]))[-1] == "task:failed"


async def test_cancel_mid_run_verify_cancelled_state(daemon: Daemon, yard: Yard):
    await daemon.create()
    task = await daemon.start_one()

    await daemon.post(f"/api/tasks/{task['id']}/cancel", reason="not wanted any more")

    cancelled = await daemon.task(task["id"])
    assert (cancelled["status"], cancelled["failure_reason"]) == ("cancelled", "cancelled")
    assert (await daemon.say("heartbeat", task))["words"] == ["cancelled"]
    assert await daemon.refused(f"/api/tasks/{task['id']}/complete", lease=task["lease"]) == "lease_lost"
    assert await status_of(yard, task["id"]) is Status.CANCELLED
    assert await daemon.events(task["id"]) == ["task:queued", "task:dispatch", "task:running", "task:cancelled"]
    assert await daemon.claim() == []
