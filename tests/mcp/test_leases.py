"""Leases that a process keeps for a model which forgets to: how long, and when not."""

import asyncio
from typing import Any

import pytest

from taskyard.app import Yard
from taskyard.mcp.lease_keeper import KEPT_FOR, LONGEST_ATTEMPT, LeaseKeeper
from tests.mcp.clients import answer_of, http, serving, stdio
from tests.yards import given_a_running_task


class Hours:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("passed", "called_at", "kept"),
    [
        (KEPT_FOR - 1, 0, True),
        (KEPT_FOR + 1, 0, False),
        (KEPT_FOR + 1, 600, True),
        (LONGEST_ATTEMPT - 1, LONGEST_ATTEMPT - 2, True),
        (LONGEST_ATTEMPT + 1, LONGEST_ATTEMPT, False),
    ],
)
async def test_a_lease_is_kept_while_calls_come_and_as_long_as_the_task_may_take(
    live: Yard, passed: float, called_at: float, kept: bool
):
    clock = Hours()
    keeper, held = LeaseKeeper(clock=clock), await given_a_running_task(live)
    keeper.keep(live, held.id, held.lease, lease_sec=60)
    clock.now = called_at
    keeper.called()
    clock.now = passed

    assert keeper.keeps(held.lease) is kept
    await keeper.close()


def test_a_model_is_waited_for_fifteen_minutes_and_a_task_without_a_bound_has_an_hour():
    assert (KEPT_FOR, LONGEST_ATTEMPT) == (15 * 60, 3600)


async def test_over_http_only_calls_with_the_lease_count(live: Yard):
    clock = Hours()
    keeper = LeaseKeeper(clock=clock, any_call_counts=False)
    first, second = await given_a_running_task(live), await given_a_running_task(live)
    for held in (first, second):
        keeper.keep(live, held.id, held.lease, lease_sec=60)
    clock.now = 600
    keeper.called(first.lease)
    clock.now = KEPT_FOR + 1

    assert [keeper.keeps(held.lease) for held in (first, second)] == [True, False]
    await keeper.close()


async def test_a_task_that_is_cancelled_is_let_go(live: Yard):
    keeper, held = LeaseKeeper(), await given_a_running_task(live)
    keeper.keep(live, held.id, held.lease, lease_sec=1.5)
    await live.cancel(held.id)
    async with asyncio.timeout(20):
        await keeper.ended(held.lease)

    assert not keeper.keeps(held.lease)
    await keeper.close()


async def test_the_lease_outlasts_its_length_while_the_client_is_connected(live: Yard):
    async with serving(live) as url, http(url) as client:
        task = answer_of(await client.call_tool("submit_dag", {"tasks": [_short("a")]}))["tasks"]["a"]
        held = answer_of(await client.call_tool("claim_task", {}))
        first = (await live.get(task)).claim
        assert first is not None
        assert first.lease_expires_at is not None
        await _passed(live, first.lease_expires_at)
        answer_of(await client.call_tool("complete_task", {"task_id": task, "lease": held["lease"]}))


async def test_a_client_that_goes_takes_its_leases_with_it(live: Yard, tmp_path: Any):
    url = f"sqlite:///{tmp_path / 'mine.db'}"
    async with stdio(url) as client:
        answer_of(await client.call_tool("submit_dag", {"tasks": [_short("a")]}))
        held = answer_of(await client.call_tool("claim_task", {}))
    async with stdio(url) as client:
        again = answer_of(await client.call_tool("claim_task", {"wait_sec": 30}))

    assert (again["task_id"], again["attempt"]) == (held["task_id"], 2)


def _short(name: str) -> dict[str, Any]:
    """A task whose lease is over soon, and that is tried again at once."""
    retry = {"strategy": "fixed", "initial_delay_sec": 0, "jitter": 0}
    return {"type": "code", "name": name, "timeouts": {"lease_sec": 2, "heartbeat_sec": 1}, "retry": retry}


async def _passed(yard: Yard, moment: int) -> None:
    """Until the yard's own time is past that."""
    async with asyncio.timeout(20):
        while yard.now() <= moment:
            await yard.changed(await yard.mark(), 0.2)
