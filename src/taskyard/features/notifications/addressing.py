"""From the outbox to notifications: who gets each notice, at once, later, or with others of the same cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from taskyard.core.changes import ChangeSet, Outbox, Record, RecordChange
from taskyard.core.json_value import Json
from taskyard.core.notice import UNDELIVERED, Notice
from taskyard.core.record_kinds import DAG
from taskyard.core.task import DagId, TaskId
from taskyard.core.units import Micros
from taskyard.features.notifications import groups, rules
from taskyard.features.notifications.groups import WordedNotice
from taskyard.features.notifications.rules import ANSWERED, CALLBACK, Notification, Notifier, Subject, notifier_of
from taskyard.ledger.ledger import Ledger


class Addressing:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def notifiers(self) -> list[Notifier]:
        return [notifier_of(record) for record in await self._store.records(rules.KIND, self._workspace)]

    async def address(self, rows: Sequence[tuple[int, Outbox]]) -> None:
        """Make a notification of each row for each notifier that wants it, or add it to a group; settle the rows."""
        notifiers = await self.notifiers()
        gathered: dict[str, tuple[Notifier, list[tuple[int, Outbox, WordedNotice]]]] = {}
        for number, row in rows:
            worded = await self._worded(row, notifiers)
            if worded is None:
                continue
            made = [self._callback(number, row, worded)] if worded.notice is Notice.TASK_ENDED else []
            for notifier in notifiers:
                if not notifier.wants(worded.notice, worded.subject):
                    continue
                if notifier.window is not None and worded.notice in groups.GROUPED:
                    mine = gathered.setdefault(groups.group_id(notifier, worded), (notifier, []))
                    mine[1].append((number, row, worded))
                else:
                    made.append(self._direct(number, row, worded, notifier))
            # A conflict: whoever died between this and settling has made them.
            await self._store_all([*made, *self._escalations(made, notifiers)])
        for id_, (notifier, mine) in gathered.items():
            await self._join(id_, notifier, mine)
        await self._store.settle([number for number, _ in rows])

    async def close(self, record: Record) -> bool:
        """Tell of a group whose window is over; False where another process has."""
        notifiers = await self.notifiers()
        group = groups.group_of(record)
        notifier = next((each for each in notifiers if each.name == group.notifier), None)
        gone = RecordChange(groups.KIND, self._workspace, record.id, record.version, None)
        made: list[Notification] = []
        if notifier is not None:  # or nobody wants it any more
            now = self._ledger.now()
            due = notifier.due_at(group.notice, self._first_due(group.notice, notifier, now))
            made = [replace(groups.notification_of_group(group, now), next_at=due)]
        worded = [*made, *self._escalations(made, notifiers)]

        async def decide() -> tuple[ChangeSet | None, bool]:
            stored = await self._store.record(groups.KIND, self._workspace, record.id)
            if stored is None or stored.version != record.version:
                return None, False
            return ChangeSet(records=(gone, *map(self._stored, worded)), at=self._ledger.now()), True

        return await self._ledger.commit(decide)

    async def _join(self, id_: str, notifier: Notifier, rows: Sequence[tuple[int, Outbox, WordedNotice]]) -> None:
        _, first, worded = rows[0]

        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self._store.record(groups.KIND, self._workspace, id_)
            now = self._ledger.now()
            group = groups.opened(notifier, worded, first, now) if record is None else groups.group_of(record)
            whole = groups.joined(group, rows, now)
            if whole is None:
                return None, None
            version = 0 if record is None else record.version
            change = RecordChange(groups.KIND, self._workspace, id_, version, whole.body())
            return ChangeSet(records=(change,), at=now), None

        await self._ledger.commit(decide)

    async def _store_all(self, made: Sequence[Notification]) -> None:
        if made:
            await self._ledger.commit_set(ChangeSet(records=tuple(map(self._stored, made)), at=self._ledger.now()))

    def _stored(self, made: Notification) -> RecordChange:
        return RecordChange(UNDELIVERED, self._workspace, made.id, 0, made.body())

    def _direct(self, number: int, row: Outbox, worded: WordedNotice, notifier: Notifier) -> Notification:
        # Not before its time, and not while its notifier is left alone.
        due = self._first_due(worded.notice, notifier, row.at)
        made = self._notification(number, row, worded, notifier.name)
        is_late = notifier.after > 0 and worded.notice in ANSWERED
        return replace(made, next_at=notifier.due_at(worded.notice, due), unanswered=is_late)

    def _callback(self, number: int, row: Outbox, worded: WordedNotice) -> Notification:
        return self._notification(number, row, worded, CALLBACK)

    def _notification(self, number: int, row: Outbox, worded: WordedNotice, notifier: str) -> Notification:
        return Notification(
            id=f"{number:020}-{notifier}",
            notifier=notifier,
            notice=worded.notice,
            title=worded.title,
            text=worded.text,
            task_id=row.task_id,
            dag_id=worded.dag_id,
            facts=worded.facts,
            at=row.at,
            next_at=self._ledger.now(),
        )

    def _first_due(self, notice: Notice, notifier: Notifier, at: Micros) -> Micros:
        """When a notification is first tried: at once, or when nobody has answered for as long as was said."""
        now = self._ledger.now()
        return max(now, Micros(at + notifier.after)) if notice in ANSWERED else now

    def _escalations(self, made: Sequence[Notification], notifiers: Sequence[Notifier]) -> list[Notification]:
        """The same for those who come next, for when nobody has answered. Who is sent anyway is not sent twice."""
        by_name = {each.name: each for each in notifiers}
        worded = {each.notifier for each in made}
        found: list[Notification] = []
        for notification in made:
            for notifier, after in rules.chain(notification, by_name):
                if notifier.name not in worded:
                    worded.add(notifier.name)
                    found.append(rules.escalated(notification, notifier, after))
        return found

    async def _worded(self, row: Outbox, notifiers: Sequence[Notifier]) -> WordedNotice | None:
        """The notice in words; None where nobody wants one of its kind."""
        notice, facts = rules.notice_of(row)
        if notice is not Notice.TASK_ENDED and not any(notice in notifier.events for notifier in notifiers):
            return None
        subject, about, dag_id = await self._subject(row.task_id, facts)
        title, text = rules.text_of(notice, facts, about=about)
        return WordedNotice(notice, title, text, about, subject, dag_id, facts)

    async def _subject(self, task_id: TaskId | None, facts: dict[str, Json]) -> tuple[Subject, str, DagId | None]:
        """What a notice is about, in data and in words."""
        if task_id is not None:
            definition = (await self._store.definitions([task_id])).get(task_id)
            if definition is not None:
                named = f" “{definition.title}”" if definition.title else ""
                subject = Subject(definition.type, definition.queue, tuple(definition.tags))
                return subject, f"{definition.type}{named} ({task_id})", definition.dag_id
        if (given := facts.get("dag_id")) is not None:
            record = await self._store.record("dag", self._workspace, str(given))
            tags = () if record is None else tuple(DAG.of(record)["tags"])
            named = f"“{facts['title']}” " if facts.get("title") else ""
            return Subject(tags=tags), f"{named}{given}", DagId(str(given))
        type_ = None if facts.get("type") is None else str(facts["type"])
        return Subject(type=type_), type_ or str(facts.get("name", "")), None
