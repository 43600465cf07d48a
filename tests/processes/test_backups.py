"""A yard is copied while workers are at work on it, as the guide says; the copy is whole, and work goes on in it."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

import taskyard
from taskyard.yard import Yard
from tests import servers
from tests.graphs import happened
from tests.processes.crew import Crew
from tests.processes.ledger import Ledger, all_listen
from tests.redis_servers import RedisServer, wait_for
from tests.storage import asked_for

STORES = [name for name in ("sqlite", "postgres", "redis") if name in asked_for()]
AGENTS = ("worker-0", "worker-1")
ENOUGH = 20  # tasks that each worker has completed when the copy begins, and again when it is there
VERSION = 16

BackUp = Callable[[], str]  # copies the yard, and answers the URL of the copy


def sqlite(folder: Path) -> Iterator[tuple[str, BackUp]]:
    def back_up() -> str:
        copy = folder / "copy.db"
        subprocess.run([sys.executable, "-m", "apsw", folder / "yard.db", f".backup {copy}"], check=True)
        return f"sqlite:///{quote(str(copy))}"

    yield f"sqlite:///{quote(str(folder / 'yard.db'))}", back_up


def postgres(folder: Path) -> Iterator[tuple[str, BackUp]]:
    server, place = servers.postgres(VERSION), servers.folder_of_a_server()
    url = servers.postgres_yard(VERSION, folder)
    schema = url.partition("&schema=")[2]
    other = server.replace("/postgres?", f"/{schema}?")

    def back_up() -> str:
        file = str(place / "yard.sql")
        servers.run_postgres(VERSION, "pg_dump", f"--schema={schema}", f"--file={file}", server, folder=place)
        with psycopg.connect(server, autocommit=True) as session:
            session.execute(f'create database "{schema}"'.encode())
        stop = "--set=ON_ERROR_STOP=1"
        servers.run_postgres(VERSION, "psql", "--quiet", stop, f"--file={file}", other, folder=place)
        return url.replace(server, other)

    yield url, back_up
    with psycopg.connect(server, autocommit=True) as session:
        session.execute(f'drop database if exists "{schema}" with (force)'.encode())
    shutil.rmtree(place)


def redis(_: Path) -> Iterator[tuple[str, BackUp]]:
    server, other = RedisServer("--appendonly", "yes").start(), RedisServer()

    def back_up() -> str:
        client = server.client()
        client.bgsave()
        wait_for(lambda: not client.info("persistence")["rdb_bgsave_in_progress"], "the copy is not written")
        client.close()
        shutil.copy(server.folder / "dump.rdb", other.folder)
        copy = other.start().client()
        copy.config_set("appendonly", "yes")
        copy.close()
        return other.url

    yield server.url, back_up
    server.end()
    other.end()


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, BackUp]]:
    yield from {"sqlite": sqlite, "postgres": postgres, "redis": redis}[request.param](tmp_path)


async def given_workers(yard: Yard, crew: Crew, url: str) -> list[Ledger]:
    for agent in AGENTS:
        await yard.agents.register(agent, max_concurrent_tasks=100)
    return [Ledger(await crew.start("steadfast", url, agent)) for agent in AGENTS]


async def test_a_copy_of_a_yard_at_work_has_all_that_was_acknowledged_before_and_work_goes_on_in_it(
    place: tuple[str, BackUp], crew: Crew
):
    url, back_up = place
    async with taskyard.connect(url, sweeps=False) as yard:
        ledgers = await given_workers(yard, crew, url)
        await all_listen(ledgers, lambda ledger: len(ledger.completed) >= ENOUGH)
        stored = {task_id for ledger in ledgers for task_id in ledger.stored}
        completed = {task_id for ledger in ledgers for task_id in ledger.completed}

        copied = await asyncio.to_thread(back_up)
        await all_listen(ledgers, lambda ledger: len(ledger.completed) >= 2 * ENOUGH)
        await asyncio.gather(*(ledger.listen_to_the_end() for ledger in ledgers))

    async with taskyard.connect(copied, sweeps=False) as copy:
        created = await happened(copy, "task.created")
        assert stored <= created.keys()
        assert completed <= (await happened(copy, "task.completed")).keys()
        assert (await copy.verify()).ok

        task = await copy.enqueue("review", agent=AGENTS[0])
        (held,) = await copy.claim(AGENTS[0], types=["review"], start=True)
        await copy.complete(held.id, held.lease, {"after": "the restore"})
        assert (await copy.get(task.id)).status == "completed"
        assert (await copy.verify()).ok
