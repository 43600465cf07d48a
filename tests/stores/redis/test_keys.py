"""Every key of a yard is accounted for; and what is not is found."""

from collections.abc import Callable
from typing import Any

import pytest

from taskyard.core.changes import Event
from taskyard.core.task import TaskId
from taskyard.stores.redis import RedisStore
from tests.redis_servers import RedisServer
from tests.stores.given import (
    HERE,
    committed,
    given_a_completed_task,
    given_a_pending_task,
    given_a_running_task,
    given_a_task,
)
from tests.stores.redis.conftest import Connect

YARD = "{taskyard}:"
Harm = Callable[[Any, TaskId], object]  # what a client does to a yard in which this task is ready


def first_entry(client: Any) -> dict[str, str]:
    ((_, fields),) = client.xrange(f"{YARD}log:{HERE}", 1, 1)
    return fields


def rewrite_first_entry(client: Any, **harmed: str) -> None:
    """As a long entry is stored, with something that is not so."""
    fields = {**first_entry(client), **harmed}
    client.xdel(f"{YARD}log:{HERE}", "1-0")
    client.zadd(f"{YARD}long-log:{HERE}", {f"1 {fields['owners']} {fields['body']}": 1})


HARMS: dict[str, Harm] = {
    "a key of nobody's": lambda client, _: client.set(f"{YARD}stray", 1),
    "a kind of key that there is not": lambda client, _: client.set(f"{YARD}stray:1", 1),
    "papers without a task": lambda client, _: client.hset(f"{YARD}papers:gone", "attempt:1", "[]"),
    "a task that has lost its definition": lambda client, task: client.delete(f"{YARD}definition:{task}"),
    "a definition without a task": lambda client, task: client.copy(
        f"{YARD}definition:{task}", f"{YARD}definition:gone"
    ),
    "a place that was left": lambda client, task: client.zadd(f"{YARD}ready:1", {f"{99:014}{task}": 1}),
    "a place that was not taken": lambda client, _: client.delete(f"{YARD}ready:1"),
    "a place at the wrong score": lambda client, task: client.zadd(f"{YARD}ready:1", {f"{1:014}{task}": 7}),
    "a due time of nothing": lambda client, _: client.zadd(f"{YARD}due", {f"{9:014}gone": 1}),
    "an idempotency key of nobody's": lambda client, _: client.hset(f"{YARD}names:here", "key\0lost", "gone"),
    "an idempotency key that was lost": lambda client, _: client.delete(f"{YARD}names:here"),
    "a blocker that blocks nothing": lambda client, _: client.zadd(f"{YARD}blocking:signal:x", {"gone\x000": 0}),
    "a wait that nothing ends": lambda client, task: client.zadd(f"{YARD}blockers:{task}", {"0\x00signal:x": 0}),
    "a signal that nobody is asked for": lambda client, _: client.delete(f"{YARD}awaited"),
    "records that are not listed": lambda client, _: client.hset(f"{YARD}records:note\x00here", "n", "1 {}"),
    "the id of no record": lambda client, _: client.zadd(f"{YARD}record-ids:note\x00here", {"n": 0}),
    "a lane that there is not": lambda client, _: client.xadd(f"{YARD}wake:77", {"ready": ""}),
    "a wrong count of held tasks": lambda client, _: client.hset(f"{YARD}held-counts", "here\0running\0code", 7),
    "a row that names an entry of the log which is not there": lambda client, _: client.xtrim(
        f"{YARD}log:here", maxlen=0
    ),
    "an entry of which nobody says how many are gone": lambda client, _: client.hset(f"{YARD}gone:here", "1", 1),
    "a count of those that are gone of no entry": lambda client, _: client.hset(f"{YARD}gone:here", "77", 1),
    "an entry that counts more owners than it has": lambda client, _: rewrite_first_entry(client, owners="7"),
    "an entry with events of another than its owner": lambda client, task: rewrite_first_entry(
        client, body=first_entry(client)["body"].replace(task, "task_x")
    ),
    "an entry beyond the last number": lambda client, _: client.hset(f"{YARD}numbers", "log", 2),
    "an entry of no task that is not listed": lambda client, _: client.delete(f"{YARD}loose:here"),
    "a list of an entry that is not there": lambda client, _: client.zadd(f"{YARD}loose:here", {"77": 77}),
    "a DAG that looks for an entry which is not there": lambda client, _: client.zadd(
        f"{YARD}dag-log:here\0dag_x", {"77": 77}
    ),
    "a held row of nobody's": lambda client, task: client.set(f"{YARD}held:{task}x", "x"),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS.keys())
async def test_what_does_not_belong_is_found(server: RedisServer, connect: Connect, harm: Harm):
    store = await connect()
    task = await given_a_task(store, idempotency_key="k")
    await given_a_pending_task(store, "signal:go")
    await given_a_running_task(store)
    await given_a_completed_task(store)
    await committed(store, events=(Event("breaker.opened", HERE, None, None, store.now(), None, None, None, None),))
    assert await store.checks() == []

    harm(server.client(), task.id)

    assert len(await store.checks()) >= 1


async def test_it_is_no_harm_where_an_entry_is_among_the_long_ones(server: RedisServer, store: RedisStore):
    await given_a_task(store)
    rewrite_first_entry(server.client())

    assert await store.checks() == []


async def test_another_yard_on_the_same_server_is_nobodys_business(connect: Connect, server: RedisServer):
    one, other = await connect(f"{server.url}?yard=one"), await connect(f"{server.url}?yard=one.more")
    await given_a_task(other)
    server.client().set("somebody else's", 1)

    assert await one.checks() == await other.checks() == []
    assert await one.tally(HERE) == {}


async def test_no_key_of_a_yard_ever_expires(server: RedisServer, store: RedisStore):
    await given_a_task(store, idempotency_key="k")
    await given_a_completed_task(store)

    client = server.client()

    assert {client.ttl(key) for key in client.scan_iter()} == {-1}
