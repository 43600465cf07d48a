"""Content of any size, piece by piece: it is never whole in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
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
    while piece := await asyncio.to_thread(file.read, PIECE):
        yield _checked(piece)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InvalidInput("data", f"names a file that cannot be read: {error.strerror}") from None


def _checked(piece: object) -> bytes:
    if not isinstance(piece, bytes | bytearray | memoryview):
        raise InvalidInput("data", "must come in pieces of bytes: open a file for that with mode rb")
    return bytes(cast(bytes, piece))
