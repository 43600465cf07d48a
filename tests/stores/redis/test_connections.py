"""Addresses, passwords, lines that are cut, and answers that are lost."""

import asyncio
import re
import ssl
from pathlib import Path

import pytest

from taskyard.core.errors import InvalidInput, StoreUnavailable
from taskyard.ledger.clock import ManualClock
from taskyard.stores.redis import RedisStore
from taskyard.stores.redis.connection.address import Endpoint, Login, parse_address
from tests.certificates import self_signed
from tests.redis_servers import RedisServer
from tests.stores.given import a_new_task, commit, given_a_task, given_tasks
from tests.stores.plans import a_plan
from tests.stores.redis.conftest import Connect
from tests.stores.redis.relay import Relay


async def test_a_yard_whose_line_was_cut_goes_on(relay: Relay, connect: Connect):
    store = await connect(relay.url)
    await given_tasks(store, 3)

    relay.cut()
    task = await given_a_task(store)

    assert await store.load([task.id]) == {task.id: task}


async def test_who_waits_is_woken_after_its_line_was_cut(relay: Relay, connect: Connect, store: RedisStore):
    waiter = await connect(relay.url)
    plan = await a_plan(waiter)
    mark = await waiter.changed(0, 0)
    waiting = [asyncio.create_task(waiter.changed(mark, 20, each)) for each in (None, plan)]
    await asyncio.sleep(0)  # they wait: what they wait for is listened to since the store was opened

    relay.cut()
    await given_a_task(store)

    assert mark not in await asyncio.wait_for(asyncio.gather(*waiting), 30)


async def test_a_write_whose_answer_was_lost_is_reported_as_unknown_and_not_done_again(
    relay: Relay, connect: Connect, store: RedisStore
):
    unlucky = await connect(relay.url)
    await given_a_task(unlucky)
    fresh = await a_new_task(unlucky)
    relay.swallows_answers = True

    with pytest.raises(StoreUnavailable, match="the answer to a write was lost"):
        await commit(unlucky, tasks=(fresh,))

    assert list(await store.load([fresh.hot.id])) == [fresh.hot.id]  # this time it had landed
    relay.swallows_answers = False
    assert list(await unlucky.load([fresh.hot.id])) == [fresh.hot.id]


async def test_a_server_that_is_not_there_is_reported_as_unavailable_soon(clock: ManualClock):
    store = RedisStore("redis://somebody:secret@127.0.0.1:1/0", clock=clock)

    async with asyncio.timeout(10):  # 2 s are promised for one server, and 15 s are tried where a replica may take over
        with pytest.raises(StoreUnavailable) as told:
            await store.open()

    assert "127.0.0.1:1" in str(told.value)
    assert "secret" not in str(told.value)


async def test_users_have_passwords(server: RedisServer, connect: Connect, clock: ManualClock):
    server.client().acl_setuser("ada", enabled=True, passwords=["+se/cret"], keys=["{mine}*"], commands=["+@all"])
    where = f"ada:{{}}@127.0.0.1:{server.port}/0?yard=mine"

    store = await connect("redis://" + where.format("se%2Fcret"))

    assert await given_a_task(store)
    with pytest.raises(StoreUnavailable) as told:
        await RedisStore("redis://" + where.format("guessed"), clock=clock).open()
    assert "guessed" not in str(told.value)


async def test_a_user_who_may_not_look_at_the_configuration_can_work(server: RedisServer, connect: Connect):
    server.client().acl_setuser(
        "ada", enabled=True, nopass=True, keys=["{mine}*"], commands=["+@all", "-config", "-cluster"]
    )

    store = await connect(f"redis://ada:any@127.0.0.1:{server.port}/0?yard=mine")

    assert store.durability.appendfsync == "unknown"
    assert await given_a_task(store)


async def test_the_user_of_the_guide_may_do_all_that_is_needed(server: RedisServer, connect: Connect):
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "redis.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"`(ACL SETUSER [^`]*)`", guide)
    server.client().execute_command(*line.replace("PASSWORD", "secret").replace("NAME", "mine").split())

    store = await connect(f"redis://taskyard:secret@127.0.0.1:{server.port}/0?yard=mine")
    await given_a_task(store)

    assert store.durability.appendfsync == "always"
    assert await store.checks() == []
    assert (await store.health())["engine"] == "redis"


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    return self_signed(tmp_path)


async def test_a_line_can_be_encrypted(
    server: RedisServer, connect: Connect, clock: ManualClock, certificate: tuple[Path, Path]
):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    relay = Relay(server.port)
    await relay.open(context)
    url = f"rediss://127.0.0.1:{relay.port}/0?ssl_ca_certs="

    store = await connect(f"{url}{certificate[0]}")

    assert await given_a_task(store)
    with pytest.raises(StoreUnavailable, match="certificate"):
        await RedisStore(url.partition("?")[0], clock=clock).open()
    await store.close()
    await relay.close()


def test_an_address_says_everything():
    plain = parse_address("redis://h")
    full = parse_address("rediss://ada:a%40b@h:7/3?yard=mine")
    cluster = parse_address("redis+cluster://h1:1,h2:2?yard=a.b")
    sentinel = parse_address("redis+sentinel://:p@h1,h2:7/the%20master/2?sentinel_password=s")

    assert (plain.hosts, plain.database, plain.login, plain.tls) == ((Endpoint("h", 6379),), 0, None, None)
    assert plain.prefix == "{taskyard}:"
    assert (full.hosts, full.database, full.login) == ((Endpoint("h", 7),), 3, Login("ada", "a@b"))
    assert full.tls is not None
    assert (cluster.hosts, cluster.prefix) == ((Endpoint("h1", 1), Endpoint("h2", 2)), "{a.b}:")
    assert (sentinel.hosts, sentinel.master) == ((Endpoint("h1", 26379), Endpoint("h2", 7)), "the master")
    assert (sentinel.database, sentinel.login, sentinel.sentinel_login) == (2, Login(None, "p"), Login(None, "s"))


@pytest.mark.parametrize(
    "url",
    [
        "redis://h/0?yard=a}b",
        "redis://h/0?yard=",
        "redis://h/0?unheard=of",
        "redis://h/name",
        "redis://h/1/2",
        "redis://h:port",
        "redis+sentinel://h:1",
    ],
)
def test_a_broken_address_is_refused(url: str):
    with pytest.raises(InvalidInput):
        parse_address(url)
