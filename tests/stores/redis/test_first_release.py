"""A yard of release 0.1.0 is brought over whole, and its processes can write no more."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import redis

from taskyard.core.changes import Event
from taskyard.core.errors import MigrationNeedsStop
from taskyard.core.task import KEY_HELD, LET_GO, Hot, Status, TaskId
from taskyard.core.units import SECOND
from taskyard.ledger.clock import ManualClock
from taskyard.stores.redis import RedisStore
from taskyard.stores.shared.rows import STATUSES
from tests.redis_servers import RedisServer
from tests.stores.given import HERE, at_once, completing, every_event, given_a_task, step
from tests.stores.redis.conftest import Connect

DATA = Path(__file__).parents[2] / "data"
SHOWN: dict[str, Any] = json.loads(gzip.decompress((DATA / "redis-0.1.0.json.gz").read_bytes()))
CALLS: dict[str, Any] = json.loads(gzip.decompress((DATA / "redis-0.1.0-calls.json.gz").read_bytes()))
COMMANDS = gzip.decompress((DATA / "redis-0.1.0.jsonl.gz").read_bytes()).decode().splitlines()
YARD = "{taskyard}:"
IN_FIELDS = ("event", "workspace", "task", "dag", "at", "version", "status", "attempt", "data")


@pytest.fixture
def clock() -> ManualClock:
    clock = ManualClock()
    clock.advance(seconds=(SHOWN["now"] - clock.now()) / SECOND)
    return clock


def unpack(client: Any) -> None:
    """As the first format had it: tasks and events in fields, and two kinds of lists are missing."""
    for name, task in list(SHOWN["tasks"].items())[:-1]:  # whoever began to pack them was killed after one
        fields = {field: value for field, value in task.items() if value and field != "id"}
        client.delete(f"{YARD}task:{name}")
        client.hset(f"{YARD}task:{name}", mapping={**fields, "type": SHOWN["types"][name]})
    client.delete(*client.keys(f"{YARD}events:*"), f"{YARD}awaited", *client.keys(f"{YARD}record-ids:*"))
    events = client.pipeline(transaction=False)
    for seq, *event in SHOWN["events"]:
        fields = {name: "\0" if value is None else value for name, value in zip(IN_FIELDS, event, strict=True)}
        events.xadd(f"{YARD}events:{fields.pop('workspace')}", fields, f"{seq}-0")
    events.execute()
    client.hset(f"{YARD}meta", mapping={"version": 1, "min_reader": 1, "min_writer": 1})


@pytest.fixture(params=["packed", "in fields"])
def server(server: RedisServer, request: pytest.FixtureRequest) -> RedisServer:
    client: Any = redis.Redis(port=server.port)
    commands = client.pipeline(transaction=False)  # at once: each would wait for the disk
    for line in COMMANDS:
        commands.execute_command(*(str(word).encode("latin-1") for word in json.loads(line)))
    commands.execute()
    if request.param == "in fields":
        unpack(server.client())
    return server


@pytest.fixture
async def store(server: RedisServer, connect: Connect, clock: ManualClock) -> RedisStore:
    await RedisStore(server.url, clock=clock).migrate()
    return await connect()


def as_shown(task: dict[str, Any]) -> Hot:
    """What only held tasks have is not kept for others any more."""
    status = STATUSES[task["status"]]
    gone = {} if status in KEY_HELD else LET_GO
    ended = {"rescore_at": None} if status.is_final else {}
    added = {"agent_type": None, "type_slot": 0, "tokens_cached": None}
    fields: dict[str, Any] = {**task, **added, "status": status, **gone, **ended}
    return Hot(**fields)


async def test_what_was_stored_is_read_as_it_was(store: RedisStore):
    names = [TaskId(each) for each in SHOWN["tasks"]]

    assert await store.load(names) == {name: as_shown(SHOWN["tasks"][name]) for name in names}
    assert {name: each.type for name, each in (await store.definitions(names)).items()} == SHOWN["types"]
    assert {name: len(await store.attempts(name)) for name in names} == SHOWN["attempts"]
    outputs = {name: json.loads(json.dumps(each)) for name, each in (await store.outputs(names)).items()}
    assert outputs == SHOWN["outputs"] != {}
    assert [record.id for record in await store.page("note", HERE, limit=2)] == ["n2", "n1"]
    assert [blocker.name for blocker in await store.awaited(HERE, 10)] == ["signal:go"]
    assert (
        sorted([status, type_, count] for (status, type_), count in (await store.tally(HERE)).items())
        == (SHOWN["tally"])
    )


async def test_events_keep_their_numbers_and_their_tasks(store: RedisStore):
    read = [[stored.seq, *stored.event] for stored in await every_event(store)]

    assert read == SHOWN["events"]
    for name, numbers in SHOWN["histories"].items():
        found = await store.events(after=0, limit=5000, task_id=TaskId(name))
        assert [stored.seq for stored in found] == numbers
    assert len(SHOWN["histories"][SHOWN["talker"]]) > 1024


async def test_work_goes_on_with_higher_numbers(store: RedisStore):
    running = (await store.load([TaskId(SHOWN["running"])]))[TaskId(SHOWN["running"])]

    done = await step(store, completing(store, running))
    await given_a_task(store, id=TaskId("task_new"))

    assert done.status is Status.COMPLETED
    new = (await every_event(store))[len(SHOWN["events"]) :]
    assert [stored.event.event for stored in new] == ["task.completed", "task.created"]


async def test_many_migrate_at_once_and_one_goes_on_where_another_was_killed(
    server: RedisServer, connect: Connect, clock: ManualClock
):
    client = server.client()
    client.rename(f"{YARD}meta", f"{YARD}state")  # as far as the first step: whoever began was killed behind it
    client.set(f"{YARD}meta", "")
    client.hset(f"{YARD}numbers", "log", int(client.hget(f"{YARD}numbers", "event")) // 1024)

    await at_once(*(RedisStore(server.url, clock=clock).migrate() for _ in range(2)))
    one, other = await connect(), await connect()

    assert [[stored.seq, *stored.event] for stored in await every_event(one)] == SHOWN["events"]
    assert await other.checks() == []
    assert (await one.schema()).outstanding() == []


def call_of_the_old_release(server: RedisServer, script: int, words: list[str]) -> None:
    """As a process of release 0.1.0 makes it that was at work before the migration."""
    server.client().execute_command("EVAL", CALLS["scripts"][script], 1, YARD, *words)


def everything(server: RedisServer) -> dict[bytes, bytes]:
    raw: Any = redis.Redis(port=server.port)
    return {key: raw.dump(key) for key in raw.scan_iter()}


@pytest.mark.parametrize("server", ["packed"], indirect=True)
@pytest.mark.parametrize(("name", "script", "words"), CALLS["calls"])
def test_the_calls_of_the_old_release_write_to_its_own_yard(
    server: RedisServer, name: str, script: int, words: list[str]
):
    before = everything(server)

    call_of_the_old_release(server, script, words)

    assert everything(server) != before, name


@pytest.mark.parametrize(("name", "script", "words"), CALLS["calls"])
async def test_a_process_of_the_old_release_cannot_write(
    server: RedisServer, store: RedisStore, name: str, script: int, words: list[str]
):
    before = everything(server)

    if name == "touch":  # it reads no more than the row, and does not find the time that it knows
        call_of_the_old_release(server, script, words)
    else:
        with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
            call_of_the_old_release(server, script, words)

    assert everything(server) == before
    assert await store.checks() == []


def test_the_events_that_were_shown_are_whole():
    assert {len(event) for event in SHOWN["events"]} == {1 + len(Event._fields)}


async def test_opening_leaves_it_as_it_is_until_somebody_migrates(server: RedisServer, clock: ManualClock):
    store = RedisStore(server.url, clock=clock)
    with pytest.raises(MigrationNeedsStop, match="Stop every process of this yard, back it up"):
        await store.open()
    assert (await store.schema()).stored.version < 3
    assert server.client().type(f"{YARD}meta") == "hash"

    await store.migrate()
    await store.open()

    assert (await store.schema()).outstanding() == []
    await store.close()
