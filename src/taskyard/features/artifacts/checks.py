"""Checking artifacts against what was promised of them."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from taskyard.core.changes import Output
from taskyard.core.errors import InvalidInput, StoreUnavailable
from taskyard.core.task import Hot, Status, Trait
from taskyard.features.artifacts import rules as artifact_rules
from taskyard.features.artifacts.rules import KIND, Artifact
from taskyard.features.artifacts.visibility import MOST_OF_A_TASK, Visibility
from taskyard.ledger.ledger import Ledger
from taskyard.outbound.object_store import ObjectMissing

PAGE = 500


class ArtifactChecks:
    def __init__(self, ledger: Ledger, visibility: Visibility) -> None:
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._visibility = visibility

    async def content_problems(self) -> list[str]:
        """What is there is what was put."""
        problems: list[str] = []
        cursor: str | None = None
        while page := await self._store.page(KIND, self._workspace, below=cursor, limit=PAGE):
            cursor = page[-1].id
            for artifact in await self._visibility.visible_among(page):
                problems += await self._problems_of(artifact)
        return problems

    async def _problems_of(self, artifact: Artifact) -> list[str]:
        found, size = sha256(), 0
        try:
            async for piece in self._visibility.objects().read(artifact_rules.key_of(artifact.id)):
                found.update(piece)
                size += len(piece)
        except ObjectMissing:
            was_pruned = await self._store.record(KIND, self._workspace, artifact.id) is None
            return [] if was_pruned else [f"{artifact.id} has no content"]
        except (InvalidInput, StoreUnavailable) as error:
            return [f"{artifact.id} cannot be read: {error}"]
        is_same = (size, found.hexdigest()) == (artifact.size, artifact.sha256)
        return [] if is_same else [f"{artifact.id} is not what was put: {size} bytes, SHA-256 {found.hexdigest()}"]

    async def reference_problems(self, tasks: Iterable[Hot]) -> list[str]:
        """What the outputs of these tasks refer to is there."""
        filed = [hot for hot in tasks if hot.status is Status.COMPLETED and hot.traits & Trait.FILED]
        outputs = await self._store.outputs([hot.id for hot in filed]) if filed else {}
        found = {hot.id: await self._listing_problems(hot, outputs.get(hot.id)) for hot in filed}
        there = await self._store.load([task_id for task_id, problems in found.items() if problems])
        return [problem for task_id in there for problem in found[task_id]]

    async def _listing_problems(self, hot: Hot, output: Output | None) -> list[str]:
        """The output of a task names exactly what its attempts put, and perhaps what others did."""
        prefix = artifact_rules.prefix(hot.id)
        stored = await self._store.page(KIND, self._workspace, prefix=prefix, limit=MOST_OF_A_TASK)
        there = {artifact.reference for artifact in await self._visibility.visible_among(stored)}
        named = {name for name in (output.artifacts if output else ()) if name.startswith(f"artifact:{prefix}")}
        return [
            *(f"{hot.id} has {name} in its output, which is not there" for name in sorted(named - there)),
            *(f"{hot.id} has not {name} in its output, which it put" for name in sorted(there - named)),
        ]
