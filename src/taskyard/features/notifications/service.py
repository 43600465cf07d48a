"""Notifications: who is notified of what, and the notifications on their way.

An event leaves a row in the outbox. From it each notifier that wants it gets a notification of its own, in a change
that can be committed only once; then the row is settled. A notification is written ahead of each try, so a process
that dies on the way leaves it to be tried again, and only one process tries at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from secrets import token_hex

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.json_value import Json
from taskyard.core.notice import UNDELIVERED, Notice
from taskyard.core.units import MINUTE, SECOND, Micros
from taskyard.definition import arguments, fields
from taskyard.features.notifications import rules
from taskyard.features.notifications.delivery import Delivery
from taskyard.features.notifications.rules import Notification, Notifier, notification_of, notifier_of
from taskyard.features.notifications.views import (
    CallbackSecret,
    NotificationView,
    NotifierMade,
    NotifierView,
    notification_view,
    notifier_view,
)
from taskyard.features.tasks.lookup.queries import DEFAULT_LISTED, MOST_LISTED
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL
from taskyard.outbound.channel_posts import checked_target
from taskyard.outbound.safe_connect import Undelivered

ROWS = 200  # of the outbox, that are looked at in one go
LONGEST_NAME = 100  # of a notifier: it is a part of longer ones
SHORTEST_INTERVAL = MINUTE  # between reminders
AT_ONCE = 20  # notifications that are sent beside each other


class Notifications:
    def __init__(self, ledger: Ledger, notification_delivery: Delivery) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._notification_delivery = notification_delivery

    async def set(
        self,
        name: str,
        target: str,
        *,
        events: Iterable[str],
        types: Iterable[str] = (),
        queues: Iterable[str] = (),
        tags: Iterable[str] = (),
        after_sec: float = 0,
        every_sec: float | None = None,
        by: str = LOCAL,
    ) -> NotifierMade:
        """Tell a target of these events, of all tasks or of those of some types, queues or tags.

        `http://` and `https://` are webhooks; what they are signed with is shown this once. Other
        targets are those of a service in the guide: slack://, mailtos://, ntfys://, ….
        Under a name that is taken, the notifier is replaced, and signs with a new secret; links that it sent are void.
        An approval that nobody gives is notified of after `after_sec` (to escalate), and again every `every_sec` (to
        remind) until the wait is over.
        """
        notifier = Notifier(
            name=fields.name(name, "name", most=LONGEST_NAME),
            events=rules.events_of(arguments.names("events", list(events))),
            types=arguments.names("types", list(types)),
            queues=arguments.names("queues", list(queues)),
            tags=arguments.names("tags", list(tags)),
            target=checked_target(target, self._notification_delivery.permitted()),
            nonce=token_hex(16),
            created_at=self._ledger.now(),
            created_by=arguments.name("by", by),
            after=arguments.duration("after_sec", after_sec),
            every=_interval(every_sec),
        )

        async def decide() -> tuple[ChangeSet, None]:
            record = await self._store.record(rules.KIND, self._workspace, notifier.name)
            version = 0 if record is None else record.version
            change = RecordChange(rules.KIND, self._workspace, notifier.name, version, notifier.body())
            facts: dict[str, Json] = {"notifier": notifier.name, "target": notifier.shown}
            return ChangeSet(
                records=(change,), events=(self._ledger.audit("notifier.set", by, facts),), at=self._ledger.now()
            ), None

        await self._ledger.commit(decide)
        return NotifierMade(
            notifier_view(notifier),
            self._notification_delivery.signing_secret(notifier) if notifier.is_webhook else None,
        )

    async def list(self) -> list[NotifierView]:
        """Who is notified of what, by name; their targets without what may be a secret."""
        return sorted(
            (notifier_view(notifier) for notifier in await self._notification_delivery.notifiers()),
            key=lambda each: each.name,
        )

    async def callback_secret(self) -> CallbackSecret:
        """What the callbacks of tasks are signed with, for those who receive them."""
        return CallbackSecret(self._notification_delivery.callback_secret())

    async def remove(self, name: str, *, by: str = LOCAL) -> None:
        """Tell this target no more. What is on its way to it goes too."""

        async def decide() -> tuple[ChangeSet, None]:
            record = await self._store.record(rules.KIND, self._workspace, arguments.name("name", name))
            if record is None:
                raise NotFound("notifier", name)
            gone = RecordChange(rules.KIND, self._workspace, name, record.version, None)
            audited = self._ledger.audit("notifier.removed", by, {"notifier": name})
            return ChangeSet(records=(gone,), events=(audited,), at=self._ledger.now()), None

        await self._ledger.commit(decide)

    async def try_out(self, name: str, *, by: str = LOCAL) -> None:
        """Send a test at once. `InvalidInput` says why it did not arrive."""
        record = await self._store.record(rules.KIND, self._workspace, arguments.name("name", name))
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
            at=self._ledger.now(),
        )
        try:
            await self._notification_delivery.post(test, notifier_of(record))
        except Undelivered as failed:
            raise InvalidInput("target", f"was not reached: {failed.why}") from None

    async def deliveries(self, *, parked: bool = False, limit: int = DEFAULT_LISTED) -> list[NotificationView]:
        """Those that are still to be delivered; or those that were given up, and wait for a person. Newest first."""
        fields.whole(limit, "limit", least=1, most=MOST_LISTED)
        kind = rules.PARKED if parked else UNDELIVERED
        found = await self._store.page(kind, self._workspace, limit=limit)
        return [notification_view(notification_of(each)) for each in found]

    async def resend(self, notification_id: str, *, by: str = LOCAL) -> None:
        """Try one again that was given up."""
        await self._unpark(notification_id, "notification.resent", by, again=True)

    async def dismiss(self, notification_id: str, *, by: str = LOCAL) -> None:
        """Forget one that was given up."""
        await self._unpark(notification_id, "notification.dismissed", by, again=False)

    async def _unpark(self, notification_id: str, event: str, by: str, *, again: bool) -> None:
        async def decide() -> tuple[ChangeSet, None]:
            name = arguments.name("notification_id", notification_id)
            record = await self._store.record(rules.PARKED, self._workspace, name)
            if record is None:
                raise NotFound("parked notification", notification_id)
            changes = [RecordChange(rules.PARKED, self._workspace, record.id, record.version, None)]
            if again:
                fresh = replace(notification_of(record), tries=0, next_at=self._ledger.now(), error=None)
                changes.append(RecordChange(UNDELIVERED, self._workspace, record.id, 0, fresh.body()))
            audited = self._ledger.audit(event, by, {"notification": record.id})
            return ChangeSet(records=tuple(changes), events=(audited,), at=self._ledger.now()), None

        await self._ledger.commit(decide)


def _interval(every_sec: float | None) -> Micros | None:
    every = None if every_sec is None else arguments.duration("every_sec", every_sec)
    if every is not None and every < SHORTEST_INTERVAL:
        raise InvalidInput("every_sec", f"must be at least {SHORTEST_INTERVAL // SECOND}")
    return every
