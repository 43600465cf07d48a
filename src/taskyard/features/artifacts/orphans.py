"""Clearing away the objects that nobody may ever see: of attempts that are over, of tasks that were pruned."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.errors import TaskyardError
from taskyard.core.json_value import Json
from taskyard.core.task import Hot, TaskId, Trait
from taskyard.core.units import HOUR, Micros
from taskyard.features.artifacts import rules as artifact_rules
from taskyard.features.artifacts.rules import KIND, LOOSE, LOOSE_OBJECT, Fate
from taskyard.features.artifacts.visibility import MOST_OF_A_TASK, Visibility
from taskyard.features.attempts.conversation import LAST, last_id, last_task
from taskyard.ledger.ledger import Ledger

logger = logging.getLogger("taskyard")
GIVEN_UP = Micros(2 * HOUR)  # after which an upload that has left no artifact has certainly ended


class OrphanObjects:
    def __init__(self, ledger: Ledger, visibility: Visibility) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._visibility = visibility

    async def let_go_of(self, records: Sequence[Record]) -> tuple[RecordChange, ...]:
        """What takes artifacts away and leaves their objects to be cleared: for the change that ends their tasks."""
        changes: list[RecordChange] = []
        for record in records:
            loose = await self._store.record(LOOSE, record.workspace, record.id)
            version = 0 if loose is None else loose.version
            body: dict[str, Json] = {"task_id": None, "attempt": None, "at": self._ledger.now(), "over": True}
            changes += [
                RecordChange(KIND, record.workspace, record.id, record.version, None),
                RecordChange(LOOSE, record.workspace, record.id, version, body),
            ]
        return tuple(changes)

    async def files_let_go(self, hots: Sequence[Hot]) -> tuple[RecordChange, ...]:
        """The same for all artifacts of tasks that are to be pruned."""
        records: list[Record] = []
        for hot in hots:
            if hot.traits & Trait.FILED:
                prefix = artifact_rules.prefix(hot.id)
                records += await self._store.page(KIND, hot.workspace, prefix=prefix, limit=2 * MOST_OF_A_TASK)
        return await self.let_go_of(records)

    async def sessions_let_go(self, hots: Sequence[Hot]) -> dict[str, RecordChange]:
        """By task: what takes away that it is the last one of its subject and agent with a session."""
        ran = [hot.id for hot in hots if hot.attempt and hot.traits & Trait.RESUMES]
        ids: dict[str, list[str]] = {}
        for definition in (await self._store.definitions(ran)).values() if ran else ():
            ids.setdefault(definition.workspace, []).append(last_id(definition))
        found = [await self._store.named(LAST, workspace, names) for workspace, names in ids.items()]
        named = {str(last_task(record)): record for records in found for record in records.values()}
        return {task_id: RecordChange(*named[task_id][:4], None) for task_id in ran if task_id in named}

    async def clear(self, artifact_id: str) -> None:
        """Clear away what is known not to be wanted."""
        try:
            if (record := await self._store.record(LOOSE, self._workspace, artifact_id)) is not None:
                await self._clear_away(record)
        except TaskyardError as error:
            logger.info("%s is left to the sweep: %s", artifact_id, error)

    async def look_at_loose(self, record: Record) -> bool:
        """Decide on an object that is not known to be wanted, if it is time; whether it was cleared away."""
        match await self._fate_of_loose(record):
            case Fate.WAITING:
                return False
            case Fate.KEPT:
                await self._change_loose(record, None)
                return False
            case Fate.OVER:
                await self._clear_away(record)
                return True

    async def _fate_of_loose(self, record: Record) -> Fate:
        if record.body["over"]:
            return Fate.OVER
        if not await self._visibility.records_of([record.id]):
            # It may be on its way still.
            is_old = self._ledger.now() - LOOSE_OBJECT.of(record)["at"] > GIVEN_UP
            return Fate.OVER if is_old else Fate.WAITING
        task_id = TaskId(str(record.body["task_id"]))
        hot = (await self._store.load([task_id])).get(task_id)
        return await self._visibility.fate_of(hot, LOOSE_OBJECT.of(record)["attempt"])

    async def _clear_away(self, record: Record) -> None:
        """First what refers to the object, then the object, then what remembers that there was one."""
        marked = await self._change_loose(record, {**record.body, "over": True})
        if marked is not None:
            await self._visibility.objects().remove(artifact_rules.key_of(record.id))
            await self._change_loose(marked, None)

    async def _change_loose(self, record: Record, body: dict[str, Json] | None) -> Record | None:
        """Move the record on, with the artifact's own where that goes too; None where somebody else has."""

        async def decide() -> tuple[ChangeSet | None, Record | None]:
            loose = await self._store.record(LOOSE, record.workspace, record.id)
            if loose is None or loose.version != record.version:
                return None, None
            records = [RecordChange(LOOSE, record.workspace, record.id, record.version, body)]
            if body is not None:
                stored = await self._visibility.records_of([record.id])
                records += [RecordChange(KIND, each.workspace, each.id, each.version, None) for each in stored]
            moved = record if body is None else record._replace(version=record.version + 1, body=body)
            return ChangeSet(records=tuple(records), at=self._ledger.now()), moved

        return await self._ledger.commit(decide)
