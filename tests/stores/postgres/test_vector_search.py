"""With pgvector the server compares vectors, and finds what this process would."""

from collections.abc import AsyncIterator
from random import Random
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import pytest

from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Embedding, VectorQuery
from taskyard.stores.postgres import PostgresStore
from tests.stores.given import HERE, given_a_completed_task


@pytest.fixture
async def database(url: str) -> AsyncIterator[str]:
    """A database of its own: an extension is the whole database's."""
    name = f"vectors_{uuid4().hex}"
    server = await asyncpg.connect(url.partition("&schema")[0])
    await server.execute(f"create database {name}")
    parts = urlsplit(url)
    yield urlunsplit(parts._replace(path=f"/{name}"))
    await server.execute(f"drop database {name} with (force)")
    await server.close()


@pytest.fixture
async def alone(database: str, clock: ManualClock) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(database, clock=clock)
    await store.open()
    yield store
    await store.close()


def unit(dice: Random) -> list[float]:
    values = [dice.gauss(0, 1) for _ in range(16)]
    length = sum(value * value for value in values) ** 0.5
    return [value / length for value in values]


async def test_pgvector_finds_what_an_exact_search_finds(alone: PostgresStore, database: str):
    dice = Random(1)
    tasks = [(await given_a_completed_task(alone)).id for _ in range(20)]
    await alone.keep_embeddings([Embedding(HERE, each, "code", "test:16", unit(dice)) for each in tasks])
    query = VectorQuery(HERE, "test:16", unit(dice), 5)
    assert (await alone.health())["vector_search"] == "exact, with NumPy"
    exact = await alone.nearest(query)

    server = await asyncpg.connect(database.partition("&schema")[0])
    await server.execute("create extension vector")
    await server.close()

    assert (await alone.health())["vector_search"] == "pgvector"
    found = await alone.nearest(query)
    assert [near.task_id for near in found] == [near.task_id for near in exact]
    assert [near.score for near in found] == pytest.approx([near.score for near in exact], abs=1e-6)
    assert await alone.nearest(query._replace(types=["other"])) == []
