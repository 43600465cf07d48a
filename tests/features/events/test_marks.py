"""Where a yard stands: each process knows its own marks, and takes none of another's for one of them."""

import asyncio

import pytest

import taskyard
from taskyard.yard import Yard


@pytest.mark.parametrize("unknown", ["", "1", "0-1", "cafe0123-7", "-", ",,"])
async def test_a_mark_that_is_not_of_this_process_is_no_reason_to_wait(yard: Yard, unknown: str):
    assert await asyncio.wait_for(yard.changed(unknown, 600), 30) == await yard.mark()


async def test_a_number_that_is_none_is_no_reason_to_wait(yard: Yard):
    assert await asyncio.wait_for(yard.changed(f"{await yard.mark()}x", 600), 30) == await yard.mark()


async def test_of_several_marks_that_of_this_process_counts(yard: Yard):
    mark = await yard.mark()
    waiting = asyncio.create_task(yard.changed(f"cafe0123-7,{mark},beef4567-9", 600))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    await yard.enqueue("code")

    assert await asyncio.wait_for(waiting, 30) != mark


async def test_two_processes_never_have_the_same_mark():
    async with taskyard.connect("memory://") as one, taskyard.connect("memory://") as other:
        assert await one.mark() != await other.mark()
