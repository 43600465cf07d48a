"""Notifications of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.notifications.service import Notifications


class RemoteNotifications(Remote, Notifications):
    set = over_http(Notifications.set, calls.SET_NOTIFIER)
    callback_secret = over_http(Notifications.callback_secret, calls.CALLBACK_SECRET)
    list = over_http(Notifications.list, calls.NOTIFIERS)
    remove = over_http(Notifications.remove, calls.REMOVE_NOTIFIER)
    try_out = over_http(Notifications.try_out, calls.TRY_NOTIFIER)
    deliveries = over_http(Notifications.deliveries, calls.NOTIFICATIONS)
    resend = over_http(Notifications.resend, calls.RESEND_NOTIFICATION)
    dismiss = over_http(Notifications.dismiss, calls.DISMISS_NOTIFICATION)
