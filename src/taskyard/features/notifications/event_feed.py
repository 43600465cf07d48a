"""Notices that no change set of a feature adds: of claims that met an empty budget, and of graphs that ended well.

They are made from the events, which are stored with the changes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from taskyard.core.changes import ChangeSet, Event, Outbox, RecordChange
from taskyard.core.identifiers import DAY_BLOCKER, BlockerKind, blocker_name, dag_ceiling
from taskyard.core.json_value import Json
from taskyard.core.notice import Notice, notice_row
from taskyard.core.units import Micros, utc_date
from taskyard.features.notifications import rules
from taskyard.ledger.ledger import Ledger

_WORTH_TELLING = frozenset({"task.parked", "dag.completed"})


class NotificationFeed:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def follow(self, events: Sequence[Event]) -> None:
        """Tell of these events of this workspace. Some may come twice, after a crash."""
        worth = [event for event in events if event.event in _WORTH_TELLING]
        for event in {_blocker(event): event for event in worth if event.task_id is not None}.values():
            if blocker_name(_blocker(event)).kind is BlockerKind.BUDGET:
                await self._tell_of_budget(_blocker(event), event.at)
        ended = [event for event in worth if event.task_id is None]
        if ended and await self._is_wanted(Notice.DAG_COMPLETED):
            await self._ledger.commit_set(
                ChangeSet(outbox=tuple(_notice_of_end(event) for event in ended), at=self._ledger.now())
            )

    async def _is_wanted(self, notice: Notice) -> bool:
        found = await self._store.records(rules.KIND, self._workspace)
        return any(notice.value in rules.NOTIFIER.of(record)["events"] for record in found)

    async def _tell_of_budget(self, blocker: str, at: Micros) -> None:
        """Once for each day, and for each ceiling that a graph was given."""
        dag_id = blocker_name(blocker).dag_id
        kind, record_id = ("told", DAY_BLOCKER) if dag_id is None else ("dag", dag_id)
        mark = utc_date(at) if dag_id is None else await self._ceiling(dag_id)

        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self._store.record(kind, self._workspace, record_id)
            body = {} if record is None else record.body
            if body.get("budget_told") == mark or (record is None and dag_id is not None):
                return None, None
            version = 0 if record is None else record.version
            noted = RecordChange(kind, self._workspace, record_id, version, {**body, "budget_told": mark})
            facts: dict[str, Json] = {"name": f"the day {mark}"} if dag_id is None else {"dag_id": dag_id}
            facts |= {} if dag_id is None else {"title": body["title"]}
            row = notice_row(Notice.BUDGET_GONE, self._workspace, facts, at=self._ledger.now())
            audited = self._ledger.audit("budget.gone", "yard", facts, dag_id)
            return ChangeSet(records=(noted,), events=(audited,), outbox=(row,), at=self._ledger.now()), None

        await self._ledger.commit(decide)

    async def _ceiling(self, dag_id: str) -> int | None:
        name = dag_ceiling(dag_id)
        limit = (await self._store.limits(self._workspace, [name])).get(name)
        return None if limit is None else limit.ceiling


def _blocker(event: Event) -> str:
    return str(json.loads(event.data or "{}").get("blocker", ""))


def _notice_of_end(event: Event) -> Outbox:
    title = json.loads(event.data or "{}").get("title", "")
    return notice_row(Notice.DAG_COMPLETED, event.workspace, {"dag_id": event.dag_id, "title": title}, at=event.at)
