"""What programs spend through the gateway, over every store: exact, at once, and with an end."""

import asyncio

import pytest

from taskyard import Status
from taskyard.app import Yard
from tests.worker.conftest import until, working
from tests.worker.gateway.conftest import outcome, program
from tests.worker.gateway.upstream import SONNET_COST, held_message, message, provider, streamed_message

pytestmark = pytest.mark.timeout(120)


async def test_what_is_spent_is_stored_before_the_program_has_its_answer(yard: Yard) -> None:
    """The second call is held in the middle: what the first has cost is known by then."""
    with provider(streamed_message, held_message) as upstream:
        text = "ask(*MESSAGES, stream=True); ask(*MESSAGES, stream=True)"
        task = await yard.enqueue("code", max_attempts=1, max_cost_usd=1)
        async with working(yard, program(upstream.gateway, text)):
            assert await asyncio.to_thread(upstream.reached.wait, 60)
            under_way = await yard.get(task.id)
            upstream.let_go.set()
            await until(yard, task.id, Status.COMPLETED)

    details = await yard.get(task.id)
    assert (under_way.cost, under_way.status) == (SONNET_COST, Status.RUNNING)
    assert (details.cost, details.attempts[0].tokens.input) == (2 * SONNET_COST, 2000)


async def test_a_call_beyond_the_maximum_ends_the_attempt(yard: Yard) -> None:
    with provider(message) as upstream:
        text = "ask(*MESSAGES); import time; time.sleep(600)"
        details = await outcome(yard, program(upstream.gateway, text), max_cost_usd="0.003")

    (attempt,) = details.attempts
    assert (details.status, attempt.reason, attempt.cost) == (Status.DEAD_LETTERED, "budget_exceeded", SONNET_COST)


async def test_a_cancelled_task_hangs_up_on_its_provider(yard: Yard) -> None:
    with provider(held_message) as upstream:
        task = await yard.enqueue("code")
        async with working(yard, program(upstream.gateway, "ask(*MESSAGES, stream=True)")):
            assert await asyncio.to_thread(upstream.reached.wait, 60)
            await yard.cancel(task.id)
            assert await asyncio.to_thread(upstream.hung_up.wait, 60)

    assert (await yard.get(task.id)).status is Status.CANCELLED
