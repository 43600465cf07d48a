"""Getting a notification out: as a signed webhook, or in the words of one of the services in `outbound.channels`.

Everything goes through the connector that looks a name up once and connects only to what it checked. No error from
here names a target.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import compact
from taskyard.core.units import Micros
from taskyard.features.notifications import rules
from taskyard.features.notifications.rules import Notification
from taskyard.outbound import addresses, channels, mail
from taskyard.outbound.addresses import AllowedTargets
from taskyard.outbound.channels import Mail, Words
from taskyard.outbound.safe_connect import Lookup, check_literal, checked_url, checked_webhook, looked_up

NEEDED = "needs the libraries for notifications: pip install 'taskyard[notifications]'"


def checked_target(target: object, permitted: AllowedTargets) -> str:
    """A target that notifications can be sent to, if they may be."""
    parts = checked_url(target)
    url = str(target)
    if rules.is_webhook(url):
        checked_webhook(parts, permitted)
    else:
        channel, found = channels.target_of(url)
        if channel.is_self_hosted:
            check_literal(addresses.checked_host(found.host, "target"), permitted)
    _webhooks()
    return url


async def post(
    notification: Notification,
    target: str,
    secret: str,
    *,
    workspace: str,
    permitted: AllowedTargets,
    now: Micros,
    lookup: Lookup = looked_up,
) -> None:
    """Send it once; `Undelivered` says why it did not arrive.

    The target is checked again: it may have been stored by a release, or under settings, that took more.
    """
    checked_target(target, permitted)
    if rules.is_webhook(target):
        body = compact(notification.message(workspace)).encode()
        await _webhooks().send_webhook(
            target, secret, notification.sent_id, body, now=now, permitted=permitted, lookup=lookup
        )
        return
    message = channels.message(target, Words(notification.sent_id, notification.title, notification.text))
    if isinstance(message, Mail):
        await mail.send(message, permitted=permitted, lookup=lookup)
    else:
        await _webhooks().deliver(message, permitted=permitted, lookup=lookup)


async def post_request(
    url: str, headers: Mapping[str, str], body: bytes, *, permitted: AllowedTargets, lookup: Lookup = looked_up
) -> None:
    """Post to a URL that somebody else has named, once; `Undelivered` says why it did not arrive."""
    checked_webhook(checked_url(url), permitted)
    request = channels.Request("POST", url, dict(headers), body)
    await _webhooks().deliver(request, permitted=permitted, lookup=lookup)


def _webhooks() -> Any:
    try:
        from taskyard.outbound import webhooks  # noqa: PLC0415 - its HTTP library is an extra
    except ModuleNotFoundError as missing:
        if missing.name != "httpcore":
            raise
        raise InvalidInput("target", NEEDED) from missing
    return webhooks
