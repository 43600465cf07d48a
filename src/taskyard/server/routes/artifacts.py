"""Artifacts, in and out: streamed both ways, and out only as files to keep, never as something to show."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from time import monotonic
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Header, Path, Query, Request, Response
from pydantic import AfterValidator
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse

from taskyard.api import calls, openapi
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.core.errors import NotFound
from taskyard.features.artifacts import views as files
from taskyard.features.artifacts.rules import UNKNOWN, Artifact
from taskyard.features.tasks import multica
from taskyard.features.tokens.rules import Role
from taskyard.server.access.auth import Caller, check_own_lease, lease_refusals
from taskyard.server.routes.tasks import SHOWN_LEASE, Lease, Limit, TaskAt
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("artifacts")
ARTIFACTS = openapi.answer("Artifacts", artifacts=list[Artifact])
NameAt = Annotated[str, Path(description="The file's name.", max_length=255)]
ArtifactAt = Annotated[str, Path(description="An artifact's id.", max_length=255)]
OwnLease = Annotated[str, SHOWN_LEASE]
Digest = Annotated[str | None, Header(alias=files.DIGEST, description="What the file hashes to.", max_length=64)]
Task = Annotated[
    str | None,
    Header(alias=files.TASK, description="The validator whose lease is shown.", max_length=255),
    AfterValidator(lambda shown: shown and multica.task_of(shown)),
]
Cursor = Annotated[str | None, Query(description="The id of the last one seen.", max_length=255)]
SLOWEST = 8 << 10  # bytes a second of an upload, once it has had the time that any body may take
_RANGE = re.compile(r"bytes=(\d{1,15})-(\d{1,15})?", re.ASCII)
_FILE: dict[str, Any] = {"requestBody": {"content": {UNKNOWN: {"schema": {"type": "string", "format": "binary"}}}}}
_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {"content": {UNKNOWN: {}}, "description": "the file"},
    206: {"content": {UNKNOWN: {}}, "description": "the part of it that was asked for"},
    304: {"description": "the same as the one whose digest was sent"},
    416: {"description": "the part that was asked for begins after its end"},
}


@routes.add(calls.PUT_TASK_ARTIFACT, model(Artifact), status=201, extra=_FILE)
async def put_task_artifact(
    request: Request, caller: Calling, *, task_id: TaskAt, name: NameAt, lease: OwnLease, digest: Digest = None
) -> Response:
    """Store a file that an attempt made. It can be seen once the task is completed with that attempt."""
    (refusal,) = await lease_refusals(caller, [(task_id, lease)])
    if refusal is not None:
        raise refusal
    return await _put(request, caller, name, digest, task_id=task_id, lease=lease)


@routes.add(calls.PUT_ARTIFACT, model(Artifact), status=201, extra=_FILE)
async def put_artifact(request: Request, caller: Calling, name: NameAt, digest: Digest = None) -> Response:
    """Store a file for tasks to read."""
    return await _put(request, caller, name, digest)


async def _put(request: Request, caller: Caller, name: str, digest: str | None, **whose: str) -> Response:
    media_type = request.headers.get("content-type") or None
    stored = await caller.yard.artifacts.put(
        name, _body(request), media_type=media_type, digest=digest, by=caller.by, **whose
    )
    return answer(write(stored), 201)


async def _body(request: Request) -> AsyncGenerator[bytes]:
    """The file as it comes. However long it is, no part of it may keep us waiting, nor may all of them together."""
    most: float = request.app.state.serving.most_sending_sec
    pieces, got, waited = request.stream(), 0, 0.0
    while True:
        began = monotonic()
        try:
            async with asyncio.timeout(min(most, most + got / SLOWEST - waited)):
                piece = await anext(pieces)
        except StopAsyncIteration:
            return
        except ClientDisconnect:
            raise HTTPException(400, "Send the whole file.") from None
        except TimeoutError:
            words = f"Send on within {most:g} s, and after the first {most:g} s at {SLOWEST} bytes a second."
            raise HTTPException(408, words) from None
        got, waited = got + len(piece), waited + monotonic() - began
        yield piece


@routes.add(calls.ARTIFACTS, ARTIFACTS)
async def list_artifacts(caller: Calling, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Artifacts that may be seen, the newest tasks' first."""
    found = await caller.yard.artifacts.list(limit=limit, cursor=cursor)
    return answer({"artifacts": write(found)})


@routes.add(calls.TASK_ARTIFACTS, ARTIFACTS)
async def task_artifacts(caller: Calling, task_id: TaskAt, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Those that a completed task made."""
    found = await caller.yard.artifacts.list(task_id=task_id, limit=limit, cursor=cursor)
    return answer({"artifacts": write(found)})


@routes.add(calls.ARTIFACT, model(Artifact))
async def about_artifact(
    caller: Calling, artifact_id: ArtifactAt, task_id: Task = None, lease: Lease = None
) -> Response:
    """What is known of an artifact; under a validator's lease, also of one that it judges."""
    return answer(write(await _readable(caller, artifact_id, task_id, lease)))


@routes.add(calls.READ_ARTIFACT, None, more=_CONTENT)
async def read_artifact(
    request: Request, caller: Calling, artifact_id: ArtifactAt, task_id: Task = None, lease: Lease = None
) -> Response:
    """The content of an artifact, as a file to keep; a part of it where `Range` asks for one."""
    artifact = await _readable(caller, artifact_id, task_id, lease)
    headers = _headers(artifact)
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    part = _part(request.headers.get("range", ""), artifact.size)
    start, end = part or (0, artifact.size)
    if part is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{artifact.size}"
    headers["Content-Length"] = str(end - start)
    content = caller.yard.artifacts.read(artifact.id, start=start, end=end, task_id=task_id, lease=lease)
    return StreamingResponse(
        await _begun(content), 200 if part is None else 206, headers=headers, media_type=artifact.served_as
    )


@routes.add(calls.REMOVE_ARTIFACT, DONE)
async def remove_artifact(caller: Calling, artifact_id: ArtifactAt) -> Response:
    """Take away an artifact that was put in by itself."""
    await caller.yard.artifacts.remove(artifact_id, by=caller.by)
    return answer({"ok": True})


async def _readable(caller: Caller, artifact_id: str, task_id: str | None, lease: str | None) -> Artifact:
    """An artifact that the caller may read: an agent what it made or is given, of others it learns nothing."""
    if task_id is not None and lease is not None:
        await check_own_lease(caller, task_id, lease)
    artifact = await caller.yard.artifacts.get(artifact_id, task_id=task_id, lease=lease)
    if caller.token.role is Role.AGENT:
        mine = [view.id for view in await caller.yard.agents.list() if caller.token.works_as(view.id, view.type)]
        if not await caller.yard.local.permissions.readable_by(mine, artifact):
            raise NotFound("artifact", artifact_id)
    return artifact


async def _begun(content: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """The content with its first piece read: what is wrong with it is an answer of its own, not a file cut short."""
    first = await anext(content, b"")

    async def whole() -> AsyncGenerator[bytes]:
        yield first
        async for piece in content:
            yield piece

    return whole()


def _headers(artifact: Artifact) -> dict[str, str]:
    ascii = artifact.name.encode("ascii", "replace").decode().replace("?", "_")
    return {
        "Content-Disposition": f"attachment; filename=\"{ascii}\"; filename*=UTF-8''{quote(artifact.name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": "private, no-cache",
        "ETag": f'"{artifact.sha256}"',
        "Accept-Ranges": "bytes",
        files.DIGEST: artifact.sha256,
    }


def _part(asked: str, size: int) -> tuple[int, int] | None:
    """The bytes that are asked for; None for all of them, also where the wish makes no sense, as HTTP allows."""
    found = _RANGE.fullmatch(asked.strip())
    if found is None or (found[2] and int(found[2]) < int(found[1])):
        return None
    start, end = int(found[1]), min(int(found[2]) + 1 if found[2] else size, size)
    if start >= size:
        raise HTTPException(416, f"The file has {size} bytes.", {"Content-Range": f"bytes */{size}"})
    return start, end
