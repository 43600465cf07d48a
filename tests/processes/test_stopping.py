"""A worker that is asked to stop gives its tasks back and ends, whatever its handlers do."""

import asyncio
import signal

import pytest

from taskyard.core.task import Status
from taskyard.yard import Yard
from tests.processes.crew import Crew, Member

LONG = "600"  # seconds of grace: longer than anybody waits here


async def begun(yard: Yard, crew: Crew, url: str, how: str, grace: str) -> tuple[str, Member]:
    task = await yard.enqueue(how)
    member = await crew.start("stubborn", url, how, grace)
    assert await member.hear() == {"begun": True}
    return task.id, member


async def given_back(yard: Yard, task_id: str) -> None:
    details = await yard.get(task_id)
    assert (details.status, details.failures) == (Status.READY, 0)
    assert [attempt.outcome for attempt in details.attempts] == ["released"]


@pytest.mark.parametrize("how", ["swallows", "blocks", "thread"])
async def test_after_the_grace_period_the_task_is_given_back_and_the_process_ends(
    yard: Yard, url: str, crew: Crew, how: str
):
    task_id, member = await begun(yard, crew, url, how, "0.2")

    member.signal(signal.SIGTERM)

    assert await member.ended() == 128 + signal.SIGTERM
    await given_back(yard, task_id)


@pytest.mark.parametrize("how", ["waits", "blocks", "early"])
async def test_a_second_signal_gives_the_task_back_and_ends_the_process_at_once(
    yard: Yard, url: str, crew: Crew, how: str
):
    task_id, member = await begun(yard, crew, url, how, LONG)

    member.signal(signal.SIGINT)
    member.signal(signal.SIGTERM)  # another one: the kernel makes one of two that are the same

    assert await member.ended() > 128
    await given_back(yard, task_id)


async def test_the_only_process_goes_on_sweeping_while_a_handler_blocks_its_loop(yard: Yard, url: str, crew: Crew):
    task = await yard.enqueue("blocks", max_duration_sec=1, max_attempts=1)
    member = await crew.start("stubborn", url, "blocks", LONG)
    assert await member.hear() == {"begun": True}

    async with asyncio.timeout(30):
        async for stored in yard.tail():
            if stored.event.task_id == task.id and stored.event.status is Status.DEAD_LETTERED:
                break

    assert [attempt.reason for attempt in (await yard.get(task.id)).attempts] == ["timeout"]
