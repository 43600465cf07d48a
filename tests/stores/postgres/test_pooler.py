"""Where a pooler hands sessions from one to the other between transactions, nothing is kept in them and nothing missed.

Through PgBouncer where it can be had. Where it cannot, what is tested is the option that does without sessions; the log
says which it was.
"""

import asyncio
import logging
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest

import taskyard
from taskyard.core.errors import StoreUnavailable
from taskyard.stores.postgres.connection import notify_channel
from taskyard.yard import Yard
from tests import bouncing, servers
from tests.stores.postgres.conftest import VERSION, Gate
from tests.stores.postgres.test_notify_channel import listening

logger = logging.getLogger(__name__)
TASKS = 400


@pytest.fixture
def pooled(tmp_path: Path) -> str:
    if (program := bouncing.program()) is None:
        logger.warning("without PgBouncer: only the option that does without sessions is tested")
        listen = quote(servers.postgres(VERSION), safe="")
        return f"{servers.postgres_yard(VERSION, tmp_path)}&pgbouncer=true&listen_url={listen}"
    logger.warning("through %s", program.name)
    return bouncing.bounced_yard(VERSION, tmp_path)


async def drain(yard: Yard, agent: str) -> int:
    """Work in small batches, so that there are many transactions at once."""
    await yard.agents.register(agent, max_concurrent_tasks=1000)
    done = 0
    while held := await yard.claim(agent, count=10, start=True):
        await asyncio.gather(*(yard.complete(each.id, each.lease, {"by": agent}) for each in held))
        done += len(held)
    return done


async def test_many_sessions_that_are_handed_round_do_all_the_work_once(pooled: str):
    async with taskyard.connect(pooled) as one, taskyard.connect(pooled) as other:
        await asyncio.gather(*(yard.enqueue("code") for yard in (one, other) for _ in range(TASKS // 2)))

        done = await asyncio.gather(*(drain(yard, f"{n}") for n in range(5) for yard in (one, other)))

        assert sum(done) == TASKS
        assert (await other.tasks.stats())["completed"] == {"code": TASKS}
        verified = await one.verify()
        assert verified.ok, str(verified)


async def test_a_yard_that_does_not_know_of_the_pooler_is_refused_and_says_what_to_do(pooled: str):
    if bouncing.program() is None:
        pytest.skip("there is no PgBouncer to refuse it")
    untold = pooled.replace("pgbouncer=true&", "")

    with pytest.raises(StoreUnavailable, match="pgbouncer=true"):
        await taskyard.connect(untold).open()


async def test_hints_come_by_the_direct_connection(pooled: str, gate: Gate, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(notify_channel, "_POLL_EVERY", 3600.0)
    async with taskyard.connect(pooled, sweeps=False) as one, taskyard.connect(pooled, sweeps=False) as other:
        woken = asyncio.create_task(one.changed(await one.mark(), 60))
        await gate.until(f"select count(*) {listening(gate)}", 1)

        await other.enqueue("code")

        await asyncio.wait_for(woken, 30)


async def test_a_pooler_that_passes_no_hints_on_is_noticed(pooled: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(notify_channel, "_POLL_EVERY", 3600.0)
    monkeypatch.setattr(notify_channel, "_ANSWER_WITHIN", 0.5)
    indirect = urlsplit(pooled)._replace(query="").geturl()
    options = dict(parse_qsl(urlsplit(pooled).query)) | {"listen_url": indirect}
    url = f"{indirect}?{urlencode(options)}"
    async with taskyard.connect(url, sweeps=False) as one, taskyard.connect(pooled, sweeps=False) as other:
        woken = asyncio.create_task(one.changed(await one.mark(), 60))
        await asyncio.sleep(0)

        await other.enqueue("code")

        await asyncio.wait_for(woken, 30)
