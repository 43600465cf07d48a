"""One task per key, however many processes put it in, and whatever order their dictionaries have."""

import asyncio

import pytest

from taskyard.yard import Yard
from tests.processes.crew import Crew
from tests.storage import asked_for_by_url

PROCESSES = 8
SEEDS = range(1, 5)
TIMES = 40


async def test_eight_processes_put_in_the_same_key_and_make_one_task(yard: Yard, url: str, crew: Crew):
    producers = await crew.start_many(PROCESSES, "producer", url)
    for producer in producers:
        producer.tell(times=TIMES, idempotency_key="release-7")
    answers = await asyncio.gather(*(producer.hear() for producer in producers))

    (task,) = await yard.find()
    assert [answer["ids"] for answer in answers] == [[task.id]] * PROCESSES
    assert sum(answer["created"] for answer in answers) == 1


# What is the same is decided before a store is asked: one will do.
@pytest.mark.parametrize("url", asked_for_by_url()[:1], indirect=True)
async def test_processes_with_different_hash_seeds_find_the_same_payload_the_same(yard: Yard, url: str, crew: Crew):
    producers = [await crew.start("producer", url, hash_seed=seed) for seed in SEEDS]
    for producer in producers:
        producer.tell(times=1, dedup="payload")
    answers = [await producer.hear() for producer in producers]

    orders = {tuple(answer["order"]) for answer in answers}
    assert len(orders) > 1, "every process has the same order, so nothing was tried"
    (task,) = await yard.find()
    assert [answer["ids"] for answer in answers] == [[task.id]] * len(SEEDS)
    assert {answer["key"] for answer in answers} == {task.idempotency_key}
