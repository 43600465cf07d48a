"""Telling people: who is told of what, and the notifications on their way.

An event leaves a row in the outbox. From it each notifier that wants it gets a notification of its own, in a change
that can land only once; then the row is settled. A notification is written ahead of each try, so a process that dies on
the way leaves it to be tried again, and only one process tries at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from secrets import token_hex
from typing import cast

from taskyard.core.changes import ChangeSet, Outbox, Record, RecordChange
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.json_value import Json
from taskyard.core.notice import LONGEST_ERROR, UNDELIVERED, Notice
from taskyard.core.task import DagId, TaskId
from taskyard.definition import arguments, fields
from taskyard.features.notifications import rules
from taskyard.features.notifications.rules import Notification, Notifier, Subject, notification_of, notifier_of
from taskyard.features.notifications.views import (
    NotificationView,
    NotifierMade,
    NotifierView,
    notification_view,
    notifier_view,
)
from taskyard.ledger import signing
from taskyard.ledger.options import LOCAL
from taskyard.outbound import addresses
from taskyard.outbound.channel_posts import checked_target, post
from taskyard.outbound.safe_connect import Undelivered
from taskyard.service.engine import Engine
from taskyard.service.reading import DEFAULT_LISTED, MOST_LISTED

ROWS = 200  # of the outbox, that are looked at in one go
LONGEST_NAME = 100  # of a notifier: it is a part of longer ones
AT_ONCE = 20  # notifications that are sent beside each other


class Notifying(Engine):
    # Who is told of what

    async def set_notifier(
        self,
        name: str,
        target: str,
        *,
        events: Iterable[str],
        types: Iterable[str] = (),
        queues: Iterable[str] = (),
        tags: Iterable[str] = (),
        by: str = LOCAL,
    ) -> NotifierMade:
        """Tell a target of these events, of all tasks or of those of some types, queues or tags.

        `http://` and `https://` are webhooks; what they are signed with is shown this once. Other
        targets are those of a service in the guide: slack://, mailtos://, ntfys://, ….
        Under a name that is taken, the notifier is replaced, and signs with a new secret.
        """
        notifier = Notifier(
            name=fields.name(name, "name", most=LONGEST_NAME),
            events=rules.events_of(arguments.names("events", list(events))),
            types=arguments.names("types", list(types)),
            queues=arguments.names("queues", list(queues)),
            tags=arguments.names("tags", list(tags)),
            target=checked_target(target, self._permitted()),
            nonce=token_hex(16),
            created_at=self.now(),
            created_by=arguments.name("by", by),
        )

        async def decide() -> tuple[ChangeSet, None]:
            record = await self.store.record(rules.KIND, self.workspace, notifier.name)
            version = 0 if record is None else record.version
            change = RecordChange(rules.KIND, self.workspace, notifier.name, version, notifier.body())
            facts: dict[str, Json] = {"notifier": notifier.name, "target": notifier.shown}
            return ChangeSet(records=(change,), events=(self._told_by("notifier.set", by, facts),), at=self.now()), None

        await self._land(decide)
        return NotifierMade(notifier_view(notifier), self._signing_secret(notifier) if notifier.is_webhook else None)

    async def notifiers(self) -> list[NotifierView]:
        """Who is told of what, by name; their targets without what may be a secret."""
        return sorted((notifier_view(notifier) for notifier in await self._notifiers()), key=lambda each: each.name)

    async def _notifiers(self) -> list[Notifier]:
        return [notifier_of(record) for record in await self.store.records(rules.KIND, self.workspace)]

    async def remove_notifier(self, name: str, *, by: str = LOCAL) -> None:
        """Tell this target no more. What is on its way to it goes too."""

        async def decide() -> tuple[ChangeSet, None]:
            record = await self.store.record(rules.KIND, self.workspace, arguments.name("name", name))
            if record is None:
                raise NotFound("notifier", name)
            gone = RecordChange(rules.KIND, self.workspace, name, record.version, None)
            told = self._told_by("notifier.removed", by, {"notifier": name})
            return ChangeSet(records=(gone,), events=(told,), at=self.now()), None

        await self._land(decide)

    async def try_notifier(self, name: str, *, by: str = LOCAL) -> None:
        """Send a test at once. `InvalidInput` says why it did not arrive."""
        record = await self.store.record(rules.KIND, self.workspace, arguments.name("name", name))
        if record is None:
            raise NotFound("notifier", name)
        title, text = rules.text_of(Notice.TEST, {}, about="")
        test = Notification(
            id=f"test-{token_hex(8)}",
            notifier=name,
            notice=Notice.TEST,
            title=title,
            text=text,
            task_id=None,
            dag_id=None,
            facts={"by": by},
            at=self.now(),
        )
        try:
            await self._post(test, notifier_of(record))
        except Undelivered as failed:
            raise InvalidInput("target", f"was not reached: {failed.why}") from None

    # What is on its way

    async def notifications(self, *, parked: bool = False, limit: int = DEFAULT_LISTED) -> list[NotificationView]:
        """Those that are still to be delivered; or those that were given up, and wait for a person. Newest first."""
        fields.whole(limit, "limit", least=1, most=MOST_LISTED)
        kind = rules.PARKED if parked else UNDELIVERED
        found = await self.store.page(kind, self.workspace, limit=limit)
        return [notification_view(notification_of(each)) for each in found]

    async def resend_notification(self, notification_id: str, *, by: str = LOCAL) -> None:
        """Try one again that was given up."""
        await self._unpark(notification_id, "notification.resent", by, again=True)

    async def dismiss_notification(self, notification_id: str, *, by: str = LOCAL) -> None:
        """Forget one that was given up."""
        await self._unpark(notification_id, "notification.dismissed", by, again=False)

    async def _unpark(self, notification_id: str, event: str, by: str, *, again: bool) -> None:
        async def decide() -> tuple[ChangeSet, None]:
            name = arguments.name("notification_id", notification_id)
            record = await self.store.record(rules.PARKED, self.workspace, name)
            if record is None:
                raise NotFound("parked notification", notification_id)
            changes = [RecordChange(rules.PARKED, self.workspace, record.id, record.version, None)]
            if again:
                fresh = replace(notification_of(record), tries=0, next_at=self.now(), error=None)
                changes.append(RecordChange(UNDELIVERED, self.workspace, record.id, 0, fresh.body()))
            told = self._told_by(event, by, {"notification": record.id})
            return ChangeSet(records=tuple(changes), events=(told,), at=self.now()), None

        await self._land(decide)

    # From the outbox

    async def _address(self, rows: Sequence[tuple[int, Outbox]]) -> None:
        """Make a notification of each row for each notifier that wants it, and settle the rows."""
        notifiers = await self._notifiers()
        for number, row in rows:
            if made := await self._notifications_of(number, row, notifiers):
                records = tuple(RecordChange(UNDELIVERED, self.workspace, each.id, 0, each.body()) for each in made)
                # A conflict: whoever died between this and settling has made them.
                await self._committer.commit(ChangeSet(records=records, at=self.now()))
        await self.store.settle([number for number, _ in rows])

    async def _notifications_of(self, number: int, row: Outbox, notifiers: Sequence[Notifier]) -> list[Notification]:
        notice, facts = rules.notice_of(row)
        if not any(notice in notifier.events for notifier in notifiers):
            return []
        subject, about, dag_id = await self._subject(row.task_id, facts)
        title, text = rules.text_of(notice, facts, about=about)
        return [
            Notification(
                id=f"{number:020}-{notifier.name}",
                notifier=notifier.name,
                notice=notice,
                title=title,
                text=text,
                task_id=row.task_id,
                dag_id=dag_id,
                facts=facts,
                at=row.at,
                next_at=self.now(),
            )
            for notifier in notifiers
            if notifier.wants(notice, subject)
        ]

    async def _subject(self, task_id: TaskId | None, facts: dict[str, Json]) -> tuple[Subject, str, DagId | None]:
        """What a notice is about, in data and in words."""
        if task_id is not None:
            definition = (await self.store.definitions([task_id])).get(task_id)
            if definition is not None:
                named = f" “{definition.title}”" if definition.title else ""
                subject = Subject(definition.type, definition.queue, tuple(definition.tags))
                return subject, f"{definition.type}{named} ({task_id})", definition.dag_id
        if (given := facts.get("dag_id")) is not None:
            record = await self.store.record("dag", self.workspace, str(given))
            tags = () if record is None else tuple(str(tag) for tag in cast(list[Json], record.body["tags"]))
            named = f"“{facts['title']}” " if facts.get("title") else ""
            return Subject(tags=tags), f"{named}{given}", DagId(str(given))
        type_ = cast(str | None, facts.get("type"))
        return Subject(type=type_), type_ or str(facts.get("name", "")), None

    # To their targets

    async def _send_due(self, records: Sequence[Record]) -> int:
        """Try what is due, some of it beside each other; how many were delivered."""
        return sum(await asyncio.gather(*(self._send(record) for record in records)))

    async def _send(self, record: Record) -> bool:
        found = await self.store.record(rules.KIND, self.workspace, str(record.body["notifier"]))
        if found is None:
            await self._move(record, None)  # nobody wants it any more
            return False
        if rules.is_spent(notification_of(record)):
            await self._park(record, notification_of(record))  # the last try was made, and nobody lived to say how
            return False
        trying = rules.tried(notification_of(record), self.now())
        taken = await self._move(record, trying)
        if taken is None:
            return False  # another process is at it
        try:
            await self._post(trying, notifier_of(found))
        except Undelivered as failed:
            await self._not_delivered(taken, replace(trying, error=failed.why[:LONGEST_ERROR]))
            return False
        await self._move(taken, None, "notification.delivered")
        return True

    async def _not_delivered(self, record: Record, notification: Notification) -> None:
        if rules.is_spent(notification):
            await self._park(record, notification)
        else:
            await self._move(record, notification)

    async def _park(self, record: Record, notification: Notification) -> None:
        parked = RecordChange(rules.PARKED, self.workspace, record.id, 0, notification.body())
        await self._move(record, None, "notification.parked", parked)

    async def _move(
        self, record: Record, after: Notification | None, event: str | None = None, *more: RecordChange
    ) -> Record | None:
        """Store how a notification stands; None where another process has moved it."""
        body = None if after is None else after.body()
        facts = {name: record.body[name] for name in ("notifier", "notice", "tries")}
        told = () if event is None else (self._told_by(event, "yard", {"notification": record.id, **facts}),)
        change = RecordChange(UNDELIVERED, self.workspace, record.id, record.version, body)

        async def decide() -> tuple[ChangeSet | None, Record | None]:
            stored = await self.store.record(UNDELIVERED, self.workspace, record.id)
            if stored is None or stored.version != record.version:
                return None, None
            moved = record if body is None else record._replace(version=record.version + 1, body=body)
            return ChangeSet(records=(change, *more), events=told, at=self.now()), moved

        return await self._land(decide)

    async def _post(self, notification: Notification, notifier: Notifier) -> None:
        secret = self._signing_secret(notifier)
        try:
            await post(
                notification,
                notifier.target,
                secret,
                workspace=self.workspace,
                permitted=self._permitted(),
                now=self.now(),
            )
        except InvalidInput as refused:  # what was good where it was set need not be here: libraries differ
            raise Undelivered(str(refused.facts["rule"])) from None

    def _signing_secret(self, notifier: Notifier) -> str:
        return signing.hook_secret(self.store.secret, self.workspace, f"notifier:{notifier.name}", notifier.nonce)

    def _permitted(self) -> addresses.Allowed:
        return addresses.allowed(self.options.allowed_targets)
