"""The embedding worker follows the log: nothing is skipped, one process at a time asks, failures wait."""

from collections.abc import Sequence
from typing import Any

import pytest

from taskyard.core.errors import EmbedderFailed
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.features.memory import embedding_feed
from taskyard.features.memory.embedders import TextRefused
from taskyard.features.memory.embedding_feed import EmbeddingFeed
from taskyard.features.memory.hashing import HashEmbedder
from taskyard.features.memory.rules import LONGEST_WAIT, SHORT_TEXT, EmbeddingCursor
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import given_a_graph, task
from tests.yards import Died, given_a_dead_letter, given_a_running_task


class Faulty(HashEmbedder):
    """Embeds as `hash:` does, and fails as it is told to."""

    name = "faulty"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.error: BaseException | None = None
        self.refuses = ""
        self.longest = 1_000_000
        self.length = 0

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        if self.error is not None:
            raise self.error
        if self.refuses and any(self.refuses in text or len(text) > self.longest for text in texts):
            raise TextRefused("too long")
        vectors = await super().embed(texts)
        return [vector + [0.0] * self.length for vector in vectors]


@pytest.fixture
def embedder() -> Faulty:
    return Faulty()


@pytest.fixture
def feed(yard: Yard, embedder: Faulty) -> EmbeddingFeed:
    return EmbeddingFeed(yard.local.ledger, embedder)


async def given_a_completed_task(yard: Yard, title: str = "Pay the invoice", **fields: Any) -> TaskId:
    held = await given_a_running_task(yard, title=title, **fields)
    await yard.complete(held.id, held.lease, {"done": True})
    return held.id


async def embedded(yard: Yard, task_ids: Sequence[TaskId]) -> set[TaskId]:
    return await yard.store.embedded(yard.workspace, "faulty", task_ids)


async def test_what_was_completed_and_what_died_is_embedded_once(yard: Yard, feed: EmbeddingFeed, embedder: Faulty):
    done, dead = await given_a_completed_task(yard), await given_a_dead_letter(yard, title="Move the table")

    assert await feed.catch_up() == 2
    assert await embedded(yard, [done, dead.id]) == {done, dead.id}
    assert await feed.catch_up() == 0
    assert len(embedder.asked) == 2


async def test_what_is_not_to_be_remembered_costs_no_call(yard: Yard, feed: EmbeddingFeed, embedder: Faulty):
    await yard.memory.set_policy(remember=False, types={"code": True})
    await given_a_completed_task(yard, "No", remember=False)
    await given_a_completed_task(yard, "Yes")

    assert await feed.catch_up() == 1
    assert [text.split("\n")[0] for text in embedder.asked] == ["Yes"]
    assert [job.status for job in await yard.memory.embedding_jobs()] == ["pending", "pending"]  # of `hash:`


async def test_a_process_that_dies_between_vectors_and_cursor_leaves_the_page_to_the_next(
    yard: Yard, feed: EmbeddingFeed, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    tasks = [await given_a_completed_task(yard, f"Task {number}") for number in range(3)]

    async def die(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(yard.store, "keep_embeddings", die)
        with pytest.raises(Died):
            await feed.catch_up()
    second = EmbeddingFeed(yard.local.ledger, Faulty())

    assert await second.catch_up() == 0  # the dead one may still be at work
    clock.advance(seconds=61)
    assert await second.catch_up() == 3
    assert await embedded(yard, tasks) == {*tasks}


async def test_every_event_is_looked_at_however_small_the_pages(
    yard: Yard, feed: EmbeddingFeed, embedder: Faulty, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(embedding_feed, "PAGE", 3)
    monkeypatch.setattr(embedding_feed, "AT_ONCE", 2)
    tasks = [await given_a_completed_task(yard, f"Task {number}") for number in range(7)]
    while await feed.catch_up():
        pass

    assert await embedded(yard, tasks) == {*tasks}
    assert len(embedder.asked) == 7


async def test_a_log_with_a_gap_is_read_without_leaving_out_what_is_kept(
    yard: Yard, embedder: Faulty, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(embedding_feed, "PAGE", 3)
    await yard.agents.register("worker", max_concurrent_tasks=9)
    await given_a_graph(yard, task("a", title="Kept"), task("b", agent="nobody"))
    (held,) = await yard.claim("worker", start=True)
    await yard.complete(held.id, held.lease, {})
    pruned = [await given_a_completed_task(yard, f"Pruned {number}", remember=True) for number in range(4)]
    clock.advance(seconds=8 * 86_400)
    counting = await yard.local.metrics.begin()
    await counting.add(await counting.read(1000))
    await counting.store()
    while (await yard.local.pruning.prune()).more:
        pass
    young = await given_a_completed_task(yard, "Young")
    assert await yard.store.load(pruned) == {}

    feed = EmbeddingFeed(yard.local.ledger, embedder)
    for _ in range(20):
        await feed.catch_up()

    assert await embedded(yard, [held.id, young]) == {held.id, young}
    assert len(embedder.asked) == 2


async def test_an_embedder_that_fails_is_asked_again_later_and_later(
    yard: Yard, feed: EmbeddingFeed, embedder: Faulty, clock: ManualClock
):
    ended = await given_a_completed_task(yard)
    embedder.error = EmbedderFailed("nobody answers")
    waits: list[int] = []
    for _ in range(12):
        assert await feed.catch_up() == 0
        asked, cursor = len(embedder.asked), await feed.cursor()
        assert await feed.catch_up() == 0
        assert len(embedder.asked) == asked  # nobody is asked before the time
        waits.append(cursor.next_at - yard.now())
        clock.advance(seconds=waits[-1] / 1_000_000)

    assert [wait // 1_000_000 for wait in waits[:4]] == [1, 2, 4, 8]
    assert max(waits) == LONGEST_WAIT
    assert (await feed.cursor()).problem == "Call again once the embedder answers: nobody answers."
    embedder.error = None
    assert await feed.catch_up() == 1
    assert await embedded(yard, [ended]) == {ended}
    assert (await feed.cursor()).problem is None


@pytest.mark.parametrize("error", [RuntimeError("boom"), TimeoutError()], ids=["raises", "is late"])
async def test_whatever_an_embedder_raises_is_a_failure_that_is_kept(
    yard: Yard, feed: EmbeddingFeed, embedder: Faulty, error: Exception
):
    await given_a_completed_task(yard)
    embedder.error = error

    assert await feed.catch_up() == 0
    assert "faulty" in ((await feed.cursor()).problem or "")


async def test_a_text_that_is_refused_holds_nothing_up_and_is_named(yard: Yard, feed: EmbeddingFeed, embedder: Faulty):
    good, bad = await given_a_completed_task(yard, "Good"), await given_a_completed_task(yard, "Poison")
    long = await given_a_completed_task(yard, "Long", prompt="words " * 300)
    embedder.refuses, embedder.longest = "Poison", SHORT_TEXT

    assert await feed.catch_up() == 2
    assert await embedded(yard, [good, bad, long]) == {good, long}  # the long one was cut, and taken
    assert [each["task_id"] for each in (await feed.cursor()).refused] == [bad]
    assert max(len(text) for text in embedder.asked[-4:]) > SHORT_TEXT >= len(embedder.asked[-1])


async def test_an_embedder_that_changes_its_dimensions_stores_nothing(
    yard: Yard, feed: EmbeddingFeed, embedder: Faulty
):
    one = await given_a_completed_task(yard)
    await feed.catch_up()
    two, embedder.length = await given_a_completed_task(yard), 1

    assert await feed.catch_up() == 0
    assert await embedded(yard, [one, two]) == {one}
    assert "257 numbers" in ((await feed.cursor()).problem or "")


async def test_a_text_without_words_has_no_vector_and_is_no_failure(yard: Yard, feed: EmbeddingFeed):
    ended = await given_a_completed_task(yard, "?", type_="the")

    assert await feed.catch_up() == 1
    assert await embedded(yard, [ended]) == set()
    assert (await feed.cursor()).problem is None


async def test_one_look_at_the_log_a_second_is_enough_for_all_processes(
    yard: Yard, feed: EmbeddingFeed, clock: ManualClock
):
    other = EmbeddingFeed(yard.local.ledger, Faulty())
    await given_a_completed_task(yard)

    assert await feed.follow() == 1
    await given_a_completed_task(yard)
    assert await other.follow() == 0
    clock.advance(seconds=1)
    assert await other.follow() == 1


def test_a_cursor_that_a_wrong_clock_wrote_holds_nobody_up():
    now = Micros(1_000_000_000)
    held = EmbeddingCursor(holder="other", held_until=now + 5)

    assert not held.is_free("me", now)
    assert held.is_free("other", now)
    assert held._replace(held_until=now * 9).is_free("me", now)
    assert not EmbeddingCursor(next_at=now + 5).is_free("me", now)
