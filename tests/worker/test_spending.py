"""What model calls cost: reported in any form, stored with the step that it paid for, looked up where none is given."""

import asyncio
import logging
from typing import Any
from uuid import uuid4

import genai_prices
import pytest

from taskyard.app import Yard
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Outcome, Status
from taskyard.features.budgets import prices
from taskyard.features.budgets.views import Spent
from taskyard.worker.context import Context
from taskyard.worker.control import Stopped
from taskyard.worker.handlers import Agent
from tests.worker.conftest import until, working


async def test_spend_is_never_refused_for_its_form(yard: Yard):
    agent = Agent("worker")

    @agent.handles("ask")
    async def ask(task: Context) -> None:
        await task.spend(900 * 0.25e-6 + 200 * 2e-6)
        await task.spend("0.0000001")
        await task.spend(1e-9, input_tokens=900, output_tokens=200, cache_read_tokens=600)

    task = await yard.enqueue("ask")
    await yard.drain(agent)

    (attempt,) = await yard.tasks.history(task.id)
    assert (attempt.outcome, attempt.cost) == (Outcome.COMPLETED, 625 + 1 + 1)
    assert (attempt.tokens.input, attempt.tokens.output) == (900, 200)


@pytest.mark.parametrize("tokens", [-5, 2**53, 1.5, True])
async def test_a_number_of_tokens_that_is_none_is_refused_and_the_attempt_has_an_end(yard: Yard, tokens: Any):
    agent = Agent("worker")

    @agent.handles("ask")
    async def ask(task: Context) -> None:
        await task.spend("0.10", input_tokens=7)
        await task.spend("0.20", input_tokens=tokens)

    task = await yard.enqueue("ask", max_attempts=1)
    await yard.drain(agent)

    (attempt,) = await yard.tasks.history(task.id)
    assert (attempt.outcome, attempt.reason) == (Outcome.FAILED, "refused")
    assert "input_tokens" in (attempt.error or "")
    assert (attempt.cost, attempt.tokens.input) == (100_000, 7)


async def test_a_worker_that_starts_with_nothing_left_says_so_and_how_to_raise_it(
    yard: Yard, caplog: pytest.LogCaptureFixture
):
    agent = Agent("worker", budget_usd="0.50")

    @agent.handles("ask")
    async def ask(task: Context) -> None:
        await task.spend("0.50")

    await yard.enqueue("ask")
    with caplog.at_level(logging.WARNING, logger="taskyard.worker"):
        await yard.drain(agent)
        assert caplog.text == ""  # there was something left when it started
        await yard.drain(agent)

    (said,) = caplog.messages
    assert said.endswith(": nothing is left of its budget; raise it with `taskyard agents budget worker DOLLARS`")


async def test_a_step_of_a_handler_tells_how_long_it_took_and_what_its_call_cost(yard: Yard):
    agent = Agent("worker")

    @agent.handles("ask")
    async def ask(task: Context) -> None:
        await task.spend("0.30")
        await task.step("think", lambda: asyncio.sleep(0.02))
        used = {"usd": "0.02", "model": "small", "input_tokens": 900, "output_tokens": 80, "cache_read_tokens": 600}
        await task.step("answer", lambda: "42", spend=used)

    task = await yard.enqueue("ask")
    await yard.drain(agent)

    think, answer = await yard.attempts.steps(task.id)
    assert think.began_at is not None
    assert think.ended_at is not None
    assert think.ended_at - think.began_at >= 20_000
    assert (think.cost, think.model) == (None, None)
    assert (answer.cost, answer.model, answer.tokens_input, answer.tokens_output) == (20_000, "small", 900, 80)
    assert (await yard.get(task.id)).cost == 320_000


async def test_a_steps_result_and_its_cost_are_one_stored_change(yard: Yard):
    agent, begun = Agent("worker"), asyncio.Event()

    @agent.handles("ask")
    async def ask(task: Context) -> str:
        answer = await task.step("ask", lambda: {"text": "42", "tokens": 900}, spend=_cost)
        if task.attempt == 1:
            begun.set()
            await asyncio.Event().wait()
        return answer["text"]

    task = await yard.enqueue("ask")
    async with working(yard, agent, grace_sec=0):
        await begun.wait()
        running = await yard.get(task.id)
        assert (running.cost, running.tokens_used.input) == (250_000, 900)
    async with working(yard, agent):
        await until(yard, task.id, Status.COMPLETED)

    first, second = await yard.tasks.history(task.id)
    assert (first.outcome, first.cost) == (Outcome.RELEASED, 250_000)
    assert (second.outcome, second.cost) == (Outcome.COMPLETED, 0)


def _cost(result: dict[str, int]) -> dict[str, object]:
    return {"usd": 0.25, "input_tokens": result["tokens"], "model": "m"}


async def test_a_price_that_is_wrong_does_not_have_the_step_done_again(yard: Yard):
    agent, done = Agent("worker"), list[int]()

    @agent.handles("ask")
    async def ask(task: Context) -> str:
        await task.step("ask", lambda: done.append(1), spend=-1)
        return "ok"

    task = await yard.enqueue("ask", retry={"strategy": "immediate", "retry_on": ["refused"]})
    await yard.drain(agent)

    assert done == [1]
    assert [each.reason for each in await yard.tasks.history(task.id)] == ["refused", None]


async def test_a_step_above_the_maximum_ends_the_attempt(yard: Yard):
    agent, stopped = Agent("worker"), list[str]()

    @agent.handles("ask")
    async def ask(task: Context) -> None:
        try:
            await task.step("ask", lambda: "dear", spend="0.60")
        except Stopped as stop:
            stopped.append(stop.word)
            raise

    task = await yard.enqueue("ask", max_cost_usd="0.50")
    await yard.drain(agent)

    assert stopped == ["budget_exceeded"]
    (attempt,) = await yard.tasks.history(task.id)
    assert (attempt.reason, attempt.cost) == ("budget_exceeded", 600_000)
    assert await yard.attempts.checkpoints(task.id) == {"ask": "dear"}


async def test_the_cost_of_a_known_model_is_looked_up(yard: Yard):
    agent = Agent("worker")

    @agent.handles("ask")
    async def ask(task: Context) -> None:
        await task.spend(input_tokens=1_000_000, output_tokens=1000, model="gpt-4o")
        await task.step("more", lambda: 1, spend={"input_tokens": 1000, "model": "openai:gpt-4o"})

    task = await yard.enqueue("ask")
    await yard.drain(agent)

    (attempt,) = await yard.tasks.history(task.id)
    assert attempt.cost == 2_510_000 + 2_500
    assert (attempt.tokens.input, attempt.model) == (1_001_000, "openai:gpt-4o")


def is_on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("way", ["heartbeat", "complete", "fail", "checkpoint", "spend", "step"])
async def test_the_price_list_is_loaded_beside_the_loop(yard: Yard, way: str, monkeypatch: pytest.MonkeyPatch):
    looked_up: list[bool] = []
    look_up = genai_prices.calc_price

    def noted(*args: Any, **more: Any) -> Any:
        looked_up.append(is_on_a_loop())
        return look_up(*args, **more)

    monkeypatch.setattr(genai_prices, "calc_price", noted)
    getattr(prices, "_list").cache_clear()  # noqa: B009 - it is not ours
    agent = Agent("worker")
    spent: Spent = {"model": "gpt-4o", "tokens_input": 1000}

    @agent.handles("ask")
    async def ask(task: Context) -> None:
        match way:
            case "spend":
                await task.spend(model="gpt-4o", input_tokens=1000)
            case "step":
                await task.step("one", lambda: 1, spend={"model": "gpt-4o", "input_tokens": 1000})
            case "heartbeat":
                await yard.heartbeat(task.id, task.lease, **spent)
            case "complete":
                await yard.complete(task.id, task.lease, output=1, **spent)
            case "fail":
                await yard.fail(task.id, task.lease, reason="mine", error="", **spent)
            case _:
                await yard.attempts.checkpoint(task.id, task.lease, "one", 1, **spent)

    await yard.enqueue("ask", max_attempts=1)
    await yard.drain(agent)

    assert looked_up[0] is False
    assert True in looked_up


async def test_an_unknown_model_is_recorded_without_a_cost_and_named_once(yard: Yard, caplog: pytest.LogCaptureFixture):
    agent, model = Agent("worker"), f"my-own-{uuid4().hex}"  # a name that no test of this process has used before

    @agent.handles("ask")
    async def ask(task: Context) -> None:
        await task.spend(input_tokens=900, model=model)
        await task.spend(input_tokens=100, model=model)

    tasks = [await yard.enqueue("ask") for _ in range(2)]
    with caplog.at_level(logging.WARNING, logger="taskyard.prices"):
        await yard.drain(agent)

    for task in tasks:
        (attempt,) = await yard.tasks.history(task.id)
        assert (attempt.cost, attempt.tokens.input, attempt.model) == (0, 1000, model)
    named = [record.getMessage() for record in caplog.records if model in record.getMessage()]
    assert named == [f"no price is known for model {model}: its tokens are recorded without a cost"]


async def test_a_large_result_of_a_step_is_done_once_and_kept_as_an_artifact(yard: Yard):
    agent, done = Agent("worker"), list[int]()

    @agent.handles("crawl")
    async def crawl(task: Context) -> int:
        pages = await task.step("crawl", lambda: done.append(1) or {"text": "é" * 2_000_000})
        if task.attempt == 1:
            raise ValueError("not yet")
        return len(pages["text"])

    task = await yard.enqueue("crawl", retry={"strategy": "immediate"})
    await yard.drain(agent)

    assert done == [1]
    details = await yard.get(task.id)
    assert details.result == 2_000_000
    assert details.output.attempt is not None
    assert details.output.artifacts == ()
    assert await yard.artifacts.list(task_id=task.id) == []


async def test_an_output_that_the_yard_does_not_take_is_not_paid_for_again(yard: Yard):
    agent, done = Agent("worker"), list[int]()

    @agent.handles("crawl")
    async def crawl(task: Context) -> str:
        done.append(1)
        return "x" * 2_000_000

    task = await yard.enqueue("crawl", retry={"strategy": "immediate"})
    await yard.drain(agent)

    assert done == [1]
    (attempt,) = await yard.tasks.history(task.id)
    assert (attempt.reason, (await yard.get(task.id)).status) == ("refused", Status.DEAD_LETTERED)
    assert "output" in (attempt.error or "")


async def test_progress_of_a_handler_is_an_event_as_that_of_anybody_else(yard: Yard):
    agent = Agent("worker")

    @agent.handles("ask")
    async def ask(task: Context) -> dict[str, object]:
        await task.progress(0.5, "half way")
        return {"spec": task.spec}

    task = await yard.enqueue("ask", prompt="Why?", payload={"n": 1}, max_cost_usd="0.5")
    await yard.drain(agent)

    assert "task.progress" in [stored.event.event for stored in await yard.events(task_id=task.id)]
    spec = (await yard.get(task.id)).result["spec"]
    assert (spec["prompt"], spec["payload"], spec["constraints"]["max_cost_usd"]) == ("Why?", {"n": 1}, "0.5")


async def test_ceilings_are_exact_and_reports_are_not(yard: Yard):
    with pytest.raises(InvalidInput, match="max_cost_usd"):
        await yard.enqueue("ask", max_cost_usd=0.0000001)
    await yard.agents.register("worker")
    await yard.enqueue("ask")
    (held,) = await yard.claim("worker", start=True)

    await yard.heartbeat(held.id, held.lease, cost_usd=0.0000001, tokens_input=5, tokens_cache_read=3)
    await yard.complete(held.id, held.lease, cost_usd=0.1 + 0.2, tokens_input=10, model="m")

    (attempt,) = await yard.tasks.history(held.id)
    assert (attempt.cost, attempt.tokens.input, attempt.model) == (300_000, 10, "m")
