"""Artifacts as files on this machine: written whole, and only where they are what was put."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from taskyard.api.codec import read
from taskyard.core.errors import InvalidInput
from taskyard.features.artifacts.rules import Artifact, referred
from taskyard.features.attempts.views import Input


def artifacts_among(inputs: Iterable[Input]) -> list[Artifact]:
    return [read(Artifact, given.data) for given in inputs if referred(given.ref) is not None]


async def fetch(artifact: Artifact, content: AsyncIterator[bytes], path: Path) -> None:
    # Beside it, until it is whole: nobody takes a part of it for the file.
    unfinished = path.with_name(f".{path.name[:50]}.{token_hex(4)}")
    try:
        with unfinished.open("xb") as file:
            await write(artifact, content, file)
        unfinished.replace(path)
    except OSError as error:
        raise InvalidInput("output", f"cannot be written: {error.strerror}") from None
    finally:
        unfinished.unlink(missing_ok=True)


async def write(artifact: Artifact, content: AsyncIterator[bytes], file: BinaryIO) -> None:
    """What comes, as it comes; and whether it was what was put."""
    hashed = sha256()
    async for piece in content:
        hashed.update(piece)
        file.write(piece)
    file.flush()
    if hashed.hexdigest() != artifact.sha256:
        raise InvalidInput("artifact", "is not what was put: run `taskyard verify`")
