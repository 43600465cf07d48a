"""Content from a pipe: the thread that reads it outlives whoever waited, without a word."""

from __future__ import annotations

import asyncio
import io
import os
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO

import pytest

from taskyard.features.artifacts.content import pieces


@pytest.fixture
def pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "wb") as writer:
        yield reader, writer


async def given_up_read(reader: BinaryIO) -> threading.Thread:
    """The thread that still reads after whoever asked for a piece was cancelled."""
    reading = asyncio.ensure_future(anext(pieces(reader)))
    await asyncio.sleep(0)
    (thread,) = (each for each in threading.enumerate() if each.name == "taskyard reads a pipe")
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    return thread


async def test_a_pipe_that_cannot_be_read_is_an_error_and_not_waited_for(pipe: tuple[BinaryIO, BinaryIO]):
    _, writer = pipe

    async with asyncio.timeout(20):
        with pytest.raises(io.UnsupportedOperation):
            await anext(pieces(writer))


async def test_a_piece_that_comes_after_its_reader_has_gone_is_dropped(pipe: tuple[BinaryIO, BinaryIO]):
    reader, writer = pipe
    complaints: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    thread = await given_up_read(reader)

    writer.close()
    await asyncio.to_thread(thread.join, 20)
    await asyncio.sleep(0)

    assert not thread.is_alive()
    assert complaints == []


def test_a_piece_that_comes_after_the_loop_has_ended_is_dropped(
    pipe: tuple[BinaryIO, BinaryIO], monkeypatch: pytest.MonkeyPatch
):
    reader, writer = pipe
    complaints: list[object] = []
    monkeypatch.setattr(threading, "excepthook", complaints.append)
    thread = asyncio.run(given_up_read(reader))

    writer.close()
    thread.join(20)

    assert not thread.is_alive()
    assert complaints == []
