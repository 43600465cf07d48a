"""Reaching hosts outside: a name is looked up once, every address it has is judged, and only those are connected to.

Where one of them may not be reached, none is: a name that leads to two places is not to be trusted with either.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address
from urllib.parse import SplitResult, urlsplit

from taskyard.core.errors import InvalidInput
from taskyard.definition import fields
from taskyard.outbound import addresses
from taskyard.outbound.addresses import AllowedTargets

Lookup = Callable[[str, int], Awaitable[list[str]]]
MOST_LETTERS = 2000  # of a target
NOT_PUBLIC = "leads to an address that is not public; an operator may allow it: see TASKYARD_ALLOWED_TARGETS"
_SAYABLE = re.compile(r"[!-~]+", re.ASCII)
_NUMBER = re.compile(r"[0-9a-fx.]+", re.ASCII | re.IGNORECASE)


class Undelivered(Exception):
    """It did not arrive. Why is for people to read, and has no secret in it."""

    def __init__(self, why: str, *, is_unknown: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.is_unknown = is_unknown  # there is no such host


async def looked_up(host: str, port: int) -> list[str]:
    """The addresses of a host, as this machine knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def reachable(host: str, port: int, permitted: AllowedTargets, lookup: Lookup = looked_up) -> list[str]:
    """The addresses to connect to; `Undelivered` where one of them may not be."""
    try:
        found = await lookup(host, port)
    except (OSError, UnicodeError):
        raise Undelivered("its host is not known", is_unknown=True) from None
    if not found or not all(addresses.is_reachable(each, host, permitted) for each in found):
        raise Undelivered(f"its host {NOT_PUBLIC}")
    return found


def checked_url(target: object) -> SplitResult:
    """A target that says one thing to everybody who reads it."""
    given = fields.text(target, "target", most=MOST_LETTERS)
    if not _SAYABLE.fullmatch(given) or "\\" in given:
        raise InvalidInput("target", "must be a URL, in ASCII and with nothing blank in it")
    try:
        parts = urlsplit(given)
    except ValueError:
        raise InvalidInput("target", "must be a URL with a sound host and port") from None
    if not parts.scheme:
        raise InvalidInput("target", "must be a URL, such as https://HOST/PATH or slack://TOKEN_A/TOKEN_B/TOKEN_C")
    return parts


def checked_webhook(parts: SplitResult, permitted: AllowedTargets) -> None:
    """Refuse what could never be sent to, while it is being written down; names are looked up when it is sent."""
    if parts.username is not None or parts.fragment:
        raise InvalidInput("target", "must have neither a password nor a fragment: what is sent is signed")
    try:
        _ = parts.port
    except ValueError:
        raise InvalidInput("target", "must be a URL with a sound host and port") from None
    check_literal(addresses.checked_host(parts.hostname or "", "target"), permitted)


def check_literal(host: str, permitted: AllowedTargets) -> None:
    """Refuse an address that may not be reached, however it is spelled; a name passes."""
    address = str(IPv4Address(socket.inet_aton(host))) if _is_number(host) else host
    try:
        is_good = addresses.is_reachable(address, host, permitted)
    except ValueError:
        return  # a name, which is looked up when something is sent
    if not is_good:
        raise InvalidInput("target", NOT_PUBLIC)


def _is_number(host: str) -> bool:
    """Whether it is an IPv4 address in one of the forms that only machines read: 0x7f.1, 017700000001, 2130706433."""
    if not _NUMBER.fullmatch(host):
        return False
    try:
        socket.inet_aton(host)
    except OSError:
        return False
    return True
