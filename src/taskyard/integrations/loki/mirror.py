"""Keeps a folder of queue files and a yard alike: what scripts did in the files, and what the yard did.

For each task a record keeps what the files had when both sides were last alike. What differs from it in a file was
done by a script, and is done in the yard by the yard's rules. Where both sides moved, or the rules refuse, the yard is
right: its state is written into the files, and the report says so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.errors import InvalidInput, TaskyardError
from taskyard.core.json_value import Json
from taskyard.core.task import Status, TaskId
from taskyard.core.units import Micros, from_iso
from taskyard.features.tasks.views import Task
from taskyard.integrations.loki import documents
from taskyard.integrations.loki.past import Past
from taskyard.integrations.loki.queue_files import Document, QueuedTask, QueueFiles
from taskyard.yard import Yard

KIND = "loki"  # of the records that say what the files had when both sides were alike
PRESET = "loki"
PAGE = 200
IMPORTER = "loki-import"  # who did what a file does not say who did


class AgreedTask(NamedTuple):
    """A task when both sides were last alike."""

    task_id: TaskId
    version: int  # of the task
    queued: QueuedTask
    record_version: int


@dataclass(slots=True)
class MirrorRound:
    """What one look did."""

    imported: dict[str, str] = field(default_factory=dict[str, str])  # ids of the files -> ids of the yard
    followed: list[str] = field(default_factory=list[str])  # ids of tasks that scripts moved, and the yard with them
    conflicts: dict[str, str] = field(default_factory=dict[str, str])  # ids of the files -> what was not followed, why
    written: list[str] = field(default_factory=list[str])  # queue files

    @property
    def is_idle(self) -> bool:
        return not (self.imported or self.followed or self.conflicts or self.written)


class Mirror:
    def __init__(self, yard: Yard, files: QueueFiles) -> None:
        self._yard = yard
        self._files = files
        self._past = Past(yard.local)
        self._ledger = yard.local.ledger

    async def look(self, *, follows: bool, writes: bool) -> MirrorRound:
        """Bring both sides together: follow what scripts did, or write what the yard did, or both."""
        async with self._files.locked():
            tasks, agreed, mirrored = await self._files.read(), await self._agreed(), MirrorRound()
            if follows:
                await self._follow(tasks, agreed, mirrored)
                await self._settle(mirrored)
                agreed = await self._agreed()
            if writes:
                await self._write(tasks, agreed, mirrored)
            return mirrored

    # What was agreed on.

    async def _agreed(self) -> dict[str, AgreedTask]:
        found: dict[str, AgreedTask] = {}
        below: str | None = None
        while page := await self._yard.store.page(KIND, self._yard.workspace, below=below, limit=PAGE):
            for record in page:
                body: dict[str, Any] = record.body
                queued = QueuedTask(body["queue"], body["document"])
                found[record.id] = AgreedTask(TaskId(body["task_id"]), body["version"], queued, record.version)
            below = page[-1].id
        return found

    async def _agree(self, loki_id: str, task: Task, queued: QueuedTask, before: AgreedTask | None) -> None:
        body: dict[str, Json] = {
            "task_id": task.id,
            "version": task.version,
            "queue": queued.queue,
            "document": queued.document,
        }
        if before is not None and (task.id, task.version, queued) == before[:3]:
            return
        version = 0 if before is None else before.record_version
        change = RecordChange(KIND, self._yard.workspace, loki_id, version, body)

        async def decide() -> tuple[ChangeSet, None]:
            return ChangeSet(records=(change,), at=self._ledger.now()), None

        await self._ledger.commit(decide)

    async def _settle(self, mirrored: MirrorRound) -> None:
        """What came in later may depend on what came in before, which moves it without a change to the files."""
        agreed = await self._agreed() if mirrored.imported else {}
        for loki_id in mirrored.imported:
            task, before = await self._yard.get(agreed[loki_id].task_id), agreed[loki_id]
            if _says(task, before.queued):
                await self._agree(loki_id, task, before.queued, before)

    # From the files to the yard.

    async def _follow(self, tasks: dict[str, QueuedTask], agreed: dict[str, AgreedTask], mirrored: MirrorRound) -> None:
        for loki_id in documents.in_order(tasks):
            queued, before = tasks[loki_id], agreed.get(loki_id)
            if before is None:
                await self._try(mirrored, loki_id, self._bring_in(loki_id, queued, mirrored))
            elif queued != before.queued:
                await self._try(mirrored, loki_id, self._follow_one(queued, before, mirrored, loki_id))
        for loki_id, before in agreed.items():
            if loki_id not in tasks:
                await self._try(mirrored, loki_id, self._follow_removal(before, mirrored, loki_id))

    async def _try(self, mirrored: MirrorRound, loki_id: str, act: Awaitable[None]) -> None:
        try:
            await act
        except TaskyardError as error:
            if error.retryable:
                raise
            mirrored.conflicts[loki_id] = str(error)

    async def _bring_in(self, loki_id: str, queued: QueuedTask, mirrored: MirrorRound) -> None:
        task_id = documents.task_id_of(self._yard.workspace, loki_id)
        waits = queued.queue == "pending" and not documents.count(queued.document, "retries")
        fields = documents.enqueue_fields(queued.document, task_id, self._parents(queued) if waits else ())
        (made,) = await self._yard.enqueue_many([fields])
        if made.id != task_id:
            raise InvalidInput(loki_id, f"has the idempotency key of {made.id}")
        if made.created:
            await self._relive(TaskId(task_id), queued)
        mirrored.imported[loki_id] = task_id
        await self._agree(loki_id, await self._yard.get(task_id), queued, None)

    def _parents(self, queued: QueuedTask) -> list[str]:
        return [documents.task_id_of(self._yard.workspace, each) for each in documents.dependencies(queued.document)]

    async def _relive(self, task_id: TaskId, queued: QueuedTask) -> None:
        """Let the task be where its file has it."""
        document, queue = queued.document, queued.queue
        agent = documents.text(document, "claimedBy")
        await self._relive_failures(task_id, queued, agent or IMPORTER)
        if queue == "completed":
            await self._complete(task_id, document, agent or IMPORTER)
        elif queue == "cancelled":
            await self._yard.cancel(task_id, documents.text(document, "cancelReason") or "", cascade=False)
        elif queue != "dead-letter" and agent is not None:
            await self._past.claim(task_id, agent)

    async def _relive_failures(self, task_id: TaskId, queued: QueuedTask, agent: str) -> None:
        document, dies = queued.document, queued.queue == "dead-letter"
        failures = max(documents.count(document, "retries"), int(dies))
        error = documents.text(document, "lastError") or ""
        for number in range(1, failures + 1):
            await self._past.wake(task_id)
            await self._past.claim(task_id, agent)
            is_last = number == failures
            wake_at = _time(document.get("availableAt")) if is_last and queued.queue == "pending" else None
            await self._past.fail(task_id, error, dies=dies and is_last, wake_at=wake_at)
        if queued.queue != "pending" or documents.text(document, "claimedBy"):
            await self._past.wake(task_id)

    async def _complete(self, task_id: TaskId, document: Document, agent: str) -> None:
        hot = await self._ledger.load(task_id)
        held = hot if self._past.is_held(hot) else await self._past.claim(task_id, agent)
        output, report = documents.output_of(document)
        await self._yard.complete(task_id, self._past.lease_of(held), output, decision_report=report)

    async def _follow_one(self, queued: QueuedTask, before: AgreedTask, mirrored: MirrorRound, loki_id: str) -> None:
        task = await self._yard.get(before.task_id)
        if task.version != before.version and not _says(task, queued):
            mirrored.conflicts[loki_id] = f"the yard has moved the task to {_queue_of(task)} meanwhile"
            return
        if task.version == before.version:
            await self._act(task, queued, before.queued)
        after = await self._yard.get(before.task_id)
        if _says(after, queued):
            mirrored.followed.append(loki_id)
            await self._agree(loki_id, after, queued, before)
        else:
            mirrored.conflicts[loki_id] = f"by the yard's rules, the task is in {_queue_of(after)}"

    async def _act(self, task: Task, queued: QueuedTask, before: QueuedTask) -> None:
        """Do in the yard what the script did in the files."""
        document, agent = queued.document, documents.text(queued.document, "claimedBy")
        match before.queue, queued.queue:
            case _, "cancelled":
                await self._yard.cancel(task.id, documents.text(document, "cancelReason") or "")
            case "pending" | "in-progress", "completed":
                await self._complete(task.id, document, agent or IMPORTER)
            case "in-progress", "pending" if documents.count(document, "retries") > documents.count(
                before.document, "retries"
            ):
                await self._fail(task.id, document, agent)
            case "pending" | "in-progress", "dead-letter":
                await self._fail(task.id, document, agent)
            case "in-progress", "pending" if agent is None:
                await self._yard.release(task.id, await self._lease(task.id))
            case "pending", "pending" | "in-progress" if agent is not None and task.worker != agent:
                await self._past.claim(task.id, agent)
            case "pending", "pending" if documents.text(before.document, "claimedBy") and agent is None:
                await self._yard.release(task.id, await self._lease(task.id))
            case "pending", "pending":
                await self._change_priority(task, document, before.document)
            case "dead-letter", "pending":
                await self._yard.dead_letters.resolve(task.id, "retry", by="loki", note="moved back to pending.json")
            case _:
                _refuse_change(document, before.document)

    async def _lease(self, task_id: TaskId) -> str:
        return self._past.lease_of(await self._ledger.load(task_id))

    async def _fail(self, task_id: TaskId, document: Document, agent: str | None) -> None:
        hot = await self._ledger.load(task_id)
        held = hot if self._past.is_held(hot) else await self._past.claim(task_id, agent or IMPORTER)
        error = documents.text(document, "lastError") or ""
        await self._yard.fail(task_id, self._past.lease_of(held), "agent_error", error)

    async def _change_priority(self, task: Task, document: Document, before: Document) -> None:
        changed = {name for name in {*document, *before} if document.get(name) != before.get(name)}
        if changed - {"priority"}:
            _refuse_change(document, before)
        await self._yard.tasks.set_priority(task.id, cast(int, document["priority"]), by="loki")

    async def _follow_removal(self, before: AgreedTask, mirrored: MirrorRound, loki_id: str) -> None:
        if before.queued.queue in ("completed", "cancelled") or await self._is_over(before.task_id):
            return  # old tasks may be cleared away
        if before.queued.queue != "dead-letter":
            mirrored.conflicts[loki_id] = "the task was removed from its file, and only dead letters may be"
            return
        await self._yard.dead_letters.resolve(before.task_id, "cancel", by="loki", note="removed from dead-letter.json")
        mirrored.followed.append(loki_id)

    async def _is_over(self, task_id: TaskId) -> bool:
        """Whether the task is completed or cancelled, or was pruned."""
        hot = (await self._yard.store.load([task_id])).get(task_id)
        return hot is None or hot.status in (Status.COMPLETED, Status.CANCELLED)

    # From the yard to the files.

    async def _write(self, tasks: dict[str, QueuedTask], agreed: dict[str, AgreedTask], mirrored: MirrorRound) -> None:
        """Write every task of the yard, and keep what the files have besides."""
        loki_ids = {each.task_id: loki_id for loki_id, each in agreed.items()}
        found: dict[str, list[Document]] = {}
        for loki_id, queued in tasks.items():
            if loki_id not in agreed:
                found.setdefault(queued.queue, []).append(queued.document)
        kept = await self._all_tasks()
        await self._forget(set(agreed) - {loki_ids.get(task.id, task.id) for task in kept}, agreed)
        for task in kept:
            loki_id = loki_ids.get(task.id, task.id)
            before = agreed.get(loki_id)
            if loki_id in tasks and before is None:
                continue  # the files had it before, and it was not followed
            if before is not None and before.version == task.version:
                queued = before.queued
            else:
                queued = _queued(await self._yard.get(task.id), before, loki_ids)
            found.setdefault(queued.queue, []).append(queued.document)
            await self._agree(loki_id, task, queued, before)
        places = {loki_id: place for place, loki_id in enumerate(tasks)}
        for listed in found.values():  # a task that the files had keeps its place among them
            listed.sort(key=lambda document: places.get(str(document["id"]), len(places)))
        mirrored.written = self._files.write(found)

    async def _forget(self, gone: Collection[str], agreed: dict[str, AgreedTask]) -> None:
        """Forget what was agreed on about tasks that the yard has pruned. Their files lose them too."""
        for loki_id in sorted(gone):
            change = RecordChange(KIND, self._yard.workspace, loki_id, agreed[loki_id].record_version, None)
            await self._ledger.commit_set(ChangeSet(records=(change,), at=self._ledger.now()))

    async def _all_tasks(self) -> list[Task]:
        """In the order in which they were put in."""
        found: list[Task] = []
        while page := await self._yard.find(limit=PAGE, cursor=found[-1].seq if found else 0):
            found += page
        return found[::-1]


def _queued(task: Task, before: AgreedTask | None, loki_ids: dict[TaskId, str]) -> QueuedTask:
    loki_id = task.id if before is None else loki_ids[task.id]
    extra = {} if before is None else documents.extra_of(before.queued.document)

    def loki_id_of(task_id: str) -> str:
        return loki_ids.get(TaskId(task_id), task_id)

    return QueuedTask(_queue_of(task), documents.document_of(task.to_dict(), loki_id, extra, loki_id_of))


def _queue_of(task: Task) -> str:
    return str(task.to_dict()["state"])


def _says(task: Task, queued: QueuedTask) -> bool:
    """Whether the yard has the task where the file has it, with the same holder."""
    held_by = task.worker if task.status in (Status.CLAIMED, Status.RUNNING) else None
    claimed_by = documents.text(queued.document, "claimedBy")
    if held_by is not None:
        return queued.queue in ("pending", "in-progress") and claimed_by == held_by
    return _queue_of(task) == queued.queue and (queued.queue != "pending" or claimed_by is None)


def _refuse_change(document: Document, before: Document) -> None:
    changed = sorted(name for name in {*document, *before} if document.get(name) != before.get(name))
    raise InvalidInput(", ".join(changed) or "queue", "cannot be changed in a file")


def _time(value: Json) -> Micros | None:
    """A time as scripts write it: ISO, or seconds since 1970."""
    if isinstance(value, str):
        return from_iso(value)
    return Micros(int(value * 1_000_000)) if isinstance(value, int | float) and not isinstance(value, bool) else None
