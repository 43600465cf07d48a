"""Artifacts: putting files in, and reading them.

An object is written only after a record that says so: one that is `loose`. Whoever dies on the way leaves that record,
and the sweep looks at it until it knows what became of the attempt. A record of an artifact is written only after its
object is there, under the lease of the attempt, and taken away before its object is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

from taskyard.core import transitions
from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.errors import InvalidInput, LeaseLost, NotFound, StoreUnavailable
from taskyard.core.json_value import Json, compact, encode
from taskyard.core.lease import Lease
from taskyard.core.task import Hot, TaskId, Trait
from taskyard.core.units import HOUR, SECOND
from taskyard.definition import arguments, fields
from taskyard.features.artifacts import rules as artifact_rules
from taskyard.features.artifacts.content import Content, pieces
from taskyard.features.artifacts.orphans import OrphanObjects
from taskyard.features.artifacts.rules import KIND, LOOSE, Artifact
from taskyard.features.artifacts.visibility import MOST_OF_A_TASK, Visibility
from taskyard.features.attempts import step_results
from taskyard.features.tasks.lookup.queries import DEFAULT_LISTED, MOST_LISTED
from taskyard.ledger.ids import mint
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL
from taskyard.outbound.object_store import ObjectMissing, WrittenObject

LONGEST_UPLOAD = HOUR
PAGE = 200


class Artifacts:
    def __init__(self, ledger: Ledger, visibility: Visibility, orphan_objects: OrphanObjects) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._visibility = visibility
        self._orphan_objects = orphan_objects

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
        return await self._put_file(name, data, task_id, lease, media_type=media_type, digest=digest, by=by)

    async def _put_file(
        self,
        name: str,
        data: Content,
        task_id: str | None,
        lease: str | None,
        *,
        media_type: str | None,
        digest: str | None = None,
        by: str = LOCAL,
        step: str | None = None,
    ) -> Artifact:
        hot = await self._under(task_id, lease)
        return await self._put_for(hot, lease, name, data, media_type=media_type, digest=digest, by=by, step=step)

    async def _put_for(
        self,
        hot: Hot | None,
        lease: str | None,
        name: str,
        data: Content,
        *,
        media_type: str | None,
        digest: str | None = None,
        by: str = LOCAL,
        step: str | None = None,
    ) -> Artifact:
        artifact_id = artifact_rules.new_id(mint(), None if hot is None else hot.id)
        made = Artifact(
            id=artifact_id,
            name=artifact_rules.checked_name(name),
            size=0,
            sha256=artifact_rules.checked_digest(digest, "digest") or "",
            media_type=artifact_rules.checked_media_type(media_type),
            task_id=None if hot is None else hot.id,
            attempt=None if hot is None else hot.attempt,
            created_at=self._ledger.now(),
            created_by=arguments.name("by", by) if hot is None else f"agent:{hot.agent}",
            step=step,
        )
        self._visibility.objects()  # refused before anything is written, where there is no place
        await self._loosen(made)
        try:
            return await self._commit_record(_as_written(made, await self._upload(made, data)), lease)
        except Exception:
            await self._orphan_objects.clear(artifact_id)
            raise

    async def get(self, artifact_id: str, *, task_id: str | None = None, lease: str | None = None) -> Artifact:
        """What is known of an artifact, by its id or as it is referred to; one that may not be seen is not found.

        With a validator's id and lease, also one of the output that it judges.
        """
        hot = await self._under(task_id, lease)
        shown = () if hot is None else await self._visibility.shown_to(hot)
        return await self._visibility.visible(artifact_rules.referred(artifact_id) or artifact_id, shown)

    async def list(
        self, *, task_id: str | None = None, limit: int = DEFAULT_LISTED, cursor: str | None = None
    ) -> list[Artifact]:
        """Artifacts, of all tasks or of one, the newest tasks' first. The cursor is the id of the last one seen."""
        fields.whole(limit, "limit", least=1, most=MOST_LISTED)
        if cursor is not None and not artifact_rules.is_id(cursor):
            raise InvalidInput("cursor", "must be an artifact's id")
        prefix = "" if task_id is None else artifact_rules.prefix((await self._ledger.load(TaskId(task_id))).id)
        found: list[Artifact] = []
        # Those that may not be seen are passed over, so a page of them is not the end.
        while len(found) < limit:
            page = await self._store.page(KIND, self._workspace, prefix=prefix, below=cursor, limit=PAGE)
            found += await self._visibility.visible_among(page)
            if len(page) < PAGE:
                break
            cursor = page[-1].id
        return found[:limit]

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
        first = fields.whole(start, "start", least=0, most=artifact.size)
        last = artifact.size if end is None else fields.whole(end, "end", least=first, most=artifact.size)
        if first == last:
            return
        key = artifact_rules.key_of(artifact.id)
        try:
            async for piece in self._visibility.objects().read(key, first, None if last == artifact.size else last):
                yield piece
        except ObjectMissing:
            raise StoreUnavailable(f"the content of {artifact.id} is not where it was put") from None

    async def remove(self, artifact_id: str, *, by: str = LOCAL) -> None:
        """Take away an artifact that was put in by itself. Those of a task go with it."""
        by = arguments.name("by", by)

        async def decide() -> tuple[ChangeSet, Artifact]:
            artifact = await self.get(artifact_id)
            if artifact.task_id is not None:
                raise InvalidInput("artifact_id", f"is of {artifact.task_id}, and goes when that is pruned")
            audited = self._ledger.audit("artifact.removed", by, {"artifact": artifact.id, "name": artifact.name})
            records = await self._orphan_objects.let_go_of(await self._visibility.records_of([artifact.id]))
            return ChangeSet(records=records, events=(audited,), at=self._ledger.now()), artifact

        await self._orphan_objects.clear((await self._ledger.commit(decide)).id)

    async def fitting(self, task_id: str, lease: str, step: str, result: Json) -> str:
        try:
            return encode(result, field="data", max_bytes=self._ledger.options.sizes.max_output_bytes)
        except InvalidInput:
            if self._ledger.options.artifacts is None:
                raise  # there is nowhere else to put it
        # What was wrong with it otherwise is refused here again.
        text = encode(result, field="data", max_bytes=self._ledger.options.max_artifact_bytes)
        made = await self._put_file(step_results.FILE, text, task_id, lease, media_type="application/json", step=step)
        return compact(step_results.in_artifact(made.reference))

    async def give(self, hot: Hot, step: str, answer: Json) -> dict[str, Json]:
        """Put what a task has waited for into an artifact of that task, as if a step of its own had the result.

        Answers what stands for it. Refused where the task has ended, or artifacts have no place.
        """
        text = encode(answer, field="answer", max_bytes=self._ledger.options.max_artifact_bytes)
        made = await self._put_for(hot, None, step_results.FILE, text, media_type="application/json", step=step)
        return step_results.in_artifact(made.reference)

    async def _under(self, task_id: str | None, lease: str | None) -> Hot | None:
        """The task whose lease is shown, for whoever holds it; None where none is."""
        if (task_id is None) != (lease is None):
            raise InvalidInput("lease", "goes with a task, and only with it")
        return None if task_id is None else await self._ledger.held(TaskId(task_id), Lease(lease or ""))

    async def _upload(self, artifact: Artifact, data: Content) -> WrittenObject:
        try:
            async with asyncio.timeout(LONGEST_UPLOAD / SECOND):
                written = await self._visibility.objects().write(
                    artifact_rules.key_of(artifact.id), pieces(data), most=self._ledger.options.max_artifact_bytes
                )
        except TimeoutError:
            raise InvalidInput("data", "must come within an hour") from None
        if artifact.sha256 not in ("", written.sha256):
            raise InvalidInput("digest", "is not the SHA-256 of what came")
        return written

    async def _loosen(self, artifact: Artifact) -> None:
        """Write down that there is going to be an object, and whose."""
        body: dict[str, Json] = {
            "task_id": artifact.task_id,
            "attempt": artifact.attempt,
            "at": artifact.created_at,
            "over": False,
        }

        async def decide() -> tuple[ChangeSet, None]:
            record = RecordChange(LOOSE, self._workspace, artifact.id, 0, body)
            return ChangeSet(records=(record,), at=self._ledger.now()), None

        await self._ledger.commit(decide)

    async def _commit_record(self, artifact: Artifact, lease: str | None) -> Artifact:
        async def decide() -> tuple[ChangeSet, Artifact]:
            now = self._ledger.now()
            loose = await self._store.record(LOOSE, self._workspace, artifact.id)
            if loose is None or loose.body["over"]:
                # Whoever cleared it away took it for that of an attempt that is over.
                raise NotFound("artifact", artifact.id) if artifact.task_id is None else LeaseLost(artifact.task_id)
            new = RecordChange(KIND, self._workspace, artifact.id, 0, artifact.body())
            if artifact.task_id is None:
                facts: dict[str, Json] = {"artifact": artifact.id, "name": artifact.name}
                audited = self._ledger.audit("artifact.put", artifact.created_by, facts)
                kept = RecordChange(LOOSE, self._workspace, artifact.id, loose.version, None)
                return ChangeSet(records=(new, kept), events=(audited,), at=now), artifact
            hot = await self._owner(artifact.task_id, lease)
            change = transitions.file(hot, artifact=artifact.id, name=artifact.name, now=now)
            if artifact.step is not None:
                if len(await self._visibility.steps_filed(hot)) >= MOST_OF_A_TASK:
                    raise InvalidInput("data", f"would be more than {MOST_OF_A_TASK} large results of one task")
                wanted = RecordChange(LOOSE, self._workspace, artifact.id, loose.version, None)
                return ChangeSet(changes=(change,), records=(new, wanted), at=now), artifact
            # Written again, so that of this and of clearing it away one is too late.
            still = RecordChange(LOOSE, self._workspace, artifact.id, loose.version, loose.body)
            replaced = await self._same_name(hot, artifact.name)
            return ChangeSet(changes=(change,), records=(new, still, *replaced), at=now), artifact

        return await self._ledger.commit(decide)

    async def _owner(self, task_id: TaskId, lease: str | None) -> Hot:
        """The task, for whoever holds it; without a lease, until it has ended."""
        if lease is not None:
            return await self._ledger.held(task_id, Lease(lease))
        hot = await self._ledger.load(task_id)
        if hot.status.is_final:
            raise LeaseLost(task_id)
        return hot

    async def _same_name(self, hot: Hot, name: str) -> tuple[RecordChange, ...]:
        """Take away what was put before under this name: by this attempt, or by one that waited before it."""
        filed = await self._visibility.filed(hot) if hot.traits & Trait.FILED else []
        if len(filed) >= MOST_OF_A_TASK:
            raise InvalidInput("name", f"would be more than {MOST_OF_A_TASK} artifacts of one task")
        return await self._orphan_objects.let_go_of(
            await self._visibility.records_of(each.id for each in filed if each.name == name)
        )


def _as_written(artifact: Artifact, written: WrittenObject) -> Artifact:
    return replace(artifact, size=written.size, sha256=written.sha256)
