"""Who did it: every change that a caller makes over HTTP can be told apart by who made it, and what was denied too."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from taskyard.yard import Yard
from tests.server.calling import calling
from tests.yards import given_a_dead_letter, given_an_agent

Change = tuple[str, str, Any]


async def changes_to_make(yard: Yard) -> dict[str, Change]:
    """What an operator can do, by the event that tells of it."""
    await given_an_agent(yard, "ada")
    dead = await given_a_dead_letter(yard, by="bob")
    waiting = await yard.enqueue("code")
    other = await yard.enqueue("research")
    dag = await yard.submit({"tasks": [{"type": "code"}]})
    token = await yard.tokens.create("spare", "viewer")
    return {
        "task.reprioritised": ("POST", f"/api/tasks/{waiting.id}/priority", {"priority": 7}),
        "task.cancelled": ("POST", f"/api/tasks/{other.id}/cancel", {}),
        "task.revived": ("POST", f"/api/dead-letters/{dead.id}/resolve", {"resolution": "retry"}),
        "dag.budget": ("POST", f"/api/dags/{dag.id}/budget", {"budget_ceiling_usd": 1}),
        "dag.limit": ("POST", f"/api/dags/{dag.id}/limit", {"max_tasks": 20_000}),
        "dag.cancelling": ("POST", f"/api/dags/{dag.id}/cancel", {}),
        "agent.draining": ("POST", "/api/agents/ada/drain", None),
        "agent.active": ("POST", "/api/agents/ada/resume", None),
        "agent.budget": ("POST", "/api/agents/ada/budget", {"budget_usd": 9}),
        "agent.offline": ("POST", "/api/agents/ada/sign-off", None),
        "agent.removed": ("DELETE", "/api/agents/ada", None),
        "agent.registered": ("POST", "/api/agents", {"id": "eve"}),
        "queue.paused": ("POST", "/api/queues/default/pause", None),
        "queue.resumed": ("POST", "/api/queues/default/resume", None),
        "queue.preset": ("POST", "/api/queues/other/preset", {"preset": "loki"}),
        "breaker.opened": ("POST", "/api/breakers/code/open", {}),
        "breaker.closed": ("POST", "/api/breakers/code/close", {}),
        "workspace.breakers": ("PUT", "/api/breaker-policy", {"failure_threshold": 3}),
        "workspace.budget": ("PUT", "/api/budget", {"daily_budget_usd": 10}),
        "schedule.added": ("POST", "/api/schedules", {"id": "new", "when": "@daily", "task": {"type": "code"}}),
        "schedule.paused": ("POST", "/api/schedules/new/pause", None),
        "schedule.resumed": ("POST", "/api/schedules/new/resume", None),
        "schedule.run": ("POST", "/api/schedules/new/run", None),
        "schedule.removed": ("DELETE", "/api/schedules/new", None),
        "trigger.added": ("POST", "/api/triggers", {"id": "new", "source": "webhook", "ready_made": "json"}),
        "trigger.rotated": ("POST", "/api/triggers/new/rotate", {}),
        "trigger.paused": ("POST", "/api/triggers/new/pause", None),
        "trigger.resumed": ("POST", "/api/triggers/new/resume", None),
        "trigger.removed": ("DELETE", "/api/triggers/new", None),
        "token.created": ("POST", "/api/tokens", {"name": "new", "role": "viewer"}),
        "token.revoked": ("DELETE", f"/api/tokens/{token.token.id}", None),
    }


async def test_every_change_names_who_made_it(yard: Yard):
    token = (await yard.tokens.create("olga", "admin")).text
    changes = await changes_to_make(yard)
    unnamed: dict[str, Any] = {}
    async with calling(yard, token) as client:
        for event, (method, path, body) in changes.items():
            before = await last_seq(yard)
            answer = await client.request(method, path, json=body)
            assert answer.is_success, answer.text
            told = {stored.event.event: stored.event.data for stored in await yard.events(after=before)}
            if json.loads(told.get(event) or "{}").get("by") != "human:olga":
                unnamed[event] = told

    assert not unnamed


async def last_seq(yard: Yard) -> int:
    return (await yard.events())[-1].seq


async def test_a_denied_call_is_logged_with_its_reason_and_counted(yard: Yard, caplog: pytest.LogCaptureFixture):
    viewer = await yard.tokens.create("vera", "viewer")
    async with calling(yard, viewer.text) as client:
        await client.post("/api/queues/default/pause")
        metrics = (await client.get("/metrics")).text

    [line] = [record for record in caplog.records if record.getMessage() == "call denied"]
    said = line.__dict__
    assert (said["status"], said["route"], said["token"]) == (403, "/api/queues/{queue}/pause", viewer.token.id)
    assert "viewer" in said["reason"]
    assert denied(metrics) == {"forbidden": 1.0}


async def test_a_revoked_token_is_named_in_the_log_and_not_in_the_answer(yard: Yard, caplog: pytest.LogCaptureFixture):
    issued = await yard.tokens.create("vera", "viewer")
    await yard.tokens.revoke(issued.token.id)
    async with calling(yard, issued.text) as client:
        answer = await client.get("/api/stats")
        unknown = await client.get("/api/stats", headers={"authorization": "Bearer nonsense"})

    lines = [record.__dict__ for record in caplog.records if record.getMessage() == "call denied"]
    assert [line["token"] for line in lines] == [issued.token.id, None]
    assert answer.json() == unknown.json()


async def test_a_fault_of_ours_gives_the_caller_a_number_and_the_log_the_rest(
    yard: Yard, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    async def broken(*_: object) -> None:
        raise RuntimeError("the secret plan")

    monkeypatch.setattr(yard.tasks, "stats", broken)
    async with calling(yard) as client:
        answer = await client.get("/api/stats")

    [line] = [record for record in caplog.records if record.getMessage() == "request failed"]
    assert answer.status_code == 500
    assert answer.json()["error_id"] == line.__dict__["request_id"] == answer.headers["taskyard-request"]
    assert "plan" not in answer.text
    assert line.exc_info is not None


def denied(metrics: str) -> dict[str, float]:
    families = {family.name: family for family in text_string_to_metric_families(metrics)}
    samples = families["taskyard_calls_denied"].samples
    return {sample.labels["code"]: sample.value for sample in samples if sample.name.endswith("_total")}
