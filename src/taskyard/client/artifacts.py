"""Artifacts of a yard that a server has."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.headers import shown
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.features.artifacts import views as files
from taskyard.features.artifacts.content import Content
from taskyard.features.artifacts.rules import Artifact, checked_digest, checked_media_type, checked_name, referred
from taskyard.features.artifacts.service import Artifacts
from taskyard.ledger.options import LOCAL

DEFAULT_LISTED = 50


class RemoteArtifacts(Remote, Artifacts):
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
        """Store a file: one that the attempt under this lease made, or, without a task, one for tasks to read.

        That of an attempt can be seen once its task is completed with it; put again under the same name, it takes the
        place of the first. A `digest` (SHA-256) that is not the content's is refused.
        """
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
        return read(Artifact, await self._connection.send(call, data, headers=headers, **names))

    async def get(self, artifact_id: str, *, task_id: str | None = None, lease: str | None = None) -> Artifact:
        """What is known of an artifact, by its id or as it is referred to; one that may not be seen is not found.

        With a validator's id and lease, also one of the output that it judges.
        """
        headers = shown(lease, task_id)
        return read(
            Artifact, await self._connection.ask(calls.ARTIFACT, headers=headers, artifact_id=_plain(artifact_id))
        )

    async def list(
        self, *, task_id: str | None = None, limit: int = DEFAULT_LISTED, cursor: str | None = None
    ) -> list[Artifact]:
        """Artifacts, of all tasks or of one, the newest tasks' first. The cursor is the id of the last one seen."""
        query = {"limit": limit, "cursor": cursor}
        if task_id is None:
            answer = await self._connection.ask(calls.ARTIFACTS, query=query)
        else:
            answer = await self._connection.ask_about(calls.TASK_ARTIFACTS, task_id, query=query)
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
        """The content of an artifact, piece by piece; from one byte to another where that is asked for.

        With a validator's id and lease, also of one in the output that it judges.
        """
        artifact = await self.get(artifact_id, task_id=task_id, lease=lease)
        last = artifact.size if end is None else end
        if not 0 <= start <= last <= artifact.size:
            raise InvalidInput("start", f"and end must be from 0 to {artifact.size}, in this order")
        if start == last:
            return
        headers = {"Range": f"bytes={start}-{last - 1}", **shown(lease, task_id)}
        async for piece in self._connection.receive(calls.READ_ARTIFACT, headers=headers, artifact_id=artifact.id):
            yield piece

    async def remove(self, artifact_id: str, *, by: str = LOCAL) -> None:
        """Take away an artifact that was put in by itself. Those of a task go with it."""
        await self._connection.ask(calls.REMOVE_ARTIFACT, artifact_id=_plain(artifact_id))


def _plain(artifact_id: str) -> str:
    given = referred(artifact_id) or artifact_id
    if not given.isascii() or not given.isprintable() or not given.strip():
        raise NotFound("artifact", artifact_id)  # what cannot be asked for is not there
    return given
