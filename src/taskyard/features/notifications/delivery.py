"""Notifications on their way: made from the outbox, tried until they arrive, parked where they do not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from taskyard.core.changes import ChangeSet, Outbox, Record, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact
from taskyard.core.notice import LONGEST_ERROR, UNDELIVERED, Notice
from taskyard.core.record_kinds import DAG
from taskyard.core.task import DagId, Status, TaskId
from taskyard.core.units import Micros
from taskyard.features.a2a.asked_tasks import AskedTasks
from taskyard.features.a2a.rules import Push, asked_task
from taskyard.features.approvals.answer_links import AnswerLinks
from taskyard.features.notifications import rules
from taskyard.features.notifications.rules import Notification, Notifier, Subject, notification_of, notifier_of
from taskyard.ledger import signing
from taskyard.ledger.ledger import Ledger
from taskyard.outbound import addresses
from taskyard.outbound.channel_posts import post, post_request
from taskyard.outbound.safe_connect import Undelivered


class Delivery:
    def __init__(self, ledger: Ledger, answer_links: AnswerLinks, asked_tasks: AskedTasks) -> None:
        self._asked_tasks = asked_tasks
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._answer_links = answer_links

    async def address(self, rows: Sequence[tuple[int, Outbox]]) -> None:
        """Make a notification of each row for each notifier that wants it, and settle the rows."""
        notifiers = await self.notifiers()
        for number, row in rows:
            if made := await self._notifications_of(number, row, notifiers):
                records = tuple(RecordChange(UNDELIVERED, self._workspace, each.id, 0, each.body()) for each in made)
                # A conflict: whoever died between this and settling has made them.
                await self._ledger.commit_set(ChangeSet(records=records, at=self._ledger.now()))
        await self._store.settle([number for number, _ in rows])

    async def _notifications_of(self, number: int, row: Outbox, notifiers: Sequence[Notifier]) -> list[Notification]:
        notice, facts = rules.notice_of(row)
        if notice is Notice.TASK_ENDED:
            return [await self._callback_of(number, row, facts)]
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
                next_at=_first_due(notice, notifier, row.at, self._ledger.now()),
            )
            for notifier in notifiers
            if notifier.wants(notice, subject)
        ]

    async def _callback_of(self, number: int, row: Outbox, facts: dict[str, Json]) -> Notification:
        _, about, dag_id = await self._subject(row.task_id, facts)
        title, text = rules.text_of(Notice.TASK_ENDED, facts, about=about)
        return Notification(
            id=f"{number:020}-{rules.CALLBACK}",
            notifier=rules.CALLBACK,
            notice=Notice.TASK_ENDED,
            title=title,
            text=text,
            task_id=row.task_id,
            dag_id=dag_id,
            facts=facts,
            at=row.at,
            next_at=self._ledger.now(),
        )

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

    async def send_due(self, records: Sequence[Record]) -> int:
        """Try what is due, some of it beside each other; how many were delivered."""
        return sum(await asyncio.gather(*(self._send(record) for record in records)))

    async def _send(self, record: Record) -> bool:
        notifier = await self._receiver(notification_of(record))
        if notifier is None:
            await self._move_notification(record, None)  # nobody wants it any more
            return False
        if not await self._is_still_wanted(notification_of(record)):
            await self._move_notification(record, None)  # somebody has answered meanwhile
            return False
        if rules.is_spent(notification_of(record)):
            await self._park(record, notification_of(record))  # the last try was made, and nobody lived to say how
            return False
        trying = rules.tried(notification_of(record), self._ledger.now())
        taken = await self._move_notification(record, trying)
        if taken is None:
            return False  # another process is at it
        try:
            if trying.notice is Notice.TASK_UPDATE:
                await self._push(trying)
            else:
                await self.post(await self._linked(trying, notifier), notifier)
        except Undelivered as failed:
            await self._not_delivered(taken, replace(trying, error=failed.why[:LONGEST_ERROR]))
            return False
        await self._move_notification(taken, self._reminder(trying, notifier), "notification.delivered")
        return True

    async def _receiver(self, notification: Notification) -> Notifier | None:
        """Where it goes: to its notifier, or to the callback of its task; None where that is gone."""
        if notification.notice is Notice.TASK_UPDATE:
            push = await self._push_of(notification)
            return None if push is None else _receiver_of(push, notification)
        if notification.notice is not Notice.TASK_ENDED:
            found = await self._store.record(rules.KIND, self._workspace, notification.notifier)
            return None if found is None else notifier_of(found)
        task_id = notification.task_id
        definition = None if task_id is None else (await self._store.definitions([task_id])).get(task_id)
        if definition is None or definition.callback is None:
            return None
        return Notifier(
            name=rules.CALLBACK,
            events=(Notice.TASK_ENDED,),
            types=(),
            queues=(),
            tags=(),
            target=definition.callback,
            nonce="",
            created_at=definition.created_at,
            created_by=definition.created_by,
        )

    async def _push_of(self, notification: Notification) -> Push | None:
        """Where an agent that asked for the task over A2A wants to hear of it; None where it does no more."""
        found = await self._asked_tasks.record(str(notification.task_id))
        pushes = () if found is None else asked_task(found).pushes
        return next((each for each in pushes if each.id == notification.notifier), None)

    async def _push(self, notification: Notification) -> None:
        push = await self._push_of(notification)
        if push is None:
            return
        body = compact(dict(notification.facts)).encode()
        try:
            await post_request(push.url, push.headers(), body, permitted=self.permitted())
        except InvalidInput as refused:
            raise Undelivered(str(refused.facts["rule"])) from None

    def _reminder(self, sent: Notification, notifier: Notifier) -> Notification | None:
        """The same again, later, where it waits for somebody; whether it still does is asked then."""
        if notifier.every is None or sent.notice is not Notice.APPROVAL_WANTED or "wait" not in sent.facts:
            return None
        return rules.reminded(sent, notifier.every, self._ledger.now())

    async def _is_still_wanted(self, notification: Notification) -> bool:
        """Whether the wait goes on that it tells of."""
        task_id, wait = notification.task_id, notification.facts.get("wait")
        if notification.notice is not Notice.APPROVAL_WANTED or wait is None or task_id is None:
            return True
        hot = (await self._store.load([task_id])).get(task_id)
        return hot is not None and (hot.status, hot.wait) == (Status.PENDING, wait)

    async def _linked(self, notification: Notification, notifier: Notifier) -> Notification:
        """With a link to the question, where this recipient may answer by one."""
        task_id, wait = notification.task_id, notification.facts.get("wait")
        if notification.notice is not Notice.APPROVAL_WANTED or not isinstance(wait, int) or task_id is None:
            return notification
        link = await self._answer_links.url(task_id, wait, notifier.name)
        return notification if link is None else rules.with_link(notification, link)

    async def _not_delivered(self, record: Record, notification: Notification) -> None:
        if rules.is_spent(notification):
            await self._park(record, notification)
        else:
            await self._move_notification(record, notification)

    async def _park(self, record: Record, notification: Notification) -> None:
        parked = RecordChange(rules.PARKED, self._workspace, record.id, 0, notification.body())
        await self._move_notification(record, None, "notification.parked", parked)

    async def _move_notification(
        self, record: Record, after: Notification | None, event: str | None = None, *more: RecordChange
    ) -> Record | None:
        """Store how a notification stands; None where another process has moved it."""
        body = None if after is None else after.body()
        facts = {name: record.body[name] for name in ("notifier", "notice", "tries")}
        events = () if event is None else (self._ledger.audit(event, "yard", {"notification": record.id, **facts}),)
        change = RecordChange(UNDELIVERED, self._workspace, record.id, record.version, body)

        async def decide() -> tuple[ChangeSet | None, Record | None]:
            stored = await self._store.record(UNDELIVERED, self._workspace, record.id)
            if stored is None or stored.version != record.version:
                return None, None
            moved = record if body is None else record._replace(version=record.version + 1, body=body)
            return ChangeSet(records=(change, *more), events=events, at=self._ledger.now()), moved

        return await self._ledger.commit(decide)

    async def post(self, notification: Notification, notifier: Notifier) -> None:
        is_callback = notification.notice is Notice.TASK_ENDED
        secret = self.callback_secret() if is_callback else self.signing_secret(notifier)
        try:
            await post(
                notification,
                notifier.target,
                secret,
                workspace=self._workspace,
                permitted=self.permitted(),
                now=self._ledger.now(),
            )
        except InvalidInput as refused:  # what was good where it was set need not be here: libraries differ
            raise Undelivered(str(refused.facts["rule"])) from None

    def signing_secret(self, notifier: Notifier) -> str:
        return signing.hook_secret(self._store.secret, self._workspace, f"notifier:{notifier.name}", notifier.nonce)

    def callback_secret(self) -> str:
        """What callbacks are signed with: one secret for the workspace, since a task has no notifier."""
        return signing.hook_secret(self._store.secret, self._workspace, rules.CALLBACK, "")

    def permitted(self) -> addresses.Allowed:
        return addresses.allowed(self._ledger.options.allowed_targets)

    async def notifiers(self) -> list[Notifier]:
        return [notifier_of(record) for record in await self._store.records(rules.KIND, self._workspace)]


def _first_due(notice: Notice, notifier: Notifier, at: Micros, now: Micros) -> Micros:
    """When a notification is first tried: at once, or when nobody has given an approval for as long as was said."""
    return max(now, Micros(at + notifier.after)) if notice is Notice.APPROVAL_WANTED else now


def _receiver_of(push: Push, notification: Notification) -> Notifier:
    return Notifier(
        name=push.id,
        events=(Notice.TASK_UPDATE,),
        types=(),
        queues=(),
        tags=(),
        target=push.url,
        nonce="",
        created_at=notification.at,
        created_by="a2a",
    )
