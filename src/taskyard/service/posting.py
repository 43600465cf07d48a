"""Getting a notification out: signed webhooks by ourselves, everything else through apprise.

Both are extras, and are asked for only where a notifier needs them. No error from here names a target.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from taskyard.core import addresses, notices
from taskyard.core.addresses import Allowed
from taskyard.core.errors import InvalidInput
from taskyard.core.jsonvalue import compact
from taskyard.core.notices import Notification
from taskyard.core.units import Micros
from taskyard.service.reaching import Undelivered, check_literal, checked_url, checked_webhook, reachable

NEEDED = "needs the libraries for notifications: pip install 'taskyard[notifications]'"
# What these do is done by webhooks, which are signed and go only to addresses that were checked.
_GENERIC = frozenset({"json", "jsons", "xml", "xmls", "form", "forms", "apprise", "apprises"})


def checked_target(target: object, permitted: Allowed) -> str:
    """A target that notifications can be sent to, if they may be."""
    parts = checked_url(target)
    url = str(target)
    if notices.is_webhook(url):
        checked_webhook(parts, permitted)
        _webhooks()
        return url
    if parts.scheme.lower() in _GENERIC:
        raise InvalidInput("target", "must be http:// or https:// where it is any web server: see webhooks")
    for host in _hosts(_service(url)):
        check_literal(host, permitted)
    return url


async def post(
    notification: Notification, target: str, secret: str, *, workspace: str, permitted: Allowed, now: Micros
) -> None:
    """Send it once; `Undelivered` says why it did not arrive."""
    if notices.is_webhook(target):
        body = compact(notification.message(workspace)).encode()
        await _webhooks().send_webhook(target, secret, notification.id, body, now=now, permitted=permitted)
        return
    service = _service(target)
    for host in _hosts(service):
        await _check_host(host, permitted)
    kind = urlsplit(target).scheme
    try:
        is_taken = await asyncio.to_thread(service.notify, body=notification.text, title=notification.title)
    except Exception as error:  # of one of a hundred plugins by others: whatever it is, it was not delivered
        raise Undelivered(f"{kind} failed with {type(error).__name__}") from None
    if not is_taken:
        raise Undelivered(f"{kind} did not take it")


async def _check_host(host: str, permitted: Allowed) -> None:
    """Judge where a service would be connected to. What has no address is no host: a token, or a channel."""
    try:
        await reachable(host, 443, permitted)
    except Undelivered as refused:
        if not refused.is_unknown:
            raise


def _hosts(service: Any) -> list[str]:
    """The hosts that a service was given, where it is one that somebody runs themselves."""
    if not any("{host}" in template for template in service.templates):
        return []
    given = (service.host, getattr(service, "smtp_host", None))
    return [addresses.checked_host(host, "target") for host in given if host]


def _service(target: str) -> Any:
    """Apprise's own object for a URL. It follows no redirects, and writes nothing to disk."""
    try:
        library: Any = import_module("apprise")  # it is an extra
    except ModuleNotFoundError as missing:
        if missing.name != "apprise":
            raise
        raise InvalidInput("target", NEEDED) from missing
    logging.getLogger("apprise").setLevel(logging.CRITICAL)  # what it logs may have a part of a target in it
    asset = library.AppriseAsset(http_redirects=False, storage_mode=library.PersistentStoreMode.MEMORY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what its plugins import, which is not for us to mend
        service: Any = library.Apprise.instantiate(target, asset=asset, suppress_exceptions=True)
    if service is None:
        raise InvalidInput("target", "must be a URL that apprise understands, or http:// or https://")
    if service.redirects:
        raise InvalidInput("target", "must not ask for redirects to be followed")
    return service


def _webhooks() -> Any:
    try:
        from taskyard.service import webhooks  # noqa: PLC0415 - its HTTP library is an extra
    except ModuleNotFoundError as missing:
        if missing.name != "httpcore":
            raise
        raise InvalidInput("target", NEEDED) from missing
    return webhooks
