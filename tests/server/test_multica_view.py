"""The view of preset multica: attempts as tasks of their own, under ids that every route takes."""

from collections.abc import AsyncIterator, Sequence

import pytest

from taskyard.core.task import Definition, Status, TaskId
from taskyard.features.tasks.lookup import queries
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


# Attempts and their ids


async def test_every_route_takes_the_id_of_an_attempt(daemon: Daemon, yard: Yard):
    task = await daemon.create()
    await daemon.say("fail", await daemon.start_one(), reason="timeout")
    retry = await daemon.claim_one()
    assert retry["id"] == f"{task['id']}.2"

    for verb, more in (
        ("start", {}),
        ("heartbeat", {}),
        ("progress", {"progress": 0.5}),
        ("message", {"message": "hello"}),
        ("session", {"session_id": "s1"}),
        ("checkpoint", {"name": "plan", "data": 1}),
    ):
        await daemon.say(verb, retry, **more)
    one = {"task_id": retry["id"], "lease": retry["lease"]}
    (told,) = (await daemon.post("/api/tasks/heartbeat", heartbeats=[one]))["told"]
    assert told["words"] == []
    for paper in ("why", "inputs", "checkpoints"):
        assert (await daemon.http.get(f"/api/tasks/{retry['id']}/{paper}")).is_success
    (done,) = (await daemon.post("/api/tasks/complete", results=[one]))["results"]

    assert (done["task_id"], done["status"]) == (task["id"], "completed")
    assert await daemon.status(retry["id"]) == "completed"
    assert await daemon.status(task["id"]) == "failed"
    assert (await daemon.post(f"/api/tasks/{retry['id']}/rerun"))["rerun_of"] == task["id"]


async def test_the_lease_of_an_earlier_attempt_is_stale_under_whichever_id(daemon: Daemon):
    first = await _retried(daemon)

    for id_ in (first["id"], f"{first['id']}.2"):
        assert await daemon.refused(f"/api/tasks/{id_}/complete", lease=first["lease"]) == "lease_lost"
    assert (await daemon.say("fail", first, reason="timeout"))["status"] == "ready"  # as it was answered then


async def test_an_attempt_that_there_is_not_is_not_found(daemon: Daemon):
    first = await _retried(daemon)

    for number in ("0", "3", "99999999999999999999", "x"):
        answer = await daemon.http.get(f"/api/tasks/{first['id']}.{number}", params={"view": "multica"})
        assert answer.json()["code"] == "not_found"


async def test_without_the_view_the_id_of_an_attempt_is_the_tasks(daemon: Daemon):
    first = await _retried(daemon)

    for id_ in (first["id"], f"{first['id']}.1", f"{first['id']}.2"):
        assert (await daemon.http.get(f"/api/tasks/{id_}")).json()["id"] == first["id"]


async def test_attempts_are_listed_latest_first_by_the_views_words(daemon: Daemon):
    first = await _retried(daemon)
    other = await daemon.create(issue_id="43")
    retry = f"{first['id']}.2"

    async def listed(**which: object) -> list[str]:
        return [task["id"] for task in await daemon.tasks(**which)]

    assert await listed() == [other["id"], retry, first["id"]]
    assert await listed(issue=ISSUE) == [retry, first["id"]]
    assert await listed(agent=AGENT, status="failed") == [first["id"]]
    assert await listed(status=["queued", "running"]) == [other["id"], retry]
    assert await listed(status="completed") == []
    answer = await daemon.http.get("/api/tasks", params={"view": "multica", "status": "ready"})
    assert answer.json()["facts"] == {
        "field": "status",
        "rule": "must be one of queued, dispatched, running, completed, failed, cancelled",
    }


async def test_a_list_reads_the_store_as_often_for_many_tasks_as_for_one(
    daemon: Daemon, yard: Yard, monkeypatch: pytest.MonkeyPatch
):
    reads: list[str] = []
    ask = yard.store.definitions

    async def counted(task_ids: Sequence[TaskId]) -> dict[TaskId, Definition]:
        reads.append(f"{len(task_ids)} definitions")
        return await ask(task_ids)

    for number in range(20):
        await daemon.create(issue_id=str(number))
    monkeypatch.setattr(yard.store, "definitions", counted)

    assert len(await daemon.tasks()) == 20
    assert len(reads) <= 2


async def test_a_list_says_how_many_there_are_or_that_there_are_more(daemon: Daemon, monkeypatch: pytest.MonkeyPatch):
    for number in range(5):
        await daemon.create(issue_id=str(number))

    async def total(**which: str | int) -> tuple[int | None, bool | None]:
        page = (await daemon.http.get("/api/tasks", params=which)).json()
        return page["total"], page["more"]

    assert await total() == await total(limit=2) == await total(limit=2, view="multica") == (5, False)
    assert await total(status="completed") == (0, False)
    monkeypatch.setattr(queries, "MOST_TOTAL", 4)
    assert await total(limit=2) == (4, True)
    assert await total(short=True) == (None, None)


async def test_a_waiting_attempt_that_is_cancelled_differs_from_the_failed_one(daemon: Daemon):
    first = await _retried(daemon)

    await daemon.post(f"/api/tasks/{first['id']}.2/cancel", reason="enough")

    assert [(task["status"], task["error"]) for task in await daemon.tasks(issue=ISSUE)] == [
        ("cancelled", "enough"),
        ("failed", ""),
    ]
    assert await daemon.events(f"{first['id']}.2") == ["task:queued", "task:cancelled"]


async def test_an_attempt_that_is_given_back_is_followed_by_another(daemon: Daemon):
    await daemon.create()
    task = await daemon.start_one()

    await daemon.say("release", task)

    assert [(each["status"], each["failure_reason"]) for each in await daemon.tasks(issue=ISSUE)] == [
        ("queued", None),
        ("cancelled", "released"),
    ]
    assert (await daemon.events(task["id"]))[-1] == "task:cancelled"
    assert await daemon.events(f"{task['id']}.2") == ["task:queued"]


async def test_a_dead_letter_that_is_revived_waits_as_another_attempt_also_when_that_is_cancelled(daemon: Daemon):
    await daemon.create()
    task = await daemon.start_one()
    await daemon.say("fail", task, reason="agent_error")

    await daemon.post(f"/api/dead-letters/{task['id']}/resolve", resolution="retry")
    assert [each["status"] for each in await daemon.tasks(issue=ISSUE)] == ["queued", "failed"]
    await daemon.post(f"/api/tasks/{task['id']}/cancel")

    assert [each["status"] for each in await daemon.tasks(issue=ISSUE)] == ["cancelled", "failed"]
    assert await daemon.events(f"{task['id']}.2") == ["task:queued", "task:cancelled"]


async def test_a_failed_task_that_a_person_takes_out_is_cancelled(daemon: Daemon):
    await daemon.create()
    task = await daemon.start_one()
    await daemon.say("fail", task, reason="agent_error")

    await daemon.post(f"/api/tasks/{task['id']}/cancel")

    (cancelled,) = await daemon.tasks(issue=ISSUE)
    assert (cancelled["status"], cancelled["failure_reason"]) == ("cancelled", "agent_error")
    assert (await daemon.events(task["id"]))[-1] == "task:cancelled"


async def test_an_agents_token_reads_its_attempts_by_their_ids(daemon: Daemon, yard: Yard):
    first = await _retried(daemon)
    issued = await yard.tokens.create("mine", "agent", agent=AGENT)

    answer = await daemon.http.get(
        f"/api/tasks/{first['id']}.2", params={"view": "multica"}, headers={"Authorization": f"Bearer {issued.text}"}
    )

    assert (answer.status_code, answer.json()["status"]) == (200, "queued")


# Sessions


async def test_a_session_is_shown_to_the_runtime_that_pinned_it_and_to_no_other(daemon: Daemon):
    await daemon.register(f"{AGENT}-2", type_=AGENT, runtime="desktop")
    for runtime, others, session in ((RUNTIME, "desktop", "s1"), ("desktop", RUNTIME, "s2")):
        await daemon.create(issue_id=session)
        (first,) = await daemon.claim(runtime)
        await daemon.say("start", first)
        await daemon.say("session", first, session_id=session, work_dir="/srv/page")
        await daemon.say("fail", first, reason="timeout")

        (retry,) = await daemon.claim(others)
        assert (retry["id"], retry["session_id"], retry["work_dir"]) == (f"{first['id']}.2", None, None)
        assert (await daemon.task(first["id"]))["session_id"] == session
        await daemon.say("release", retry)
        (again,) = await daemon.claim(runtime)
        assert (again["id"], again["session_id"], again["work_dir"]) == (f"{first['id']}.3", session, "/srv/page")
        await daemon.say("start", again)
        await daemon.say("complete", again)


# Time-outs and silence


async def test_what_a_silent_runtime_ran_failed_because_the_runtime_is_offline(
    daemon: Daemon, yard: Yard, clock: ManualClock
):
    await daemon.register(max_concurrent_tasks=2)
    for issue in ("1", "2"):
        await daemon.create(issue_id=issue)
    held = [await daemon.start_one(), await daemon.claim_one()]

    await elapse(yard, clock, 76)

    for task in held:
        assert (await daemon.task(task["id"]))["failure_reason"] == "runtime_offline"
        assert await daemon.status(f"{task['id']}.2") == "queued"


async def test_an_autopilots_task_is_not_retried_when_its_time_is_over(daemon: Daemon, yard: Yard, clock: ManualClock):
    await daemon.create(trigger_type="autopilot")
    task = await daemon.claim_one()

    await elapse(yard, clock, 301)

    (failed,) = await daemon.tasks(issue=ISSUE)
    assert (failed["id"], failed["status"]) == (task["id"], "failed")


async def test_a_reason_is_reported_in_the_views_words_too(daemon: Daemon, yard: Yard, clock: ManualClock):
    await daemon.create()
    task = await daemon.claim_one()
    for _ in range(6):
        await elapse(yard, clock, 50)
        await daemon.post(f"/api/runtimes/{RUNTIME}/heartbeat")

    events = (await daemon.get(f"/api/tasks/{task['id']}/events"))["events"]
    assert (events[-1]["event"], events[-1]["payload"]["reason"]) == ("task.retrying", "timeout")
    assert (events[-1]["payload"]["status"], events[-1]["payload"]["attempt"]) == ("failed", 1)


# Claims per runtime


async def test_a_claim_for_a_runtime_serves_each_of_its_agents_within_its_limit(daemon: Daemon):
    await daemon.register("reviewer", max_concurrent_tasks=2)
    for number in range(6):
        await daemon.create(issue_id=str(number), agent_id=None)

    claimed = await daemon.claim(count=6)

    assert sorted(task["agent_id"] for task in claimed) == [AGENT, "reviewer", "reviewer"]
    assert await daemon.claim(count=6) == []


async def test_a_claim_whose_answer_was_lost_is_answered_again_whatever_has_come_since(daemon: Daemon):
    await daemon.register("reviewer")
    await daemon.create(agent_id="reviewer")
    lost = await daemon.claim(request_id="r1")
    await daemon.create(agent_id=AGENT)  # the first to be asked, and it had nothing then

    again = await daemon.claim(request_id="r1")

    assert [(task["id"], task["lease"]) for task in again] == [(task["id"], task["lease"]) for task in lost]
    assert [task["agent_id"] for task in await daemon.claim(request_id="r2")] == [AGENT]


# Reruns of an issue


async def test_a_rerun_of_an_issue_takes_the_place_of_what_waits_for_that_agent(daemon: Daemon, yard: Yard):
    waiting = await daemon.create()
    others = [await daemon.create(agent_id="reviewer"), await daemon.create(issue_id="43")]

    again = await daemon.rerun_issue(task_id=waiting["id"])

    cancelled = await daemon.task(waiting["id"])
    assert (cancelled["status"], cancelled["error"]) == ("cancelled", f"superseded by {again['id']}")
    assert [await daemon.status(other["id"]) for other in others] == ["queued", "queued"]
    assert (await daemon.create())["id"] == again["id"]  # it is the one that waits now


async def test_a_rerun_of_an_issue_waits_behind_what_its_agent_has_at_hand(daemon: Daemon, yard: Yard):
    await daemon.register(max_concurrent_tasks=5)
    await daemon.create()
    running = await daemon.start_one()

    again = await daemon.rerun_issue()

    assert await daemon.status(running["id"]) == "running"
    assert await daemon.claim() == []
    await daemon.say("complete", running, output="done")
    assert (await daemon.claim_one())["id"] == again["id"]


async def test_a_rerun_of_an_issue_without_tasks_or_of_another_issues_task_is_refused(daemon: Daemon, yard: Yard):
    task = await daemon.create()

    assert await daemon.refused("/api/issues/43/rerun") == "not_found"
    assert await daemon.refused("/api/issues/43/rerun", task_id=task["id"]) == "not_found"
    assert await status_of(yard, task["id"]) is Status.READY


async def _retried(daemon: Daemon) -> dict[str, str]:
    """The first attempt of a task whose second waits."""
    await daemon.create()
    task = await daemon.start_one()
    await daemon.say("fail", task, reason="timeout")
    return task
