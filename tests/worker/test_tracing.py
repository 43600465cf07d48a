"""Traces: one for each task, with a span for each attempt and each step, whoever makes them."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import taskyard
from taskyard import Agent, Context, Fail
from taskyard.app import Yard
from taskyard.ledger.clock import ManualClock
from taskyard.worker.attempt_spans import attempt_span, step_span, trace_of
from taskyard.worker.sync_context import SyncContext
from tests.server.calling import calling
from tests.spans import ids_of, parent_of, spans
from tests.yards import given_a_claimed_task

__all__ = ["spans"]


@pytest.fixture
async def yard():
    async with taskyard.connect("memory://", clock=ManualClock(), sweeps=False) as yard:
        yield yard


def agent_that_fails_once() -> Agent:
    agent = Agent("coder", id="coder-1")

    @agent.handles("code")
    async def code(task: Context) -> None:
        await task.step("plan", lambda: "a plan")
        if task.attempt == 1:
            raise Fail("crash", "ty_secret")
        await task.step("write", lambda: "a diff")

    return agent


async def test_the_attempts_of_a_task_share_a_trace_and_steps_are_below_them(yard: Yard, spans: InMemorySpanExporter):
    await yard.enqueue("code")

    await yard.drain(agent_that_fails_once())

    traced = {span.name: span for span in spans.get_finished_spans()}
    attempts = [span for span in spans.get_finished_spans() if span.name == "attempt code"]
    assert len({ids_of(span)[0] for span in spans.get_finished_spans()}) == 1
    assert [span.attributes["taskyard.task.attempt"] for span in attempts if span.attributes] == [1, 2]
    assert [parent_of(span) for span in attempts] == [ids_of(traced["enqueue code"])[1]] * 2
    assert parent_of(traced["step write"]) == ids_of(attempts[1])[1]


async def test_the_attempts_of_a_task_that_was_put_in_untraced_share_a_trace(
    yard: Yard, request: pytest.FixtureRequest
):
    task = await yard.enqueue("code")
    spans: InMemorySpanExporter = request.getfixturevalue("spans")

    await yard.drain(agent_that_fails_once())

    attempts = [span for span in spans.get_finished_spans() if span.name == "attempt code"]
    assert [(ids_of(span)[0], parent_of(span)) for span in attempts] == [trace_of(task.id)[:2]] * 2


async def test_an_attempt_that_failed_says_so_without_what_it_stated(yard: Yard, spans: InMemorySpanExporter):
    await yard.enqueue("code")

    await yard.drain(agent_that_fails_once())

    failed, succeeded = [span for span in spans.get_finished_spans() if span.name == "attempt code"]
    assert (failed.status.status_code, failed.status.description) == (trace.StatusCode.ERROR, "crash")
    assert succeeded.status.is_ok
    assert "ty_secret" not in failed.to_json()


async def test_a_step_in_a_thread_belongs_to_its_attempt_too(yard: Yard, spans: InMemorySpanExporter):
    agent = Agent("coder")

    @agent.handles("code")
    def code(task: SyncContext) -> None:
        task.step("plan", lambda: "a plan")

    await yard.enqueue("code")
    await yard.drain(agent)

    _, step, attempt = spans.get_finished_spans()
    assert (step.name, parent_of(step)) == ("step plan", ids_of(attempt)[1])


async def test_a_request_has_a_span_with_its_route_and_its_status(yard: Yard, spans: InMemorySpanExporter):
    async with calling(yard) as client:
        await client.get("/api/tasks/task_1")

    [span] = [span for span in spans.get_finished_spans() if span.kind is trace.SpanKind.SERVER]
    assert span.attributes is not None
    assert span.name == "GET /api/tasks/{task_id}"
    assert span.attributes["http.route"] == "/api/tasks/{task_id}"
    assert span.attributes["http.response.status_code"] == 404


async def test_where_nobody_has_set_it_up_nothing_is_traced(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    held = await given_a_claimed_task(yard)
    monkeypatch.setattr(trace, "get_tracer", pytest.fail)

    with attempt_span(held, "worker"), step_span("plan"):
        assert not trace.get_current_span().is_recording()
