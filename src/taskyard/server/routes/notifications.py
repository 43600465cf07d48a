"""Who is notified of what, and the notifications on their way."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Response

from taskyard.api import calls, openapi
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.features.notifications.views import CallbackSecret, NotificationView, NotifierMade, NotifierView
from taskyard.server.routes.tasks import Limit
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("notifications")
NameAt = Annotated[str, Path(description="The notifier's name.", max_length=255)]
NOTIFIERS = openapi.answer("Notifiers", notifiers=list[NotifierView])
NOTIFICATIONS = openapi.answer("Notifications", notifications=list[NotificationView])
NotificationAt = Annotated[str, Path(description="A notification's id.", max_length=300)]


@routes.add(calls.SET_NOTIFIER, model(NotifierMade))
async def set_notifier(caller: Calling, name: NameAt, asked: models.SetNotifier) -> Response:
    """Tell a target of some events. The secret that its webhooks are signed with is shown this once."""
    made = await caller.yard.notifications.set(name, **asked.model_dump(), by=caller.by)
    return answer(write(made))


@routes.add(calls.NOTIFIERS, NOTIFIERS)
async def notifiers(caller: Calling) -> Response:
    """Who is notified of what, without secrets."""
    return answer({"notifiers": write(await caller.yard.notifications.list())})


@routes.add(calls.CALLBACK_SECRET, model(CallbackSecret))
async def callback_secret(caller: Calling) -> Response:
    """What the callbacks of tasks are signed with."""
    return answer(write(await caller.yard.notifications.callback_secret()))


@routes.add(calls.REMOVE_NOTIFIER, DONE)
async def remove_notifier(caller: Calling, name: NameAt) -> Response:
    """Tell this target no more."""
    await caller.yard.notifications.remove(name, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.TRY_NOTIFIER, DONE)
async def try_notifier(caller: Calling, name: NameAt) -> Response:
    """Send a test at once, and say whether it arrived."""
    await caller.yard.notifications.try_out(name, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.NOTIFICATIONS, NOTIFICATIONS)
async def list_notifications(
    caller: Calling,
    parked: Annotated[bool, Query(description="Those that were given up, and not those on their way.")] = False,
    limit: Limit = 50,
) -> Response:
    """What is on its way to people, or was given up."""
    found = await caller.yard.notifications.deliveries(parked=parked, limit=limit)
    return answer({"notifications": write(found)})


@routes.add(calls.RESEND_NOTIFICATION, DONE)
async def resend_notification(caller: Calling, notification_id: NotificationAt) -> Response:
    """Try one again that was given up."""
    await caller.yard.notifications.resend(notification_id, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.DISMISS_NOTIFICATION, DONE)
async def dismiss_notification(caller: Calling, notification_id: NotificationAt) -> Response:
    """Forget one that was given up."""
    await caller.yard.notifications.dismiss(notification_id, by=caller.by)
    return answer({"ok": True})
