"""Questions of one moment are answered together; nobody waits for a batch longer than it must."""

import asyncio
from collections.abc import Sequence

import pytest

from taskyard.ledger.batcher import Batcher


class Slow:
    """Answers each question with itself, batch by batch, when it is told to."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self._told: list[asyncio.Event] = []

    async def answer(self, asked: Sequence[int]) -> list[int | Exception]:
        self.batches.append(list(asked))
        told = asyncio.Event()
        self._told.append(told)
        await told.wait()
        return [ValueError("odd") if each == 13 else each for each in asked]

    async def begun(self, number: int) -> None:
        async with asyncio.timeout(30):
            while len(self.batches) < number:  # noqa: ASYNC110 - nothing else goes on in this loop
                await asyncio.sleep(0)

    def tell(self, number: int) -> None:
        self._told[number].set()


@pytest.fixture
def slow() -> Slow:
    return Slow()


async def settled() -> None:
    """Let everybody do what there is to do."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_asks_at_one_moment_is_answered_together(slow: Slow):
    batcher = Batcher(slow.answer, most=10)

    asked = [batcher.ask(number) for number in range(3)]
    await slow.begun(1)
    slow.tell(0)

    assert await asyncio.gather(*asked) == [0, 1, 2]
    assert slow.batches == [[0, 1, 2]]


async def test_an_answer_that_is_an_error_is_raised_to_who_asked_and_to_nobody_else(slow: Slow):
    batcher = Batcher(slow.answer, most=10)

    good, bad = batcher.ask(1), batcher.ask(13)
    await slow.begun(1)
    slow.tell(0)

    assert await good == 1
    with pytest.raises(ValueError, match="odd"):
        await bad


async def test_the_next_batch_gathers_while_one_is_under_way(slow: Slow):
    batcher = Batcher(slow.answer, most=10)

    batcher.ask(0)
    await slow.begun(1)
    asked = [batcher.ask(number) for number in range(1, 9)]
    await settled()

    assert slow.batches == [[0]]
    slow.tell(0)
    await slow.begun(2)
    slow.tell(1)
    assert await asyncio.gather(*asked) == list(range(1, 9))


async def test_where_enough_have_gathered_they_begin_beside_it_and_a_third_batch_does_not(slow: Slow):
    batcher = Batcher(slow.answer, most=10, worth_a_second=3)

    batcher.ask(0)
    await slow.begun(1)
    for number in (1, 2):
        batcher.ask(number)
    await settled()
    assert slow.batches == [[0]]

    batcher.ask(3)
    await settled()
    assert slow.batches == [[0], [1, 2, 3]]

    late = [batcher.ask(number) for number in range(4, 8)]
    await settled()
    assert len(slow.batches) == 2

    slow.tell(1)
    await slow.begun(3)
    slow.tell(2)
    assert await asyncio.gather(*late) == [4, 5, 6, 7]
    slow.tell(0)
    await batcher.close()


async def test_of_many_that_ask_at_once_half_go_first_and_the_others_beside_them(slow: Slow):
    batcher = Batcher(slow.answer, most=100, worth_a_second=3, halves=True)

    asked = [batcher.ask(number) for number in range(7)]
    await settled()
    assert slow.batches == [[0, 1, 2, 3], [4, 5, 6]]

    more = [batcher.ask(number) for number in range(7, 20)]
    await settled()
    assert len(slow.batches) == 2
    slow.tell(1)
    await slow.begun(3)
    assert slow.batches[2] == list(range(7, 20)), "one is under way still, so there is nothing to overlap with"

    slow.tell(0)
    slow.tell(2)
    assert await asyncio.gather(*asked) == list(range(7))
    await settled()
    assert await asyncio.gather(*(each for each in more if each.done() and not each.exception())) == [
        number for number in range(7, 20) if number != 13
    ]


async def test_few_that_ask_at_once_are_not_parted(slow: Slow):
    batcher = Batcher(slow.answer, most=100, worth_a_second=3, halves=True)

    asked = [batcher.ask(number) for number in range(5)]
    await slow.begun(1)
    slow.tell(0)

    assert await asyncio.gather(*asked) == list(range(5))
    assert slow.batches == [[0, 1, 2, 3, 4]]


async def test_who_asks_as_soon_as_it_is_answered_is_answered_again(slow: Slow):
    batcher = Batcher(slow.answer, most=10, worth_a_second=3)

    async def ask_twice() -> int:
        await batcher.ask(1)
        return await batcher.ask(2)

    asking = asyncio.create_task(ask_twice())
    for number in range(2):
        await slow.begun(number + 1)
        slow.tell(number)

    assert await asking == 2


async def test_to_close_is_to_wait_for_every_batch(slow: Slow):
    batcher = Batcher(slow.answer, most=10, worth_a_second=1)
    first = batcher.ask(0)
    await slow.begun(1)
    second = batcher.ask(1)
    await slow.begun(2)

    closing = asyncio.create_task(batcher.close())
    slow.tell(1)
    await settled()
    assert (first.done(), second.done(), closing.done()) == (False, True, False)

    slow.tell(0)
    await closing
    assert first.done()
