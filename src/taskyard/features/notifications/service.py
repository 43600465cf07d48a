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
from taskyard.core.units import DAY, MINUTE, SECOND, Micros
from taskyard.definition import arguments, fields
from taskyard.features.notifications import rules
from taskyard.features.notifications.addressing import Addressing
from taskyard.features.notifications.delivery import Delivery
from taskyard.features.notifications.quiet_hours import quiet_hours as quiet_hours_of
from taskyard.features.notifications.receivers import Receivers
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
from taskyard.outbound.addresses import allowed
from taskyard.outbound.channel_posts import checked_target
from taskyard.outbound.safe_connect import Undelivered

ROWS = 200  # of the outbox, that are looked at in one go
LONGEST_NAME = 100  # of a notifier: it is a part of longer ones
SHORTEST_INTERVAL = MINUTE  # between reminders, and before somebody else is sent
SHORTEST_WINDOW, LONGEST_WINDOW = SECOND, DAY  # in which notices of one cause are gathered
AT_ONCE = 20  # notifications that are sent beside each other


class Notifications:
    def __init__(
        self, ledger: Ledger, addressing: Addressing, receivers: Receivers, notification_delivery: Delivery
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._addressing = addressing
        self._receivers = receivers
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
        group_sec: float | None = None,
        quiet_hours: str | None = None,
        time_zone: str | None = None,
        critical: Iterable[str] = (),
        escalate_to: str | None = None,
        escalate_after_sec: float | None = None,
        by: str = LOCAL,
    ) -> NotifierMade:
        """Tell a target of these events, of all tasks or of those of some types, queues or tags.

        `http://` and `https://` are webhooks; what they are signed with is shown this once. Other
        targets are those of a service in the guide: slack://, mailtos://, ntfys://, ….
        Under a name that is taken, the notifier is replaced, and signs with a new secret; links that it sent are void.
        An approval or a dead letter that nobody answers is notified of after `after_sec`, and again every `every_sec`
        (to remind) until somebody does; the notifier `escalate_to` is sent `escalate_after_sec` later. Notices of one
        cause that come within `group_sec` are sent in one message; approvals never are. In `quiet_hours`, such as
        22:00-07:00 on the clocks of the `time_zone`, only what is `critical` is sent; the rest comes afterwards.
        """
        notifier = Notifier(
            name=fields.name(name, "name", most=LONGEST_NAME),
            events=rules.events_of(arguments.names("events", list(events))),
            types=arguments.names("types", list(types)),
            queues=arguments.names("queues", list(queues)),
            tags=arguments.names("tags", list(tags)),
            target=checked_target(target, allowed(self._ledger.options.allowed_targets)),
            nonce=token_hex(16),
            created_at=self._ledger.now(),
            created_by=arguments.name("by", by),
            after=arguments.duration("after_sec", after_sec),
            every=_interval("every_sec", every_sec),
            window=_window(group_sec),
            quiet=quiet_hours_of(quiet_hours, time_zone),
            critical=rules.events_of(named, "critical") if (named := list(critical)) else (),
            escalate_to=None if escalate_to is None else fields.name(escalate_to, "escalate_to", most=LONGEST_NAME),
            escalate_after=_interval("escalate_after_sec", escalate_after_sec) or Micros(0),
        )
        if (notifier.escalate_to is None) != (escalate_after_sec is None):
            raise InvalidInput("escalate_after_sec", "goes with escalate_to, and escalate_to with it")
        if notifier.critical and notifier.quiet is None:
            raise InvalidInput("critical", "goes with quiet_hours")

        async def decide() -> tuple[ChangeSet, None]:
            await self._check_chain(notifier)
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
            self._receivers.signing_secret(notifier) if notifier.is_webhook else None,
        )

    async def _check_chain(self, notifier: Notifier) -> None:
        """Refuse a chain that leads nowhere, back to itself, or on and on."""
        known = {each.name: each for each in await self._addressing.notifiers()} | {notifier.name: notifier}
        here, passed = notifier, [notifier.name]
        while here.escalate_to is not None:
            if here.escalate_to in passed:
                raise InvalidInput("escalate_to", f"must not lead back to {here.escalate_to}")
            if here.escalate_to not in known:
                raise InvalidInput("escalate_to", f"must name a notifier that there is: {here.escalate_to} is none")
            here = known[here.escalate_to]
            passed.append(here.name)
            if len(passed) > rules.MOST_IN_CHAIN:
                raise InvalidInput("escalate_to", f"must make a chain of at most {rules.MOST_IN_CHAIN} notifiers")

    async def list(self) -> list[NotifierView]:
        """Who is notified of what, by name; their targets without what may be a secret."""
        return sorted(
            (notifier_view(notifier) for notifier in await self._addressing.notifiers()),
            key=lambda each: each.name,
        )

    async def callback_secret(self) -> CallbackSecret:
        """What the callbacks of tasks are signed with, for those who receive them."""
        return CallbackSecret(self._receivers.callback_secret())

    async def remove(self, name: str, *, by: str = LOCAL) -> None:
        """Tell this target no more. What is on its way to it goes too."""

        async def decide() -> tuple[ChangeSet, None]:
            record = await self._store.record(rules.KIND, self._workspace, arguments.name("name", name))
            if record is None:
                raise NotFound("notifier", name)
            before = [each.name for each in await self._addressing.notifiers() if each.escalate_to == name]
            if before:
                raise InvalidInput("name", f"is the one that {', '.join(before)} escalates to: change that first")
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
            await self._notification_delivery.post(test, self._receivers.of_notifier(notifier_of(record)))
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


def _interval(field: str, given: float | None) -> Micros | None:
    interval = None if given is None else arguments.duration(field, given)
    if interval is not None and interval < SHORTEST_INTERVAL:
        raise InvalidInput(field, f"must be at least {SHORTEST_INTERVAL // SECOND}")
    return interval


def _window(group_sec: float | None) -> Micros | None:
    window = None if group_sec is None else arguments.duration("group_sec", group_sec)
    if window is not None and not SHORTEST_WINDOW <= window <= LONGEST_WINDOW:
        raise InvalidInput("group_sec", f"must be from {SHORTEST_WINDOW // SECOND} to {LONGEST_WINDOW // SECOND}")
    return window
