"""Artifacts of a yard that a server has."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote, over_http
from taskyard.client.transport.call_encoding import Arguments
from taskyard.client.transport.headers import shown
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.features.artifacts import views as files
from taskyard.features.artifacts.content import Content
from taskyard.features.artifacts.rules import Artifact, checked_digest, checked_media_type, checked_name, referred
from taskyard.features.artifacts.service import Artifacts
from taskyard.ledger.options import LOCAL

DEFAULT_LISTED = 50


def _plain_id(given: Arguments) -> Arguments:
    artifact_id = referred(given["artifact_id"]) or given["artifact_id"]
    if not artifact_id.isascii() or not artifact_id.isprintable() or not artifact_id.strip():
        raise NotFound("artifact", given["artifact_id"])  # what cannot be asked for is not there
    return {**given, "artifact_id": artifact_id}


class RemoteArtifacts(Remote, Artifacts):
    get = over_http(Artifacts.get, calls.ARTIFACT, prepare=_plain_id)
    remove = over_http(Artifacts.remove, calls.REMOVE_ARTIFACT, prepare=_plain_id)

    async def put(
        self,
        name: str,
        data: Content,
        *,
        task_id: str | None = None,
        lease: str | None = None,
        media_type: str | None = None,
        digest: str | None = None,
        by: str = LOCAL,
    ) -> Artifact:
        """By hand: its body is a file, and it is one of two calls."""
        if (task_id is None) != (lease is None):
            raise InvalidInput("lease", "goes with a task, and only with it")
        headers = {"Content-Type": checked_media_type(media_type)}
        if (hashed := checked_digest(digest, "digest")) is not None:
            headers[files.DIGEST] = hashed
        names = {"name": checked_name(name)}
        call = calls.PUT_ARTIFACT
        if task_id is not None:
            call, names["task_id"] = calls.PUT_TASK_ARTIFACT, task_id
            headers |= shown(lease)
        return read(Artifact, await self.connection.send(call, data, headers=headers, **names))

    async def list(
        self, *, task_id: str | None = None, limit: int = DEFAULT_LISTED, cursor: str | None = None
    ) -> list[Artifact]:
        """By hand: it is one of two calls."""
        query = {"limit": limit, "cursor": cursor}
        if task_id is None:
            answer = await self.connection.ask(calls.ARTIFACTS, query=query)
        else:
            answer = await self.connection.ask(calls.TASK_ARTIFACTS, query=query, task_id=task_id)
        return read(list[Artifact], answer["artifacts"])

    async def read(
        self,
        artifact_id: str,
        *,
        start: int = 0,
        end: int | None = None,
        task_id: str | None = None,
        lease: str | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """By hand: its answer is a file."""
        artifact = await self.get(artifact_id, task_id=task_id, lease=lease)
        last = artifact.size if end is None else end
        if not 0 <= start <= last <= artifact.size:
            raise InvalidInput("start", f"and end must be from 0 to {artifact.size}, in this order")
        if start == last:
            return
        headers = {"Range": f"bytes={start}-{last - 1}", **shown(lease, task_id)}
        async for piece in self.connection.receive(calls.READ_ARTIFACT, headers=headers, artifact_id=artifact.id):
            yield piece
