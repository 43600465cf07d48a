"""Yards that older releases have left, as this one finds them."""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from taskyard.core.changes import Blocker, Event
from taskyard.core.errors import SchemaTooNew, SchemaTooOld
from taskyard.core.task import Hot, Status, TaskId
from taskyard.core.units import Micros
from taskyard.ledger.clock import ManualClock
from taskyard.stores.redis import RedisStore
from taskyard.stores.redis.connection.address import parse_address
from tests import redis_servers
from tests.storage import asked_for, url_of
from tests.stores.given import (
    HERE,
    at_once,
    completing,
    every_event,
    given_a_dead_letter,
    given_a_pending_task,
    given_a_record,
    given_a_running_task,
    given_a_task,
    ids,
    land,
    picture,
    step,
)

Make = Callable[..., RedisStore]
IN_FIELDS = ("event", "workspace", "task", "dag", "at", "version", "status", "attempt", "data")
BY_REDIS = [name for name in asked_for() if name.startswith("redis")]


@pytest.fixture(params=BY_REDIS)
def which(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def url(which: str, tmp_path: Path) -> str:
    return url_of(which, tmp_path)


@pytest.fixture
async def make(url: str, clock: ManualClock) -> AsyncIterator[Make]:
    """Makes stores of one yard, and closes them in the end."""
    made: list[RedisStore] = []

    def make(**options: bool) -> RedisStore:
        made.append(RedisStore(url, clock=clock, **options))
        return made[-1]

    yield make
    for store in made:
        await store.close()


@pytest.fixture
def client(which: str, url: str) -> Any:
    """Somebody who looks at the yard's server from outside."""
    if which == "redis-cluster":
        return redis_servers.shared_cluster().owner_of(key(url, "meta")).client()
    return redis_servers.shared(newer=which == "redis7").client()


def key(url: str, name: str) -> str:
    return parse_address(url).prefix + name


async def make_old(store: RedisStore, client: Any, url: str, task_ids: Sequence[TaskId]) -> None:
    """As the first format had it: tasks and events in fields, and two kinds of lists are missing."""
    rows, definitions = await store.load(task_ids), await store.definitions(task_ids)
    for task_id, row in rows.items():
        said = {name: value for name, value in row._asdict().items() if value and name != "id"}
        client.delete(key(url, f"task:{task_id}"))
        client.hset(key(url, f"task:{task_id}"), mapping={**said, "type": definitions[task_id].type})
    told = await every_event(store)
    client.delete(key(url, f"events:{HERE}"))
    for seq, event, _ in told:
        said = {name: "\0" if value is None else value for name, value in zip(IN_FIELDS, event, strict=True)}
        client.xadd(
            key(url, f"events:{HERE}"), {name: said[name] for name in IN_FIELDS if name != "workspace"}, f"{seq}-0"
        )
    client.delete(key(url, "awaited"), *client.keys(key(url, "record-ids:*")))
    client.hset(key(url, "meta"), mapping={"version": 1, "min_reader": 1, "min_writer": 1})


async def given_some_of_everything(store: RedisStore) -> list[Hot]:
    await land(store, events=(Event("yard.swept", HERE, None, None, store.now(), None, None, None, None),))
    for number in range(3):
        await given_a_record(store, "note", f"n{number}", {"number": number})
    return [
        await given_a_task(store, idempotency_key="k", key="one at a time", expires_at=Micros(253_402_300_799_999_999)),
        await given_a_pending_task(store, "signal:go", "task:other"),
        await given_a_running_task(store),
        await given_a_dead_letter(store),
    ]


async def test_a_yard_of_the_first_format_is_all_there_after_opening_it(make: Make, client: Any, url: str):
    old = make()
    await old.open()
    tasks = await given_some_of_everything(old)
    before = await picture(old, ids(tasks))
    await make_old(old, client, url, ids(tasks)[:-1])  # whoever began with it was killed after one

    one, other = make(), make()
    await at_once(one.open(), other.open())

    assert await picture(one, ids(tasks)) == before
    assert [record.id for record in await one.page("note", HERE, limit=2)] == ["n2", "n1"]
    assert await one.awaited(HERE, 10) == [Blocker(tasks[1].id, 0, "signal:go")]
    assert (await one.schema()).outstanding() == []
    assert await other.checks() == []


async def test_what_was_brought_over_goes_on_as_before(make: Make, client: Any, url: str):
    old = make()
    await old.open()
    tasks = await given_some_of_everything(old)
    await make_old(old, client, url, ids(tasks))

    store = make()
    await store.open()

    assert (await step(store, completing(store, tasks[2]))).status is Status.COMPLETED
    assert await store.checks() == []


async def test_a_yard_of_the_first_format_is_left_alone_by_who_is_told_not_to_migrate(
    make: Make, client: Any, url: str
):
    old = make()
    await old.open()
    await make_old(old, client, url, [])

    with pytest.raises(SchemaTooOld):
        await make(migrates=False).open()

    await make().migrate()
    await make(migrates=False).open()


async def test_a_yard_of_a_format_to_come_is_refused_and_stays_as_it_is(make: Make, client: Any, url: str):
    await make().open()
    client.hset(key(url, "meta"), mapping={"version": 9, "min_reader": 9, "min_writer": 9})

    with pytest.raises(SchemaTooNew):
        await make().open()

    assert client.hget(key(url, "meta"), "version") == "9"
