"""Workers of the cheap lane that are killed with -9 where it matters: nothing is sent or paid for twice, or lost."""

import asyncio
import json
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Generator, Sequence
from pathlib import Path

import pytest

from taskyard.core.task import Status
from taskyard.core.units import SECOND, Micros, to_iso
from taskyard.yard import Yard
from tests.batch_providers import FakeProvider, providing
from tests.processes.crew import Crew, Member
from tests.storage import asked_for_by_url, url_of

Start = Callable[[], Awaitable[Member]]
PATIENCE = 60
HALF = 6_250  # micro-dollars: the batch price of 1,000 tokens in and out, with gpt-4o
CALLS = 60  # more than the worker has in hand at a time
# What is stored is the same with either provider: each store meets one of them, and the first one both.
STORES = asked_for_by_url()
MET = [*((store, "openai") for store in STORES), *((store, "anthropic") for store in STORES[:1])]
CREATED = {"openai": "POST /v1/batches", "anthropic": "POST /v1/messages/batches"}


@pytest.fixture
def provider() -> Generator[FakeProvider]:
    with providing() as provider:
        yield provider


@pytest.fixture(params=MET, ids=lambda met: f"{met[0]}-{met[1]}")
def met(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture
def url(met: tuple[str, str], tmp_path: Path) -> str:
    return url_of(met[0], tmp_path)


@pytest.fixture
def kind(met: tuple[str, str]) -> str:
    return met[1]


@pytest.fixture
def start(url: str, crew: Crew, tmp_path: Path, provider: FakeProvider, kind: str) -> Start:
    return lambda: crew.start("batcher", url, provider.url, tmp_path, kind)


class Killing:
    """Kills a process from the thread of the provider, and keeps the request unanswered."""

    def __init__(self) -> None:
        self.pid = 0
        self.happened = threading.Event()

    def __call__(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.happened.set()

    async def done(self) -> None:
        assert await asyncio.to_thread(self.happened.wait, PATIENCE)


async def all_read(yard: Yard, tasks: Sequence[str]) -> None:
    async with asyncio.timeout(PATIENCE):
        for task_id in tasks:
            await yard.result(task_id, timeout=PATIENCE)


async def test_a_worker_killed_between_storing_the_intent_and_sending_sends_once(
    yard: Yard, start: Start, provider: FakeProvider, kind: str
):
    await _killed_at(provider.before, yard, start, provider, kind)


async def test_a_worker_killed_between_sending_and_storing_does_not_send_again(
    yard: Yard, start: Start, provider: FakeProvider, kind: str
):
    await _killed_at(provider.after, yard, start, provider, kind)


async def _killed_at(
    moments: dict[str, Callable[[], None]], yard: Yard, start: Start, provider: FakeProvider, kind: str
) -> None:
    kill = Killing()
    is_before = moments is provider.before
    moments[CREATED[kind]] = kill
    first = await start()
    kill.pid = first.pid
    tasks = [(await yard.enqueue("read", prompt=f"page {number}", service="batch")).id for number in range(5)]
    await kill.done()
    await first.kill()  # it is gone, and its lock with it
    assert len(provider.batches) == (0 if is_before else 1)

    await start()
    await all_read(yard, tasks)

    # How many batches they are depends on how soon one call comes after the other.
    assert sum(len(batch.requests) for batch in provider.batches) == 5
    assert sorted(provider.billed.values()) == [1] * 5
    assert provider.direct == []
    assert [(await yard.get(task_id)).cost for task_id in tasks] == [HALF] * 5
    assert await _spent(yard) == 5 * HALF


async def test_a_worker_killed_while_it_collects_settles_each_answer_once(
    yard: Yard, start: Start, provider: FakeProvider
):
    kill = Killing()
    provider.ends_at_once = False
    first = await start()
    kill.pid = first.pid
    found = [{"type": "read", "prompt": f"page {number}", "service": "batch"} for number in range(CALLS)]
    tasks = [task.id for task in await yard.enqueue_many(found)]
    await _sent(yard, CALLS)
    settling = asyncio.create_task(_killed_once_some_are_settled(yard, tasks, kill))
    provider.ends_at_once = True
    await settling
    await first.kill()

    await start()
    await all_read(yard, tasks)

    assert sorted(provider.billed.values()) == [1] * CALLS
    assert provider.direct == []
    assert sum([(await yard.get(task_id)).cost for task_id in tasks]) == CALLS * HALF
    assert await _spent(yard) == CALLS * HALF


async def _killed_once_some_are_settled(yard: Yard, tasks: Sequence[str], kill: Killing) -> None:
    async for stored in yard.tail(event="task.batched"):
        assert stored.event.task_id in tasks
        kill()
        return


async def test_nothing_is_later_than_its_deadline_when_the_worker_was_dead_for_a_while(
    yard: Yard, start: Start, provider: FakeProvider
):
    provider.ends_at_once = False
    first = await start()
    deadline = Micros(yard.now() + 22 * SECOND)
    tasks = [
        await yard.enqueue("read", prompt=f"page {number}", service="batch", deadline=to_iso(deadline))
        for number in range(3)
    ]
    await _sent(yard, 3)
    await first.kill()

    await start()
    await all_read(yard, [task.id for task in tasks])

    for task in tasks:
        ended = (await yard.get(task.id)).completed_at
        assert ended is not None
        assert ended <= deadline
    assert [batch.status for batch in provider.batches] == ["cancelled"]
    assert sorted(provider.billed.values()) == [1, 1, 1]
    assert (await yard.get(tasks[0].id)).status is Status.COMPLETED


async def _spent(yard: Yard) -> int:
    return next(each.spent for each in await yard.budgets.spending() if each.name.startswith("day:"))


async def _sent(yard: Yard, calls: int) -> None:
    """Wait until so many calls were sent."""
    async with asyncio.timeout(PATIENCE):
        async for stored in yard.tail(event="task.sent"):
            calls -= json.loads(stored.event.data or "{}")["calls"]
            if calls <= 0:
                return
