"""Vectors are found by nearness, within a workspace and an embedder, and go with their tasks."""

from collections.abc import Sequence

import pytest

from taskyard.core.changes import expected
from taskyard.core.task import TaskId
from taskyard.stores.contract import Embedding, Near, Store, VectorQuery
from taskyard.stores.shared import vectors
from tests.stores.given import ELSEWHERE, HERE, Connect, committed, given_a_completed_task, given_a_task

AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
SLANTED = (0.8, 0.6, 0.0)


def embedding(task_id: TaskId, vector: Sequence[float], **other: str) -> Embedding:
    return Embedding(
        **{"workspace": HERE, "type": "code", "embedder": "test:3", **other}, task_id=task_id, vector=vector
    )


async def nearest(store: Store, vector: Sequence[float], *, limit: int = 10, **other: object) -> list[Near]:
    query = VectorQuery(HERE, "test:3", vector, limit)
    found = await store.nearest(query._replace(**other))
    return [near._replace(score=round(near.score, 4)) for near in found]


async def prune(store: Store, task_id: TaskId) -> None:
    hot = (await store.load([task_id]))[task_id]
    await committed(store, expects=(expected(hot),), removals=(task_id,))


async def given_tasks(store: Store, number: int) -> list[TaskId]:
    return [(await given_a_completed_task(store)).id for _ in range(number)]


@pytest.fixture(params=["as installed", "without extensions and NumPy"], autouse=True)
def libraries(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    if request.param != "as installed":
        from taskyard.stores.sqlite.fast import vector_extension  # noqa: PLC0415 - not the concern of other tests

        monkeypatch.setattr(vectors, "_numpy", lambda: None)
        monkeypatch.setattr(vector_extension, "_path", lambda: None)


async def test_the_nearest_come_first_with_the_cosine_as_their_score(store: Store):
    one, two, three = await given_tasks(store, 3)
    await store.keep_embeddings([embedding(*pair) for pair in zip((one, two, three), AXES, strict=True)])

    assert await nearest(store, SLANTED) == [(one, 0.8), (two, 0.6), (three, 0.0)]
    assert await nearest(store, SLANTED, limit=1) == [(one, 0.8)]


async def test_equally_near_tasks_come_in_the_order_of_their_ids(store: Store):
    tasks = await given_tasks(store, 4)
    await store.keep_embeddings([embedding(task_id, AXES[0]) for task_id in reversed(tasks)])

    assert [near.task_id for near in await nearest(store, AXES[0], limit=3)] == sorted(tasks)[:3]


async def test_only_vectors_of_the_workspace_the_embedder_and_the_types_are_searched(store: Store):
    one, two, three, four = await given_tasks(store, 4)
    await store.keep_embeddings(
        [
            embedding(one, AXES[0]),
            embedding(two, AXES[0], workspace=ELSEWHERE),
            embedding(three, AXES[0], embedder="other:3"),
            embedding(four, AXES[1], type="review"),
        ]
    )

    assert await nearest(store, AXES[0]) == [(one, 1.0), (four, 0.0)]
    assert await nearest(store, AXES[0], types=["review", "none"]) == [(four, 0.0)]
    assert await nearest(store, AXES[0], types=[]) == []
    assert await nearest(store, AXES[0], workspace="nobody's") == []
    assert await store.embedding_counts(HERE) == {"test:3": 2, "other:3": 1}
    assert await store.embedded(HERE, "test:3", [one, two, three, four]) == {one, four}
    assert await store.embedded(HERE, "test:3", []) == set()


async def test_a_vector_replaces_the_one_of_the_same_task_and_embedder(store: Store):
    (one,) = await given_tasks(store, 1)
    for vector in AXES[:2]:
        await store.keep_embeddings([embedding(one, vector)])
    await store.keep_embeddings([embedding(one, AXES[2], embedder="other:3")])

    assert await nearest(store, AXES[1]) == [(one, 1.0)]
    assert await store.embedding_counts(HERE) == {"test:3": 1, "other:3": 1}


async def test_a_vector_goes_with_its_task_and_none_comes_after_it(store: Store):
    one, two = await given_tasks(store, 2)
    await store.keep_embeddings([embedding(each, AXES[0]) for each in (one, two)])
    await store.keep_embeddings([embedding(one, AXES[0], embedder="other:3")])

    await prune(store, one)
    await store.keep_embeddings([embedding(each, AXES[0]) for each in (one, two)])

    assert await nearest(store, AXES[0]) == [(two, 1.0)]
    assert await store.embedding_counts(HERE) == {"test:3": 1}
    assert await store.checks() == []


async def test_vectors_are_seen_by_every_process_and_nothing_is_kept_of_nothing(connect: Connect):
    one, other = await connect(), await connect()
    task = await given_a_task(one)
    await one.keep_embeddings([])
    await one.keep_embeddings([embedding(task.id, SLANTED)])

    assert await nearest(other, SLANTED) == [(task.id, 1.0)]


async def test_a_vector_keeps_its_numbers_to_seven_digits(store: Store):
    (one,) = await given_tasks(store, 1)
    long = [((-1) ** n) / (n + 1.0) for n in range(1000)]
    length = sum(value * value for value in long) ** 0.5
    unit = [value / length for value in long]
    await store.keep_embeddings([embedding(one, unit)])

    (near,) = await store.nearest(VectorQuery(HERE, "test:3", unit, 1))
    assert near.score == pytest.approx(1, abs=1e-5)
