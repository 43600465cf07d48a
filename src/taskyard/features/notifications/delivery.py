"""Notifications on their way: tried until they arrive, again where they wait for somebody, parked where they do not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.notice import LONGEST_ERROR, UNDELIVERED, Notice
from taskyard.core.outcomes import dead_id
from taskyard.core.record_kinds import DEAD
from taskyard.core.task import Status, TaskId
from taskyard.features.approvals.answer_links import AnswerLinks
from taskyard.features.notifications import rules
from taskyard.features.notifications.receivers import Receiver, Receivers, pushed_body
from taskyard.features.notifications.rules import Notification, notification_of
from taskyard.ledger.ledger import Ledger
from taskyard.outbound import addresses
from taskyard.outbound.channel_posts import post, post_request
from taskyard.outbound.safe_connect import Undelivered


class Delivery:
    def __init__(self, ledger: Ledger, answer_links: AnswerLinks, receivers: Receivers) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._answer_links = answer_links
        self._receivers = receivers

    async def send_due(self, records: Sequence[Record]) -> int:
        """Try what is due, some of it beside each other; how many were delivered."""
        return sum(await asyncio.gather(*(self._send(record) for record in records)))

    async def _send(self, record: Record) -> bool:
        notification, now = notification_of(record), self._ledger.now()
        receiver = await self._receivers.of(notification)
        if receiver is None or not await self._is_wanted(notification):
            await self._move(record, None)  # its receiver is gone, or somebody has answered meanwhile
            return False
        if (free_at := receiver.free_at(notification, now)) > now:
            await self._move(record, replace(notification, next_at=free_at))  # no try is lost in quiet hours
            return False
        if rules.is_spent(notification):
            await self._park(record, notification)  # the last try was made, and nobody lived to say how
            return False
        trying = rules.tried(notification, now)
        taken = await self._move(record, trying)
        if taken is None:
            return False  # another process is at it
        try:
            await self.post(await self._linked(trying), receiver)
        except Undelivered as failed:
            await self._not_delivered(taken, replace(trying, error=failed.why[:LONGEST_ERROR]))
            return False
        await self._move(taken, self._reminder(trying, receiver), "notification.delivered")
        return True

    async def post(self, notification: Notification, receiver: Receiver) -> None:
        """Send it once; `Undelivered` says why it did not arrive."""
        permitted = addresses.allowed(self._ledger.options.allowed_targets)
        try:
            if receiver.headers is not None:
                await post_request(receiver.target, receiver.headers, pushed_body(notification), permitted=permitted)
            else:
                await post(
                    notification,
                    receiver.target,
                    receiver.secret,
                    workspace=self._workspace,
                    permitted=permitted,
                    now=self._ledger.now(),
                )
        except InvalidInput as refused:  # what was good where it was set need not be here: libraries differ
            raise Undelivered(str(refused.facts["rule"])) from None

    def _reminder(self, sent: Notification, receiver: Receiver) -> Notification | None:
        """The same again, later, where it waits for somebody; whether it still does is asked then."""
        every = None if receiver.notifier is None else receiver.notifier.every
        is_answered = sent.notice is Notice.DEAD_LETTER or (
            sent.notice is Notice.APPROVAL_WANTED and "wait" in sent.facts
        )
        return None if every is None or not is_answered else rules.reminded(sent, every, self._ledger.now())

    async def _is_wanted(self, notification: Notification) -> bool:
        """Whether the wait goes on that it tells of; of what is sent late, whether somebody has decided meanwhile."""
        if notification.notice is Notice.APPROVAL_WANTED:
            return await self._is_awaited(notification)
        if notification.notice is Notice.DEAD_LETTER and notification.unanswered:
            return await self._is_unanswered(rules.tasks_of(notification))
        return True

    async def _is_awaited(self, notification: Notification) -> bool:
        task_id, wait = notification.task_id, notification.facts.get("wait")
        if wait is None or task_id is None:
            return True
        hot = (await self._store.load([task_id])).get(task_id)
        return hot is not None and (hot.status, hot.wait) == (Status.PENDING, wait)

    async def _is_unanswered(self, task_ids: Sequence[TaskId]) -> bool:
        """Whether one of these is a dead letter that nobody has decided about."""
        hots = (await self._store.load(task_ids)).values()
        dead = [dead_id(hot.id, hot.attempt) for hot in hots if hot.status is Status.DEAD_LETTERED]
        found = await self._store.named("dead", self._workspace, dead)
        return any(not DEAD.of(record)["reviewed"] for record in found.values())

    async def _linked(self, notification: Notification) -> Notification:
        """With a link to the question, where this recipient may answer by one."""
        task_id, wait = notification.task_id, notification.facts.get("wait")
        if notification.notice is not Notice.APPROVAL_WANTED or not isinstance(wait, int) or task_id is None:
            return notification
        link = await self._answer_links.url(task_id, wait, notification.notifier)
        return notification if link is None else rules.with_link(notification, link)

    async def _not_delivered(self, record: Record, notification: Notification) -> None:
        if rules.is_spent(notification):
            await self._park(record, notification)
        else:
            await self._move(record, notification)

    async def _park(self, record: Record, notification: Notification) -> None:
        parked = RecordChange(rules.PARKED, self._workspace, record.id, 0, notification.body())
        await self._move(record, None, "notification.parked", parked)

    async def _move(
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
