"""One trace leads from the caller's span through the enqueue, every attempt and step, to what was spawned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from taskyard import Agent, Context, Fail
from taskyard.core.errors import InvalidInput
from taskyard.ledger.clock import ManualClock
from taskyard.worker.process.drain import drain
from taskyard.worker.sync_context import SyncContext
from taskyard.yard import Yard
from tests.spans import facts_of, ids_of, parent_of, spans, traced_by_taskyard
from tests.yards import given_a_running_task

__all__ = ["spans"]
GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
USED: dict[str, Any] = {"model": "claude-haiku-4-5", "input_tokens": 1200, "output_tokens": 80, "usd": "0.0016"}


def researcher() -> Agent:
    """Fails once, then plans with a model and hands a part of the work on."""
    agent = Agent("researcher", id="researcher-1")

    @agent.handles("research")
    async def research(task: Context) -> None:
        if task.attempt == 1:
            raise Fail("crash", "at first")
        await task.step("plan", lambda: "a plan", spend=USED)
        await task.spawn("summarise", name="summary")

    @agent.handles("summarise", "code", "test")
    async def summarise(task: Context) -> None:
        await task.spend(**USED)

    return agent


def named(traced: Iterable[ReadableSpan], name: str) -> list[ReadableSpan]:
    return [span for span in traced if span.name == name]


async def test_one_trace_leads_from_the_caller_to_what_was_spawned(
    yard: Yard, spans: InMemorySpanExporter, clock: ManualClock
):
    with trace.get_tracer("shop").start_as_current_span("POST /orders") as caller:
        task = await yard.enqueue("research")

    await drain(yard, [researcher()], clock=clock)

    traced = traced_by_taskyard(spans)
    below = {name: [parent_of(span) for span in named(traced, name)] for name in {span.name for span in traced}}
    (put_in,), (first, second) = named(traced, "enqueue research"), named(traced, "attempt research")
    (step,), (handed_on,) = named(traced, "step plan"), named(traced, "enqueue summarise")
    (child,) = named(traced, "attempt summarise")
    assert {ids_of(span)[0] for span in traced} == {ids_of(caller)[0]}
    assert below == {
        "enqueue research": [ids_of(caller)[1]],
        "attempt research": [ids_of(put_in)[1]] * 2,
        "step plan": [ids_of(second)[1]],
        "chat claude-haiku-4-5": [ids_of(step)[1], ids_of(child)[1]],
        "enqueue summarise": [ids_of(second)[1]],
        "attempt summarise": [ids_of(handed_on)[1]],
    }
    assert (put_in.kind, first.kind) == (trace.SpanKind.PRODUCER, trace.SpanKind.CONSUMER)
    assert (await yard.get(task.id)).to_dict()["trace"] == spelled(put_in)


async def test_a_model_call_has_the_attributes_of_the_conventions(
    yard: Yard, spans: InMemorySpanExporter, clock: ManualClock
):
    await yard.enqueue("summarise")

    await drain(yard, [researcher()], clock=clock)

    (call,) = named(traced_by_taskyard(spans), "chat claude-haiku-4-5")
    assert call.kind is trace.SpanKind.CLIENT
    assert facts_of(call) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-haiku-4-5",
        "gen_ai.usage.input_tokens": 1200,
        "gen_ai.usage.output_tokens": 80,
        "taskyard.cost_usd": 0.0016,
    }


async def test_a_model_call_in_a_thread_is_below_its_step(yard: Yard, spans: InMemorySpanExporter, clock: ManualClock):
    agent = Agent("coder")

    @agent.handles("code")
    def code(task: SyncContext) -> None:
        task.step("write", lambda: "a diff", spend=USED)

    await yard.enqueue("code")
    await drain(yard, [agent], clock=clock)

    (step,), (call,) = (named(traced_by_taskyard(spans), name) for name in ("step write", "chat claude-haiku-4-5"))
    assert parent_of(call) == ids_of(step)[1]
    assert (step.start_time or 0) <= (call.start_time or 0) <= (call.end_time or 0) <= (step.end_time or 0)


async def test_the_tasks_of_a_dag_are_below_one_span(yard: Yard, spans: InMemorySpanExporter, clock: ManualClock):
    await yard.submit({"tasks": [{"name": "a", "type": "code"}, {"type": "test", "depends_on": ["a"]}]})

    await drain(yard, [researcher()], clock=clock)

    traced = traced_by_taskyard(spans)
    (put_in,) = named(traced, "enqueue task")
    attempts = [span for span in traced if span.kind is trace.SpanKind.CONSUMER]
    assert [parent_of(span) for span in attempts] == [ids_of(put_in)[1]] * 2
    assert facts_of(put_in)["messaging.batch.message_count"] == 2


async def test_a_batch_has_one_span_and_a_root_that_is_exported(yard: Yard, spans: InMemorySpanExporter):
    tasks = await yard.enqueue_many([{"type": "code"}] * 3)

    (put_in,) = traced_by_taskyard(spans)
    assert (put_in.name, parent_of(put_in)) == ("enqueue code", None)
    assert [(await yard.get(task.id)).trace for task in tasks] == [spelled(put_in)] * 3


async def test_a_call_that_is_refused_names_the_class_of_its_error_only(yard: Yard, spans: InMemorySpanExporter):
    with pytest.raises(InvalidInput):
        await yard.enqueue_many([{"type": "code", "priority": "ty_secret"}])

    (put_in,) = traced_by_taskyard(spans)
    assert (put_in.status.status_code, put_in.status.description) == (trace.StatusCode.ERROR, "InvalidInput")
    assert "ty_secret" not in put_in.to_json()


async def test_a_subagent_continues_the_trace(yard: Yard, spans: InMemorySpanExporter):
    with trace.get_tracer("shop").start_as_current_span("chat") as caller:
        begun = await yard.subagents.start("explore", "look around", parent="main")

    (put_in,) = traced_by_taskyard(spans)
    assert (put_in.name, parent_of(put_in)) == ("enqueue explore", ids_of(caller)[1])
    assert (await yard.get(begun.task_id)).trace == spelled(put_in)


async def test_what_an_agent_without_tracing_spawns_continues_the_trace(yard: Yard):
    held = await given_a_running_task(yard, "code", trace=GIVEN)

    (child,) = await yard.tasks.spawn(held.id, held.lease, [{"type": "test"}], name="test")

    assert (await yard.get(child)).trace == GIVEN


@pytest.mark.parametrize(
    "malformed",
    [
        f"{GIVEN}-more",
        GIVEN.upper(),
        f"{GIVEN}\n",
        GIVEN.replace("00-0", "01-0"),
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01",
        "",
        17,
        {"trace": GIVEN},
    ],
)
async def test_a_malformed_trace_is_ignored(yard: Yard, malformed: object):
    task = await yard.enqueue("code", trace=malformed)

    assert (await yard.get(task.id)).trace is None


async def test_tasks_that_come_in_together_keep_their_own_traces(yard: Yard):
    tasks = await yard.enqueue_many([{"type": "code", "trace": GIVEN}, {"type": "code"}, {"type": "code"}])

    stored = [(await yard.get(task.id)).trace for task in tasks]
    assert stored == [GIVEN, None, None]


async def test_a_rerun_and_a_schedule_are_traced_too(yard: Yard, spans: InMemorySpanExporter, clock: ManualClock):
    await yard.schedules.add("nightly", "0 2 * * *", task={"type": "code"})
    spans.clear()
    fired = await yard.schedules.run("nightly")

    (put_in,) = traced_by_taskyard(spans)
    assert put_in.name == "enqueue code"
    assert fired.task_id is not None
    assert (await yard.get(fired.task_id)).trace == spelled(put_in)
    await drain(yard, [researcher()], clock=clock)
    again = await yard.rerun(fired.task_id)
    assert (await yard.get(again.id)).trace == spelled(put_in)


def spelled(span: ReadableSpan) -> str:
    context = span.get_span_context()
    assert context is not None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
