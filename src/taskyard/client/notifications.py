"""Notifications of a yard that a server has."""

from __future__ import annotations

from collections.abc import Iterable

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.body import body, several
from taskyard.features.notifications.service import Notifications
from taskyard.features.notifications.views import NotificationView, NotifierMade, NotifierView
from taskyard.ledger.options import LOCAL

DEFAULT_LISTED = 50


class RemoteNotifications(Remote, Notifications):
    async def set(
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
        asked = body(
            target=target, events=several(events), types=several(types), queues=several(queues), tags=several(tags)
        )
        answer = await self._connection.ask(calls.SET_NOTIFIER, asked, name=name)
        return read(NotifierMade, answer)

    async def list(self) -> list[NotifierView]:
        """Who is notified of what, by name; their targets without what may be a secret."""
        return read(list[NotifierView], (await self._connection.ask(calls.NOTIFIERS))["notifiers"])

    async def remove(self, name: str, *, by: str = LOCAL) -> None:
        """Tell this target no more. What is on its way to it goes too."""
        await self._connection.ask(calls.REMOVE_NOTIFIER, name=name)

    async def try_out(self, name: str, *, by: str = LOCAL) -> None:
        """Send a test at once. `InvalidInput` says why it did not arrive."""
        await self._connection.ask(calls.TRY_NOTIFIER, name=name)

    async def deliveries(self, *, parked: bool = False, limit: int = DEFAULT_LISTED) -> list[NotificationView]:
        """Those that are still to be delivered; or those that were given up, and wait for a person. Newest first."""
        answer = await self._connection.ask(calls.NOTIFICATIONS, query={"parked": parked, "limit": limit})
        return read(list[NotificationView], answer["notifications"])

    async def resend(self, notification_id: str, *, by: str = LOCAL) -> None:
        """Try one again that was given up."""
        await self._connection.ask(calls.RESEND_NOTIFICATION, notification_id=notification_id)

    async def dismiss(self, notification_id: str, *, by: str = LOCAL) -> None:
        """Forget one that was given up."""
        await self._connection.ask(calls.DISMISS_NOTIFICATION, notification_id=notification_id)
