"""Content of any size, piece by piece: it is never whole in memory."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from taskyard.core.errors import InvalidInput

PIECE = 1 << 20  # bytes
# A text is content too, in UTF-8; a file is named by a Path or given open. What comes by itself is read once.
Content = str | bytes | bytearray | memoryview | Path | BinaryIO | AsyncIterable[bytes] | Iterable[bytes]


def may_repeat(content: Content) -> bool:
    """Whether it can be read a second time, after an answer was lost."""
    return isinstance(content, str | bytes | bytearray | memoryview | Path)


async def pieces(content: Content) -> AsyncGenerator[bytes]:
    """The content from its beginning."""
    match content:
        case str() | bytes() | bytearray() | memoryview():
            whole = memoryview(content.encode() if isinstance(content, str) else content).cast("B")
            for start in range(0, len(whole), PIECE):
                yield bytes(whole[start : start + PIECE])
        case Path():
            with await asyncio.to_thread(_opened, content) as file:
                async for piece in _read(file):
                    yield piece
        case AsyncIterable():
            async for piece in content:
                yield _checked(piece)
        case _ if hasattr(content, "read"):
            async for piece in _read(cast(BinaryIO, content)):
                yield piece
        case Iterable():
            for piece in content:
                yield _checked(piece)
        case _:
            raise InvalidInput("data", "must be text, bytes, a Path, an open file, or something that yields bytes")


async def _read(file: BinaryIO) -> AsyncGenerator[bytes]:
    read = asyncio.to_thread if _is_regular(file) else _apart
    while piece := await read(file.read, PIECE):
        yield _checked(piece)


def _is_regular(file: BinaryIO) -> bool:
    """Whether a read comes back by itself, as from a disk or from memory; from a pipe it may take for ever."""
    try:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, AttributeError, ValueError):
        return True  # no file of the system's


async def _apart(call: Callable[[int], bytes], amount: int) -> bytes:
    """Call in a thread of its own that keeps no process from ending, whatever it waits for."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bytes] = loop.create_future()

    def settle(settled: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(lambda: None if answer.done() else settled())

    def run() -> None:
        try:
            piece = call(amount)
        except Exception as error:
            failed = error
            settle(lambda: answer.set_exception(failed))
        else:
            settle(lambda: answer.set_result(piece))

    threading.Thread(target=run, name="taskyard reads a pipe", daemon=True).start()
    return await answer


def _opened(path: Path) -> BinaryIO:
    """The file, where it is one. A pipe or a device would be waited for, perhaps for ever."""
    try:
        # Without waiting for somebody to write, where it is a pipe.
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except OSError as error:
        raise InvalidInput("data", f"names a file that cannot be read: {error.strerror}") from None
    if not _is_regular(file):
        file.close()
        raise InvalidInput("data", "must name a file, not a pipe or a device: give those opened, or as standard input")
    return file


def _checked(piece: object) -> bytes:
    if not isinstance(piece, bytes | bytearray | memoryview):
        raise InvalidInput("data", "must come in pieces of bytes: open a file for that with mode rb")
    return bytes(cast(bytes, piece))
