"""Tools for files."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from typing import Annotated

from pydantic import Field

from taskyard.api import calls, openapi
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.core.errors import InvalidInput
from taskyard.features.artifacts.rules import Artifact
from taskyard.mcp.desk import Desk
from taskyard.mcp.toolbox import ADDS, OPERATOR, PRODUCER, SETS, WORKER, Answer, Toolbox
from taskyard.mcp.tools.attempts import Lease
from taskyard.mcp.tools.tasks import TaskId

box = Toolbox()
MOST_BYTES = 64 << 10  # of a file in one answer

Name = Annotated[str, Field(description="A file name, such as report.md.", max_length=255)]
Text = Annotated[str | None, Field(description="The content, where it is text.")]
Base64 = Annotated[str | None, Field(description="The content in base64, where it is not.")]
MediaType = Annotated[str | None, Field(max_length=255)]
Place = Annotated[int, Field(ge=0, description="The byte to begin at.")]
PIECE = openapi.answer(
    "PieceOfArtifact", artifact=Artifact, start=int, end=int, text=str | None, base64=str | None, more=bool
)


@box.add(calls.PUT_ARTIFACT, model(Artifact), PRODUCER, hints=ADDS)
async def put_artifact(
    desk: Desk, name: Name, text: Text = None, base64: Base64 = None, media_type: MediaType = None
) -> Answer:
    """Store a file for tasks to read: name its `ref` in a task's context_refs."""
    stored = await desk.yard.artifacts.put(name, _content(text, base64), media_type=media_type, by=desk.by)
    return write(stored)


@box.add(calls.PUT_TASK_ARTIFACT, model(Artifact), WORKER, hints=SETS)
async def put_task_artifact(
    desk: Desk,
    *,
    name: Name,
    task_id: TaskId,
    lease: Lease,
    text: Text = None,
    base64: Base64 = None,
    media_type: MediaType = None,
) -> Answer:
    """Store a file that the task at hand made. Others see it once the task is completed with it; under the same name it
    takes the place of the first."""
    desk.leases.called(lease)
    content = _content(text, base64)
    return write(await desk.yard.artifacts.put(name, content, task_id=task_id, lease=lease, media_type=media_type))


@box.add(calls.READ_ARTIFACT, PIECE, PRODUCER, WORKER, OPERATOR)
async def read_artifact(
    desk: Desk,
    *,
    artifact_id: Annotated[str, Field(description="An id, or a reference as tasks have it.", max_length=300)],
    start: Place = 0,
    end: Annotated[int | None, Field(ge=0, description="The byte to end before, at most 65536 further.")] = None,
) -> Answer:
    """Read a file, at most 64 KiB at a time: as text where it is UTF-8, else in base64."""
    artifact = await desk.yard.artifacts.get(artifact_id)
    return write_piece(artifact, start, await piece_of(desk, artifact, start, end))


async def piece_of(desk: Desk, artifact: Artifact, start: int, end: int | None) -> bytes:
    last = min(artifact.size, start + MOST_BYTES if end is None else min(end, start + MOST_BYTES))
    if start >= last:
        return b""
    pieces = [piece async for piece in desk.yard.artifacts.read(artifact.id, start=start, end=last)]
    return b"".join(pieces)


def write_piece(artifact: Artifact, start: int, content: bytes) -> Answer:
    text = _text(content)
    end = start + len(content)
    return {
        "artifact": write(artifact),
        "start": start,
        "end": end,
        "text": text,
        "base64": b64encode(content).decode() if text is None else None,
        "more": end < artifact.size,
    }


def _text(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _content(text: str | None, base64: str | None) -> bytes:
    if (text is None) == (base64 is None):
        raise InvalidInput("text", "or base64 must be given, and not both")
    if text is not None:
        return text.encode()
    try:
        return b64decode(base64 or "", validate=True)
    except NotBase64 as error:
        raise InvalidInput("base64", f"must be base64: {error}") from None
