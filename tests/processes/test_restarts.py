"""The server is killed and started again on its file, over and over, and nothing that was acknowledged is lost."""

import asyncio
import logging
from collections.abc import Iterator

import pytest

import taskyard
from tests.graphs import happened
from tests.processes.crew import Crew
from tests.processes.ledger import all_listen, given_workers
from tests.redis_servers import RedisServer, wait_for
from tests.storage import asked_for

logger = logging.getLogger(__name__)
KILLS = 5
ENOUGH = 20  # tasks that each worker completes between two of them

pytestmark = pytest.mark.skipif(
    "redis" not in asked_for(), reason="the servers of other stores are not ours to kill here"
)


@pytest.fixture
def server() -> Iterator[RedisServer]:
    server = RedisServer("--appendonly", "yes", "--appendfsync", "always")
    try:
        yield server.start()
    finally:
        server.end()


@pytest.mark.timeout(300)
async def test_a_server_that_is_killed_again_and_again_loses_nothing_that_was_acknowledged(
    server: RedisServer, crew: Crew
):
    async with taskyard.connect(server.url, sweeps=False) as yard:
        ledgers = list((await given_workers(yard, crew, server.url)).values())
        for kill in range(1, KILLS + 1):
            await all_listen(ledgers, lambda ledger, kill=kill: len(ledger.completed) >= kill * ENOUGH)
            await asyncio.to_thread(wait_for, server.has_rewritten_its_file, "the file is not written anew")
            server.kill()
            await asyncio.to_thread(server.start)
        await asyncio.gather(*(ledger.listen_to_the_end() for ledger in ledgers))

        stored = [task_id for ledger in ledgers for task_id in ledger.stored]
        completed = [task_id for ledger in ledgers for task_id in ledger.completed]
        repeated = sum(ledger.repeated for ledger in ledgers)
        logger.info("%s kills, %s tasks, calls repeated: %s", KILLS, len(stored), repeated)
        assert repeated >= KILLS, "hardly a call went without an answer, so nothing was tried"
        assert sorted(completed) == sorted(stored)
        assert await happened(yard, "task.created") == dict.fromkeys(stored, 1)
        assert await happened(yard, "task.completed") == dict.fromkeys(stored, 1)
        assert await yard.store.checks() == []
        verified = await yard.verify()
        assert verified.ok, str(verified)
