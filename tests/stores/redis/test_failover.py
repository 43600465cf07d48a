"""A master is killed, a replica takes over, and the yard follows it there.

Replicas are told of a write after it was acknowledged. So what was acknowledged in the last moments may be gone with
the master, and nothing else: what is left is the yard as it was at one moment.
"""

import asyncio
import logging
from collections.abc import Iterator
from time import monotonic

import pytest

from taskyard.core.errors import StoreUnavailable
from taskyard.core.task import TaskId
from taskyard.ledger.clock import ManualClock
from taskyard.stores.redis import RedisStore
from tests.client.proxies import silencing
from tests.redis_servers import RedisCluster, RedisServer, Sentinel, wait_for
from tests.stores.given import a_new_task, committed
from tests.stores.plans import a_plan, take
from tests.stores.redis.conftest import Connect

logger = logging.getLogger(__name__)
BEFORE = 200  # tasks that are acknowledged before the master is killed
AFTER = 400
AT_ONCE = 16
MOST_LOST = 10.0  # seconds, where the machine is so busy that a replica lags; milliseconds where it is not

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def cluster() -> Iterator[RedisCluster]:
    cluster = RedisCluster()
    try:
        yield cluster.start()
    finally:
        cluster.end()


class Producer:
    """Puts tasks in, several at a time, and remembers which were acknowledged, and when."""

    def __init__(self, store: RedisStore) -> None:
        self._store = store
        self.acknowledged: dict[TaskId, float] = {}

    async def put_in(self, number: int) -> None:
        wanted = len(self.acknowledged) + number
        await asyncio.gather(*(self._put_in_until(wanted) for _ in range(AT_ONCE)))

    async def _put_in_until(self, wanted: int) -> None:
        while len(self.acknowledged) < wanted:
            task = await a_new_task(self._store)
            try:
                await committed(self._store, tasks=(task,))
            except StoreUnavailable:
                continue  # whether it landed is unknown, so it is not counted on
            self.acknowledged[task.hot.id] = monotonic()

    async def must_have_lost_only_the_last(self, killed_at: float) -> None:
        there = await self._store.load(list(self.acknowledged))
        lost = [(task_id, at) for task_id, at in self.acknowledged.items() if task_id not in there]
        window = killed_at - min((at for _, at in lost), default=killed_at)
        logger.info("%s acknowledged tasks were lost: those of the last %.0f ms", len(lost), 1000 * window)
        # What the old master had answered may be read after it is dead, and is lost too; all that follows is not.
        if lost:
            since = list(self.acknowledged.items())[list(self.acknowledged).index(lost[0][0]) :]
            assert lost == since[: len(lost)]
            assert all(at >= killed_at for _, at in since[len(lost) :])
        assert window < MOST_LOST


async def kill_while_it_works(producer: Producer, master: RedisServer) -> float:
    await producer.put_in(BEFORE)
    more = asyncio.create_task(producer.put_in(AFTER))
    while len(producer.acknowledged) < BEFORE + AFTER // 2:  # noqa: ASYNC110 - whenever the half is there
        await asyncio.sleep(0)
    killed_at = monotonic()
    master.kill()
    await more
    return killed_at


async def test_in_a_cluster_the_yard_is_followed_to_the_replica_that_takes_over(
    cluster: RedisCluster, clock: ManualClock
):
    store = RedisStore(f"{cluster.url}?yard=mine", clock=clock)
    await store.open()
    producer = Producer(store)

    killed_at = await kill_while_it_works(producer, cluster.owner_of("{mine}:"))

    await producer.must_have_lost_only_the_last(killed_at)
    assert len((await take(store, await a_plan(store, tasks=100))).tasks) == 100
    assert await store.checks() == []
    await store.close()


async def test_a_node_that_has_another_part_of_the_cluster_says_where_the_yard_is(
    cluster: RedisCluster, clock: ManualClock
):
    owner = cluster.owner_of("{mine}:")
    stranger = next(node for node in cluster.nodes if node is not owner)
    store = RedisStore(f"redis://127.0.0.1:{stranger.port}?yard=mine", clock=clock)

    await store.open()
    await committed(store, tasks=(await a_new_task(store),))

    assert owner.client().exists("{mine}:meta")
    await store.close()


@pytest.fixture
def replica(server: RedisServer) -> Iterator[RedisServer]:
    replica = RedisServer(
        "--appendonly", "yes", "--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1", str(server.port)
    )
    replica.start()
    wait_for(replica.has_caught_up, "the replica does not catch up")
    yield replica
    replica.end()


@pytest.fixture
def sentinel(server: RedisServer, replica: RedisServer) -> Iterator[Sentinel]:
    sentinel = Sentinel(server)
    sentinel.start()
    wait_for(lambda: len(sentinel.client().sentinel_slaves("yard")) == 1, "Sentinel does not find the replica")
    yield sentinel
    sentinel.end()


async def test_the_yard_is_where_sentinel_says_the_master_is(
    server: RedisServer, replica: RedisServer, sentinel: Sentinel, connect: Connect
):
    nobody = server.port  # no Sentinel: the next one is asked
    store = await connect(f"redis+sentinel://127.0.0.1:{nobody},127.0.0.1:{sentinel.port}/yard")
    producer = Producer(store)

    killed_at = await kill_while_it_works(producer, server)

    await producer.must_have_lost_only_the_last(killed_at)
    assert replica.client().info("replication")["role"] == "master"
    assert await store.checks() == []


async def test_sentinel_must_know_the_master(sentinel: Sentinel, clock: ManualClock):
    with pytest.raises(StoreUnavailable, match="knows no master that is called unheard"):
        await RedisStore(f"redis+sentinel://127.0.0.1:{sentinel.port}/unheard", clock=clock).open()


@pytest.mark.timeout(60)
async def test_a_sentinel_that_does_not_answer_is_passed_over(sentinel: Sentinel, clock: ManualClock):
    async with silencing(sentinel.port) as silent:
        silent.hush(new_too=True)
        sentinels = f"127.0.0.1:{silent.port},127.0.0.1:{sentinel.port}"
        store = RedisStore(f"redis+sentinel://{sentinels}/yard", clock=clock, call_timeout=2)

        await store.open()

        assert silent.met.is_set()
        await store.close()
