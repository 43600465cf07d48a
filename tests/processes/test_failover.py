"""The server dies in the middle of everything, its standby takes over, and nothing that was acknowledged is lost."""

import asyncio
import logging
from collections.abc import AsyncIterator
from time import monotonic

import pytest

import taskyard
from tests.graphs import happened
from tests.processes.crew import Crew
from tests.processes.ledger import WORKERS, all_listen, given_workers
from tests.processes.pair import Pair
from tests.storage import asked_for

logger = logging.getLogger(__name__)
ENOUGH = 20  # tasks that each has completed when the server is killed
SOON = 60.0  # seconds from the promotion until everybody works again; 4 on a machine that does nothing else

pytestmark = pytest.mark.skipif("postgres" not in asked_for(), reason="no other store has a standby of its own")


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    pair = Pair()
    await pair.start()
    yield pair
    pair.end()


@pytest.mark.timeout(180)
async def test_when_the_standby_takes_over_work_goes_on_and_nothing_acknowledged_is_lost(pair: Pair, crew: Crew):
    async with taskyard.connect(pair.url, sweeps=False) as yard:
        workers = await given_workers(yard, crew, pair.url)
        ledgers = list(workers.values())
        await all_listen(ledgers, lambda ledger: len(ledger.completed) >= ENOUGH)

        # Not before so many commits hang: each of them goes without an answer, which the yard then looks for itself.
        await pair.take_over(unanswered=WORKERS)
        promoted = monotonic()
        # Each has one that only it may do, and that was not there before.
        own = [(await yard.enqueue("code", agent=agent)).id for agent in workers]
        await all_listen(ledgers, lambda ledger: not set(own).isdisjoint(ledger.completed))
        took = monotonic() - promoted
        await asyncio.gather(*(ledger.listen_to_the_end() for ledger in ledgers))

        stored = [*own, *(task_id for ledger in ledgers for task_id in ledger.stored)]
        completed = [task_id for ledger in ledgers for task_id in ledger.completed]
        repeated = [ledger.repeated for ledger in ledgers]
        logger.info("%s tasks, all at work %.1f s after the promotion, calls repeated: %s", len(stored), took, repeated)
        assert took < SOON
        assert [await yard.get(task_id) for task_id in set(stored) - set(completed)] == []
        assert sorted(completed) == sorted(stored)
        assert await happened(yard, "task.created") == dict.fromkeys(stored, 1)
        assert await happened(yard, "task.completed") == dict.fromkeys(stored, 1)
        verified = await yard.verify()
        assert verified.ok, str(verified)
